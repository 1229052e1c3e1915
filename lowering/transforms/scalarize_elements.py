"""tierup-scalarize-elements: in loops, what is computed of single elements is computed with numbers.

    scf.for ... {
      %x = tensor.extract_slice %t[%i] [1] [1] : tensor<8xf64> to tensor<f64>
      %y = linalg.generic {iterator_types = []} ins(%x) outs(%e) { x * 2 }
      %u = tensor.insert_slice %y into %t[%i] [1] [1]

becomes

    scf.for ... {
      %x = tensor.extract %t[%i]
      %y = arith.mulf %x, %c2
      %u = tensor.insert %y into %t[%i]

A tensor of rank 0 is memory, and a choice between two is perhaps either's: bufferization then copies the array that an element was read
from, and each number was a block of memory. What else reads such a tensor gets it from the number (`tensor.from_elements`). Outside of
loops nothing is gained, and results are computed in the caller's memory.
"""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.ir.structure import blocks, hand_over, handed_over, is_used, last_of, made_again, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of, select

_MADE = "tensor.from_elements"
_LOOPS = ("scf.for", "scf.while")
_CARRY = (*_LOOPS, "scf.if")
_DYNAMIC = -(1 << 63)  # ShapedType's mark of an offset that is an operand


@register
class ScalarizeElements(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in [op for op in b.walk(function) if op.name in _CARRY and _is_in_loop(op)]:
            _carry_numbers(op)
        loops = [op for op in b.walk(function) if op.name in _LOOPS and not _is_in_loop(op.parent)]
        for op in (op for loop in loops for op in b.unerased(b.walk(loop))):
            rewrite = _REWRITES.get(op.name)
            if rewrite is not None and (values := rewrite(op)) is not None:
                take_place(op, values)
        for op in b.unerased(reversed([op for op in b.walk(function) if op.name == _MADE])):
            if not is_used(op.results[0]):
                op.erase()


def _is_in_loop(op: ir.Operation) -> bool:
    """Whether an op is a loop or lies in one."""
    while op.name not in _LOOPS:
        if op.parent is None:
            return False
        op = op.parent
    return True


def _carry_numbers(op: ir.Operation) -> None:
    """Let a loop or a branch carry numbers where it carries tensors of rank 0."""
    if not any(map(_has_rank_0, [*op.operands, *op.results])):
        return
    for block in blocks(op):
        last = last_of(block)
        with last.location, ir.InsertionPoint(last):
            values = [_number(v) if _has_rank_0(v) else v for v in last.operands]
        hand_over(block, values)
    with op.location, ir.InsertionPoint(op):
        operands = [_number(v) if _has_rank_0(v) else v for v in op.operands]
    made = made_again(op, operands, [_number_type(r) for r in op.results])
    for block in blocks(made):
        for argument in block.arguments:
            if _has_rank_0(argument):
                _be_number(argument, block)
    with op.location, ir.InsertionPoint(op):
        take_place(op, [_tensor(new) if _has_rank_0(old) else new for old, new in zip(op.results, made.results, strict=True)])


def _be_number(argument: ir.Value, block: ir.Block) -> None:
    """Let a block have a number in the place of a tensor of rank 0, for which a tensor of it stands in the block."""
    type_, number_type = argument.type, _number_type(argument)
    with block.owner.operation.location, ir.InsertionPoint.at_block_begin(block):
        stand_in = b.value("tensor.empty", [], type_)
        argument.replace_all_uses_with(stand_in)
        argument.set_type(number_type)
        take_place(stand_in.owner.operation, [_tensor(argument)])


def _number_type(value: ir.Value) -> ir.Type:
    return ir.ShapedType(value.type).element_type if _has_rank_0(value) else value.type


def _number(value: ir.Value) -> ir.Value:
    """The element of a tensor of rank 0."""
    maker = b.defining_op(value)
    if maker is not None and maker.name == _MADE:
        return maker.operands[0]
    if maker is not None and maker.name == "linalg.generic" and len(maker.results) == 1:
        body = maker.regions[0].blocks[0]
        [filled] = handed_over(body)
        made = b.defining_op(filled)
        if made is not None and made.block != body:
            return filled  # it is known what the tensor was filled with
    return b.value("tensor.extract", [value], ir.ShapedType(value.type).element_type)


def _tensor(number: ir.Value) -> ir.Value:
    return b.value(_MADE, [number], ir.RankedTensorType.get([], number.type))


def _has_rank_0(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and value.type.rank == 0


def _offsets(op: ir.Operation, dynamic: int) -> list[ir.Value]:
    """Where the part that an op reads or writes begins; its operands from `dynamic` on are the offsets that are no constants."""
    operands = iter(list(op.operands)[dynamic:])
    return [next(operands) if n == _DYNAMIC else b.index(n) for n in ir.DenseI64ArrayAttr(op.attributes["static_offsets"])]


def _read(op: ir.Operation) -> list[ir.Value] | None:
    if not _has_rank_0(op.results[0]):
        return None
    with op.location, ir.InsertionPoint(op):
        element = ir.ShapedType(op.results[0].type).element_type
        return [_tensor(b.value("tensor.extract", [op.operands[0], *_offsets(op, 1)], element))]


def _store(op: ir.Operation) -> list[ir.Value] | None:
    if not _has_rank_0(op.operands[0]):
        return None
    with op.location, ir.InsertionPoint(op):
        return [b.value("tensor.insert", [_number(op.operands[0]), op.operands[1], *_offsets(op, 2)], op.results[0].type)]


def _select(op: ir.Operation) -> list[ir.Value] | None:
    condition, yes, no = op.operands
    if not _has_rank_0(yes):
        return None
    with op.location, ir.InsertionPoint(op):
        condition = _number(condition) if _has_rank_0(condition) else condition
        return [_tensor(select(condition, of(_number(yes)), of(_number(no))))]


def _compute(op: ir.Operation) -> list[ir.Value] | None:
    """The body of a linalg.generic without loops, on numbers."""
    if not len(op.results) or not all(_has_rank_0(v) for v in op.operands):
        return None
    block = op.regions[0].blocks[0]
    with op.location, ir.InsertionPoint(op):
        for argument, value in zip(block.arguments, list(op.operands), strict=True):
            if is_used(argument):
                argument.replace_all_uses_with(_number(value))
        results = handed_over(block)
        for inner in [view.operation for view in block.operations]:
            if inner != last_of(block):
                inner.move_before(op)
        return [_tensor(number) for number in results]


def _element(op: ir.Operation) -> list[ir.Value] | None:
    """The number in a tensor of rank 0 that was made of it."""
    maker = b.defining_op(op.operands[0])
    return [maker.operands[0]] if maker is not None and maker.name == _MADE and _has_rank_0(op.operands[0]) else None


_REWRITES: dict[str, Callable[[ir.Operation], list[ir.Value] | None]] = {
    "tensor.extract_slice": _read,
    "tensor.insert_slice": _store,
    "arith.select": _select,
    "linalg.generic": _compute,
    "tensor.extract": _element,
}
