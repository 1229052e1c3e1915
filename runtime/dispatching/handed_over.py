"""Calls that a version's guards take and its code hands over: on these values it has no answer, and tier 0 gives the result.

So it is where a result is an argument on some paths only (`return x if c else x * 2`): what native code computes is memory of its own, and
the paths on which it should be the argument are left to tier 0. Such a call is a miss. When the values of ints and bools that it came with
come again, a version is made for them: its code knows which way the program takes. Where arrays decide there is none to make.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

from tierup.dialect import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.abi import ArgumentSpec
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.dispatching.version import Version
from tierup.runtime.dispatching.version_table import VersionTable
from tierup.runtime.events import EventKind
from tierup.runtime.explaining.history import History
from tierup.runtime.options import Options
from tierup.runtime.program import Program
from tierup.runtime.strategy import BETTABLE, Bet

_CALLS_KEPT = 8  # of each version
_VERSIONS_KEPT = 64
_MISSES_PER_TICK = 16

Specs = tuple[ArgumentSpec, ...]


class Owner(Protocol):
    """Who has the versions."""

    history: History
    table: VersionTable

    def options(self) -> Options: ...
    def make_for_values(self, bet: Bet, flat: tuple[Any, ...], options: Options) -> bool: ...
    def call_once(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]: ...


class HandedOver:
    """What the versions of an owner handed over. Thread-safe.

    `owner.make_for_values` makes the version of a bet, if it may be made; whether it is there now. `program`: what tier 0 runs.
    """

    def __init__(self, owner: Owner, program: Program) -> None:
        self._owner, self._program = owner, program
        self._lock = forking.lock()
        self._calls: OrderedDict[Specs, deque[tuple[Any, ...]]] = OrderedDict()  # by the version's guards: values, the last call last
        self._made_of: dict[Specs, Specs] = {}  # guards with values -> those without, of which they were made
        self._in_vain: set[Specs] = set()  # guards that values do not help
        self._happening = owner.history.happening(EventKind.MISS, Reason.HANDED_OVER, action="ran again in tier 0")

    def answer(self, record: VersionRecord, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """Answer a call that native code left at an error site: by a version for its values, or in tier 0, which may raise."""
        owner = self._owner
        options = owner.options()
        version = next((v for v in owner.table.versions if v.record is record), None)
        specs = None if version is None else self._with_values(record.arguments, flat, max(options.num_profiled_runs, 1))
        if version is not None and specs is not None and self._make(version, specs, flat, options):
            return owner.call_once(flat, options)
        return owner.history.taken_over(flat, self._program, options, lambda: self._count(record, flat))

    def _make(self, version: Version, specs: Specs, flat: tuple[Any, ...], options: Options) -> bool:
        """Make a version for values that another hands over; whether it is there. It has the call then, not the other."""
        made = False
        with self._lock:
            self._made_of[specs] = version.record.arguments
        self._owner.table.hand_over(version.record)
        try:
            made = self._owner.make_for_values(replace(version.bet, specs=specs, for_values=True), flat, options)
        finally:
            if not made:
                self._owner.table.hand_over(version.record, -1)
        return made

    def _count(self, record: VersionRecord, flat: tuple[Any, ...]) -> None:
        """Native code had no answer for a call that does not raise."""
        owner, specs = self._owner, record.arguments
        with self._lock:
            self._calls.setdefault(specs, deque(maxlen=_CALLS_KEPT)).append(_values(specs, flat))
            self._calls.move_to_end(specs)
            if len(self._calls) > _VERSIONS_KEPT:
                self._calls.popitem(last=False)
            if specs in self._made_of:
                self._in_vain.add(self._made_of[specs])
        owner.table.hand_over(record)
        if owner.history.tell(self._happening, "misses") % _MISSES_PER_TICK == 0:
            owner.table.tick()

    def _with_values(self, specs: Specs, flat: tuple[Any, ...], least: int) -> Specs | None:
        """The guards of a version together with the values that a call has in common with so many before it that were handed over, as
        many values as there are; None when there are none."""
        values = _values(specs, flat)
        with self._lock:
            kept = () if specs in self._in_vain else tuple(self._calls.get(specs, ()))
        common = max((_equal(values, before) for before in reversed(kept)), key=len, default=())
        alike = sum(set(common) <= set(_equal(values, before)) for before in kept)
        if not common or alike < min(least, _CALLS_KEPT):
            return None
        return tuple(replace(spec, value=values[i]) if i in common else spec for i, spec in enumerate(specs))


def _values(specs: Specs, flat: Sequence[Any]) -> tuple[Any, ...]:
    """The values of ints and bools that guards leave open; None for other arguments."""
    return tuple([v if s.kind in BETTABLE and s.value is None else None for s, v in zip(specs, flat, strict=True)])


def _equal(values: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[int, ...]:
    """Where two calls had one value."""
    return tuple([i for i, (a, b) in enumerate(zip(values, before, strict=True)) if a is not None and a == b])
