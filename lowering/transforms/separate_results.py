"""tierup-separate-results: what is computed in a result's buffer is that result's alone, and what a loop's round computes is the round's.

`eliminate-empty-tensors` lets a result grow in the caller's buffer from the `tensor.empty` that its chain of destinations starts
with. It does not ask who else uses a value of that chain: cse has let several results start from one empty tensor or one fill,
and then the first result is copied over the buffer that another still lives in.

    %e = tensor.empty() : tensor<f64>
    %0 = linalg.fill ins(%zero) outs(%e)
    %a = linalg.reduce ins(%x) outs(%0)
    %b = linalg.reduce ins(%y) outs(%0)

becomes

    %e = tensor.empty() : tensor<f64>
    %0 = linalg.fill ins(%zero) outs(%e)
    %a = linalg.reduce ins(%x) outs(%0)
    %f = tensor.empty() : tensor<f64>
    %1 = linalg.fill ins(%zero) outs(%f)
    %b = linalg.reduce ins(%y) outs(%1)

Where a chain's value that is computed, not filled, has other uses, or a loop goes on from it, the chain starts from a
`bufferization.alloc_tensor` in place of the `tensor.empty`: memory of its own, copied to the result at the end. The last value of a
chain may be read as often as it is: the buffer holds it to the end.

`eliminate-empty-tensors` also computes what is inserted into a tensor there, in its memory. In a loop, a tensor from outside is read again
in the next round, which would find what this round computed:

    scf.for ... { %2 = tensor.insert_slice %1 into %outside[%i] [1] [1] }

becomes

    scf.for ... { %c = bufferization.alloc_tensor() copy(%outside)   %2 = tensor.insert_slice %1 into %c[%i] [1] [1] }

Must be the last pass before `eliminate-empty-tensors`: cse undoes it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import inputs_of

_ALLOC = "bufferization.alloc_tensor"
_EMPTY = "tensor.empty"
_MATERIALIZE = "bufferization.materialize_in_destination"
_DESTINATIONS = {"tensor.insert_slice": 1, "tensor.insert": 1}  # op -> its operand that the result grows in
_LOOPS = frozenset({"scf.for", "scf.while"})
_SAME_MEMORY = frozenset({"tensor.cast", "tensor.expand_shape", "tensor.collapse_shape"})


@register
class SeparateResults(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for op in [op for op in b.walk(func) if op.name == "tensor.insert_slice" and _is_from_before_a_loop(op.operands[1], op)]:
            with op.location, ir.InsertionPoint(op):
                op.operands[1] = _memory(op.operands[1].type, copied=[op.operands[1]])
        for op in b.unerased(b.walk(func)):
            if op.name == _EMPTY:
                _separate(op)
        for op in [op for op in b.walk(func) if op.name == _EMPTY and not _is_private(op.results[0])]:
            with op.location, ir.InsertionPoint(op):
                take_place(op, [_memory(op.results[0].type, sizes=list(op.operands))])


def _memory(type_: ir.Type, sizes: Sequence[ir.Value] = (), copied: Sequence[ir.Value] = ()) -> ir.Value:
    segments = ir.DenseI32ArrayAttr.get([len(sizes), len(copied), 0])
    return b.value(_ALLOC, [*sizes, *copied], type_, operandSegmentSizes=segments)


def _is_from_before_a_loop(value: ir.Value, user: ir.Operation) -> bool:
    """Whether every round of a loop around an op has the same value, which something is in."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.operation.name in (_EMPTY, _ALLOC) and not _copies(owner.operation):
        return False  # nothing is read of it
    made = owner if isinstance(owner, ir.Block) else owner.operation.block
    block, loops = user.block, False
    while block != made:
        around = block.owner.operation
        loops = loops or around.name in _LOOPS
        block = around.block
    return loops


def _copies(op: ir.Operation) -> bool:
    return bool(op.name == _ALLOC and list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))[1] > 0)


def _separate(empty: ir.Operation) -> None:
    """Every user of an empty tensor gets one of its own, and every destination that starts from a fill a fill of its own."""
    for use in list(empty.results[0].uses)[1:]:
        user = use.owner.operation
        user.operands[use.operand_number] = empty.clone(ir.InsertionPoint(user)).operation.results[0]
        _separate_fill(user)
    for use in list(empty.results[0].uses):
        _separate_fill(use.owner.operation)


def _separate_fill(fill: ir.Operation) -> None:
    if not _is_fill(fill):
        return
    inits = [use for use in fill.results[0].uses if _grown(use) is not None]
    for use in inits[1:] if len(inits) == len(list(fill.results[0].uses)) else inits:
        user = use.owner.operation
        empty = fill.operands[len(fill.operands) - 1].owner.operation
        own = fill.clone(ir.InsertionPoint(user)).operation
        own.operands[len(own.operands) - 1] = empty.clone(ir.InsertionPoint(own)).operation.results[0]
        user.operands[use.operand_number] = own.results[0]


def _is_fill(op: ir.Operation) -> bool:
    """Whether an op makes a tensor from scalars and its destination alone: it reads no other tensor, also not element by element."""
    return (
        op.name.startswith("linalg.")
        and len(op.results) == 1
        and not any(isinstance(v.type, ir.ShapedType) for v in list(op.operands)[:-1])
        and not any(inner.name == "tensor.extract" for inner in b.walk(op))
    )


def _is_private(value: ir.Value) -> bool:
    """Whether each value that grows from here is used by the next alone, up to one that is a result, or to the end of the chain."""
    while True:
        uses = list(value.uses)
        if any(map(_is_for_a_loop, uses)):
            return False  # its rounds write on in the buffer: who else reads the value would find the last round's
        if any(use.owner.operation.name == _MATERIALIZE for use in uses):
            return all(_grown(use) is None and not _chosen(use) for use in uses)  # else another result could take this one's buffer
        if len(uses) != 1:
            return not any(_grown(use) is not None or _chosen(use) for use in uses)
        grown = _grown(uses[0])
        if grown is None:
            return True
        value = grown


def _is_for_a_loop(use: ir.OpOperand) -> bool:
    """Whether a loop starts from the value, or goes on with it."""
    return use.owner.operation.name.startswith("scf.") and _grown(use) is None


def _chosen(use: ir.OpOperand) -> bool:
    """Whether a use makes the value one of two that a result may be: the buffer of either may become the result's."""
    return bool(use.owner.operation.name == "arith.select")


def _grown(use: ir.OpOperand) -> ir.Value | None:
    """The value that takes over the memory of a used one; None when it is only read, or handed to a loop."""
    op, number = use.owner.operation, use.operand_number
    if op.name in _SAME_MEMORY:
        return op.results[0]
    if _DESTINATIONS.get(op.name) == number:
        return op.results[0]
    if op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
        inputs = inputs_of(op)
        return op.results[number - inputs] if number >= inputs else None
    if op.name == "scf.yield" and op.parent.operation.name == "scf.if":
        return op.parent.operation.results[number]
    return None
