"""The versions of a program that stand side by side, most likely first, and the dispatch tables that call them."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tierup.dialect.base import forking
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.account.times import NATIVE, During
from tierup.runtime.arguments.signature import Signature
from tierup.runtime.dispatching.dispatch import DispatchTable, make_table
from tierup.runtime.dispatching.version import Version
from tierup.runtime.faults import faults

if TYPE_CHECKING:
    from tierup.runtime.dispatching.direct import DirectTable, Owner


MISSES_PER_TICK = 16  # how often the order follows use, by those who give ticks


class VersionTable:
    """Versions of one program, for calls that all go through `slow(*flat)` when none fits and through `failed(record, status, flat)`
    when native code left. `direct`: the table in the user's convention that serves them too; `owner` answers what leaves that one. `make`
    makes the other tables.

    The order is by use: of late, and before that. At a `tick`, of which there is one at each addition and the owner gives others, a
    version's score is halved, and the logarithm of its hits since the last tick is added: who was called millions of times, but not
    lately, sinks within a few ticks. Hits alone change no order: a version more to try costs 5 ns, a tick microseconds. A version
    for special sizes stands before one that covers it whatever their scores, else it would never be hit again. Who is dropped has the
    lowest score, and is the oldest of these. No clock takes part: the same calls give the same order.

    Changes are made under `lock`, which the table's owner may hold over more than one of them; calls take no lock.
    """

    def __init__(
        self, width: int, slow: Callable[..., Any], failed: Callable[..., Any], direct: DirectTable | None, owner: Owner,
        make: Callable[..., DispatchTable] = make_table,
    ) -> None:  # fmt: skip
        self._make = make
        self._width, self._slow, self._failed = width, slow, failed
        self._direct, self._owner = direct, owner
        self.lock, self._here = forking.lock(), threading.local()
        self.versions: tuple[Version, ...] = ()
        self._tables: dict[str, DispatchTable] = {}
        self._callables: dict[str, Callable[..., Any]] = {}
        self._retired_direct_hits = 0
        self._scores: dict[int, float] = {}  # by a record's serial
        self._hits_before: dict[int, int] = {}  # at the last tick
        self._handed_over: dict[int, int] = {}  # calls that guards took, and code did not answer
        self._all_handed_over = 0

    def callable(self, entry: str) -> Callable[..., Any]:
        """What runs the version that fits. `entry`: native or python."""
        run = self._callables.get(entry)
        return run if run is not None else self._callables.setdefault(entry, self._table(entry).callable())

    def run(self, flat: tuple[Any, ...], entry: str) -> tuple[Any, ...]:
        """Answer a call with the version that fits, or with `slow`."""
        results: tuple[Any, ...]
        if faults.active:
            with faults.forcing(self.versions):
                results = self.callable(faults.entry(entry))(*flat)
        else:
            run = self.callable(entry)
            with During(NATIVE):
                results = run(*flat)
        return results

    def run_once(self, flat: tuple[Any, ...], entry: str) -> tuple[Any, ...]:
        """Call the version that was just made. Should it not fit, `slow` sees `is_called_once`, and makes nothing more for this call."""
        self._here.once = True
        try:
            return self.run(flat, entry)
        finally:
            self._here.once = False

    @property
    def is_called_once(self) -> bool:
        """Whether this thread is in `run_once`."""
        return getattr(self._here, "once", False)

    def _table(self, entry: str) -> DispatchTable:
        with self.lock:
            table = self._tables.get(entry)
            if table is None:
                table = self._make(self._width, self._slow, self._failed, entry=entry)
                for version in self.order():
                    table.add(version.record)
                self._tables[entry] = table
            return table

    def add(self, version: Version, most: int) -> list[Version]:
        """Put a version in its place, as if it were the most used one. The least used ones that must go, so that there are no more than
        `most`."""
        with self.lock:
            self._age()
            evicted = []
            while len(self.versions) >= most:
                evicted.append(min(self.versions, key=self._score))
                self.remove(evicted[-1])
            try:
                self.versions = (*self.versions, version)
                self._scores[version.record.serial] = max(map(self._score, self.versions))
                for table in self._tables.values():
                    table.add(version.record, first=True)
                if self._direct is not None:
                    self._direct.add(self._owner, version)
                self._reorder()
            except BaseException:  # Ctrl-C, no memory: it stands in all tables or in none
                self._take_out(version)
                raise
            return evicted

    def tick(self) -> None:
        """Count the hits since the last tick, and put the most likely versions first."""
        with self.lock:
            if self._age():
                self._reorder()

    def _age(self) -> bool:
        """Bring the scores up to date. Whether there were hits, without which the order stays."""
        any_new = False
        for version in self.versions:
            serial, hits = version.record.serial, self.hits(version)
            new = hits - self._hits_before.get(serial, 0)
            self._scores[serial] = self._score(version) / 2 + math.log2(1 + max(new, 0))
            self._hits_before[serial] = hits
            any_new |= new > 0
        return any_new

    def order(self) -> tuple[Version, ...]:
        """The versions in the order in which they are tried."""
        youngest_first = self.versions[::-1]
        placed = sorted(youngest_first, key=self._score, reverse=True)
        assumes_ints = any(v.speculation.assumes_ints for v in placed)  # then those that assume none stand behind, too
        for general in [v for v in placed if assumes_ints or v.is_general or v.record.serial in self._handed_over]:
            at = placed.index(general)
            special = [version for version in placed[at + 1 :] if general.covers(version)]
            placed = [*placed[:at], *special, *(v for v in placed[at:] if v not in special)]
        return tuple(placed)

    def _score(self, version: Version) -> float:
        return self._scores.get(version.record.serial, 0.0)

    def _reorder(self) -> None:
        records = [version.record for version in self.order()]
        for table in self._tables.values():
            if list(table.versions) != records:
                table.reorder(records)
        if self._direct is not None:
            self._direct.reorder(records)

    def remove(self, version: Version) -> None:
        """Take a version out; calls that are in it finish."""
        with self.lock:
            try:
                self._take_out(version)
            except BaseException:
                self._take_out(version)
                raise

    def _take_out(self, version: Version) -> None:
        """Take a version out of all tables that it is still in."""
        record = version.record
        self.versions = tuple(v for v in self.versions if v is not version)
        self._scores.pop(record.serial, None)
        self._hits_before.pop(record.serial, None)
        self._handed_over.pop(record.serial, None)
        for table in self._tables.values():
            if record in table.versions:
                table.remove(record)
        if self._direct is not None and self._direct.has(record):
            self._retired_direct_hits += self._direct.hits(record)
            self._direct.remove(record)

    def clear(self) -> None:
        """Take all versions out; calls that are in one finish."""
        with self.lock:
            for version in self.versions:
                self.remove(version)

    def hand_over(self, record: VersionRecord, calls: int = 1) -> None:
        """Calls that count as hits which left native code were none: it had no answer."""
        with self.lock:
            self._all_handed_over += calls
            if any(version.record is record for version in self.versions):
                self._handed_over[record.serial] = self._handed_over.get(record.serial, 0) + calls

    def hits(self, version: Version) -> int:
        """How many calls a version answered; 0 of one that is not here, or no longer."""
        with self.lock:
            if not any(each is version for each in self.versions):
                return 0
            total = sum(table.hits(version.record) for table in self._tables.values()) - self._handed_over.get(version.record.serial, 0)
            return total + (self._direct.hits(version.record) if self._direct is not None else 0)

    def total_hits(self) -> int:
        """The first of `counts`."""
        with self.lock:
            hits = sum([table.total_hits() for table in self._tables.values()]) - self._all_handed_over
            if self._direct is not None:
                hits += self._retired_direct_hits + self._direct.total_hits([v.record for v in self.versions])
            return hits

    def counts(self) -> tuple[int, int]:
        """(hits, those of them that left native code at a site), versions that are gone included, without calls handed over. The
        owner adds what left the direct table."""
        with self.lock:
            counts = [table.counts() for table in self._tables.values()]
            gone = self._all_handed_over
            hits = sum(c.hits for c in counts) - gone
            if self._direct is not None:
                hits += self._retired_direct_hits + sum(self._direct.hits(v.record) for v in self.versions)
        return hits, sum(c.failures for c in counts) - gone

    def nearest(self, signature: Signature) -> Version | None:
        """The version whose guards agree with a call in most arguments; None when there is none."""

        def agreement(version: Version) -> int:
            return sum(
                (spec.dtype == klass.dtype and len(spec.sizes) == klass.rank) + (spec.sizes == sizes)
                for spec, klass, sizes in zip(version.speculation.specs, signature.classes, signature.sizes, strict=True)
            )

        return max(self.versions, key=agreement, default=None)
