"""The cases and corners of all rules: what the modules `cases_*.py` beside this one list, a module per family or more.

`CASES`: programs of one op that have derivatives (central differences, PyTorch and native code agree on them). `CORNERS`: those where
only a convention says what the gradient is, PyTorch's.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from gradient_harness import Case

_MODULES = [import_module(path.stem) for path in sorted(Path(__file__).parent.glob("cases_*.py"))]

CASES: list[Case] = [given for module in _MODULES for given in module.CASES]
CORNERS: list[Case] = [given for module in _MODULES for given in getattr(module, "CORNERS", ())]
UNKNOWN_TO_TORCH: frozenset[str] = frozenset().union(*(getattr(module, "UNKNOWN_TO_TORCH", ()) for module in _MODULES))
"""Ops of which PyTorch has no gradient, as of some that only its own passes make."""
