"""A program with bailouts that is not native as a whole: tier 0 with the bailouts in it, and native regions between them.

The parts are those of `split.py`; what differs is when a program is cut, at once, since its first calls recorded what is needed, and
for which arguments: for the guards of the version that was refused, so that the bailouts prove the types that regions are cut for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierup.dialect.base import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentSpec
from tierup.runtime.arguments import guards
from tierup.runtime.arguments.signature import Signature, describe_specs
from tierup.runtime.bailouts.continuations import Continuations
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import Flat
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.compiling.scheduling.later import Later
from tierup.runtime.executors.splits.split import Split, culprits, cut_into_split
from tierup.runtime.executors.splits.table import SPLITTABLE, SplitTable
from tierup.runtime.programs.context import Context

if TYPE_CHECKING:
    from tierup.runtime.bailouts.assumptions import Assumptions
    from tierup.runtime.compiling.regions import SplitCode
    from tierup.runtime.executors.splits.recorded import Classes, Recording

Specs = tuple[ArgumentSpec, ...]


class GuardedSplits:
    """The splits of one program with bailouts, by the guards on its arguments. Offers what `RecordedSplits` does."""

    def __init__(self, context: Context, assumptions: Assumptions, refused: dict[Classes, NotCompiled]) -> None:
        self._context, self._assumptions, self._refused = context, assumptions, refused
        self._lock = forking.lock()
        self._again: dict[Specs, str] = {}  # to be cut again at the next call: without assumptions on what, for people
        self._given_up: set[Specs] = set()
        self._cutting: set[Specs] = set()
        self._later = Later(context, self)
        self._postponed = Postponing(context.history)
        self.table: SplitTable[Specs] = SplitTable(context, lambda specs: True, self._gone)

    @property
    def waits(self) -> bool:
        """Whether a split could not be made for now, and it is too early to try again."""
        return self._postponed.waits

    def find(self, classes: Classes) -> Split | None:
        """None: which split a call has hangs on more than its classes."""
        return None

    def recordings(self) -> list[tuple[Classes, Recording]]:
        """None: the executor's own runs record, whatever becomes of a call."""
        return []

    def release(self) -> None:
        """Let go of what only compiling needs: no split is made from now on."""
        with self._lock:
            self._given_up.update(self._again)
            self._again.clear()
        self.table.release()
        self._assumptions.release()

    def answer(self, signature: Signature, flat: Flat, options: Options) -> Flat | None:
        """The results of a call that a split answers; None when none fits."""
        for specs, split in list(self.table.splits.items()):
            if guards.first_mismatch(specs, flat) is None:
                return self._run(split, flat)
        again = next((specs for specs in list(self._again) if options.profile and guards.first_mismatch(specs, flat) is None), None)
        return None if again is None else self._record_or_cut(again, signature, flat, Reason.SITE_GIVEN_UP)

    def may_start(self, signature: Signature, refusal: NotCompiled, options: Options) -> bool:
        """Whether a program that was refused as a whole is to be split for such calls."""
        specs = self._assumptions.refused(refusal)
        if refusal.reason not in SPLITTABLE or specs is None or specs in self._given_up:
            return False
        return len(self.table.splits) < options.max_versions

    def start(self, signature: Signature, flat: Flat, refusal: NotCompiled, options: Options) -> Flat:
        """Cut the program for the version that was refused; answer the call."""
        specs, instrumented = self._assumptions.refused(refusal), self._assumptions.prepare()
        if specs is None or instrumented is None:
            if self._assumptions.postponed.is_open:
                self._refused[signature.classes] = refusal
            return self._context.interpret(flat, refusal.reason)
        self._exclude(specs, refusal, instrumented.text)
        return self._record_or_cut(specs, signature, flat, refusal.reason)

    def _record_or_cut(self, specs: Specs, signature: Signature, flat: Flat, reason: Reason) -> Flat:
        """Cut the program, or record a run where none was: `num_profiled_runs` may be 0, and no region can be cut without types."""
        if self._postponed.waits:
            return self._context.interpret(flat, Reason.BACKING_OFF)
        if self._assumptions.has_recorded(specs):
            return self._cut(specs, flat, reason)
        with self._lock:
            self._again.setdefault(specs, "")
        action = "recorded values in mid-program, to cut it into native regions"
        return self._context.history.profiled(action, lambda: self._assumptions.run(flat, signature))

    def cut_later(self, specs: Specs, refusal: NotCompiled, dropped: str) -> None:
        """At the next call: a version was not to be had again without assumptions on what was `dropped`."""
        instrumented = self._assumptions.instrumented
        if refusal.reason not in SPLITTABLE or instrumented is None:
            return
        self._exclude(specs, refusal, instrumented.text)
        with self._lock:
            if specs not in self._given_up:
                self._again[specs] = dropped

    def _exclude(self, specs: Specs, refusal: NotCompiled, graph: str) -> None:
        if self._assumptions.blames(refusal):
            self.table.exclude(specs, culprits(graph, [(refusal.op, refusal.line)]))

    def _cut(self, specs: Specs, flat: Flat, reason: Reason) -> Flat:
        """Make the split for arguments of these guards, and answer a call with it. `reason`: for tier 0 while another thread cuts."""
        interpret, in_background = self._context.interpret, self._context.options().in_background
        with self._lock:
            if specs in self._cutting:
                return interpret(flat, Reason.COMPILING if in_background else reason)
            self._cutting.add(specs)
            if in_background:
                self._again.setdefault(specs, "")
        if in_background:
            self._later.ask(specs, GuardedSplits._finish, specs)
            return interpret(flat, Reason.COMPILING)
        split = self._finish(specs)
        if isinstance(split, NotCompiled):
            return interpret(flat, split.reason)
        if guards.first_mismatch(specs, flat) is not None:  # what was refused in the background was another call's
            return interpret(flat, reason)
        return self._run(split, flat)

    def _finish(self, specs: Specs) -> Split | NotCompiled:
        """Cut the program for arguments of these guards; or why that cannot be."""
        publication = self._assumptions.publication
        assert publication is not None  # a run was recorded
        described = describe_specs(specs, self._context.program.names)
        try:
            split = cut_into_split(self._context, self._postponed, specs, described, publication, lambda: self._code(specs))
        finally:
            with self._lock:
                self._cutting.discard(specs)
        with self._lock:
            if isinstance(split, Split):
                without = self._again.pop(specs, "")
            elif self._postponed.is_open:
                self._again.setdefault(specs, "")
            else:
                self._given_up.add(specs)
                self._again.pop(specs, None)
        if isinstance(split, Split):
            self.table.put(split, without=without)
        return split

    def _code(self, specs: Specs) -> tuple[SplitCode, Continuations]:
        code = self._assumptions.guarded(specs)
        if code is None:
            raise NotCompiled(Reason.MUTATION, "the program cannot be told as values")
        return steps.bailouts.split(code, self.table.excluded(specs)), self._assumptions.continuations_of(code)

    def _run(self, split: Split, flat: Flat) -> Flat:
        results = self.table.run(split, flat)
        assert split.continuations is not None  # all splits here have bailouts, be they none
        if split.continuations.is_due and self._context.options().profile:
            self._drop(split, split.continuations)
        return results

    def _drop(self, split: Split, continuations: Continuations) -> None:
        """Assumptions failed too often: cut again without them at the next call."""
        if not self.table.retire(split):
            return
        dropped = self._assumptions.drop(continuations)
        self._assumptions.leave_implied_open(continuations.code, split.key)
        with self._lock:
            self._again[split.key] = dropped or "what was lost too often"

    def _gone(self, specs: Specs, again: bool) -> None:
        """There is no split for arguments of these guards any more; to be cut `again`, or never?"""
        with self._lock:
            if again:
                self._again[specs] = ""
            else:
                self._given_up.add(specs)
