"""Calls that a version's guards take and its code hands over: on these values it has no answer, and tier 0 gives the result.

An int of more than 64 bits is Python's alone: where most calls have one, Python answers them all.

So it is where a result is a view of an argument on some paths only (`return x[1:] if c else x * 2`): what native code computes is memory of
its own, and the paths on which it should be the view are left to tier 0. Such a call is a miss. When the values of ints and bools that it
came with come again, a version is made for them: its code knows which way the program takes. Where arrays decide there is none to make.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tierup.dialect.base import forking
from tierup.dialect.base.exceptions import INT_TOO_LARGE
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ERROR_BASE, ArgumentSpec
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.base.recent import Recent
from tierup.runtime.dispatching.version_table import MISSES_PER_TICK, VersionTable
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.speculations import SPECULATED_KINDS, Speculation

_CALLS_KEPT = 8  # of each version
_VERSIONS_KEPT = 64

Specs = tuple[ArgumentSpec, ...]


class HandedOver:
    """What the versions of a table handed over. Thread-safe."""

    def __init__(self, context: Context, table: VersionTable) -> None:
        self._context, self._history, self._table = context, context.history, table
        self._lock = forking.lock()
        self._calls: Recent[Specs, deque[tuple[Any, ...]]] = Recent()  # by the version's guards: values, the last call last
        self._made_of: dict[Specs, Specs] = {}  # guards with values -> those without, of which they were made
        self._in_vain: set[Specs] = set()  # guards that values do not help
        self._template, self._too_large = (
            context.history.template(EventKind.HANDED_OVER, reason, action="ran again in tier 0")
            for reason in (Reason.HANDED_OVER, Reason.INT_TOO_LARGE)
        )

    def answer(
        self, record: VersionRecord, status: int, flat: tuple[Any, ...], make: Callable[[Speculation, tuple[Any, ...], Options], bool]
    ) -> tuple[Any, ...]:
        """Answer a call that native code left at an error site: by a version for its values, which `make` makes where one is due; else in
        tier 0, which raises the user's exception, or gives the result."""
        version = next((v for v in self._table.versions if v.record is record), None)
        sites = () if version is None else version.compiled.artifact.error_sites[status - ERROR_BASE :]
        if sites and sites[0].op == INT_TOO_LARGE:
            return self._context.run_again(flat, lambda: self._count_too_large(record), sites[0], record.serial)
        options = self._context.options()
        wanted = self._wanted(record, flat, options)
        if wanted is not None and self._give(record, wanted, lambda: make(wanted, flat, options)):
            return self._table.run_once(flat, options.entry)
        return self._context.run_again(flat, lambda: self._count(record, flat), sites[0] if sites else None, record.serial)

    def _wanted(self, record: VersionRecord, flat: tuple[Any, ...], options: Options) -> Speculation | None:
        """The version for the values of a call that native code left at an error site, where calls with these came before."""
        version = next((v for v in self._table.versions if v.record is record), None)
        specs = None if version is None else self._with_values(record.arguments, flat, max(options.num_profiled_runs, 1))
        return None if version is None or specs is None else replace(version.speculation, specs=specs, for_values=True)

    def _give(self, record: VersionRecord, speculation: Speculation, make: Callable[[], bool]) -> bool:
        """Whether a version for values that another hands over is there once `make` was called. It has the call then, not the other."""
        made = False
        with self._lock:
            self._made_of[speculation.specs] = record.arguments
        self._table.hand_over(record)
        try:
            made = make()
        finally:
            if not made:
                self._table.hand_over(record, -1)
        return made

    def _count(self, record: VersionRecord, flat: tuple[Any, ...]) -> None:
        """Native code had no answer for a call that does not raise."""
        specs = record.arguments
        with self._lock:
            calls = self._calls.get(specs, deque(maxlen=_CALLS_KEPT))
            calls.append(_values(specs, flat))
            self._calls.keep(specs, calls, _VERSIONS_KEPT)
            if specs in self._made_of:
                self._in_vain.add(self._made_of[specs])
        self._table.hand_over(record)
        if self._history.tell(self._template, "misses") % MISSES_PER_TICK == 0:
            self._table.tick()

    def _count_too_large(self, record: VersionRecord) -> None:
        self._table.hand_over(record)
        history = self._history
        history.tell(self._too_large, "misses")
        count = history.reasons[EventKind.HANDED_OVER.value, Reason.INT_TOO_LARGE]
        if count >= _CALLS_KEPT and 2 * count > self._context.calls():
            why, remedy = "ints of more than 64 bits in most of its calls", "keep them below 2**63, or compute with floats"
            self._context.leave_to_python(why, remedy)

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
    return tuple([v if s.kind in SPECULATED_KINDS and s.assumed is None else None for s, v in zip(specs, flat, strict=True)])


def _equal(values: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[int, ...]:
    """Where two calls had one value."""
    return tuple([i for i, (a, b) in enumerate(zip(values, before, strict=True)) if a is not None and a == b])
