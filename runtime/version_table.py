"""The versions of a program that stand side by side, and the dispatch tables that call them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tierup.lowering.entry_records import VersionRecord
from tierup.runtime import last_plan
from tierup.runtime.dispatch import DispatchTable, make_table
from tierup.runtime.last_plan import ExecutedPlan
from tierup.runtime.plans import Compiled
from tierup.runtime.signature import Signature
from tierup.runtime.strategy import Bet

if TYPE_CHECKING:
    from tierup.runtime.direct import DirectTable, Owner


@dataclass(frozen=True, eq=False)
class Version:
    """A compiled bet."""

    bet: Bet
    record: VersionRecord
    compiled: Compiled
    call: int
    guards: str
    function: str = ""  # the program's name

    def __post_init__(self) -> None:
        last_plan.register(self.record.serial, self)

    @property
    def milliseconds(self) -> float:
        return self.compiled.milliseconds

    def executed(self) -> ExecutedPlan:
        """What `last_executed_plan` says after a run."""
        return ExecutedPlan(self.function, "native", self, self.guards)

    def __repr__(self) -> str:
        return f"<version: {self.guards}: {self.bet.kind}, compiled in {self.milliseconds:.0f} ms>"


class VersionTable:
    """Versions of one program, for calls that all go through `slow(*flat)` when none fits and through `failed(record, status, flat)`
    when native code left. `direct`: the table in the user's convention that serves them too; `owner` answers what leaves that one.

    Changes are made under `lock`, which the table's owner may hold over more than one of them; calls take no lock.
    """

    def __init__(self, width: int, slow: Callable[..., Any], failed: Callable[..., Any], direct: DirectTable | None, owner: Owner) -> None:
        self._width, self._slow, self._failed = width, slow, failed
        self._direct, self._owner = direct, owner
        self.lock = threading.RLock()
        self.versions: tuple[Version, ...] = ()
        self._tables: dict[str, DispatchTable] = {}
        self._callables: dict[str, Callable[..., Any]] = {}
        self._retired_direct_hits = 0

    def callable(self, entry: str) -> Callable[..., Any]:
        """What runs the version that fits. `entry`: native or python."""
        run = self._callables.get(entry)
        return run if run is not None else self._callables.setdefault(entry, self._table(entry).callable())

    def _table(self, entry: str) -> DispatchTable:
        with self.lock:
            table = self._tables.get(entry)
            if table is None:
                table = make_table(self._width, self._slow, self._failed, entry=entry)
                for version in self.versions:
                    table.add(version.record)
                self._tables[entry] = table
            return table

    def add(self, version: Version, most: int) -> list[Version]:
        """Put a version before the others. The least used ones that must go, so that there are no more than `most`."""
        with self.lock:
            evicted = []
            while len(self.versions) >= most:
                evicted.append(min(self.versions, key=self.hits))
                self.remove(evicted[-1])
            self.versions = (*self.versions, version)
            for table in self._tables.values():
                table.add(version.record, first=True)
            if self._direct is not None:
                self._direct.add(self._owner, version)
            return evicted

    def remove(self, version: Version) -> None:
        """Take a version out; calls that are in it finish."""
        with self.lock:
            self.versions = tuple(v for v in self.versions if v is not version)
            for table in self._tables.values():
                table.remove(version.record)
            if self._direct is not None:
                self._retired_direct_hits += self._direct.hits(version.record)
                self._direct.remove(version.record)

    def clear(self) -> None:
        with self.lock:
            for version in self.versions:
                self.remove(version)

    def hits(self, version: Version) -> int:
        """How many calls a version answered."""
        total = sum(table.hits(version.record) for table in self._tables.values())
        return total + (self._direct.hits(version.record) if self._direct is not None else 0)

    def counts(self) -> tuple[int, int]:
        """(hits, those of them that left native code at a site), versions that are gone included. Without what left the direct table."""
        with self.lock:
            counts = [table.counts() for table in self._tables.values()]
            hits = sum(c.hits for c in counts)
            if self._direct is not None:
                hits += self._retired_direct_hits + sum(self._direct.hits(v.record) for v in self.versions)
        return hits, sum(c.failures for c in counts)

    def nearest(self, signature: Signature) -> Version:
        """The version whose guards agree with a call in most arguments."""

        def agreement(version: Version) -> int:
            return sum(
                (spec.dtype == klass.dtype and len(spec.sizes) == klass.rank) + (spec.sizes == sizes)
                for spec, klass, sizes in zip(version.bet.specs, signature.classes, signature.sizes, strict=True)
            )

        return max(self.versions, key=agreement)
