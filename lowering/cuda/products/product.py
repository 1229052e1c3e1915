"""Which ops on buffers are matrix products, and which loop plays which part in one.

    linalg.matmul, linalg.batch_matmul, and linalg.generic { %s = acc + x * y } whose loops are

    batch   in x, y and the result          m   in x and the result
    k       in x and y: summed              n   in y and the result
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar

_CASTS = ("arith.extf", "arith.extsi", "arith.extui", "arith.bitcast", "arith.trunci")


@dataclass(frozen=True)
class Product:
    """`op` reads x and y and adds to, or overwrites, its result. The loops of each part, by number, in the order of the result."""

    op: Structured
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    def contiguous(self, operand: int) -> int:
        """The loop along which neighbouring elements of an operand lie in memory (by its last axis)."""
        last = list(self.op.maps[operand].results)[-1]
        return int(ir.AffineDimExpr(last).position)


@dataclass(frozen=True)
class Operand:
    """x or y of a product, which tiles are taken of."""

    product: Product
    operand: int

    @property
    def line(self) -> tuple[int, ...]:
        """Its loops of m or n."""
        return (self.product.m, self.product.n)[self.operand]

    @property
    def buffer(self) -> ir.Value:
        """The buffer that holds it."""
        return self.product.op.buffers[self.operand]

    @property
    def element(self) -> ir.Type:
        """The type of its elements."""
        return ir.ShapedType(self.buffer.type).element_type

    @property
    def along_k(self) -> bool:
        """Whether neighbours in memory are neighbours along k."""
        return self.product.contiguous(self.operand) in self.product.k

    def places(self, at: dict[int, Scalar]) -> list[Scalar]:
        """Where an element lies in memory, by the positions in the product's loops."""
        return [at[ir.AffineDimExpr(e).position] for e in self.product.op.maps[self.operand].results]


def product_of(op: ir.Operation) -> Product | None:
    """None for an op that is no product with at least one m, n and k, each longer than one element."""
    structured = Structured.of(op)
    if structured is None or structured.reads != 2 or len(structured.buffers) != 3 or not multiplies_and_adds(op):
        return None
    loops = [_loops(map_) for map_ in structured.maps]
    if any(found is None for found in loops):
        return None
    x, y, out = (set(found) for found in loops if found is not None)
    parts = {"batch": x & y & out, "m": (x & out) - y, "n": (y & out) - x, "k": (x & y) - out}
    everything = range(len(structured.iterators))
    reduced = {i for i in everything if structured.iterators[i] == "reduction"}
    if set().union(*parts.values()) != set(everything) or parts["k"] != reduced:
        return None
    order = [i for i in loops[2] or [] if i in out]
    batch, m, n = (tuple(i for i in order if i in parts[part]) for part in ("batch", "m", "n"))
    found = Product(structured, batch, m, n, tuple(sorted(parts["k"])))
    return found if found.m and found.n and found.k and length(structured, found.m) != 1 != length(structured, found.n) else None


def _loops(map_: ir.AffineMap) -> list[int] | None:
    """The loops that index a buffer's axes, each axis by one of its own; None for anything else."""
    results = list(map_.results)
    if not all(isinstance(e, ir.AffineDimExpr) for e in results):
        return None
    found = [ir.AffineDimExpr(e).position for e in results]
    return found if len(set(found)) == len(found) else None


def length(op: Structured, loops: tuple[int, ...]) -> int | None:
    """How many positions the loops have together; None where that is not known."""
    total = 1
    for loop in loops:
        sizes = [
            b.shape_of(buffer.type)[axis]
            for buffer, map_ in zip(op.buffers, op.maps, strict=True)
            for axis, e in enumerate(map_.results)
            if ir.AffineDimExpr(e).position == loop
        ]
        known = [size for size in sizes if size != ir.ShapedType.get_dynamic_size()]
        if not known:
            return None
        total *= known[0]
    return total


def multiplies_and_adds(op: ir.Operation) -> bool:
    """Whether the body is acc + x * y, operands cast to the accumulator's type or not."""
    if len(op.regions) != 1 or not len(op.regions[0].blocks):
        return False
    block = op.regions[0].blocks[0]
    last = last_of(block)
    added = b.defining_op(last.operands[0]) if len(last.operands) == 1 else None
    if added is None or added.name not in ("arith.addf", "arith.addi"):
        return False
    sides = list(added.operands)
    others = [v for v in sides if v != block.arguments[-1]]
    times = b.defining_op(others[0]) if len(others) == 1 else None
    if times is None or times.name not in ("arith.mulf", "arith.muli"):
        return False
    found = [_uncast(v) for v in times.operands]
    return found in ([block.arguments[0], block.arguments[1]], [block.arguments[1], block.arguments[0]])


def _uncast(value: ir.Value) -> ir.Value:
    while (made := b.defining_op(value)) is not None and made.name in _CASTS:
        value = made.operands[0]
    return value
