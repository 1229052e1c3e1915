"""tierup-narrow-products: a product of halves that were widened before it reads the halves themselves, and widens in its body.

    %a = linalg.generic { extf } ins(%x : tensor<?x?xbf16>) outs(... : tensor<?x?xf32>)
    %b = linalg.generic { extf } ins(%y : tensor<?x?xbf16>) outs(... : tensor<?x?xf32>)
    %c = linalg.matmul ins(%a, %b : tensor<?x?xf32>, tensor<?x?xf32>) outs(...)
becomes
    %c = linalg.matmul ins(%x, %y : tensor<?x?xbf16>, tensor<?x?xbf16>) outs(...)

The value is the same, for halves fit in f32; the tensor cores take halves, and there is half as much to fetch. What was transposed on the
way is read as it lies; what was reshaped after it was widened is reshaped as halves; what adds to zeros overwrites. Only for targets that
have such tensor cores (the module's `tierup.target`): the others' kernels multiply in f32 and are better off when widening is done once.

Whatever the type and the target, what was copied transposed only is read as it lies.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import dtype_of, of
from tierup.lowering.building.generics import NAMED_PRODUCTS, OVERWRITES, is_parallel, iterators_of, maps_of, order_of, read_in_order
from tierup.lowering.cuda.module_target import of_function
from tierup.lowering.cuda.products.product import multiplies_and_adds
from tierup.lowering.cuda.products.schemes import has_halves
from tierup.lowering.transforms.overwrite_products import fills_with_zero

_RESHAPES = ("tensor.collapse_shape", "tensor.expand_shape")


@register
class NarrowProducts(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        target = of_function(function)
        narrows = target is not None and has_halves(target)
        for op in b.unerased(op for op in b.walk(function) if _may_be_product(op)):
            if narrows:
                _narrow(op)
            if op.name in NAMED_PRODUCTS or (multiplies_and_adds(op) and _is_matrix_product(op)):
                _read_as_it_lies(op)


def _narrow(op: ir.Operation) -> None:
    """Let a product read halves that were widened, if both operands are halves of one type."""
    found = [_source(op, i) for i in (0, 1)]
    types = [v.type if source is None else source.value.type for v, source in zip(list(op.operands)[:2], found, strict=True)]
    halves = [_half(type_) for type_ in types]
    if halves[0] is not None and halves[0] == halves[1]:
        for i, source in enumerate(found):
            if source is not None:
                _read(op, i, source)
        _start_from_nothing(op)


def _read_as_it_lies(op: ir.Operation) -> None:
    """Let a product read what was only transposed on the way."""
    for i in (0, 1):
        while (source := _source(op, i)) is not None and source.element == ir.ShapedType(op.operands[i].type).element_type:
            _read(op, i, source)


@dataclass(frozen=True)
class _Source:
    """Axis k of an operand is axis order[k] of the tensor `value`, reshaped by `reshape`, if any."""

    value: ir.Value
    order: Sequence[int]
    reshape: ir.Operation | None = None

    @property
    def element(self) -> ir.Type:
        return ir.ShapedType(self.value.type).element_type


def _may_be_product(op: ir.Operation) -> bool:
    if op.name in NAMED_PRODUCTS:
        return True
    if op.name != "linalg.generic" or len(op.operands) != 3:
        return False
    return len(op.results) == 1 and not is_parallel(op)


def _half(type_: ir.Type) -> ir.Type | None:
    """The element type of a tensor of halves."""
    element = ir.ShapedType(type_).element_type if isinstance(type_, ir.ShapedType) else None
    return element if isinstance(element, (ir.F16Type, ir.BF16Type)) else None


def _source(op: ir.Operation, operand: int) -> _Source | None:
    """What an operand of a product was widened or transposed from; None where it was not."""
    value = op.operands[operand]
    made = b.defining_op(value)
    if made is not None and made.name in _RESHAPES:
        found = _made_from(b.defining_op(made.operands[0]))
        return None if found is None or list(found.order) != sorted(found.order) else _Source(found.value, range(_rank(value)), made)
    found = _made_from(made)
    swaps_batch = op.name == "linalg.batch_matmul" and found is not None and found.order[0] != 0
    return None if swaps_batch or not _reads_axes(op, operand) else found


def _rank(value: ir.Value) -> int:
    return int(ir.ShapedType(value.type).rank)


def _reads_axes(op: ir.Operation, operand: int) -> bool:
    return all(isinstance(e, ir.AffineDimExpr) for e in maps_of(op)[operand].results)


def _made_from(made: ir.Operation | None) -> _Source | None:
    """What a linalg.generic leaves as it is, or if it is halves widens to f32, and may transpose."""
    order = None if made is None else order_of(made)
    if made is None or order is None or not isinstance(made.operands[0].type, ir.ShapedType):
        return None
    block = made.regions[0].blocks[0]
    *body, last = b.ops_of(block)
    given = last.operands[0]
    if body:
        if [op.name for op in body] != ["arith.extf"] or given != body[0].results[0] or not isinstance(given.type, ir.F32Type):
            return None
        if _half(made.operands[0].type) is None:
            return None
        given = body[0].operands[0]
    return _Source(made.operands[0], order) if given == block.arguments[0] else None


def _read(op: ir.Operation, operand: int, source: _Source) -> None:
    """Make the product read the halves, and its body widen what it is given."""
    before = op.operands[operand]
    if source.reshape is not None:
        op.operands[operand] = _reshaped(source.reshape, source.value)
    else:
        read_in_order(op, operand, source.value, source.order)
    _erase_unused(before)
    argument = op.regions[0].blocks[0].arguments[operand]
    wide = argument.type
    if wide == source.element:
        return
    argument.set_type(source.element)
    with op.location, ir.InsertionPoint.at_block_begin(op.regions[0].blocks[0]):
        widened = of(argument).convert("arith.extf", dtype_of(wide))
    argument.replace_all_uses_except(widened, b.defining_op(widened))


def _start_from_nothing(op: ir.Operation) -> None:
    """A linalg.generic that adds to zeros overwrites, as tierup-overwrite-products has it of the named products."""
    if op.name != "linalg.generic" or OVERWRITES in op.attributes or not multiplies_and_adds(op) or not _is_matrix_product(op):
        return
    fill = b.defining_op(op.operands[2])
    if fill is None or not fills_with_zero(fill) or any(n in (0, 1) for v in op.operands for n in b.shape_of(v.type)):
        return
    op.operands[2] = list(fill.operands)[-1]
    op.attributes[OVERWRITES] = ir.UnitAttr.get(op.context)
    if not is_used(fill.results[0]):
        fill.erase()


def _is_matrix_product(op: ir.Operation) -> bool:
    """Whether the loops are m or batch, n, and one k, each axis indexed by one: what tierup-products-to-tiles surely takes."""
    maps = maps_of(op)
    if not all(isinstance(e, ir.AffineDimExpr) for map_ in maps for e in map_.results):
        return False
    x, y, out = ({ir.AffineDimExpr(e).position for e in map_.results} for map_ in maps)
    summed = [i for i, kind in enumerate(iterators_of(op)) if kind == "reduction"]
    return (x & y) - out == set(summed) and len(summed) == 1 and bool((x & out) - y) and bool((y & out) - x) and out <= x | y


def _reshaped(reshape: ir.Operation, value: ir.Value) -> ir.Value:
    type_ = ir.RankedTensorType.get(b.shape_of(reshape.results[0].type), ir.ShapedType(value.type).element_type)
    attributes = {a: reshape.attributes[a] for a in ("reassociation", "static_output_shape") if a in reshape.attributes}
    with reshape.location, ir.InsertionPoint(reshape):
        return b.value(reshape.name, [value, *list(reshape.operands)[1:]], type_, **attributes)


def _erase_unused(value: ir.Value) -> None:
    """Bufferization would keep what computes it."""
    made = b.defining_op(value)
    if made is not None and made.name in (*_RESHAPES, "linalg.generic") and not any(map(is_used, made.results)):
        before = made.operands[0]
        made.erase()
        _erase_unused(before)
