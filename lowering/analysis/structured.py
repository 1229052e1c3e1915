"""A linalg op on buffers, and what it does point by point, as a thread of a device does it for one position of the op's loops.

    op = Structured.of(generic)
    op.write(at, op.compute(at, op.read(at)))       # memref.load ..., the body, memref.store ...

linalg.fill, memref.copy and the named products are taken for the linalg.generic that they stand for.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import is_used, move_out, take_place
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, lifted
from tierup.lowering.building.generics import NAMED_PRODUCTS, OVERWRITES, inputs_of, iterators_of, maps_of

_GENERIC = ("linalg.generic", *NAMED_PRODUCTS)
OPS = (*_GENERIC, "linalg.fill", "memref.copy")


@dataclass(frozen=True)
class Structured:
    """`maps`: where each buffer is accessed, by the loops' positions; the first `reads` buffers are only read. `overwrites`: a reduction
    whose outputs hold nothing yet: it does not add to them."""

    op: ir.Operation
    buffers: tuple[ir.Value, ...]
    maps: tuple[ir.AffineMap, ...]
    reads: int
    iterators: tuple[str, ...]
    overwrites: bool = False

    @staticmethod
    def of(op: ir.Operation) -> Structured | None:
        """None for an op of another kind, or one on tensors."""
        if op.name not in OPS or len(op.results):
            return None
        if op.name in _GENERIC:
            buffers = tuple(op.operands)
            maps, reads = tuple(maps_of(op)), inputs_of(op)
            named = (*["parallel"] * (maps[0].n_dims - 1), "reduction")
            iterators = named if op.name in NAMED_PRODUCTS else tuple(iterators_of(op))
        else:
            buffers = tuple(op.operands) if op.name == "memref.copy" else (op.operands[1],)
            if not isinstance(buffers[-1].type, ir.MemRefType):
                return None
            rank = ir.ShapedType(buffers[-1].type).rank
            maps, reads, iterators = (ir.AffineMap.get_identity(rank, op.context),) * len(buffers), len(buffers) - 1, ("parallel",) * rank
        if not all(isinstance(v.type, ir.MemRefType) for v in buffers):
            return None
        return Structured(op, buffers, maps, reads, iterators, OVERWRITES in op.attributes)

    @property
    def is_parallel(self) -> bool:
        """Whether none of the loops is a reduction."""
        return "reduction" not in self.iterators

    def sizes(self) -> list[Scalar]:
        """How often each loop runs, as index: the size of the first axis that it alone indexes. Built at the insertion point."""
        return [self._size(position) for position in range(len(self.iterators))]

    def _size(self, position: int) -> Scalar:
        known = None
        for buffer, map_ in zip(self.buffers, self.maps, strict=True):
            for axis, e in enumerate(map_.results):
                if isinstance(e, ir.AffineDimExpr) and e.position == position:
                    shaped = ir.ShapedType(buffer.type)
                    if not shaped.is_dynamic_dim(axis):
                        return b.index(shaped.get_dim_size(axis))
                    known = known or (buffer, axis)
        if known is None:
            raise ValueError(f"loop {position} of {self.op.name} indexes no axis by itself")
        return b.dim(*known)

    def read(self, at: Sequence[ir.Value], count: int | None = None) -> list[Scalar | None]:
        """The elements at a position, one per buffer (of the first `count`); None for those that the body does not look at."""
        used = self._used()[:count]
        return [self.load(i, at) if looked_at else None for i, looked_at in enumerate(used)]

    def read_of(self, i: int) -> bool:
        """Whether the body looks at the element that buffer `i` holds."""
        return self._used()[i]

    def _used(self) -> list[bool]:
        if self.op.name not in _GENERIC:
            return [i < self.reads for i in range(len(self.buffers))]
        return [is_used(argument) for argument in self.op.regions[0].blocks[0].arguments]

    def load(self, i: int, at: Sequence[ir.Value]) -> Scalar:
        """The element of buffer `i` at a position of the loops."""
        return b.load(self.buffers[i], *places(self.maps[i], at))

    def compute(self, at: Sequence[ir.Value], elements: Sequence[ir.Value | None]) -> list[Scalar]:
        """The new elements of the buffers that are written: the body, inlined."""
        if self.op.name == "linalg.fill":
            return lifted(self.op.operands)[:1]
        if self.op.name == "memref.copy":
            return lifted(v for v in elements[:1] if v is not None)
        made = self.op.clone()  # whatever stands in the body refers to the clone's arguments, to any depth
        block = made.regions[0].blocks[0]
        for argument, element in zip(block.arguments, elements, strict=True):
            if element is not None:
                argument.replace_all_uses_with(element)
        for inner in b.unerased(b.walk(made)):
            if inner.name == "linalg.index":
                take_place(inner, [at[ir.IntegerAttr(inner.attributes["dim"]).value]])
        values = lifted(move_out(block, made))
        made.erase()
        return values

    def write(self, at: Sequence[ir.Value], values: Sequence[ir.Value]) -> None:
        """Store what the written buffers hold from now on."""
        for i, value in enumerate(values, start=self.reads):
            b.store(value, self.buffers[i], *places(self.maps[i], at))

    def run_together(self, places_: Sequence[Sequence[ir.Value]]) -> None:
        """Some positions: all are read before the first is computed, so that loads are on their way together."""
        elements = [self.read(at) for at in places_]
        values = [self.compute(at, e) for at, e in zip(places_, elements, strict=True)]
        for at, v in zip(places_, values, strict=True):
            self.write(at, v)

    def run(self, at: Sequence[ir.Value]) -> None:
        """Read, compute and write one position."""
        self.write(at, self.compute(at, self.read(at)))


def places(map_: ir.AffineMap, at: Sequence[ir.Value]) -> list[ir.Value]:
    """The indices that a map gives for a position."""
    return [_number(e, at) for e in map_.results]


def _number(e: ir.AffineExpr, at: Sequence[ir.Value]) -> ir.Value:
    if isinstance(e, ir.AffineDimExpr):
        return at[e.position]
    if isinstance(e, ir.AffineConstantExpr):
        return b.index(e.value)
    return b.value("affine.apply", list(at), b.index_type(), map=ir.AffineMapAttr.get(ir.AffineMap.get(len(at), 0, [e])))
