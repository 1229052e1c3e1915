"""Whether two buffers may share memory, for passes on memrefs.

    base(view)          the buffer whose memory a view shows
    may_alias(a, b)     False only when two bases surely lie apart
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.analysis.stated import PART, RESULT_KINDS
from tierup.lowering.building import builders as b

VIEWS = ("memref.subview", "memref.reinterpret_cast", "memref.cast", "memref.expand_shape", "memref.collapse_shape", "memref.transpose",
         "memref.reshape", "memref.view", "memref.memory_space_cast")  # fmt: skip
ALLOCATIONS = ("memref.alloc", "memref.alloca")
_GLOBAL = "memref.get_global"


def base(buffer: ir.Value) -> ir.Value:
    """The buffer whose memory a view shows; the buffer itself when it is no view."""
    while (made := b.defining_op(buffer)) is not None and made.name in VIEWS:
        buffer = made.operands[0]
    return buffer


def is_allocation(buffer: ir.Value) -> bool:
    """Whether an op of the function made the buffer."""
    made = b.defining_op(buffer)
    return made is not None and made.name in ALLOCATIONS


def stands_alone(root: ir.Value) -> bool:
    """Whether a base is an allocation or an argument of an entry: any two of these lie apart."""
    return is_allocation(root) or (_kind(root) == "argument" and _lies_apart(root))


def may_alias(x: ir.Value, y: ir.Value) -> bool:
    """Whether two bases may share memory.

    Apart are: two allocations; an allocation and what was there before it; a global and allocations, arguments and other globals; the
    arguments of an entry, whose results are fresh memory (materialize_boundary).
    """
    if x == y:
        return True
    kinds = {_kind(x), _kind(y)}
    if kinds == {"global"}:
        return bool(x.owner.attributes["name"] == y.owner.attributes["name"])
    if kinds <= {"allocation", "global"} or kinds == {"global", "argument"}:
        return False
    if "allocation" in kinds:
        return not (_there_before(x, y) if _kind(y) == "allocation" else _there_before(y, x))
    return not (kinds == {"argument"} and _lies_apart(x))


def _lies_apart(argument: ir.Value) -> bool:
    """Whether nothing is written to an argument's memory through another argument: so in an entry, and in its parts."""
    attributes = argument.owner.owner.attributes
    return RESULT_KINDS in attributes or PART in attributes


def _kind(buffer: ir.Value) -> str:
    """What is known of where a base came from; "" for a value that control flow chose, or any other."""
    made = b.defining_op(buffer)
    if made is None:
        return "argument" if buffer.owner.owner.operation.name == "func.func" and buffer.owner == buffer.owner.region.blocks[0] else ""
    return "allocation" if is_allocation(buffer) else "global" if made.name == _GLOBAL else ""


def _there_before(buffer: ir.Value, allocation: ir.Value) -> bool:
    """Whether `buffer` was computed before the allocation last ran, so that it can't show the new memory."""
    made = b.defining_op(buffer)
    block = buffer.owner if made is None else made.block
    inside = b.defining_op(allocation)
    while inside is not None and inside.block != block:
        parent = inside.parent
        inside = None if parent is None or parent.operation.name == "func.func" else parent.operation
    return inside is not None and (made is None or made.is_before_in_block(inside))
