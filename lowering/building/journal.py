"""What a kernel notes before it writes to an argument, so that it can put everything back where it fails.

    journal = Journal(array)      before the first write
    journal.note([i, j])          before each
    ...
    journal.put_back()            where the kernel failed
    journal.release()

Noted are positions and what stood there, for up to an element in sixteen. With more writes than that the whole array is copied aside, once,
and nothing is noted any more. A small one is copied first of all. What is put back is the copy, if there is one, then what was noted before
it was made, from the last to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import SIGNED_INDEX, Scalar, bytes_of, maximum, minimum, of
from tierup.lowering.building.loops import Span, carried, either, nest, twice, when

ONCE = "tierup.once"  # of a copy that is made once a call at most, though it stands in a loop
TWICE = "tierup.twice"  # of a loop that is there with notes and without
_SMALL = 1 << 15  # bytes: a copy of them takes less than a microsecond
_SHARE, _LEAST = 16, 64  # a note for each so many elements, and so many notes in any case

Position = Sequence[ir.Value]  # an index for each dim


class Journal:
    """Of a dense memref of rank 1 or more, made at the insertion point, where all memory is allocated that it needs."""

    def __init__(self, array: ir.Value) -> None:
        element, rank = ir.MemRefType(array.type).element_type, ir.MemRefType(array.type).rank
        self._array, self._flat = array, _flat(array)
        self._sizes = [_signed(b.dim(array, axis)) for axis in range(rank)]
        self._length = reduce(mul, self._sizes)
        self._copy = b.alloc_like(array)
        self._room = maximum(self._length >> _SHARE.bit_length() - 1, _LEAST)
        unknown = [ir.ShapedType.get_dynamic_size()]
        self._positions = b.alloc(ir.MemRefType.get(unknown, b.index_type()), [self._room])
        self._values = b.alloc(ir.MemRefType.get(unknown, element), [self._room])
        self._count = b.alloca(ir.MemRefType.get([], b.index_type()))  # once there is a copy, with the room and 1 on top
        b.store(b.index(0), self._count)
        with when(self._length * bytes_of(element) <= _SMALL):
            self._copy_aside()

    def note(self, at: Position) -> None:
        """Note an element that is about to be written."""
        self._unless_copied(1, lambda: self._add(self._position(at)))

    def note_loop(self, span: Span, stores: int, positions: Callable[[Scalar], Sequence[Position]]) -> None:
        """Note all that a loop over `span` may write by so many stores: `positions` builds where they write in a round. Of rounds that
        do not come to a store that may lie anywhere."""
        start, end, step = map(_signed, span)
        rounds = maximum(end - start, 0).call("arith.ceildivsi", step)

        def round_(at: Scalar, _: object) -> list[ir.Value]:
            for position in positions(at):
                self._add(minimum(maximum(self._position(position), 0), self._length - 1))
            return []

        def notes() -> None:
            with when(self._length > 0):
                carried(span, [], round_)

        self._unless_copied(rounds * stores, notes)

    def note_view(self, view: ir.Value) -> None:
        """Note all elements of a view of the array, or of the array itself."""
        rank = ir.MemRefType(view.type).rank
        _, offset, *rest = b.metadata(view)
        sizes, strides = rest[:rank], rest[rank:]

        def element(at: list[Scalar], _: object) -> list[ir.Value]:
            self._add(sum(map(mul, at, strides), offset))
            return []

        self._unless_copied(reduce(mul, sizes, b.index(1)), lambda: nest(sizes, [], element))

    def twice(self, loop: ir.Operation) -> None:
        """Have a copy of a loop run where nothing is noted any more: notes go into the loop itself. Once for a loop."""

        if TWICE in loop.attributes:
            return
        loop.attributes[TWICE] = ir.UnitAttr.get()
        with ir.InsertionPoint(loop):
            twice(loop, self._is_copied())

    def put_back(self) -> None:
        """Make the array what it was when the journal was made."""
        count, copied = _signed(b.load(self._count)), self._is_copied()
        with when(copied):
            b.op("memref.copy", [self._copy, self._array])
        (notes,) = either(copied, [b.index_type()], lambda: [count - self._room - 1], lambda: [count])

        def one(at: Scalar, _: object) -> list[ir.Value]:
            last = _signed(notes) - 1 - _signed(at)
            b.store(b.load(self._values, last), self._flat, b.load(self._positions, last))
            return []

        carried((b.index(0), notes, b.index(1)), [], one)

    def release(self) -> None:
        """Free what it allocated."""
        for memory in (self._copy, self._positions, self._values):
            b.op("memref.dealloc", [memory])

    def _unless_copied(self, needed: Scalar | int, notes: Callable[[], object]) -> None:
        count = _signed(b.load(self._count))

        def note() -> list[ir.Value]:
            notes()
            return []

        def copy() -> list[ir.Value]:
            with when(count <= self._room):
                self._copy_aside()
            return []

        either(count + needed <= self._room, [], note, copy)

    def _is_copied(self) -> Scalar:
        return _signed(b.load(self._count)) > self._room

    def _copy_aside(self) -> None:
        b.op("memref.copy", [self._array, self._copy], **{ONCE: ir.UnitAttr.get()})
        b.store(_signed(b.load(self._count)) + self._room + 1, self._count)

    def _add(self, position: Scalar) -> None:
        count = _signed(b.load(self._count))
        b.store(position, self._positions, count)
        b.store(b.load(self._flat, position), self._values, count)
        b.store(count + 1, self._count)

    def _position(self, at: Position) -> Scalar:
        """Of an element, in the array's memory."""
        first, *others = map(_signed, at)
        return reduce(lambda so_far, next_: so_far * next_[0] + next_[1], zip(self._sizes[1:], others, strict=True), first)


def _signed(number: ir.Value) -> Scalar:
    return of(number, SIGNED_INDEX)


def _flat(array: ir.Value) -> ir.Value:
    """The array's elements in one row."""
    type_ = ir.MemRefType(array.type)
    if type_.rank == 1:
        return array
    size = ir.ShapedType.get_dynamic_size() if not type_.has_static_shape else reduce(mul, type_.shape)
    i64 = b.integer_type(64)
    dims = ir.ArrayAttr.get([ir.ArrayAttr.get([ir.IntegerAttr.get(i64, axis) for axis in range(type_.rank)])])
    return b.value("memref.collapse_shape", [array], ir.MemRefType.get([size], type_.element_type), reassociation=dims)
