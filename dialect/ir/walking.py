"""Walking over ops while some of them are erased: an op that is gone is not given out.

    for op in walk(func):              # every op below func, parents first
    for op in ops_of(block):              # those of one block
    for op in unerased(found):         # those of a list that was made before

The bindings notice that an op was erased only at the very object whose `erase` was called. At any other object for the op, such as those in
a list that somebody walks, reading it is reading freed memory. So `erase` tells all walks that are under way, whoever calls it.
What MLIR's own passes and patterns erase they do not learn: none is run in the middle of a walk.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

from tierup.dialect.mlir import ir


class _Walk:
    """The ops to come, the next one last, and the one that was given out last (None: it is gone)."""

    __slots__ = ("given", "rest")

    def __init__(self, rest: list[ir.Operation]) -> None:
        self.rest = rest
        self.given: ir.Operation | None = None


class _Walks(threading.local):
    def __init__(self) -> None:
        self.open: list[_Walk] = []


_walks = _Walks()
_erase = ir._OperationBase.erase


def walk(root: ir.Operation) -> Iterator[ir.Operation]:
    """Every op below `root`, parents first. The ops inside another are looked up once that was given out."""
    return _give_out(_inside(root), True)


def ops_of(block: ir.Block) -> Iterator[ir.Operation]:
    """The ops that a block has when asked, in order."""
    return _give_out([view.operation for view in block.operations], False)


def backwards(block: ir.Block) -> Iterator[ir.Operation]:
    """The ops that a block has when asked, the last first."""
    return _give_out([view.operation for view in block.operations][::-1], False)


def unerased(found: Iterable[ir.Operation]) -> Iterator[ir.Operation]:
    """The ops of a list, or of a walk that is made in advance, but those that are erased before their turn."""
    return _give_out(list(found), False)


def _give_out(found: list[ir.Operation], inner: bool) -> Iterator[ir.Operation]:
    under_way = _walks.open
    found.reverse()
    mine = _Walk(found)
    under_way.append(mine)
    try:
        while found:
            mine.given = found.pop()
            yield mine.given
            if inner and mine.given is not None and len(mine.given.regions):
                found.extend(reversed(_inside(mine.given)))
    finally:
        under_way.remove(mine)


def _inside(op: ir.Operation) -> list[ir.Operation]:
    return [view.operation for region in op.regions for block in region.blocks for view in block.operations]


def forget(op: ir.Operation) -> None:
    """Tell the walks that an op, and all in it, is about to go."""
    if not _walks.open:
        return
    gone = [op]
    for each in gone:
        if len(each.regions):
            gone += _inside(each)
        for under_way in _walks.open:
            if under_way.given is not None and each == under_way.given:
                under_way.given = None
            elif each in under_way.rest:
                under_way.rest.remove(each)


def _erase_and_tell(self: ir.Operation) -> None:
    """Erase the op; no walk will give it out any more."""
    forget(self)
    _erase(self)


ir._OperationBase.erase = _erase_and_tell  # type: ignore[method-assign]
