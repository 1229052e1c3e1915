"""The profiling executor: profile, bet, compile the bet behind guards, answer what it does not fit in tier 0.

All calls that no version fits arrive in `_miss`, which profiles, bets, compiles, splits or interprets.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tierup.dialect.shielded import shielded
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.abi import ArgumentSpec
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime import faults
from tierup.runtime.arguments.signature import Signature, Unsupported, classes_of, signature_of
from tierup.runtime.bailing.splitting import Splitting
from tierup.runtime.compiling import placement
from tierup.runtime.compiling.attempt import Attempt
from tierup.runtime.compiling.background import queue
from tierup.runtime.compiling.backoff import Backoff
from tierup.runtime.compiling.bet import Make, from_disk, make_version
from tierup.runtime.compiling.job import CompileJob
from tierup.runtime.dispatching import guards
from tierup.runtime.dispatching.dispatch import DispatchTable, make_table
from tierup.runtime.dispatching.handed_over import HandedOver
from tierup.runtime.dispatching.settled import FOR_GOOD, SettledMisses
from tierup.runtime.dispatching.version import Version
from tierup.runtime.dispatching.version_table import VersionTable
from tierup.runtime.errors import NotOptimized
from tierup.runtime.events import EventKind
from tierup.runtime.explaining.history import Happening, History
from tierup.runtime.explaining.plans import NotCompiled
from tierup.runtime.explaining.stats import Stats
from tierup.runtime.once import warn
from tierup.runtime.options import Options, Overrides
from tierup.runtime.program import Program
from tierup.runtime.protocols import MakeExecutor
from tierup.runtime.simple import SimplePlan
from tierup.runtime.strategy import Bet, Classes, SpeculationLog, with_values

if TYPE_CHECKING:
    from contextlib import AbstractContextManager as Lock

    from tierup.runtime.bailing.bailing import Bailing
    from tierup.runtime.bailing.bailout_splits import BailoutSplits
    from tierup.runtime.dispatching.direct import DirectTable
    from tierup.runtime.regions import Publication, Split

_RECORDED = (Reason.NOT_SEEN_BEFORE, Reason.COMPILING, Reason.NO_RESOURCES)  # calls that a later bet in mid-program is made on
_WITHOUT_CODE = (Reason.SITE_GIVEN_UP, Reason.DEPTH_EXHAUSTED, Reason.EVICTED)
_MISSES_PER_TICK = 16


class ProfilingExecutor:
    """Versions of a program for one choice of options that code depends on. Thread-safe: locks cover bookkeeping only.

    `is_region`: the program is a region of another's, which was profiled: its first call is compiled for at once, and it is not
    split further. `make_region` makes the executor of a region of this program; `make_rest`, where there may be bets in mid-program, of
    what goes on where one is lost.
    """

    _make_table: Callable[..., DispatchTable] = staticmethod(make_table)

    def __init__(
        self,
        program: Program,
        overrides: Overrides,
        history: History,
        direct: DirectTable | None,
        make_region: MakeExecutor,
        *,
        is_region: bool,
        make_rest: MakeExecutor | None = None,
    ) -> None:
        self.program, self.history, self.make_region = program, history, make_region
        self._overrides = overrides
        self._is_region = is_region
        self.table = VersionTable(len(program.names), self._miss, self.failed, direct, self, self._make_table)
        self._handed_over = HandedOver(self, program)
        self._lock = self.table.lock
        self._local = threading.local()
        self._log = SpeculationLog()
        self._backoff = Backoff()
        self.postponed = False  # whether the last compile came to nothing because something ran out
        self._settled = SettledMisses()
        self._refused: dict[Classes, NotCompiled] = {}  # in the background, since the last call of that kind
        self.closed = False
        self._direct_failures = 0
        self.bailing: Bailing | None = None
        self.splitting: Splitting | BailoutSplits = Splitting(self)
        if make_rest is not None:
            from tierup.runtime.bailing.bailing import Bailing  # here: most programs are called without
            from tierup.runtime.bailing.bailout_splits import BailoutSplits

            self.bailing = Bailing(self, make_rest)
            self.splitting = BailoutSplits(self, self.bailing)
        self.simple = SimplePlan(program, history)
        self.on_version: Callable[[Options], object] = lambda options: None  # called when there is a new version

    @property
    def log(self) -> SpeculationLog:
        return self._log

    def locks(self) -> list[Lock]:
        """What is held while no version and no record may change."""
        return [self._lock]

    def calls(self) -> int:
        """How many calls the program has answered, under any options."""
        return self.history.calls()

    @property
    def versions(self) -> tuple[Version, ...]:
        return self.table.versions

    @property
    def splits(self) -> tuple[Split, ...]:
        return self.splitting.splits

    @property
    def is_optimized(self) -> bool:
        """Whether there is a plan that was made for what calls looked like."""
        return bool(self.versions or self.splits)

    def described_plans(self) -> tuple[tuple[str, str, int], ...]:
        """None: versions are its plans."""
        return ()

    def hits(self, version: Version) -> int:
        """How many calls a version answered."""
        return self.table.hits(version)

    @property
    def compiling(self) -> bool:
        """Whether a version is being compiled."""
        return self._log.pending

    @property
    def make(self) -> Make | None:
        """How a version is made of a bet; None: as all are, without bets in mid-program."""
        return None if self.bailing is None else self.bailing.make

    @property
    def undecided(self) -> bool:
        """Whether it will be tried again to make code."""
        return self.postponed

    def stats(self) -> Stats:
        """What the versions did; what tier 0 answered is the history's to count."""
        hits, failures = self.table.counts()
        own = Stats(hits=hits, bailouts=failures + self._direct_failures, versions=len(self.table.versions))
        return own + self.splitting.stats() + (Stats() if self.bailing is None else self.bailing.stats())

    def total_hits(self) -> int:
        """`stats().hits`, at little cost."""
        return self.table.total_hits() + self.splitting.hits

    def cache_counts(self) -> tuple[int, int, int]:
        """(calls that code answered, hits, misses beside those that the history counts)."""
        hits = self.table.counts()[0] + self.splitting.hits
        return hits, hits, 0

    def options(self) -> Options:
        """Those in force here."""
        return self._overrides.current()

    def close(self) -> None:
        """Take all versions out of their tables; what is being compiled is dropped when it arrives."""
        with self._lock:
            self.closed = True
            self.table.clear()

    def release(self) -> None:
        """Let go of what only compiling needs. The program's graph must have gone before."""
        with self._lock:
            self._log = SpeculationLog()
            self._settled.clear()
        self.splitting.release()

    # --- answering a call -------------------------------------------------------------------------------------------

    def call(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        if not self.table.versions:
            return self._miss(*flat)
        happening = self._settled.get(flat, self.table.versions, options)
        if happening is not None and not faults.active:
            self._count_miss(happening)
            return self.program.run(flat)
        return self.table.run(flat, options.entry)

    def _miss(self, *flat: Any) -> tuple[Any, ...]:
        """No version fits: record, and maybe compile one."""
        options = self._overrides.current()
        if getattr(self._local, "retrying", False):
            return self.history.interpret(flat, Reason.SITE_GIVEN_UP)
        if not options.depth and not self.splitting.splits and not self._is_region:
            return self._answer_simply(flat, options)
        try:
            signature = signature_of(flat)
        except Unsupported as e:
            self.history.refuse_tier0(e.reason, options)
            return self.history.interpret(flat, e.reason)
        if not self.program.tier0.takes(flat):
            return self.history.interpret(flat, Reason.PROGRAM_RAISES)  # not recorded: no version may be made for what the program refuses
        if not options.strict:
            answered = self.splitting.answer(signature, flat, options)
            if answered is not None:
                return answered
        if not options.depth and not self._is_region:
            return self._answer_simply(flat, options)
        if self.program.released:
            return self._answer_miss(flat, signature, Reason.RELEASED, options)
        if not options.profile:
            self.history.refuse_tier0(Reason.PROFILE_OFF, options)
            return self.history.interpret(flat, Reason.PROFILE_OFF)
        if self.splitting.waits and not options.strict and signature.classes in self._refused:
            return self._answer_miss(flat, signature, Reason.BACKING_OFF, options)
        refusal = self._refused.pop(signature.classes, None)
        if refusal is not None and (options.strict or self._may_split(signature, refusal, options)):
            return self._answer_refused(flat, signature, refusal, options)
        calls = self.calls()  # asks all executors of the program, each under its own lock: never under this one's
        not_ready = None if self.bailing is None else self.bailing.why_not_ready(options)
        with Attempt(self) as attempt:
            with self._lock:
                proposal = self._propose(signature, options, calls) if not_ready is None else not_ready
                if isinstance(proposal, Bet):
                    attempt.begin(proposal)
                self._log.record(signature)
            if isinstance(proposal, Bet):
                outcome = self._compile(attempt, proposal, signature, flat, options)
            else:
                outcome = proposal
                if proposal is Reason.COMPILING:
                    queue.wake()
        if outcome is Reason.COMPILING and options.strict:
            return self._answer_after_compile(flat, signature, options)
        if isinstance(outcome, Reason):
            return self._answer_miss(flat, signature, outcome, options)
        if isinstance(outcome, NotCompiled):
            return self._answer_refused(flat, signature, outcome, options)
        return self.call_once(flat, options)

    def call_once(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        """Call the version that was just made. Should it not fit, tier 0 answers, and nothing more is made for this call."""
        self._local.retrying = True
        try:
            return self.table.run(flat, options.entry)
        finally:
            self._local.retrying = False

    def _answer_after_compile(self, flat: tuple[Any, ...], signature: Signature, options: Options) -> tuple[Any, ...]:
        """Answer a call that only native code may answer, which is on its way: a call that was not strict had asked for it."""
        queue.wait(None, lambda job: job.is_for(self.history))
        refusal = self._refused.pop(signature.classes, None)
        return self.call_once(flat, options) if refusal is None else self._answer_refused(flat, signature, refusal, options)

    def _answer_simply(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        """No version may be made: nothing is recorded, and the plan that needs no record runs."""
        self.history.refuse_tier0(Reason.DEPTH_EXHAUSTED, options)
        return self.history.interpret(flat, Reason.DEPTH_EXHAUSTED, self.simple.program())

    def _propose(self, signature: Signature, options: Options, calls: int) -> Bet | Reason:
        if self._is_region and not self._log.bets:
            options = replace(options, num_profiled_runs=0)  # its program's profile was its own
        profiled = self.history.counts["profiled_runs"] if self.bailing is None else self.bailing.runs  # those under other options saw less
        if not self.table.versions and profiled < options.num_profiled_runs:
            return Reason.DEPTH_EXHAUSTED if options.kind_of_version(0) is None else Reason.PROFILING
        proposal = self._log.propose(signature, options)
        if isinstance(proposal, Bet):
            if not options.strict and not self._backoff.allows(calls):
                return Reason.BACKING_OFF
        return proposal

    def begins(self, bet: Bet) -> None:
        self._log.made(bet, classes_of(bet.specs))

    def ends(self, bet: Bet) -> None:
        with self._lock:
            self._log.ended(bet)

    def _answer_miss(self, flat: tuple[Any, ...], signature: Signature, reason: Reason, options: Options) -> tuple[Any, ...]:
        if options.strict and reason in _WITHOUT_CODE and any(r is not Reason.PROGRAM_RAISES for r, _, _ in self.history.refusals):
            raise self._not_optimized()
        if reason in FOR_GOOD and reason is not Reason.SITE_GIVEN_UP:
            self.history.refuse_tier0(reason, options)
        if reason is Reason.EVICTED or reason is Reason.DEPTH_EXHAUSTED and self._log.bets:
            self._warn_of_limit(signature, options)
        if self.table.versions:
            versions = self.table.versions
            happening = self._happening(flat, signature, reason)
            self._count_miss(happening)
            if reason in FOR_GOOD and self.bailing is None and not options.strict and not faults.active:
                self._settled.put(flat, versions, options, happening)
            return self._run(flat, signature)
        if reason is Reason.PROFILING:
            start = time.perf_counter()
            self.history.count("profiled_runs")
            result = self._run(flat, signature)
            self.history.emit(EventKind.PROFILED, reason, action="ran in tier 0", milliseconds=(time.perf_counter() - start) * 1e3)
            return result
        if self.bailing is not None and reason in _RECORDED:
            return self.bailing.interpret(flat, signature, reason)
        return self.history.interpret(flat, reason)

    def _count_miss(self, happening: Happening) -> None:
        if self.history.tell(happening, "misses") % _MISSES_PER_TICK == 0:
            self.table.tick()

    def _run(self, flat: tuple[Any, ...], signature: Signature) -> tuple[Any, ...]:
        """Tier 0, recording in mid-program where that is bet on."""
        return self.program.run(flat) if self.bailing is None else self.bailing.run(flat, signature)

    def _answer_refused(self, flat: tuple[Any, ...], signature: Signature, refusal: NotCompiled, options: Options) -> tuple[Any, ...]:
        """The bet on a call has no native code."""
        if options.strict and refusal.reason is not Reason.PROGRAM_RAISES:
            raise self._not_optimized()
        if not self._may_split(signature, refusal, options):
            return self.history.interpret(flat, refusal.reason)
        try:
            return self.splitting.start(signature, flat, refusal, options)
        except Exception:
            raise
        except BaseException:  # Ctrl-C
            self.refused_again(signature.classes, refusal)
            raise

    def refused_again(self, classes: Classes, refusal: NotCompiled) -> None:
        """What was to follow a refusal was broken off, or is postponed: a later call goes on from here."""
        self._refused[classes] = refusal

    def _may_split(self, signature: Signature, refusal: NotCompiled, options: Options) -> bool:
        return not self._is_region and self.splitting.may_start(signature, refusal, options)

    def failed(
        self, record: VersionRecord | None, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None = None
    ) -> tuple[Any, ...]:
        """Native code left having written nothing: at an error site, where tier 0 runs the call again and raises the user's exception;
        or gives the result, where native code has none; or at a bailout, whose operands are `live`."""
        if live is not None and self.bailing is not None and record is not None:
            return self.bailing.left(record, status, flat, live)
        if record is None:
            return self.history.taken_over(flat, self.program, self.options())
        return self._handed_over.answer(record, flat)

    def make_for_values(self, bet: Bet, flat: tuple[Any, ...], options: Options) -> bool:
        """Make the version of a bet on values of calls that native code hands over, if it may be made; whether it is there now."""
        if self.postponed and not self._backoff.allows(self.calls()):
            return False
        with Attempt(self) as attempt:
            with self._lock:
                made = None if self.program.released or not options.profile else self._log.for_values(bet, options)
                if made is None:
                    return False
                attempt.begin(made)
            return isinstance(self._compile(attempt, made, signature_of(flat), flat, options), Version)

    def published(self, publish: Publication, flat: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The results of a call whose bet was lost, of what goes on there; what the program writes is written."""
        return publish.results(flat, values)

    def failed_directly(
        self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None = None
    ) -> tuple[Any, ...]:
        """As `failed`, for a call that came through the direct table."""
        with self._lock:
            self._direct_failures += 1
        return self.failed(record, status, flat, live)

    # --- compiling --------------------------------------------------------------------------------------------------

    def _compile(
        self, attempt: Attempt, bet: Bet, signature: Signature, flat: tuple[Any, ...], options: Options
    ) -> Version | NotCompiled | Reason:
        """The version of a bet, in its place; or why there is none; COMPILING when it is being compiled in the background."""
        valued = with_values(bet.specs, flat)
        start = time.perf_counter()
        outcome: Version | NotCompiled | None
        try:
            outcome = from_disk(self.program, bet, valued, options, self.calls() + 1) if self.bailing is None else None
            if outcome is None and options.compile == "background" and not options.strict:
                self.compile_in_background(attempt, bet, valued, options)
                return Reason.COMPILING
            if outcome is None:
                outcome = (self.make or make_version)(self.program, bet, valued, options, self.calls() + 1, placement.in_call)
        except NotCompiled as e:
            outcome = e
        try:
            self._settle(bet, outcome, options, (time.perf_counter() - start) * 1e3)
        except BaseException:  # Ctrl-C: a later call goes on from here
            if isinstance(outcome, NotCompiled):
                self._refused[signature.classes] = outcome
            raise
        return outcome

    def _settle(self, bet: Bet, outcome: Version | NotCompiled, options: Options, milliseconds: float, how: str = "") -> bool:
        """Put a version in its place, or note why there is none. False when the executor was closed meanwhile."""
        calls = self.calls()
        evicted = shielded(lambda: self._noted(bet, outcome, options, calls))
        if evicted is None:
            return False
        if isinstance(outcome, NotCompiled) and outcome.reason is Reason.NO_RESOURCES:
            self._tell_postponed(bet, f"not compiled now: {outcome.detail}{how}")
            return True
        if isinstance(outcome, NotCompiled):
            self.history.gave_up(outcome, bet.describe(self.program.names), f"not compiled: {outcome.detail}{how}")
            return True
        self.history.count("compiles")
        self._tell_evicted(evicted)
        dynamic, origin = bet.kind != "static", "loaded from disk" if outcome.compiled.from_disk else "compiled"
        self.history.emit(
            EventKind.GENERALISED if dynamic else EventKind.COMPILED,
            Reason.GENERALISED if dynamic else None,
            action=f"{origin} a {bet.kind} version for {outcome.guards}{how}",
            milliseconds=milliseconds,
        )
        self.on_version(options)
        return True

    def postpone(self, version: Version, refusal: NotCompiled) -> None:
        """A version that has to be made anew cannot be now: it goes, and is made like any other by a later call."""
        self.table.remove(version)
        self._settle(version.bet, refusal, self.options(), 0.0)

    def _tell_postponed(self, bet: Bet, action: str) -> None:
        self.history.emit(EventKind.POSTPONED, Reason.NO_RESOURCES, guard=bet.describe(self.program.names), action=action)

    def _noted(self, bet: Bet, outcome: Version | NotCompiled, options: Options, calls: int) -> list[Version] | None:
        """The part of `_settle` that is done whole: the versions that had to go; None when the executor was closed meanwhile."""
        with self._lock:
            if self.closed:
                return None
            self.postponed = isinstance(outcome, NotCompiled) and outcome.reason is Reason.NO_RESOURCES
            if isinstance(outcome, NotCompiled):
                (self._log.withdraw if self.postponed else self._log.settled)(bet)
                self._backoff.lost(calls)
                return []
            if outcome.record.arguments != bet.specs:
                self._log.needs_values(bet.specs, outcome.record.arguments)
            if any(self.table.hits(version) for version in self.table.versions):
                self._backoff.won()
            evicted = self._add(outcome, options)
            self._log.settled(bet)  # now that it has its version: where there is no memory for that, it is made again
            return evicted

    def replace(self, old: Version, made: Version, options: Options) -> None:
        """Let a version answer calls in place of another."""
        self._tell_evicted(shielded(lambda: self._replaced(old, made, options)))

    def _replaced(self, old: Version, made: Version, options: Options) -> list[Version]:
        with self._lock:
            if self.closed:
                return []
            self.table.remove(old)
            return self._add(made, options)

    def _add(self, made: Version, options: Options) -> list[Version]:
        """Put a version in its place; those beyond `max_versions`, which go. The caller holds the lock."""
        evicted = self.table.add(made, options.max_versions)
        for old in evicted:
            self._log.evicted(old.bet.specs)
        return evicted

    def _tell_evicted(self, evicted: list[Version]) -> None:
        for old in evicted:
            self.history.emit(EventKind.EVICTED, Reason.EVICTED, guard=old.guards)

    def compile_in_background(self, attempt: Attempt, bet: Bet, valued: tuple[ArgumentSpec, ...], options: Options) -> None:
        """Ask for a version, which `arrived` takes when there is one. For `valued` see `make_version`."""
        if not attempt.leave_to(CompileJob(self, bet, classes_of(valued), valued, options)):
            self._tell_postponed(bet, "waits: there can be no thread now that has it compiled")

    # --- from the thread that has compiles done in the background ----------------------------------------------------------

    def prepare(self, options: Options) -> None:
        """Make ready what the call after an arrival needs, so that it does not wait for it."""
        self.table.callable(options.entry)

    def arrived(self, job: CompileJob, outcome: Version | NotCompiled) -> None:
        where = f" {job.where}" if job.where else ""
        how = f" in the background{where}, asked for in call {job.call}"
        is_new = self._settle(job.bet, outcome, job.options, job.milliseconds, how)
        if is_new and isinstance(outcome, NotCompiled) and not job.bet.for_values:
            with self._lock:
                self._refused[job.classes] = outcome

    # --- words for people -------------------------------------------------------------------------------------------

    def _warn_of_limit(self, signature: Signature, options: Options) -> None:
        """Say once, to the user, that calls like this one will stay slow."""
        if not self.history.once.first("the versions are used up"):
            return
        strategy = ", ".join(f"{count} {kind}" for kind, count in options.fusion_strategy)
        calls = ", ".join(f"{name}: {klass}" for name, klass in zip(self.program.names, signature.classes, strict=True))
        warn(
            f"{self.program.name} (at {self.program.place}) has used up its {self._log.bets + self._log.symbolic_bets} versions "
            f"(fusion_strategy: {strategy}; bailout_depth: {options.bailout_depth}; max_versions: {options.max_versions}); "
            f"calls with ({calls}) that fit none run in the interpreter. "
            f"Raise fusion_strategy{' and max_versions' if options.is_dynamic else ''}, call it with fewer kinds of arguments, "
            f"or see explain()."
        )

    def _happening(self, flat: tuple[Any, ...], signature: Signature, reason: Reason) -> Happening:
        """What is told of a miss."""
        nearest = self.table.nearest(signature)
        mismatch = None if nearest is None else guards.explain(nearest.record, flat)
        if mismatch is None:
            return self.history.happening(EventKind.MISS, reason, action="ran in tier 0")
        name = self.program.names[mismatch.argument] if mismatch.argument >= 0 else "arguments"
        return self.history.happening(
            EventKind.MISS,
            mismatch.reason,
            guard=f"{name}: {mismatch.what}",
            expected=mismatch.expected,
            actual=mismatch.actual,
            action=f"ran in tier 0: {reason.sentence}",
        )

    def _not_optimized(self) -> NotOptimized:
        found = "; ".join(f"{detail}" + (f" (at {line})" if line else "") for _, detail, line in self.history.refusals)
        return NotOptimized(f"{self.program.name} has no native code as a whole: {found}")
