"""A mode that finds who looks up a value, block or op in a dict or set by an address that belonged to an erased one before.

Dicts and sets know them by where they lie (dialect/mlir.py). An entry that outlives its op says nothing wrong by itself; but when another op
is made in the same place, looking that one up finds what was noted of the first. Here each wrapper that is hashed is kept, with a number of
how often what lay there has been erased by then; two that are equal and have other numbers are such a find. Ops that MLIR's own passes erase
are not noticed.
"""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from graveyard import with_inner

from tierup.dialect.mlir import address, ir


class StaleKey(AssertionError):
    """Something new was taken for something erased."""


class StaleKeys:
    """`found`: what was taken for what, which whoever compiles takes for a failed compile. `asked`: how many keys were seen."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self.asked = 0
        self._erased: Counter[int] = Counter()  # by address
        self._seen: dict[int, tuple[Any, int]] = {}  # by id of a wrapper that was hashed: it, and how often its place had been erased

    def see(self, key: Any, place: int) -> None:
        if id(key) not in self._seen:
            self._seen[id(key)] = key, self._erased[place]
            self.asked += 1

    def compare(self, a: Any, b: Any) -> None:
        """Two keys that lie in one place."""
        one, other = self._seen.get(id(a)), self._seen.get(id(b))
        if one is not None and other is not None and one[1] != other[1]:
            frames = [frame for frame in traceback.extract_stack() if frame.filename != __file__]
            if frames[-1].name == "drop":  # what an op that MLIR erased has left goes with the next one of its place
                return
            calls = [f"{frame.filename}:{frame.lineno}" for frame in frames]
            self.found.append(f"a {type(a).__name__} is taken for one that was erased, by {' < '.join(reversed(calls[-4:]))}")
            raise StaleKey(self.found[-1])

    def erased(self, places: list[int]) -> None:
        self._erased.update(places)


def _places(op: ir.Operation) -> list[int]:
    """Where an op lies, and what is in it or given by it."""
    found = []
    for each in with_inner(op):
        found += [address(each), *map(_value_hash, each.results)]
        for block in (block for region in each.regions for block in region.blocks):
            found += [_block_hash(block), *map(_value_hash, block.arguments)]
    return found


_value_hash, _block_hash = ir.Value.__hash__, ir.Block.__hash__
_HASHES = {ir.Value: _value_hash, ir.Block: _block_hash, ir._OperationBase: address}


@contextmanager
def stale_keys() -> Generator[StaleKeys]:
    """All that is hashed inside is followed."""
    keys, changed = StaleKeys(), []

    def patch(owner: type, name: str, made: Any) -> None:
        changed.append((owner, name, owner.__dict__[name]))
        setattr(owner, name, made)

    def follow(owner: type, place: Any) -> None:
        equal = owner.__eq__

        def seen(self: Any) -> int:
            at: int = place(self)
            keys.see(self, at)
            return at

        def compared(self: Any, other: Any) -> Any:
            found = equal(self, other)
            if found is True:
                keys.compare(self, other)
            return found

        patch(owner, "__hash__", seen)
        patch(owner, "__eq__", compared)

    erase = ir._OperationBase.erase

    def erased(self: Any) -> None:
        places = _places(self.operation)
        erase(self)
        keys.erased(places)

    for owner, place in _HASHES.items():
        follow(owner, place)
    patch(ir._OperationBase, "erase", erased)
    try:
        yield keys
    finally:
        for owner, name, old in reversed(changed):
            setattr(owner, name, old)
