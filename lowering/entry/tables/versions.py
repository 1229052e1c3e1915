"""What dispatch tables of both entries do alike: which versions they hold, in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from tierup.dialect.base import forking
from tierup.lowering.entry.records import Inputs, VersionRecord


class HasRecord(Protocol):
    """A version in force: what an entry has of it."""

    record: VersionRecord


Row = TypeVar("Row", bound=HasRecord)


class Versions(Generic[Row]):
    """The versions of a dispatch table. Thread-safe."""

    row: Callable[[VersionRecord], Row]  # makes what the entry has of a version

    def __init__(self, inputs: Inputs, failed: Callable[..., Any] | None) -> None:
        self.inputs, self._failed = inputs, failed
        self._lock = forking.lock()
        self._set(())

    @property
    def versions(self) -> tuple[VersionRecord, ...]:
        """In the order in which they are tried."""
        return tuple(row.record for row in self._rows)

    def add(self, record: VersionRecord, *, first: bool = False) -> None:
        """Put a version behind (or before) the others. Raises ValueError when its arguments are not as many as the table's, or it has
        exits and the table no `failed`, KeyError when a result size uses a symbol that no argument has."""
        if len(record.arguments) != len(self.inputs.sources):
            raise ValueError(f"a version of {len(record.arguments)} arguments for a table of {len(self.inputs.sources)}")
        if record.exits and self._failed is None:
            raise ValueError("a version with exits for a table without `failed`")
        made = self.row(record)
        with self._lock:
            self._set((made, *self._rows) if first else (*self._rows, made))
            unused = self._unused(None)
        del unused

    def remove(self, record: VersionRecord) -> None:
        """Take a version out; running calls finish. Raises ValueError when it is not in the table."""
        with self._lock:
            gone = self._find(record)
            self._set(tuple(row for row in self._rows if row is not gone))
            unused = self._unused(gone)
        del unused

    def reorder(self, records: Sequence[VersionRecord]) -> None:
        """Try the versions in this order. Raises ValueError unless it is a permutation of `versions`."""
        with self._lock:
            if len(records) != len(self._rows) or len(set(map(id, records))) != len(records):
                raise ValueError("not a permutation of the table's versions")
            self._set(tuple(self._find(r) for r in records))

    def promote(self) -> None:
        """Most used versions first."""
        self.reorder(sorted(self.versions, key=self.hits, reverse=True))

    def hits(self, record: VersionRecord) -> int:
        """Calls whose guards this version held. Raises ValueError when it is not in the table."""
        raise NotImplementedError

    def clear(self) -> None:
        """Take all versions out."""
        for record in self.versions:
            self.remove(record)

    def _find(self, record: VersionRecord) -> Row:
        found = self._by_record.get(record)
        if found is None:
            raise ValueError("the version is not in this table")
        return found

    def _set(self, rows: tuple[Row, ...]) -> None:
        """Let these answer calls."""
        self._rows = rows
        self._by_record = {row.record: row for row in rows}

    def _unused(self, gone: Row | None) -> object:
        """What goes when the lock is free, now that a row is gone."""
