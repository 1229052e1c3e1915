"""What is told of calls that no version fits, and kept of those that will be answered alike every time.

What was found out about such a call is kept, so that the next costs microseconds: by the layout of its arguments (dtypes, sizes, strides,
flags; types of scalars, and values of those that guards may be about), for the versions and options of that moment. Only misses for which
no version will be made any more, of programs that write no argument: for others more than the layout counts (overlap, what is being
compiled).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments import guards
from tierup.runtime.base.errors import NotOptimized, UnlessLeft
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.once import warn
from tierup.runtime.dispatching.version_table import MISSES_PER_TICK, VersionTable
from tierup.runtime.faults import faults

if TYPE_CHECKING:
    from collections.abc import Callable

    from tierup.runtime.account.history import EventTemplate
    from tierup.runtime.arguments.signature import Signature
    from tierup.runtime.base.options import Options
    from tierup.runtime.base.protocols import Flat
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.programs.context import Context
    from tierup.runtime.programs.starts import Start
    from tierup.runtime.programs.strategy import SpeculationLog

FOR_GOOD = (Reason.DEPTH_EXHAUSTED, Reason.EVICTED, Reason.SITE_GIVEN_UP, Reason.RELEASED, Reason.NOT_IN_PLAN)
_WITHOUT_CODE = (Reason.SITE_GIVEN_UP, Reason.DEPTH_EXHAUSTED, Reason.EVICTED)
RECORDED = (Reason.NOT_SEEN_BEFORE, Reason.COMPILING, Reason.NO_RESOURCES)  # calls that a later assumption in mid-program is made on
_KEPT = 64  # an unseen shape per call must not grow memory

LayoutKey = tuple[object, ...]


def layout_key(flat: Flat) -> LayoutKey:
    """A key under which flat arguments of one layout are found."""
    return tuple([
        (leaf.dtype, leaf.shape, leaf.strides, leaf.flags.num) if type(leaf) is np.ndarray
        else (type(leaf), leaf) if isinstance(leaf, int) else type(leaf)
        for leaf in flat
    ])  # fmt: skip


class Misses:
    """Of one executor. `keeps`: what a miss got, the next one like it gets, since nothing is recorded in mid-program. Each operation on
    what is known is atomic."""

    def __init__(self, context: Context, table: VersionTable, *, keeps: bool) -> None:
        self._keeps = keeps
        self._context, self._history, self._table = context, context.history, table
        self._known: dict[LayoutKey, tuple[tuple[Version, ...], Options, EventTemplate]] = {}

    def is_known(self, flat: Flat, options: Options) -> bool:
        """Whether a call is a miss like one before, which is told then: tier 0 answers."""
        if not self._known or faults.active:
            return False
        entry = self._known.get(layout_key(flat))
        if entry is None or entry[0] is not self._table.versions or entry[1] is not options:
            return False
        if self._history.tell(entry[2], "misses") % MISSES_PER_TICK == 0:
            self._table.tick()
        return True

    def answer(
        self, flat: Flat, signature: Signature, reason: Reason, options: Options, start: Start, run: Callable[[], Flat]
    ) -> Flat:
        """What a run in tier 0 gives, which is told of: as a miss, as one that is profiled, or as another. One that is left (RunsLong) is
        not. `start`: why no version of an earlier process answers."""
        versions = self._table.versions
        if versions:
            with UnlessLeft(lambda: self._tell(flat, signature, reason, versions, options)):
                return run()
        if reason is Reason.PROFILING:
            return self._history.profiled(f"ran in tier 0{start.missed}", run)
        with UnlessLeft(lambda: self._history.interpreted(reason)):
            return run()

    def _tell(self, flat: Flat, signature: Signature, reason: Reason, versions: tuple[Version, ...], options: Options) -> None:
        """Tell of a miss; where no version will be made any more, the next ones like it are answered alike."""
        template = self._template(flat, signature, reason)
        if self._history.tell(template, "misses") % MISSES_PER_TICK == 0:
            self._table.tick()
        if not self._keeps or reason not in FOR_GOOD or options.strict or faults.active:
            return
        if len(self._known) >= _KEPT:
            self._known = {}
        if not any(version.record.written for version in versions):
            self._known[layout_key(flat)] = versions, options, template

    def clear(self) -> None:
        """Forget what was kept of earlier misses."""
        self._known = {}

    def _template(self, flat: Flat, signature: Signature, reason: Reason) -> EventTemplate:
        nearest = self._table.nearest(signature)
        mismatch = None if nearest is None else guards.explain(nearest.record, flat)
        if mismatch is None:
            return self._history.template(EventKind.MISS, reason, why=reason, action="ran in tier 0")
        name = self._context.program.names[mismatch.argument] if mismatch.argument >= 0 else "arguments"
        return self._history.template(
            EventKind.MISS,
            mismatch.reason,
            why=reason,
            guard=f"{name}: {mismatch.what}",
            expected=mismatch.expected,
            actual=mismatch.actual,
            action=f"ran in tier 0: {reason.sentence}",
        )

    def refuse(self, reason: Reason, options: Options) -> None:
        """Raise NotOptimized for a miss where the options let no call, or no program without code, run in tier 0."""
        if options.strict and reason in _WITHOUT_CODE and any(r is not Reason.PROGRAM_RAISES for r, _, _ in self._history.refusals):
            raise self.not_optimized()
        if reason in FOR_GOOD and reason is not Reason.SITE_GIVEN_UP:
            self._history.refuse_tier0(reason, options)

    def warn_of_limit(self, signature: Signature, reason: Reason, options: Options, log: SpeculationLog) -> None:
        """Say once, to the user, that calls like this one will stay slow, where they will since the versions are used up."""
        is_limit = reason is Reason.EVICTED or reason is Reason.DEPTH_EXHAUSTED and log.within_strategy
        if not is_limit or not self._history.owner.first("the versions are used up"):
            return
        program = self._context.program
        strategy = ", ".join(f"{count} {kind}" for kind, count in options.fusion_strategy)
        calls = ", ".join(f"{name}: {klass}" for name, klass in zip(program.names, signature.classes, strict=True))
        warn(self._history.owner.named(
            f"{program.name} (at {program.place}) has used up its {log.within_strategy + log.beyond_strategy} versions "
            f"(fusion_strategy: {strategy}; bailout_depth: {options.bailout_depth}; max_versions: {options.max_versions}); "
            f"calls with ({calls}) that fit none run in the interpreter. "
            f"Raise fusion_strategy{' and max_versions' if options.is_dynamic else ''}, call it with fewer kinds of arguments, "
            f"or see explain()."
        ))  # fmt: skip

    def not_optimized(self) -> NotOptimized:
        """Why a program that must be native as a whole is not."""
        found = "; ".join(f"{detail}" + (f" (at {line})" if line else "") for _, detail, line in self._history.refusals)
        return NotOptimized(self._history.owner.named(f"{self._context.program.name} has no native code as a whole: {found}"))
