"""Results that are copies here and views in NumPy: `x[::-1]`, `np.flip(x)`, the parts of an array of complex numbers.

    return np.cumsum(x[::-1])[::-1]      # of an array that the call makes: whether it is a copy nobody can tell
    return x[::-1]                       # of one that the caller has: what is written to one of them, the other shows
    return w[::-1], w                    # of one that the caller gets, too: the same
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.analysis.points_to import Locations, PointsTo, inner_ops
from tierup.dialect.ir.structure import last_of, maker
from tierup.dialect.ir.walking import callee_of, torch_name
from tierup.dialect.mlir import ir

_PARTS = frozenset({"tierup.real", "tierup.imag"})  # which lie beside each other: of one array the two share no element
_COPIES = _PARTS | {"aten.flip", "func.call"}  # what a function gives may be one


def show_others(func: ir.Operation, copies: Sequence[ir.Value], results: Sequence[ir.Value]) -> bool:
    """Whether one of the copies among the results may be, in NumPy, a view of memory that the caller has or gets in another result."""
    memory = PointsTo(func)
    copying = [op for op in inner_ops(func) if torch_name(op) in _COPIES]
    behind = [_behind(memory, copying, value) for value in copies]
    if any(location.outside for found in behind for location in found):
        return True
    others = [memory.reach(value) for value in results if value not in copies and not _is_made_by_call(value)]
    if any(not a.isdisjoint(b) for a in behind for b in others):
        return True
    turned = [_behind(memory, [op for op in copying if torch_name(op) not in _PARTS], value) for value in copies]
    return any(not a.isdisjoint(b) for i, a in enumerate(turned) for b in turned[:i])


def _behind(memory: PointsTo, copying: Sequence[ir.Operation], value: ir.Value) -> Locations:
    """The memory that was copied, by one op or several, into what a value may be."""
    seen, found = memory.reach(value), frozenset[object]()
    before = None
    while before != seen:
        before = seen
        for op in copying:
            if any(not seen.isdisjoint(memory.reach(result)) for result in op.results):
                copied = frozenset().union(*(memory.reach(operand) for operand in op.operands))
                seen, found = seen | copied, found | copied
    return found  # type: ignore[return-value]  # of locations


def _is_made_by_call(value: ir.Value) -> bool:
    """Whether a helper gives the value, and none of its arguments, or what it has from outside."""
    call = maker(value, "func.call")
    callee = None if call is None else callee_of(call)
    if call is None or callee is None:
        return False
    memory, number = PointsTo(callee), ir.OpResult(value).result_number
    given = last_of(callee.regions[0].blocks[0]).operands
    return number < len(given) and not any(location.outside for location in memory.reach(given[number]))
