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
the very array that it is stored into is merged in the same way, one with fewer axes too: the row i in `t[i, j] = v`, which several stores
into it would copy. Strides, and parts that something else reads, are left alone.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import is_used, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import of

_STORE, _READ, _CONSTANT = "tensor.insert_slice", "tensor.extract_slice", "arith.constant"
_STARTS = {_STORE: 1, "tensor.insert": 1, "bufferization.materialize_in_destination": 0}  # the operand that memory starts from
_DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()


@register
class MergeStores(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(reversed([op for op in b.walk(function) if op.name == _READ])):  # parts of parts before these
            _store_at_once(op)
        for op in b.unerased(b.walk(function)):
            if op.name == _STORE:
                inner = b.defining_op(op.operands[0])
                if inner is not None and inner.name == _STORE and _is_read_once(inner) and _is_same_constant(inner, op):
                    _merge(inner, op)
        for op in b.unerased(b.walk(function)):
            if op.name == _CONSTANT and _number(op.results[0]) is not None:
                for use in list(op.results[0].uses):
                    if _starts(use):
                        _fill(use.owner.operation, use.operand_number, op.results[0])
                if not is_used(op.results[0]):
                    op.erase()


def _store_at_once(part: ir.Operation) -> None:
    """Where all that is stored into a part goes back where the part is from, let it be stored there, and other parts of it be read there:
    of parts of one array it can be seen that they lie apart."""
    if not _is_plain(part):
        return
    users = [(use.owner.operation, use.operand_number) for use in part.results[0].uses]
    stores = [op for op, number in users if op.name == _STORE and number == 1]
    if not stores or not all(_goes_back(store, part) for store in stores):
        return
    for op in [op for op, number in users if op.name == _READ and number == 0 and _is_plain(op)]:
        with op.location, ir.InsertionPoint(op):
            read = _within(op, part, [part.operands[0]], op.results[0].type)
        take_place(op, [read])
    for store in stores:
        _merge(store, next(iter(store.results[0].uses)).owner.operation)


def _goes_back(store: ir.Operation, part: ir.Operation) -> bool:
    """Whether what a store makes of a part is stored where the part is from, and nothing else reads it."""
    if not (_is_plain(store) and _is_read_once(store)):
        return False
    use = next(iter(store.results[0].uses))
    back = use.owner.operation
    return (
        back.name == _STORE and use.operand_number == 0 and _is_plain(back)
        and list(back.operands)[1:] == list(part.operands) and _statics(back) == _statics(part)
    )  # fmt: skip


def _is_read_once(store: ir.Operation) -> bool:
    return len(list(store.results[0].uses)) == 1


def _is_same_constant(inner: ir.Operation, outer: ir.Operation) -> bool:
    """Whether both store into arrays of one number."""
    number = _number(inner.operands[1])
    return _is_plain(inner) and _is_plain(outer) and number is not None and number == _number(outer.operands[1])


def _is_plain(op: ir.Operation) -> bool:
    """Whether an op reads or writes neighbours."""
    return all(n == 1 for n in ir.DenseI64ArrayAttr(op.attributes["static_strides"]))


def _statics(op: ir.Operation) -> list[ir.Attribute]:
    return [op.attributes[name] for name in ("static_offsets", "static_sizes")]


def _kept_axes(op: ir.Operation) -> list[bool]:
    """Which axes of an array a part of it has: the others, of one element each, it has not got."""
    shape, kept = b.shape_of((op.results[0] if op.name == _READ else op.operands[0]).type), list[bool]()
    for size in ir.DenseI64ArrayAttr(op.attributes["static_sizes"]):
        at = sum(kept)
        kept.append(at < len(shape) and size == shape[at])
    return kept


def _number(value: ir.Value) -> ir.Attribute | None:
    """The number that all elements of a constant array are."""
    made = b.defining_op(value)
    if made is None or made.name != _CONSTANT or not isinstance(value.type, ir.RankedTensorType) or value.type.rank == 0:
        return None
    elements = made.attributes["value"]
    return elements.get_splat_value() if isinstance(elements, ir.DenseElementsAttr) and elements.is_splat else None


def _places(op: ir.Operation) -> tuple[list[int | ir.Value], list[ir.Value]]:
    """Where what an op reads or writes begins, and its sizes that the run knows."""
    operands = list(op.operands)[1 + (op.name == _STORE) :]
    statics = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
    offsets = iter(operands)
    return [next(offsets) if n == _DYNAMIC else n for n in statics], operands[statics.count(_DYNAMIC) :]


def _merge(inner: ir.Operation, outer: ir.Operation) -> None:
    """Let `outer` store what `inner` stores, and `inner` go."""
    with outer.location, ir.InsertionPoint(outer):
        merged = _within(inner, outer, [inner.operands[0], outer.operands[1]], outer.results[0].type)
    take_place(outer, [merged])
    inner.erase()


def _within(inner: ir.Operation, outer: ir.Operation, operands: list[ir.Value], type_: ir.Type) -> ir.Value:
    """What `inner` does to a part, done to the array of which `outer` reads or writes the part."""
    kept = _kept_axes(outer)
    places, sizes = _places(inner)
    at, lengths = iter(places), iter(ir.DenseI64ArrayAttr(inner.attributes["static_sizes"]))
    offsets = [_sum(next(at), start) if axis else start for start, axis in zip(_places(outer)[0], kept, strict=True)]
    dynamic = [v for v in offsets if not isinstance(v, int)]
    return b.value(
        inner.name, [*operands, *dynamic, *sizes], type_,
        static_offsets=ir.DenseI64ArrayAttr.get([v if isinstance(v, int) else _DYNAMIC for v in offsets]),
        static_sizes=ir.DenseI64ArrayAttr.get([next(lengths) if axis else 1 for axis in kept]),
        static_strides=outer.attributes["static_strides"],
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([*[1] * len(operands), len(dynamic), len(sizes), 0]),
    )  # fmt: skip


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
