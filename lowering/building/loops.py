"""Loops that carry values, and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, lifted, of

Span = tuple[Scalar, Scalar, Scalar]  # from, up to, step
Body = Callable[[list[Scalar], list[Any]], Sequence[ir.Value]]  # (positions, carried) -> carried


def carried(span: Span, start: Sequence[ir.Value], body: Callable[[Scalar, list[Any]], Sequence[ir.Value]]) -> list[Any]:
    """A loop over `span` that carries values: `body` is given the position and what is carried, and gives it anew."""
    loop = b.op("scf.for", [*span, *start], [v.type for v in start], regions=1)
    types = [b.index_type(), *(v.type for v in start)]
    block = loop.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    with ir.InsertionPoint(block):
        position, *values = lifted(block.arguments)
        b.op("scf.yield", body(position, values))
    return lifted(loop.results)


def while_(holds: Callable[[list[Any]], ir.Value], start: Sequence[ir.Value], body: Callable[[list[Any]], Sequence[ir.Value]]) -> list[Any]:
    """A loop that carries values and goes on while they do what `holds` says."""
    types = [v.type for v in start]
    loop = b.op("scf.while", start, types, regions=2)
    before, after = (region.blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types)) for region in loop.regions)
    with ir.InsertionPoint(before):
        values = lifted(before.arguments)
        b.op("scf.condition", [holds(values), *values])
    with ir.InsertionPoint(after):
        b.op("scf.yield", body(lifted(after.arguments)))
    return lifted(loop.results)


@contextmanager
def when(condition: ir.Value) -> Iterator[None]:
    """The ops built inside run where the condition holds."""
    branch = b.op("scf.if", [condition], regions=2)
    with ir.InsertionPoint(branch.regions[0].blocks.append()):
        yield
        b.op("scf.yield")


def either(
    condition: ir.Value, types: Sequence[ir.Type], then: Callable[[], Sequence[ir.Value]], other: Callable[[], Sequence[ir.Value]]
) -> list[Any]:
    """The values of `then` where the condition holds, else those of `other`: ops built by the one that is called."""
    branch = b.op("scf.if", [condition], types, regions=2)
    for region, how in zip(branch.regions, (then, other), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            b.op("scf.yield", how())
    return lifted(branch.results)


def nest(sizes: Sequence[ir.Value], start: Sequence[ir.Value], body: Body) -> list[Any]:
    """A nest of scf.for over [0, size) for each of `sizes` (index), outermost first; the carried values pass through all."""
    if not sizes:
        return list(body([], list(start)))
    span = b.index(0), of(sizes[0]), b.index(1)
    return carried(span, start, lambda i, values: nest(sizes[1:], values, lambda inner, now: body([i, *inner], now)))


def twice(loop: ir.Operation, condition: ir.Value) -> ir.Operation:
    """Let a copy of a loop run where a condition holds, right before it, and the loop itself elsewhere. The copy."""
    copies = list[ir.Operation]()

    def copy() -> list[ir.Value]:
        copies.append(loop.clone(ip=ir.InsertionPoint.current).operation)
        return list(copies[0].results)

    def itself() -> list[ir.Value]:
        b.take([loop])
        return list(loop.results)

    with ir.InsertionPoint(loop):
        results = either(condition, [r.type for r in loop.results], copy, itself)
    for result, chosen in zip(loop.results, results, strict=True):
        result.replace_all_uses_except(chosen, list(loop.block.operations)[-1].operation)
    return copies[0]
