"""Results that are copies here and views in NumPy: `x[::-1]`, `np.flip(x)`, the parts of an array of complex numbers.

    return np.cumsum(x[::-1])[::-1]      # of an array that the call makes: whether it is a copy nobody can tell
    return x[::-1]                       # of one that the caller has: what is written to one of them, the other shows
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.analysis.points_to import PointsTo, inner_ops
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir

_COPIES = frozenset({"aten.flip", "tierup.real", "tierup.imag", "func.call"})  # what a function gives may be one


def show_arguments(func: ir.Operation, copies: Sequence[ir.Value]) -> bool:
    """Whether one of these results, which are or may be such copies, may be one of memory that the caller has."""
    memory = PointsTo(func)
    made = frozenset[object]().union(*(memory.reach(value) for value in copies))
    return any(
        torch_name(op) in _COPIES
        and any(not made.isdisjoint(memory.reach(result)) for result in op.results)
        and any(location.outside for operand in op.operands for location in memory.reach(operand))
        for op in inner_ops(func)
    )
