"""Versions in the making: which one a call gets next, how it is compiled, and what of it becomes known.

A speculation is noted as being compiled before anything is compiled, and that ends in one place however it ends (`scheduling/attempt.py`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from tierup.dialect.base import forking
from tierup.dialect.base.shielded import shielded
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentSpec
from tierup.runtime.account.times import COMPILING, LOADING, WAITING, During
from tierup.runtime.arguments.signature import Signature, classes_of
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled, failures_are_refusals
from tierup.runtime.compiling.new_version import Make, from_disk, make_version
from tierup.runtime.compiling.processes import placement
from tierup.runtime.compiling.scheduling.attempt import Attempt
from tierup.runtime.compiling.scheduling.background import queue
from tierup.runtime.compiling.scheduling.backoff import Backoff
from tierup.runtime.compiling.scheduling.job import CompileJob
from tierup.runtime.compiling.scheduling.progress import told
from tierup.runtime.dispatching.version import Version
from tierup.runtime.dispatching.version_table import VersionTable
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.speculations import Speculation, with_values
from tierup.runtime.programs.starts import Start
from tierup.runtime.programs.strategy import Classes, SpeculationLog

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tierup.lowering.entry.records import VersionRecord
    from tierup.runtime.bailouts.assumptions import Assumptions
    from tierup.runtime.bailouts.continuations import Continuations
    from tierup.runtime.base.protocols import Flat
    from tierup.runtime.executors.plan_log import PlanLog
    from tierup.runtime.programs.program import Program


Log = TypeVar("Log", bound="SpeculationLog | PlanLog")


class VersionMaker(Generic[Log]):
    """Makes the versions of a program for a table, in which at most `most` stand (0: `max_versions`), by what `log` proposes. `refused`: by
    kinds of arguments, why they have no version as a whole, of compiles that no call waited for."""

    def __init__(
        self,
        context: Context,
        program: Program,
        table: VersionTable,
        log: Log,
        refused: dict[Classes, NotCompiled],
        assumptions: Assumptions | None = None,
        most: int = 0,
    ) -> None:
        self.context, self.program, self.table, self.log = context, program, table, log
        self._assumptions, self._refused, self._most = assumptions, refused, most
        self._lock = table.lock
        self._backoff = Backoff()
        self._making_again: set[tuple[ArgumentSpec, ...]] = set()
        self.start, self._loading = Start(program), forking.lock()
        self.postponed = False  # whether the last compile came to nothing because something ran out

    @property
    def make_one(self) -> Make | None:
        """How a version is made of a speculation; None: as all are, without assumptions in mid-program."""
        return None if self._assumptions is None else self._assumptions.make

    def release(self) -> None:
        """Let go of what only compiling needs."""
        with self._lock:
            self.log = type(self.log)()

    # --- for a call ----------------------------------------------------------------------------------------------------

    def make(self, flat: Flat, signature: Signature, options: Options, *, at_once: bool = False) -> Version | NotCompiled | Reason:
        """A version for a call that none fits, in its place; or why there is none; COMPILING when it is compiled in the background.
        `at_once`: as if `num_profiled_runs` were 0."""
        calls = self.context.calls()  # asks all executors of the program, each under its own lock: never under this one's
        given = self.program.given(options)
        found = None if given is None else self._from_plan(flat, options)
        if given is not None and (found is not None or not given.learns):
            return found or Reason.NOT_IN_PLAN
        not_ready = None if self._assumptions is None else self._assumptions.why_not_ready(options)
        with Attempt(self) as attempt:
            with self._lock:
                proposal = self._propose(signature, options, calls, at_once) if not_ready is None else not_ready
                if isinstance(proposal, Speculation):
                    attempt.begin(proposal)
                self.log.record(signature)
            if isinstance(proposal, Speculation):
                return self._compile(attempt, proposal, signature, flat, options)
        if proposal is Reason.COMPILING:
            queue.wake()
        if proposal is Reason.PROFILING or proposal is Reason.NOT_SEEN_BEFORE:
            return self._from_start(flat, options) or proposal
        return proposal

    def _from_plan(self, flat: Flat, options: Options) -> Version | None:
        """A version that the program came with for such a call, in its place; also one that another thread has loaded meanwhile, or loads
        now, which is waited for: it may be that nothing else is to answer."""
        told: list[Callable[[], object]] = []
        with self._loading:
            found = next((version for version in self.table.versions if self.start.fits(version.record.arguments, flat)), None)
            found = found or self._from_start(flat, options, told.append)
        for tell in told:  # who listens may call the program
            tell()
        return found

    def _from_start(
        self, flat: Flat, options: Options, later: Callable[[Callable[[], object]], object] = lambda tell: tell()
    ) -> Version | None:
        """A version that an earlier process had for such a call, or a plan has, in its place, where its code is there. `later`: is given
        what tells of it."""
        log, call = self.log, self.context.calls() + 1
        if not isinstance(log, SpeculationLog) or self._assumptions is not None:  # these are made of runs
            return None
        for kept in self.start.fitting(flat, options):
            with Attempt(self) as attempt, During(LOADING):
                with self._lock:
                    if not log.has_room(kept.speculation, None if kept.is_given else options):
                        continue
                    attempt.begin(kept.speculation)
                made: Version | NotCompiled | None
                try:
                    made = from_disk(self.program, kept.speculation, kept.specs, options, call)
                except NotCompiled as e:
                    if e.reason is Reason.RELEASED:  # meanwhile
                        return None
                    made = e
                self.start.drop(kept)
                if made is not None:
                    took = made.milliseconds if isinstance(made, Version) else 0.0
                    evicted = self._put(kept.speculation, made, options)
                    if evicted is not None:
                        later(partial(self._tell, kept.speculation, made, evicted, options, took, f" that {kept.origin} had"))
                if isinstance(made, Version):
                    return made
        return None

    def make_for_profile(self, flat: Flat, signatures: Sequence[Signature], options: Options) -> bool:
        """As `make`, for the last of these calls after the others; whether a version is made, or on its way."""
        log = self.log
        assert isinstance(log, SpeculationLog)
        with self._lock:
            for signature in signatures[:-1]:
                log.record(signature)
        outcome = self.make(flat, signatures[-1], options)
        return isinstance(outcome, Version) or outcome is Reason.COMPILING

    def _propose(self, signature: Signature, options: Options, calls: int, at_once: bool) -> Speculation | Reason:
        log = self.log
        if isinstance(log, SpeculationLog):
            if at_once or self.context.is_region and not log.within_strategy:
                options = replace(options, num_profiled_runs=0)  # of a region its program's profile was its own
            # calls under other options saw less
            profiled = self.context.history.counts["profiled_runs"] if self._assumptions is None else self._assumptions.runs
            if not self.table.versions and profiled < options.num_profiled_runs:
                return Reason.DEPTH_EXHAUSTED if options.kind_of_version(0) is None else Reason.PROFILING
        proposal = log.propose(signature, options)
        if isinstance(proposal, Speculation) and self.program.released:
            return Reason.RELEASED
        if isinstance(proposal, Speculation) and not options.strict and not self._backoff.allows(calls):
            return Reason.BACKING_OFF
        return proposal

    def make_for_values(self, speculation: Speculation, flat: Flat, options: Options) -> bool:
        """Make the version for values of calls that native code hands over, if it may be made; whether it is there now."""
        given = self.program.given(options)
        if given is not None and not given.learns or self.postponed and not self._backoff.allows(self.context.calls()):
            return False
        with Attempt(self) as attempt:
            with self._lock:
                made = None if self.program.released else self.log.for_values(speculation, options)
                if made is None:
                    return False
                attempt.begin(made)
            return isinstance(self._compile(attempt, made, self.program.signature_of(flat, options), flat, options), Version)

    def _compile(
        self, attempt: Attempt, speculation: Speculation, signature: Signature, flat: Flat, options: Options
    ) -> Version | NotCompiled | Reason:
        """See `make`."""
        with During(COMPILING):
            return self._outcome(attempt, speculation, signature, flat, options)

    def _outcome(
        self, attempt: Attempt, speculation: Speculation, signature: Signature, flat: Flat, options: Options
    ) -> Version | NotCompiled | Reason:
        valued, context = with_values(speculation.specs, flat), self.context
        start = time.perf_counter()
        outcome: Version | NotCompiled | None
        try:
            with During(LOADING):
                outcome = from_disk(self.program, speculation, valued, options, context.calls() + 1) if self._assumptions is None else None
            if outcome is None and options.in_background:
                self._compile_in_background(attempt, speculation, valued, options)
                return self._waited_for(signature, options)
            if outcome is None:
                make, call = self.make_one or make_version, context.calls() + 1
                with told(self.program, context.history.begins_compiling) as learn:
                    outcome = learn(make(self.program, speculation, valued, options, call, placement.in_call))
        except NotCompiled as e:
            outcome = e
        try:
            took = outcome.milliseconds if isinstance(outcome, Version) else (time.perf_counter() - start) * 1e3
            self._take(speculation, outcome, options, took)
        except BaseException:  # Ctrl-C: a later call goes on from here
            if isinstance(outcome, NotCompiled):
                self._refused[signature.classes] = outcome
            raise
        return outcome

    def _waited_for(self, signature: Signature, options: Options) -> Version | NotCompiled | Reason:
        """What comes of a compile in the background within what is left of `compile_budget`; COMPILING where that is too little."""
        history = self.context.history
        left = options.compile_budget - history.owner.waited
        if options.compile == "background" or left <= 0:
            return Reason.COMPILING
        before, start = self.table.versions, time.perf_counter()
        with During(WAITING):
            queue.wait(left, lambda job: job.is_for(history))
        waited = time.perf_counter() - start
        history.owner.wait(waited)
        if waited >= left:
            action = f"waited {options.compile_budget:.3g} s in all, and goes on in tier 0"
            history.emit(EventKind.POSTPONED, Reason.OVER_BUDGET, action=action)
        made = [version for version in self.table.versions if version not in before]
        return made[-1] if made else self._refused.pop(signature.classes, Reason.COMPILING)

    # --- without an assumption that failed too often ---------------------------------------------------------------------

    def make_again(self, record: VersionRecord, continuations: Continuations, assumptions: Assumptions) -> tuple[NotCompiled, str] | None:
        """A version without the assumptions that failed too often takes the place of one with them. Why there is no such version, and
        which assumptions these are; None where there is one, or it is on its way."""
        context, options = self.context, self.context.options()
        with self._lock:
            version = next((v for v in self.table.versions if v.record is record), None)
            if version is None or record.arguments in self._making_again or context.closed:
                return None
            self._making_again.add(record.arguments)
        start = time.perf_counter()
        dropped = assumptions.drop(continuations)
        try:
            with failures_are_refusals("the compiler"):
                assumptions.leave_implied_open(continuations.code, record.arguments)
            if options.in_background:
                self.table.remove(version)
                self._compile_in_background(Attempt(self), version.speculation, record.arguments, options)
                return None
            made = assumptions.make(self.program, version.speculation, record.arguments, options, context.calls() + 1, placement.in_call)
        except NotCompiled as e:
            self.table.remove(version)
            if e.reason is Reason.NO_RESOURCES:  # made like any other by a later call
                self._take(version.speculation, e, options, 0.0)
                return None
            context.history.gave_up(e, version.guards, f"not compiled again: {e.detail}")
            return e, dropped
        finally:
            with self._lock:
                self._making_again.discard(record.arguments)
        context.history.count("compiles")
        self._tell_evicted(shielded(lambda: self._replace(version, made, options)))
        context.history.emit(
            EventKind.GENERALISED,
            Reason.ASSUMPTION_DROPPED,
            guard=made.guards,
            action=f"compiled again without an assumption on {dropped}",
            milliseconds=(time.perf_counter() - start) * 1e3,
        )
        return None

    def _replace(self, old: Version, made: Version, options: Options) -> list[Version]:
        """Let a version answer calls in place of another."""
        with self._lock:
            if self.context.closed:
                return []
            self.table.remove(old)
            return self._add(made, options)

    # --- what came of it -------------------------------------------------------------------------------------------------

    def begins(self, speculation: Speculation) -> None:
        """Note that a speculation is being compiled. The caller holds the lock."""
        self.log.made(speculation, classes_of(speculation.specs))

    def ends(self, speculation: Speculation) -> None:
        """Nobody compiles a speculation any more: what has neither a version nor a refusal is forgotten, and may be made again."""
        with self._lock:
            self.log.ended(speculation)

    def _take(self, speculation: Speculation, outcome: Version | NotCompiled, options: Options, milliseconds: float, how: str = "") -> bool:
        """Put a version in its place, or note why there is none, and tell of it. False when the executor was closed meanwhile."""
        evicted = self._put(speculation, outcome, options)
        if evicted is None:
            return False
        self._tell(speculation, outcome, evicted, options, milliseconds, how)
        return True

    def _put(self, speculation: Speculation, outcome: Version | NotCompiled, options: Options) -> list[Version] | None:
        """Put a version in its place, or note why there is none. The versions that had to go; None when the executor was closed."""
        calls = self.context.calls()
        return shielded(lambda: self._note(speculation, outcome, options, calls))

    def _tell(
        self,
        speculation: Speculation,
        outcome: Version | NotCompiled,
        evicted: list[Version],
        options: Options,
        milliseconds: float,
        how: str,
    ) -> None:
        """Count what came of a speculation, keep it for processes to come, and emit the events."""
        history = self.context.history
        if isinstance(outcome, NotCompiled) and outcome.reason is Reason.NO_RESOURCES:
            self._tell_postponed(speculation, f"not compiled now: {outcome.detail}{how}")
            return
        if isinstance(outcome, NotCompiled):
            history.gave_up(outcome, speculation.describe(self.program.names), f"not compiled: {outcome.detail}{how}")
            return
        history.count("compiles")
        self._tell_evicted(evicted)
        if isinstance(self.log, SpeculationLog) and self._assumptions is None and not speculation.for_values:
            self.start.keep(speculation, outcome.record.arguments, options)
        kind, reason, what = self.log.told(outcome.speculation)
        origin = "loaded from disk" if outcome.compiled.from_disk else "compiled"
        history.emit(kind, reason, action=f"{origin} {what} {outcome.guards}{how}", milliseconds=milliseconds)
        self.context.on_version(options)

    def _note(self, speculation: Speculation, outcome: Version | NotCompiled, options: Options, calls: int) -> list[Version] | None:
        """The part of `_take` that is done whole: the versions that had to go; None when the executor was closed meanwhile."""
        with self._lock:
            if self.context.closed:
                return None
            self.postponed = isinstance(outcome, NotCompiled) and outcome.reason is Reason.NO_RESOURCES
            if isinstance(outcome, NotCompiled):
                if self.postponed:
                    self.log.withdraw(speculation)
                else:
                    self.log.refused(speculation, outcome)
                self._backoff.lost(calls)
                return []
            if outcome.record.arguments != speculation.specs:
                self.log.needs_values(speculation.specs, outcome.record.arguments)
            if any(self.table.hits(version) for version in self.table.versions):
                self._backoff.won()
            evicted = self._add(outcome, options)
            self.log.decided(speculation)  # now that it has its version: where there is no memory for that, it is made again
            return evicted

    def _add(self, made: Version, options: Options) -> list[Version]:
        """Put a version in its place; those that have to go. The caller holds the lock."""
        evicted = self.table.add(made, self._most or options.max_versions)
        for old in evicted:
            self.log.evicted(old.speculation.specs)
        return evicted

    def _tell_evicted(self, evicted: list[Version]) -> None:
        for old in evicted:
            self.context.history.emit(EventKind.EVICTED, Reason.EVICTED, guard=old.guards)

    def _tell_postponed(self, speculation: Speculation, action: str) -> None:
        guard = speculation.describe(self.program.names)
        self.context.history.emit(EventKind.POSTPONED, Reason.NO_RESOURCES, guard=guard, action=action)

    # --- in the background -----------------------------------------------------------------------------------------------

    def _compile_in_background(
        self, attempt: Attempt, speculation: Speculation, valued: tuple[ArgumentSpec, ...], options: Options
    ) -> None:
        """Ask for a version, which `arrived` takes when there is one. For `valued` see `make_version`."""
        if not attempt.leave_to(CompileJob(self, speculation, classes_of(valued), valued, options)):
            self._tell_postponed(speculation, "waits: there can be no thread now that has it compiled")

    def prepare(self, options: Options) -> None:
        """Make ready what the call after an arrival needs, so that it does not wait for it."""
        self.table.callable(options.entry)

    def arrived(self, job: CompileJob, outcome: Version | NotCompiled) -> None:
        """From the thread that has compiles done."""
        is_new = self._take(job.speculation, outcome, job.options, job.milliseconds, job.how)
        if is_new and isinstance(outcome, NotCompiled) and not job.speculation.for_values:
            with self._lock:
                self._refused[job.classes] = outcome
