"""The order in which the pure-Python entry tries versions: as `entry/tables/chain.py`, a few in a row, the static ones behind by hash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tierup.lowering.base.abi import ArgumentKind, scalar_bits
from tierup.lowering.entry.records import LINEAR, VersionRecord, is_static
from tierup.runtime.arguments.guards import device_arrays


def _part(value: object) -> object:
    """What of an argument the key holds. Equal for arguments that one static version takes; guards tell apart what else is equal."""
    if type(value) is np.ndarray or type(value) in device_arrays:
        return value.shape  # type: ignore[attr-defined]  # an array, by the test above
    if type(value) is float:
        return scalar_bits(ArgumentKind.FLOAT, value)
    return value if type(value) is int or type(value) is bool else None


class HashedOrder:
    """Positions of records, given most likely first. Immutable."""

    def __init__(self, records: Sequence[VersionRecord]) -> None:
        behind = range(LINEAR, len(records))
        hashed = [i for i in behind if is_static(records[i])]
        self._front = range(min(LINEAR, len(records)))
        self._unhashed = [i for i in behind if not is_static(records[i])]
        arguments = zip(*(records[i].arguments for i in hashed), strict=True)
        # a scalar counts where every hashed version speculates on its value
        keyed = [at for at, specs in enumerate(arguments) if all(s.kind is ArgumentKind.ARRAY or s.value is not None for s in specs)]
        self._keyed = keyed
        self._slots: dict[tuple[object, ...], list[int]] = {}
        for i in hashed:
            specs = (records[i].arguments[at] for at in keyed)
            key = tuple(s.sizes if s.kind is ArgumentKind.ARRAY else _part(s.value) for s in specs)
            self._slots.setdefault(key, []).append(i)

    def candidates(self, flat: Sequence[Any]) -> Iterator[int]:
        """The positions of versions that may fit, in order."""
        yield from self._front
        if self._slots:
            yield from self._slots.get(tuple(_part(flat[at]) for at in self._keyed), ())
        yield from self._unhashed
