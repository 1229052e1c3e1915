"""Loops in a graph of blocks, as convert-scf-to-cf makes them: one header, which alone decides whether there is another round."""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir


@dataclass(frozen=True)
class NaturalLoop:
    """A loop: its `header`, and the `latches`, which branch back to it. `own`: the blocks of the region, as in `_own`; the loops that
    are found together share it, and who makes a block there adds it."""

    header: ir.Block
    latches: tuple[ir.Block, ...]
    own: dict[ir.Block, ir.Block]

    @property
    def branch(self) -> ir.Operation:
        """What the header ends with."""
        return last_of(self.header)

    def blocks(self) -> set[ir.Block]:
        """All blocks of the loop now, those of loops in it too: from which a way leads to a latch that does not leave by the header."""
        found, open_ = {self.header}, list(self.latches)
        while open_:
            block = open_.pop()
            if block not in found:
                found.add(block)
                open_ += [self.own[before] for before in block.predecessors]
        return found


def natural_loops(region: ir.Region) -> list[NaturalLoop]:
    """The loops of a region, inner ones first. Its flow is structured: what a block on the way from the entry branches back to is a header,
    whose first successor is the body."""
    own = _own(region)
    latches: dict[ir.Block, list[ir.Block]] = {}
    finished: set[ir.Block] = set()
    entry = region.blocks[0]
    on_path: dict[ir.Block, Iterator[ir.Block]] = {entry: iter(last_of(entry).successors)}
    while on_path:  # depth first, without recursion: programs are long
        block, open_ = next(reversed(on_path.items()))
        for to in map(own.__getitem__, open_):
            if to in on_path:
                latches.setdefault(to, []).append(block)
            elif to not in finished:
                on_path[to] = iter(last_of(to).successors)
                break
        else:
            finished.add(block)
            del on_path[block]
    return [NaturalLoop(header, tuple(found), own) for header, found in latches.items()]


def _own(region: ir.Region) -> dict[ir.Block, ir.Block]:
    """The blocks of a region as its own: a wrapper that a terminator gave is no longer valid when that op is erased."""
    return {block: block for block in region.blocks}
