"""Loops that carry tensors: for what one element after the other has to be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.mlir import ir
from tierup.lowering import builders as b

Body = Callable[[list[ir.Value], list[ir.Value]], list[ir.Value]]  # (positions, carried) -> carried


def nest(sizes: Sequence[ir.Value], carried: Sequence[ir.Value], body: Body) -> list[ir.Value]:
    """A nest of scf.for over [0, size) for each of `sizes` (index), outermost first; the carried values pass through all."""
    return _nest(list(sizes), list(carried), [], body)


def _nest(sizes: list[ir.Value], carried: list[ir.Value], positions: list[ir.Value], body: Body) -> list[ir.Value]:
    if not sizes:
        return body(positions, carried)
    loop = b.op("scf.for", [b.index(0), sizes[0], b.index(1), *carried], [v.type for v in carried], regions=1)
    types = [b.index_type(), *(v.type for v in carried)]
    block = loop.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        b.op("scf.yield", _nest(sizes[1:], arguments[1:], [*positions, arguments[0]], body))
    return list(loop.results)
