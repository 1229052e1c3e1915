"""Loops in a graph of blocks, as convert-scf-to-cf makes them: one header, which alone decides whether there is another round."""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir


@dataclass(frozen=True)
class NaturalLoop:
    """A loop: its `header`, all its `blocks`, those of loops in it too, and the `latches`, which branch back to the header."""

    header: ir.Block
    blocks: frozenset[ir.Block]
    latches: tuple[ir.Block, ...]

    def holds(self, op: ir.Operation) -> bool:
        """Whether an op stands in the loop."""
        return op.block in self.blocks

    @property
    def branch(self) -> ir.Operation:
        """What the header ends with."""
        return last_of(self.header)


def headers(region: ir.Region) -> list[ir.Block]:
    """The headers of a region's loops, inner ones first. The region's flow is structured: a block that comes before one of those that lead
    to it, on every way from the entry, is a header."""
    found: list[ir.Block] = []
    finished: set[ir.Block] = set()
    on_path: dict[ir.Block, Iterator[ir.Block]] = {}
    entry = region.blocks[0]
    on_path[entry] = iter(_successors(entry))
    while on_path:  # depth first, without recursion: programs are long
        block, open_ = next(reversed(on_path.items()))
        for to in open_:
            if to in on_path:
                if to not in found:
                    found.append(to)
            elif to not in finished:
                on_path[to] = iter(_successors(to))
                break
        else:
            finished.add(block)
            del on_path[block]
    return sorted(found, key=lambda header: len(loop_of(header).blocks))


def loop_of(header: ir.Block) -> NaturalLoop:
    """The loop of a header: all blocks from which a way leads back to it that does not leave by the header."""
    behind = _reached(header)
    latches = tuple(p for p in header.predecessors if p in behind)
    blocks, open_ = {header}, list(latches)
    while open_:
        block = open_.pop()
        if block not in blocks:
            blocks.add(block)
            open_ += list(block.predecessors)
    return NaturalLoop(header, frozenset(blocks), latches)


def _successors(block: ir.Block) -> list[ir.Block]:
    return list(last_of(block).successors)


def _reached(header: ir.Block) -> set[ir.Block]:
    found: set[ir.Block] = set()
    open_ = _successors(header)
    while open_:
        block = open_.pop()
        if block not in found and block != header:
            found.add(block)
            open_ += _successors(block)
    return found
