"""The specialising executor, `options(executor="specializing")`: a plan per argument spec, made at the first call of its kind.

The ancestor is TorchScript's GraphExecutorImpl, which kept a plan for each ArgumentSpec for ever. Here the plans are bounded by
`max_versions`, and the one that was used longest ago goes. Profiles, fusion strategies and depths have no part in it. With
`optimize=False` plans are made by the required passes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tierup.dialect.base import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.stats import Stats
from tierup.runtime.arguments.argument_spec import CallSpec
from tierup.runtime.arguments.signature import Unsupported
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import Flat
from tierup.runtime.base.recent import Recent
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.compiling.scheduling.later import Later
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.specialized_plan import SpecializedPlan, ValuesProgram
from tierup.runtime.executors.splits.split import Split
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from tierup.runtime.arguments.signature import Signature
    from tierup.runtime.programs.strategy import Seen

Plan = SpecializedPlan | Program  # a Program: a plan that only tier 0 runs


class SpecializingExecutor:
    """Plans of a program by argument spec, least recently used first. Thread-safe: locks cover bookkeeping only."""

    def __init__(self, context: Context) -> None:
        self.context, self.program, self.history = context, context.program, context.history
        self._lock = forking.lock()
        self._plans: Recent[tuple[CallSpec, bool], Plan] = Recent()
        self._hits = self._misses = 0
        self._ending: list[SpecializedPlan] = []  # dropped, with calls in them
        self._retired = Stats()
        self._later = Later(context, self)
        self._postponed = Postponing(context.history)
        self.call: Callable[[Flat, Options], Flat] = context.place.around(self._call)

    # --- answering a call -------------------------------------------------------------------------------------------

    def _call(self, flat: Flat, options: Options) -> Flat:
        key = self.context.place.spec_of(flat), options.optimize
        with self._lock:
            plan = self._plans.use(key)
            if plan is None:
                self._misses += 1
            else:
                self._hits += 1
                plan = self._begin(plan)
        if plan is None:
            reason = self._refusal(self.context.place.copies(flat))
            if reason is None and self._postponed.waits and not options.strict:
                reason = Reason.BACKING_OFF
            if reason is None and options.in_background:
                self._later.ask(key, SpecializingExecutor._make_later, key, options)
                reason = Reason.COMPILING
            made = self._make(key, options) if reason is None else None
            if made is None:
                reason = reason or Reason.NO_RESOURCES
                if reason is not Reason.PROGRAM_RAISES:
                    self.history.refuse_tier0(reason, options)
                return self.context.interpret(flat, reason)
            plan = self._keep(key, made, options)
        if isinstance(plan, Program):
            reason = Reason.NO_LOWERING if options.optimize else Reason.OPTIMIZE_OFF
            self.history.refuse_tier0(reason, options)
            return self.context.interpret(flat, reason, plan)
        try:
            return plan.call(flat, options)
        finally:
            self._end(plan)

    def _begin(self, plan: Plan) -> Plan:
        """A call is about to run a plan. The caller holds the lock."""
        if isinstance(plan, SpecializedPlan):
            plan.users += 1
        return plan

    def _end(self, plan: SpecializedPlan) -> None:
        with self._lock:
            plan.users -= 1
            if plan.context.closed and not plan.users:
                self._retire(plan)

    def _refusal(self, flat: Flat) -> Reason | None:
        """Why there is no plan for a call, and the pristine program runs; None when there is none yet."""
        try:
            self.program.signature_of(flat, self.context.options())
        except Unsupported as e:
            return e.reason
        if not self.program.tier0.takes(flat):
            return Reason.PROGRAM_RAISES
        return Reason.RELEASED if self.program.released else None

    def _make_later(self, key: tuple[CallSpec, bool], options: Options) -> None:
        made = self._make(key, options)
        if made is None:
            return
        plan = self._keep(key, made, options)
        if isinstance(plan, SpecializedPlan):
            self._end(plan)

    def _make(self, key: tuple[CallSpec, bool], options: Options) -> Plan | None:
        """The plan for calls of a spec; None when there can be none now."""
        spec, program = key[0], self.program

        def make() -> Plan:
            if not options.optimize:
                graph, tier0 = steps.specialized.required(program.graph, program.entry)
                return Program(program.name, graph, program.entry, program.names, tier0, program.place)
            made = steps.specialized.specialize(program.graph, program.entry, spec)
            return SpecializedPlan(self.context.apart(), spec, ValuesProgram(program, made))

        found = self._postponed.made("a plan", spec.describe(program.names), "the pristine graph runs", make)
        if isinstance(found, NotCompiled):
            return None if self._postponed.is_open else program
        return found

    def _keep(self, key: tuple[CallSpec, bool], made: Plan, options: Options) -> Plan:
        """Put a plan in the cache; another thread may have made it first. What was used longest ago goes."""
        with self._lock:
            kept = self._plans.get(key, made)
            plan = self._begin(kept)
            gone = self._plans.keep(key, kept, options.max_versions)
            for _, old in gone:
                if isinstance(old, SpecializedPlan):
                    old.close()
                    self._ending.append(old)
                    if not old.users:
                        self._retire(old)
        for (spec, _), _ in gone:
            self.history.emit(EventKind.EVICTED, Reason.PLAN_EVICTED, guard=spec.describe(self.program.names))
        return plan

    def _retire(self, plan: SpecializedPlan) -> None:
        """Keep the counts of a plan that went, now that no call is in it. The caller holds the lock."""
        if plan not in self._ending:
            return  # it went with all others
        self._ending.remove(plan)
        stats = plan.stats()
        self._retired += Stats(hits=stats.hits, bailouts=stats.bailouts, fallbacks=stats.fallbacks, compiles=stats.compiles)

    # --- what there is, and what happened ------------------------------------------------------------------------------

    @property
    def plans(self) -> tuple[tuple[CallSpec, bool, Plan], ...]:
        """(spec, whether it is optimised, plan), least recently used first."""
        with self._lock:
            return tuple((spec, optimize, plan) for (spec, optimize), plan in self._plans.items())

    def locks(self) -> list[AbstractContextManager[object]]:
        """What is held while no plan and no version may change."""
        return [self._lock, *(plan.table.lock for plan in self._specialized)]

    @property
    def _specialized(self) -> list[SpecializedPlan]:
        return [plan for _, _, plan in self.plans if isinstance(plan, SpecializedPlan)]

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions of all plans."""
        return tuple(version for plan in self._specialized for version in plan.versions)

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits of all plans."""
        return tuple(split for plan in self._specialized for split in plan.splits)

    def seen(self) -> list[Seen]:
        """None: it keeps no records."""
        return []

    def warm(self, signatures: Sequence[Signature], flat: tuple[Any, ...], options: Options) -> bool:
        """See `Executor.warm`: plans are made in calls."""
        return False

    @property
    def compiling(self) -> bool:
        """Whether a version of any plan is being compiled."""
        return any(plan.compiling for plan in self._specialized)

    @property
    def undecided(self) -> bool:
        """Whether it is not known yet if there is code: no plan was made yet, or none of a plan's."""
        return self._postponed.is_open or not self._plans or any(plan.undecided for plan in self._specialized)

    @property
    def is_optimized(self) -> bool:
        """Whether there is a plan for calls with the option `optimize`."""
        return any(optimize for _, optimize, _ in self.plans)

    def described_plans(self) -> tuple[tuple[str, str, int], ...]:
        """(spec, how it runs, calls that code answered), least recently used first."""
        found = []
        for spec, optimize, plan in self.plans:
            how, hits = "optimised" if optimize else "the required passes only", 0
            if isinstance(plan, SpecializedPlan):
                hits = plan.stats().hits
                how += ", native" if plan.versions else ", split" if plan.splits else ", in tier 0"
            else:
                how += ", in tier 0"
            found.append((spec.describe(self.program.names), how, hits))
        return tuple(found)

    def hits(self, version: Version) -> int:
        """How many calls a version answered; 0 of one that is no longer here."""
        return sum(plan.table.hits(version) for plan in self._specialized)

    def stats(self) -> Stats:
        """What plans did; what tier 0 answered is the history's to count."""
        cache = Stats(plan_cache_hits=self._hits, plan_cache_misses=self._misses)
        with self._lock:
            return sum((plan.stats() for plan in (*self._specialized, *self._ending)), self._retired) + cache

    def total_hits(self) -> int:
        """`stats().hits`."""
        return self.stats().hits

    def continuations(self, version: Version | Split) -> None:
        """None: plans make no assumptions in mid-program."""

    def cache_counts(self) -> tuple[int, int, int]:
        """(calls that code answered, hits of the plan cache, its misses)."""
        return sum((plan.hits for plan in (*self._specialized, *self._ending)), self._retired.hits), self._hits, self._misses

    def close(self) -> None:
        """Drop all plans; calls that are in one finish."""
        with self._lock:
            self.context.closed = True
            for plan in self._plans.values():
                if isinstance(plan, SpecializedPlan):
                    plan.close()
            self._plans.clear()

    def release(self) -> None:
        """Let go of what only compiling needs."""
        for plan in self._specialized:
            plan.release()
