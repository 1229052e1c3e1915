"""tierup-merge-stores: a store into a part of a part is one store, and a constant array that is stored into is filled.

    %zero = arith.constant dense<0.0> : tensor<6x8xf64>
    %zeros = arith.constant dense<0.0> : tensor<8x8xf64>
    %1 = tensor.insert_slice %v into %zero[0, 1] [6, 6] [1, 1]
    %2 = tensor.insert_slice %1 into %zeros[1, 0] [6, 8] [1, 1]

becomes

    %empty = tensor.empty() : tensor<8x8xf64>
    %zeros = linalg.generic outs(%empty) { 0.0 }
    %2 = tensor.insert_slice %v into %zeros[1, 1] [6, 6] [1, 1]

`n = np.zeros((8, 8)); n[1:-1, 1:-1] = v` is such a program: indexing axis by axis makes the parts, and folding makes of a part of zeros a
constant of its own. Without this both are arrays in the object, that are copied out, and each part takes memory and a copy more. A part of
the very array that it is stored into is merged in the same way. Strides, and parts that something else reads, are left alone.
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of

_STORE, _READ, _CONSTANT = "tensor.insert_slice", "tensor.extract_slice", "arith.constant"
_STARTS = {_STORE: 1, "tensor.insert": 1, "bufferization.materialize_in_destination": 0}  # the operand that memory starts from
_DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()


@register
@dataclass(frozen=True)
class MergeStores(Pass):
    """Store into a part of a part at once, and fill constant arrays that are stored into."""

    name = "tierup-merge-stores"

    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            if op.name == _STORE:
                inner = b.defining_op(op.operands[0])
                if inner is not None and inner.name == _STORE and len(list(inner.results[0].uses)) == 1 and _is_same_part(inner, op):
                    _merge(inner, op)
        for op in b.unerased(b.walk(function)):
            if op.name == _CONSTANT and _number(op.results[0]) is not None:
                for use in list(op.results[0].uses):
                    if _starts(use):
                        _fill(use.owner.operation, use.operand_number, op.results[0])
                if not is_used(op.results[0]):
                    op.erase()


def _is_same_part(inner: ir.Operation, outer: ir.Operation) -> bool:
    """Whether what `inner` stores into is what stands at the place where `outer` stores that."""
    if not (_is_plain(inner) and _is_plain(outer)):
        return False
    part, whole = inner.operands[1], outer.operands[1]
    read = b.defining_op(part)
    if read is not None and read.name == _READ and _is_plain(read):
        return read.operands[0] == whole and list(read.operands)[1:] == list(outer.operands)[2:] and _statics(read) == _statics(outer)
    number = _number(part)
    return number is not None and number == _number(whole)


def _is_plain(op: ir.Operation) -> bool:
    """Whether an op reads or writes neighbours, of a part that has all axes."""
    ranks = {ir.ShapedType(v.type).rank for v in (*list(op.operands)[: 1 + (op.name == _STORE)], *op.results)}
    return len(ranks) == 1 and all(n == 1 for n in ir.DenseI64ArrayAttr(op.attributes["static_strides"]))


def _statics(op: ir.Operation) -> list[ir.Attribute]:
    return [op.attributes[name] for name in ("static_offsets", "static_sizes")]


def _number(value: ir.Value) -> ir.Attribute | None:
    """The number that all elements of a constant array are."""
    made = b.defining_op(value)
    if made is None or made.name != _CONSTANT or not isinstance(value.type, ir.RankedTensorType) or value.type.rank == 0:
        return None
    elements = made.attributes["value"]
    return elements.get_splat_value() if isinstance(elements, ir.DenseElementsAttr) and elements.is_splat else None


def _offsets(op: ir.Operation) -> list[int | ir.Value]:
    operands = iter(list(op.operands)[2:])
    return [next(operands) if n == _DYNAMIC else n for n in ir.DenseI64ArrayAttr(op.attributes["static_offsets"])]


def _merge(inner: ir.Operation, outer: ir.Operation) -> None:
    """Let `outer` store what `inner` stores, and `inner` go."""
    with outer.location, ir.InsertionPoint(outer):
        offsets = [_sum(x, y) for x, y in zip(_offsets(inner), _offsets(outer), strict=True)]
        dynamic = [v for v in offsets if not isinstance(v, int)]
        sizes = list(inner.operands)[2 + ir.DenseI32ArrayAttr(inner.attributes["operandSegmentSizes"])[2] :]
        merged = b.value(
            _STORE, [inner.operands[0], outer.operands[1], *dynamic, *sizes], outer.results[0].type,
            static_offsets=ir.DenseI64ArrayAttr.get([v if isinstance(v, int) else _DYNAMIC for v in offsets]),
            static_sizes=inner.attributes["static_sizes"], static_strides=inner.attributes["static_strides"],
            operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, len(dynamic), len(sizes), 0]),
        )  # fmt: skip
    outer.results[0].replace_all_uses_with(merged)
    outer.erase()
    inner.erase()


def _sum(x: int | ir.Value, y: int | ir.Value) -> int | ir.Value:
    if isinstance(x, int):
        return x + y if isinstance(y, int) else x + of(y)  # of a value + 0 is the value
    return of(x) + y


def _starts(use: ir.OpOperand) -> bool:
    """Whether the op that takes a value starts from it in memory, which is then a copy of it."""
    op = use.owner.operation
    if op.name in ("scf.for", "scf.while"):
        return bool(use.operand_number >= (3 if op.name == "scf.for" else 0))
    return bool(_STARTS.get(op.name) == use.operand_number)


def _fill(op: ir.Operation, operand: int, constant: ir.Value) -> None:
    """Let an op start from memory that is filled in the place of a constant array."""
    number = _number(constant)
    assert number is not None
    with op.location, ir.InsertionPoint(op):
        element = b.value(_CONSTANT, [], ir.ShapedType(constant.type).element_type, value=number)
        empty = b.value("tensor.empty", [], constant.type)
        op.operands[operand] = b.generic([], [], empty, lambda _: element)
