"""The life of a call under a profiling executor, from top to bottom: a version answers it, or it is recorded, and maybe one is made.

Asked are versions (`dispatching/version_table.py`), tier 0 (`context.py`), `splits`, `making.py`, `misses.py`, `leaving.py` and `bailouts`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.times import OVERHEAD, WAITING, During
from tierup.runtime.arguments.signature import Signature, Unsupported
from tierup.runtime.base.errors import RunsLong
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.scheduling.background import queue
from tierup.runtime.dispatching.handed_over import HandedOver
from tierup.runtime.dispatching.version import Version
from tierup.runtime.dispatching.version_table import VersionTable
from tierup.runtime.executors.leaving import Leaving
from tierup.runtime.executors.making import VersionMaker
from tierup.runtime.executors.misses import RECORDED, Misses
from tierup.runtime.executors.simple import SimplePlan
from tierup.runtime.executors.splits.recorded import Classes, RecordedSplits
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.strategy import SpeculationLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from tierup.lowering.entry.records import VersionRecord
    from tierup.runtime.bailouts.assumptions import Assumptions
    from tierup.runtime.base.protocols import Flat, SplitInPlace
    from tierup.runtime.dispatching.direct import DirectTable
    from tierup.runtime.executors.splits.guarded import GuardedSplits


class Life:
    """Of the calls of one program, for one choice of options that code depends on. Thread-safe: locks cover bookkeeping only."""

    def __init__(self, context: Context, direct: DirectTable | None) -> None:
        place, program = context.place, context.program
        self.context, self.program, self.history = context, program, context.history
        self._refused: dict[Classes, NotCompiled] = {}  # why calls of these kinds have no version as a whole, for the next one
        self.assumptions: Assumptions | None = None
        self.splitting: RecordedSplits | GuardedSplits = RecordedSplits(context, self._refused)
        if context.make_continuation is not None:
            from tierup.runtime.bailouts.assumptions import Assumptions  # here: most programs are called without
            from tierup.runtime.executors.splits.guarded import GuardedSplits

            self.assumptions = Assumptions(context)
            self.splitting = GuardedSplits(context, self.assumptions, self._refused)
        stays = (lambda record, status: False) if self.assumptions is None else self.assumptions.goes_on_by_code
        self._failed, self._slow = place.failed(self._answer_failed, stays), place.slow(self._miss, self._split_in_place)
        self.table = VersionTable(len(program.names), self._slow, self._failed, direct, self, place.make_table)
        self.maker = VersionMaker(context, program, self.table, SpeculationLog(program.tier0.sizing), self._refused, self.assumptions)
        self.misses, self._leaving = Misses(context, self.table, keeps=self.assumptions is None), Leaving(context, self.maker)
        self._handed_over = HandedOver(context, self.table)
        self.direct_failures, self.simple = 0, SimplePlan(program, self.history)
        self.call: Callable[[Flat, Options], Flat] = place.around(self._call)

    def _call(self, flat: Flat, options: Options) -> Flat:
        """A version's answer, where one fits; `_miss` where none does."""
        if not options.optimize:
            self.history.refuse_tier0(Reason.OPTIMIZE_OFF, options)
            return self.context.interpret(flat, Reason.OPTIMIZE_OFF)
        if not self.table.versions:
            return self._slow(*flat)
        if self.misses.is_known(flat, options):
            return self.program.run(flat)
        return self.table.run(flat, options.entry)

    def _miss(self, *flat: Any) -> Flat:
        """No version fits: tier 0, native regions between tier 0, or a version that is made now."""
        with During(OVERHEAD):
            return self._answer(flat)

    def _answer(self, flat: Flat) -> Flat:
        options = self.context.options()
        signature = self._signature(flat, options)
        if isinstance(signature, Reason):
            return self._interpret(flat, signature, options)
        if not options.strict and (answered := self.splitting.answer(signature, flat, options)) is not None:
            return answered
        outcome = self._version_or_why_not(flat, signature, options)
        if isinstance(outcome, Version):
            return self.table.run_once(flat, options.entry)
        if isinstance(outcome, NotCompiled):
            return self._answer_refused(flat, signature, outcome, options)
        if outcome is Reason.PROFILE_OFF or outcome is Reason.DEPTH_EXHAUSTED and self._makes_none(options):
            return self._interpret(flat, outcome, options)
        return self._answer_miss(flat, signature, outcome, options)

    def _signature(self, flat: Flat, options: Options) -> Signature | Reason:
        """What the call looks like; or why tier 0 answers it, whatever there is."""
        if self.table.is_called_once:
            return Reason.SITE_GIVEN_UP
        if self._makes_none(options) and not self.splitting.table.splits:
            return Reason.DEPTH_EXHAUSTED
        try:
            signature = self.program.signature_of(flat, options)
        except Unsupported as e:
            return e.reason
        return signature if self.program.tier0.takes(flat) else Reason.PROGRAM_RAISES

    def _version_or_why_not(self, flat: Flat, signature: Signature, options: Options) -> Version | NotCompiled | Reason:
        """The version for a call that none fits; what the compiler said where it has no code; or why none was asked for."""
        if self._makes_none(options):
            return Reason.DEPTH_EXHAUSTED
        if self.program.released and self.program.given(options) is None:
            return Reason.RELEASED
        if not options.profile:
            return Reason.PROFILE_OFF
        classes = signature.classes
        if self.splitting.waits and not options.strict and classes in self._refused:
            return Reason.BACKING_OFF
        refusal = self._refused.pop(classes, None)
        if refusal is not None and (options.strict or self._may_split(signature, refusal, options)):
            return refusal
        outcome = self.maker.make(flat, signature, options)
        if outcome is Reason.COMPILING and options.strict:  # only native code may answer this call
            with During(WAITING):
                queue.wait(None, lambda job: job.is_for(self.history))
            return self._refused.pop(classes, None) or next(iter(self.table.versions), Reason.SITE_GIVEN_UP)
        return outcome

    def _interpret(self, flat: Flat, reason: Reason, options: Options) -> Flat:
        """Tier 0, unrecorded: no version may be made for such a call."""
        if reason not in (Reason.SITE_GIVEN_UP, Reason.PROGRAM_RAISES):
            self.history.refuse_tier0(reason, options)
        return self.context.interpret(flat, reason, self.simple.program() if reason is Reason.DEPTH_EXHAUSTED else None)

    def _answer_refused(self, flat: Flat, signature: Signature, refusal: NotCompiled, options: Options) -> Flat:
        """The program has no native code as a whole for a call: it is split, or tier 0 answers."""
        if options.strict and refusal.reason is not Reason.PROGRAM_RAISES:
            raise self.misses.not_optimized()
        if not self._may_split(signature, refusal, options):
            return self.context.interpret(flat, refusal.reason)
        try:
            return self.splitting.start(signature, flat, refusal, options)
        except BaseException as e:
            if not isinstance(e, Exception):  # Ctrl-C: a later call goes on from here
                self._refused[signature.classes] = refusal
            raise

    def _answer_miss(self, flat: Flat, signature: Signature, reason: Reason, options: Options) -> Flat:
        """Tier 0, recording in mid-program where assumptions are made there; left where a loop runs long."""
        self.misses.refuse(reason, options)
        self.misses.warn_of_limit(signature, reason, options, self.maker.log)
        answer = partial(self.misses.answer, flat, signature, reason, options, self.maker.start)
        if (assumptions := self.assumptions) is not None:
            if reason in RECORDED and not self.table.versions:
                return assumptions.interpret(flat, signature, reason)
            return answer(lambda: assumptions.run(flat, signature))
        if not self._leaving.may(flat, reason, options):
            return answer(lambda: self.program.run(flat))
        try:
            return answer(lambda: self._leaving.run(flat))
        except RunsLong:
            made = self._leaving.version(flat, signature, options)
        if isinstance(made, NotCompiled):
            return self._answer_refused(flat, signature, made, options)
        return self.table.run_once(flat, options.entry)

    def _answer_failed(self, record: VersionRecord, status: int, flat: Flat, live: Flat | None = None) -> Flat:
        """Native code left having written nothing: at a bailout, whose operands are `live`, or at an error site, where tier 0 runs the call
        again and raises the user's exception; or gives the result, where native code has none."""
        with During(OVERHEAD):
            return self._after_failure(record, status, flat, live)

    def _after_failure(self, record: VersionRecord, status: int, flat: Flat, live: Flat | None) -> Flat:
        if live is not None and self.assumptions is not None:
            results, due = self.assumptions.left(record, status, flat, live)
            failure = None if due is None else self.maker.make_again(record, due, self.assumptions)
            if failure is not None:
                self.splitting.cut_later(record.arguments, *failure)
            return results
        return self._handed_over.answer(record, status, flat, self.maker.make_for_values)

    def failed_directly(self, record: VersionRecord, status: int, flat: Flat, live: Flat | None = None) -> Flat:
        """As `_failed`, for a call that came through the direct table."""
        with self.table.lock:
            self.direct_failures += 1
        return self._failed(record, status, flat, live)

    def _makes_none(self, options: Options) -> bool:
        """Whether no version may be made: nothing is recorded, and the plan that needs no record runs."""
        return not options.depth and not self.context.is_region

    def _may_split(self, signature: Signature, refusal: NotCompiled, options: Options) -> bool:
        return not self.context.is_region and self.splitting.may_start(signature, refusal, options)

    def _split_in_place(self, classes: Classes) -> SplitInPlace | None:
        """The split for arguments of these classes, to be run where the arrays are."""
        if not self.splitting.table.splits or self.context.options().strict or self.table.is_called_once:
            return None
        split = self.splitting.find(classes)
        return None if split is None else (split, self.splitting.table.ran_elsewhere)
