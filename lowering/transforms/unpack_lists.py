"""tierup-unpack-lists: the pieces that unbind, split and chunk give become selects and slices.

    %l = torch.aten.split.Tensor %x, %two, %dim : ... -> !torch.list<vtensor>
    %a, %b = torch.prim.ListUnpack %l
becomes
    %a = torch.aten.slice.Tensor %x, %dim, 0, 2, 1
    %b = torch.aten.slice.Tensor %x, %dim, 2, 4, 1

so that no list of tensors is left where its pieces are all that is asked for: by ListUnpack, or by a constant position. Lists of more
than `most` items are not written out.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Annotated

from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes.option_limits import AtLeast
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import items_of
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t

Piece = Callable[[ir.Operation, int], "tuple[ir.Value, ir.Value] | None"]  # (op, number) -> start and end


@register
class UnpackLists(Pass):
    most: Annotated[int, AtLeast(1)] = 4096  # items: a list that would be longer by being joined or repeated is left as it is

    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(b.walk(function)):
            with op.location, ir.InsertionPoint(op):
                made = self._made(op)
            if made is not None:
                take_place(op, made)

    def _made(self, op: ir.Operation) -> list[ir.Value] | None:
        """What an op's results are; None where that is not known."""
        if op.name == "torch.prim.ListUnpack":
            return _pieces(op, list(range(len(op.results))))
        if op.name == "torch.aten.__getitem__.t":
            number = t.known_int(op.operands[1])
            return None if number is None else _pieces(op, [number])
        if op.name in _LISTS:
            items = _LISTS[op.name](op, self.most)
            return None if items is None else [b.value("torch.prim.ListConstruct", items, op.results[0].type)]
        value = _NUMBERS[op.name](op) if op.name in _NUMBERS else None
        return None if value is None else [value]


def _sizes(op: ir.Operation, most: int) -> list[ir.Value] | None:
    known = t.sizes_of(op.operands[0])
    return None if known is None else [t.size(op.operands[0], axis) for axis in range(len(known[0]))]


def _sliced(op: ir.Operation, most: int) -> list[ir.Value] | None:
    items = items_of(op.operands[0])
    bounds = [t.known_int(v) if str(v.type) == "!torch.int" else None for v in list(op.operands)[1:]]
    unknown = [v for v, found in zip(list(op.operands)[1:], bounds, strict=True) if found is None and str(v.type) == "!torch.int"]
    return None if items is None or unknown or bounds[2] == 0 else items[slice(*bounds)]


def _repeated(op: ir.Operation, most: int) -> list[ir.Value] | None:
    items, count = items_of(op.operands[0]), t.known_int(op.operands[1])
    return None if items is None or count is None or len(items) * count > most else items * count


def _joined(op: ir.Operation, most: int) -> list[ir.Value] | None:
    items, more = items_of(op.operands[0]), items_of(op.operands[1])
    return None if items is None or more is None or more and len(items) + len(more) > most else items + more


_LISTS: dict[str, Callable[[ir.Operation, int], list[ir.Value] | None]] = {
    "torch.aten.size": _sizes,
    "torch.aten.add.t": _joined,
    "torch.aten.mul.left_t": _repeated,
    "torch.aten.slice.t": _sliced,
    "torch.aten.list.t": lambda op, most: items_of(op.operands[0]),
}


def _extreme(op: ir.Operation) -> ir.Value | None:
    items = items_of(op.operands[0])
    return reduce(t.greatest if "max" in op.name else t.least, items) if items else None


def _length(op: ir.Operation) -> ir.Value | None:
    made = b.defining_op(op.operands[0])
    if made is not None and made.name == "torch.prim.ListConstruct":
        return t.integer(len(made.operands))
    axis = None if made is None or made.name not in _COUNTS else _axis(made)
    return None if made is None or axis is None else _COUNTS[made.name](made, t.size(made.operands[0], axis))


def _same(op: ir.Operation) -> ir.Value | None:
    """Whether two lists of ints are equal: item by item."""
    x, y = (items_of(v) for v in op.operands)
    if x is None or y is None:
        return None
    pairs = [t.Number(a).equals(b) for a, b in zip(x, y, strict=False)]
    return reduce(operator.and_, pairs) if pairs and len(x) == len(y) else t.constant(len(x) == len(y))


def _apart(op: ir.Operation) -> ir.Value | None:
    same = _same(op)
    return None if same is None else ~t.Number(same)


_NUMBERS: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "torch.aten.len.t": _length,
    "torch.aten.eq.int_list": _same,
    "torch.aten.ne.int_list": _apart,
    "torch.prim.max.self_int": _extreme,
    "torch.prim.min.self_int": _extreme,
}


def check_items(op: ir.Operation) -> None:
    """Assert that a list which is cut out of a tensor has the items that a ListUnpack or `__getitem__` takes out of it, where how many it
    has is for the run to say."""
    made = b.defining_op(op.operands[0])
    if made is None or made.name not in _COUNTS or (axis := _axis(made)) is None:
        return
    known = t.sizes_of(made.operands[0])
    position = op.operands[1] if len(op.operands) > 1 else None
    if known is not None and known[0][axis] is not None and (position is None or t.known_int(position) is not None):
        return  # inference has seen to it
    with op.location, ir.InsertionPoint(op):
        length = t.Number(b.value("torch.aten.len.t", [op.operands[0]], t.int_type()))
        if position is None:
            t.check(length.equals(len(op.results)), "a list has another number of items")
        else:
            t.check(t.Number(position) < length, "list index out of range")
            t.check(t.Number(position) >= -length, "list index out of range")


def _axis(op: ir.Operation) -> int | None:
    """The axis that an op cuts, counted from the first."""
    axis, known = t.known_int(op.operands[-1]), t.sizes_of(op.operands[0])
    return None if axis is None or known is None else axis % len(known[0])


def _quotient(x: t.Number, y: t.Number) -> t.Number:
    """x / y, rounded up; y is positive."""
    return (x + (y - 1)) // y


def _chunks(op: ir.Operation, size: t.Number) -> t.Number:
    """As many as asked for, or fewer; of no elements as many as asked for."""
    length = t.greatest(_quotient(size, t.greatest(op.operands[1], 1)), 1)
    return t.either(size.equals(0), lambda: op.operands[1], lambda: _quotient(size, length))


_COUNTS: dict[str, Callable[[ir.Operation, t.Number], t.Number]] = {
    "torch.aten.unbind.int": lambda op, size: size,
    "torch.aten.split.Tensor": lambda op, size: t.greatest(_quotient(size, t.greatest(op.operands[1], 1)), 1),
    "torch.aten.chunk": _chunks,
}


def _pieces(op: ir.Operation, numbers: list[int]) -> list[ir.Value] | None:
    """The items of these numbers, one for each result."""
    source = b.defining_op(op.operands[0])
    if source is not None and source.name == "torch.prim.ListConstruct":
        numbers = [n + len(source.operands) if n < 0 else n for n in numbers]
    if source is None or any(n < 0 for n in numbers):
        return None
    pieces = []
    for result, number in zip(op.results, numbers, strict=True):
        piece = _piece(source, number, result.type)
        if piece is None or piece.type != result.type:
            return None
        pieces.append(piece)
    return pieces


def _piece(source: ir.Operation, number: int, type_: ir.Type) -> ir.Value | None:
    name = torch_name(source)
    if name == "aten.unbind.int":
        return b.value("torch.aten.select.int", [source.operands[0], source.operands[1], t.integer(number)], type_)
    if name == "prim.ListConstruct":
        return source.operands[number] if number < len(source.operands) else None
    bounds = _PIECES[name](source, number) if name in _PIECES else None
    if bounds is None:
        return None
    return b.value("torch.aten.slice.Tensor", [source.operands[0], source.operands[2], *bounds, t.integer(1)], type_)


def _every(op: ir.Operation, length: ir.Value, number: int) -> tuple[ir.Value, ir.Value]:
    known = t.known_int(length)
    if known is not None:
        return t.integer(known * number), t.integer(known * (number + 1))
    return t.Number(length) * number, t.Number(length) * (number + 1)


def _split(op: ir.Operation, number: int) -> tuple[ir.Value, ir.Value]:
    return _every(op, op.operands[1], number)


def _chunk(op: ir.Operation, number: int) -> tuple[ir.Value, ir.Value] | None:
    """Pieces of ceil(size / chunks)."""
    chunks, axis, known = t.known_int(op.operands[1]), t.known_int(op.operands[2]), t.sizes_of(op.operands[0])
    if chunks is None or axis is None or known is None:
        return None
    size = known[0][axis]
    if size is not None:
        return _every(op, t.integer(-(-size // chunks)), number)
    return _every(op, (t.size(op.operands[0], axis % len(known[0])) + (chunks - 1)) // chunks, number)


def _sections(op: ir.Operation, number: int) -> tuple[ir.Value, ir.Value] | None:
    """Pieces whose lengths differ by one at most, the longer ones first."""
    count, axis, known = t.known_int(op.operands[1]), t.known_int(op.operands[2]), t.sizes_of(op.operands[0])
    size = None if axis is None or known is None else known[0][axis]
    if count is None or size is None:
        return None
    starts = [i * (size // count) + min(i, size % count) for i in (number, number + 1)]
    return t.integer(starts[0]), t.integer(starts[1])


def _with_sizes(op: ir.Operation, number: int) -> tuple[ir.Value, ir.Value] | None:
    sizes = items_of(op.operands[1])
    if sizes is None:
        return None
    start = t.integer(0)
    for size in sizes[:number]:
        start = start + size
    return start, start + sizes[number]


_PIECES: dict[str, Piece] = {
    "aten.split.Tensor": _split,
    "aten.chunk": _chunk,
    "aten.tensor_split.sections": _sections,
    "aten.split_with_sizes": _with_sizes,
    "aten.split.sizes": _with_sizes,
}
