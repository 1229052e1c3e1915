"""Misses that are answered alike every time: what was found out about one is kept, so that the next costs microseconds.

Kept per looks of a call (dtypes, sizes, strides, flags; types of scalars, and values of those that guards may be about), for the versions
and options of that moment. Only misses for which no version will be made any more, of programs that write no argument: for others more
than the looks count (overlap, what is being compiled).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason

if TYPE_CHECKING:
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.explaining.history import Happening
    from tierup.runtime.options import Options

FOR_GOOD = (Reason.DEPTH_EXHAUSTED, Reason.EVICTED, Reason.SITE_GIVEN_UP, Reason.RELEASED)
_KEPT = 64  # an unseen shape per call must not grow memory

Looks = tuple[object, ...]


def looks_of(flat: tuple[Any, ...]) -> Looks:
    """A key under which flat arguments of equal looks are found."""
    return tuple([
        (leaf.dtype, leaf.shape, leaf.strides, leaf.flags.num) if type(leaf) is np.ndarray
        else (type(leaf), leaf) if isinstance(leaf, int) else type(leaf)
        for leaf in flat
    ])  # fmt: skip


class SettledMisses:
    """What to report of a miss, by the looks of the call. Each operation is atomic."""

    def __init__(self) -> None:
        self._known: dict[Looks, tuple[tuple[Version, ...], Options, Happening]] = {}

    def get(self, flat: tuple[Any, ...], versions: tuple[Version, ...], options: Options) -> Happening | None:
        known = self._known
        if not known:
            return None
        entry = known.get(looks_of(flat))
        return entry[2] if entry is not None and entry[0] is versions and entry[1] is options else None

    def put(self, flat: tuple[Any, ...], versions: tuple[Version, ...], options: Options, happening: Happening) -> None:
        if len(self._known) >= _KEPT:
            self._known = {}
        if not any(version.record.written for version in versions):
            self._known[looks_of(flat)] = versions, options, happening

    def clear(self) -> None:
        self._known = {}
