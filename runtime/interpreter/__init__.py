"""Tier 0: a graph becomes Python source over the op table's kernels. Only `translate` needs MLIR."""

from __future__ import annotations

from importlib import import_module

_HOME = {"translate": "translate", "Tier0": "tier0", "Parameter": "parameters"}
__all__ = ["Parameter", "Tier0", "translate"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
