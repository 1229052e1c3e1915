"""What a kernel does with the numbers of a product's result that its threads have: the epilogue on them, and the stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import ALLOCATIONS
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.building.loops import when
from tierup.lowering.cuda.products.product import Product, length
from tierup.lowering.cuda.rows.blocks import positions

Place = dict[int, Scalar]  # loop -> position
Run = Sequence[tuple[Scalar, Scalar]]  # neighbours in a row of the result, the first at a multiple of their count: column, number
Line = tuple[Scalar, Sequence[Run]]  # a row, and what a thread has of it


def place_of(loops: tuple[int, ...], number: ir.Value, sizes: Sequence[ir.Value]) -> Place:
    """The positions in some loops of a product that a number of all their points stands for."""
    return dict(zip(loops, positions(number, [sizes[i] for i in loops]), strict=True))


def finish(
    product: Product, after: Structured | None, sizes: Sequence[ir.Value], ends: Sequence[ir.Value], tile: tuple[int, int], batch: Place,
    lines: Sequence[Line],
) -> None:  # fmt: skip
    """Write a thread's numbers, or what the epilogue makes of them, where they are inside the result of `ends` rows and columns, of which
    the block has `tile`. What surely is inside is not asked for, and neighbours are stored together."""
    store = after is None or not _is_private(product.op.buffers[2])
    m, n = (length(product.op, loops) for loops in (product.m, product.n))
    for row, runs in lines:
        with _below(row, ends[0], is_sure=_divides(tile[0], m)):
            for run in runs:
                if _divides(len(run), n):
                    with _below(run[0][0], ends[1], is_sure=_divides(tile[1], n)):
                        for column, total in run:
                            _write(product, after, sizes, batch, row, column, total, store=store)
                    continue
                for column, total in run:
                    with _below(column, ends[1]):
                        _write(product, after, sizes, batch, row, column, total, store=store)


def _write(
    product: Product, after: Structured | None, sizes: Sequence[ir.Value], batch: Place, row: ir.Value, column: ir.Value, total: ir.Value,
    *, store: bool,
) -> None:  # fmt: skip
    op = product.op
    place = batch | place_of(product.m, row, sizes) | place_of(product.n, column, sizes)
    loops = [place.get(x, b.index(0)) for x in range(len(op.iterators))]
    value = total if op.overwrites else op.load(2, loops) + total
    if store:
        op.write(loops, [value])
    if after is None:
        return
    outer = [loops[x] for x in _axes(op)]
    elements: list[ir.Value | None] = []
    for i, buffer in enumerate(after.buffers):
        elements.append(value if buffer == op.buffers[2] else after.load(i, outer) if after.read_of(i) else None)
    after.write(outer, after.compute(outer, elements))


@contextmanager
def _below(position: ir.Value, end: ir.Value, *, is_sure: bool = False) -> Iterator[None]:
    if is_sure:
        yield
        return
    with when(position < end):
        yield


def _divides(count: int, size: int | None) -> bool:
    return size is not None and size % count == 0


def _axes(op: Structured) -> list[int]:
    """The loops of the product that index its result's axes."""
    return [ir.AffineDimExpr(e).position for e in op.maps[2].results]


def _is_private(buffer: ir.Value) -> bool:
    """Whether nobody but the product and its epilogue looks at a buffer."""
    made = b.defining_op(buffer)
    return made is not None and made.name in ALLOCATIONS and sum(use.owner.name != "memref.dealloc" for use in buffer.uses) == 2
