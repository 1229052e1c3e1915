"""A plan of the specialising executor: the program for one argument spec, and the code made of it.

The graph is optimised once, for dtypes and ranks. Its code is native with all sizes symbolic; sizes 0 and 1, which broadcast otherwise,
and other layouts get versions of their own in a small table of the plan's. A graph with an op that has no native code runs in tier 0 with
its fusion groups native. Nothing is recorded, and no guard is a speculation: what a version's guards turn away is another case of the same
spec."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tierup.dialect.optable.kernels import drawing
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.account import last_plan
from tierup.runtime.account.stats import Stats
from tierup.runtime.arguments.argument_spec import CallSpec
from tierup.runtime.arguments.signature import Unsupported
from tierup.runtime.base.errors import NotOptimized
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import Flat
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.compiling.scheduling.later import Later
from tierup.runtime.dispatching.handed_over import HandedOver
from tierup.runtime.dispatching.version import Version
from tierup.runtime.dispatching.version_table import VersionTable
from tierup.runtime.executors.making import VersionMaker
from tierup.runtime.executors.plan_log import MOST_VERSIONS, PlanLog
from tierup.runtime.executors.splits.split import Split, culprits, cut_into_split
from tierup.runtime.executors.splits.table import SPLITTABLE, SplitTable
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.runtime.compiling.regions import SplitCode, ValueGraph

_WHOLE = "the plan"  # what its split is for


class ValuesProgram(Program):
    """A program told as values: it writes arguments when it is through, and whatever it raises, the pristine program raises instead."""

    def __init__(self, pristine: Program, made: ValueGraph) -> None:
        super().__init__(pristine.name, made.text, pristine.entry, pristine.names, made.tier0, pristine.place)
        self.publication, self._pristine = made.publication, pristine

    def run(self, flat: Flat) -> Flat:
        """The results of a call in tier 0. Raises what the pristine program raises."""
        if self.publication.refusal() or not self.publication.fits(flat):
            return self._pristine.run(flat)
        results = drawing.tried(lambda: self.publication.results(flat, self.tier0.call(*flat)))
        if results is None:
            return self._pristine.run(flat)
        last_plan.note(self)
        return results


class SpecializedPlan:
    """See the module. Thread-safe: locks cover bookkeeping only."""

    def __init__(self, context: Context, spec: CallSpec, program: ValuesProgram) -> None:
        self.context, self.spec = context, spec
        self.program: Program = program
        self._publication = program.publication
        self.history, place = context.history, context.place
        self.users = 0  # calls in it, counted under the lock of the executor that has it
        self._no_version = place.slow(self._answer_without, lambda classes: None)
        self._failed = self.failed_directly = place.failed(self._answer_failed, lambda record, status: False)
        self.table = VersionTable(len(program.names), self._no_version, self._failed, None, self, place.make_table)
        self._log = PlanLog()
        self._maker = VersionMaker(context, program, self.table, self._log, {}, most=MOST_VERSIONS)
        self._handed_over = HandedOver(context, self.table)
        self._lock = self.table.lock
        self._postponed = Postponing(context.history)  # cutting it
        self._is_uncut = False  # cutting it was tried, to no avail
        self._cutting = False
        self._later = Later(context, self)
        self._splits: SplitTable[str] = SplitTable(context, lambda key: not self.program.released, self._gone)

    @property
    def versions(self) -> tuple[Version, ...]:
        """The plan's versions, oldest first."""
        return self.table.versions

    @property
    def splits(self) -> tuple[Split, ...]:
        """The plan's split; none or one."""
        return tuple(self._splits.splits.values())

    @property
    def split(self) -> Split | None:
        """What runs the program where the whole has no native code; None when there is none."""
        return self._splits.splits.get(_WHOLE)

    @property
    def compiling(self) -> bool:
        """Whether a version is being compiled."""
        return self._log.pending

    @property
    def undecided(self) -> bool:
        """Whether it is not known yet if there is code, or it is tried again to make some."""
        return self._postponed.is_open or self._maker.postponed or not (self.versions or self._log.refusal)

    @property
    def guards(self) -> str:
        """The argument spec that it is for, for people."""
        return self.spec.describe(self.program.names)

    @property
    def hits(self) -> int:
        """How many calls code answered."""
        return self.table.counts()[0] + self._splits.hits

    def stats(self) -> Stats:
        """What code answered. What tier 0 answered is the history's to count."""
        hits, failures = self.table.counts()
        return Stats(hits=hits, bailouts=failures, versions=len(self.versions)) + self._splits.stats()

    def close(self) -> None:
        """Take all versions out; calls that are in one finish."""
        with self._lock:
            self.context.closed = True
            self.table.clear()

    def release(self) -> None:
        """Let go of what only compiling needs."""
        self.program.release()
        self._splits.release()

    # --- answering a call -------------------------------------------------------------------------------------------

    def call(self, flat: Flat, options: Options) -> Flat:
        """The results of a call with arguments of this spec. Raises NotOptimized where the options want native code and there is none; else
        what the program raises."""
        if not self.versions:
            return self._no_version(*flat)
        return self.table.run(flat, options.entry)

    def _answer_without(self, *flat: Any) -> Flat:
        """No version fits the call: make one, or do without."""
        options = self.context.options()
        if self.table.is_called_once:
            return self.context.interpret(flat, Reason.SITE_GIVEN_UP, self.program)
        try:
            signature = self.program.signature_of(flat, options)
        except Unsupported as e:
            self.history.refuse_tier0(e.reason, options)
            return self.context.interpret(flat, e.reason)
        outcome = self._maker.make(flat, signature, options)
        if isinstance(outcome, Version):
            return self.table.run_once(flat, options.entry)
        return self._without_version(flat, outcome.reason if isinstance(outcome, NotCompiled) else outcome, options)

    def _without_version(self, flat: Flat, reason: Reason, options: Options) -> Flat:
        refusal = self._log.refusal
        if refusal is not None and options.strict and refusal.reason is not Reason.PROGRAM_RAISES:
            found = f"{refusal.detail}" + (f" (at {refusal.line})" if refusal.line else "")
            raise NotOptimized(self.history.owner.named(f"{self.program.name} has no native code as a whole: {found}"))
        if refusal is not None and refusal.reason in SPLITTABLE and not self.context.is_region:
            if not self.splits and options.in_background and self._may_cut:
                self._later.ask("cut", SpecializedPlan._cut_once, options)
                return self.context.interpret(flat, Reason.COMPILING, self.program)
            split = self.split or self._cut_once(options)
            if split is not None and split.publication.fits(flat):
                return self._splits.run(split, flat)
        if reason is not Reason.PROGRAM_RAISES:
            self.history.refuse_tier0(reason, options)
        return self.context.interpret(flat, reason, self.program)

    def _answer_failed(self, record: VersionRecord, status: int, flat: Flat, live: object = None) -> Flat:
        """Native code left at an error site, having written nothing: tier 0 runs the call again and raises the user's exception, or gives
        the result, where the code has none."""
        return self._handed_over.answer(record, status, flat, self._maker.make_for_values)

    # --- fusion groups, where the whole has no native code -------------------------------------------------------------

    def _cut_once(self, options: Options) -> Split | None:
        """Cut, unless another thread is at it: then tier 0 answers."""
        with self._lock:
            if self._cutting or self.split is not None:
                return self.split
            self._cutting = True
        try:
            return self._cut(options)
        finally:
            self._cutting = False

    @property
    def _may_cut(self) -> bool:
        return not (self._is_uncut or self.program.released or self._publication.refusal() or self._postponed.waits)

    def _cut(self, options: Options) -> Split | None:
        refusal = self._log.refusal
        if refusal is None or not self._may_cut:
            return None
        program, excluded = self.program, self._splits.excluded
        if not excluded(_WHOLE):
            self._splits.exclude(_WHOLE, culprits(program.graph, [(refusal.op, refusal.line)]))

        def cut() -> tuple[SplitCode, None]:
            return steps.specialized.regions(program.graph, program.entry, excluded(_WHOLE)), None

        split = cut_into_split(self.context, self._postponed, _WHOLE, self.guards, self._publication, cut)
        if isinstance(split, NotCompiled):
            self._is_uncut = not self._postponed.is_open
            return None
        self._splits.put(split)
        return split

    def _gone(self, key: str, again: bool) -> None:
        """The split went; to be cut `again`, or never?"""
        self._is_uncut |= not again
