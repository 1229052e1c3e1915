"""OpInfo's samples of errors as scripted programs: an op that PyTorch refuses cannot be traced, but it can be written down.

    def program(a, b):
        return torch.add(a, b, alpha=2)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from oracle_cases import Case, entries


def refused(entry: str) -> Iterator[tuple[Case, Any]]:
    """The samples of errors of an entry that TorchScript can write down, scripted."""
    op = entries()[entry]
    if op.error_inputs_func is None:
        return
    for i, error in enumerate(op.error_inputs("cpu")):
        case = Case(entry, "error", i, op, error.sample_input)
        program = scripted(case)
        if program is not None:
            yield case, program


def scripted(case: Case) -> Any | None:
    """A program that calls the function of torch of the entry's name; None where TorchScript cannot write the operands down."""
    operands = [(None, case.sample.input), *((None, x) for x in case.sample.args), *case.sample.kwargs.items()]
    try:
        texts = [(f"{name}=" if name else "") + _literal(x, case) for name, x in operands]
        names = ", ".join(f"x{i}: Tensor" for i in range(len(case.places)))
        unit = torch.jit.CompilationUnit(f"def program({names}):\n    return torch.{case.op.name}({', '.join(texts)})\n")
    except (RuntimeError, ValueError, torch.jit.frontend.FrontendError):
        return None
    return unit.program


def _literal(x: Any, case: Case) -> str:
    if isinstance(x, torch.Tensor):
        return f"x{next(k for k, i in enumerate(case.places) if case.leaves[i] is x)}"
    if x is None or isinstance(x, (bool, int, str)):
        return repr(x)
    if isinstance(x, float) and math.isfinite(x):
        return repr(x)
    if isinstance(x, (list, tuple)):
        return f"[{', '.join(_literal(v, case) for v in x)}]"
    raise ValueError(f"TorchScript has no literal for {x!r}")
