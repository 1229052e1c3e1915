"""When and how a program that is not native as a whole is split.

When a compile of the whole is refused, the next call of that kind runs the instrumented graph and records; the one after that cuts the
program (`runtime/compiling/regions.py`).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from tierup.dialect.base import forking
from tierup.dialect.base.records import dataclass
from tierup.dialect.optable.kernels import drawing
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account import last_plan
from tierup.runtime.arguments.signature import ArgumentClass, Signature
from tierup.runtime.base.events import EventKind
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
    from tierup.runtime.compiling.regions import Facts, SplitCode, ValueGraph

Classes = tuple[ArgumentClass, ...]


@dataclass
class Recording:
    """A program on its way to a split: what its instrumented runs have seen."""

    instrumented: ValueGraph
    facts: Facts = field(default_factory=dict)
    runs: int = 0


class RecordedSplits:
    """The splits of one program, by the classes of the arguments that they are for. `refused`: by these classes, why calls of their kind
    have no version as a whole; what is broken off, or postponed, is begun again by a later call that finds it there."""

    def __init__(self, context: Context, refused: dict[Classes, NotCompiled]) -> None:
        self._context, self._refused = context, refused
        self._lock = forking.lock()
        self._recordings: dict[Classes, Recording] = {}
        self._given_up: set[Classes] = set()
        self._cutting: set[Classes] = set()
        self._later = Later(context, self)
        self._postponed = Postponing(context.history)
        self.table: SplitTable[Classes] = SplitTable(context, self._recordings.__contains__, self._gone, apart=True)

    @property
    def waits(self) -> bool:
        """Whether a split could not be made for now, and it is too early to try again."""
        return self._postponed.waits

    def find(self, classes: Classes) -> Split | None:
        """The split for arguments of these classes."""
        return self.table.splits.get(classes)

    def cut_later(self, specs: object, refusal: NotCompiled, dropped: str) -> None:
        """Nothing: this program makes no assumptions in mid-program that could be dropped."""

    def recordings(self) -> list[tuple[Classes, Recording]]:
        """The programs on their way to a split, or cut, by the classes of arguments that came."""
        return list(self._recordings.items())

    def release(self) -> None:
        """Let go of what only compiling needs: no split is made from now on."""
        self._recordings.clear()
        self.table.release()

    def answer(self, signature: Signature, flat: Flat, options: Options) -> Flat | None:
        """The results of a call that a split answers, or a run on the way to one; None when this kind of call has neither."""
        classes = signature.classes
        split = self.table.splits.get(classes)
        if split is not None:
            return self.table.run(split, flat)
        if self._later.has(classes):
            return self._context.interpret(flat, Reason.COMPILING)
        if options.profile and classes in self._recordings:
            return self._record_or_cut(classes, flat, options)
        return None

    def may_start(self, signature: Signature, refusal: NotCompiled, options: Options) -> bool:
        """Whether a program that was refused as a whole is to be split for calls of this kind."""
        bound = options.max_versions
        return refusal.reason in SPLITTABLE and signature.classes not in self._given_up and len(self._recordings) < bound

    def start(self, signature: Signature, flat: Flat, refusal: NotCompiled, options: Options) -> Flat:
        """Answer a call for which the program was refused as a whole, and record from now on."""
        why = NotCompiled(refusal.reason, refusal.detail, refusal.line, refusal.op)  # the other's traceback holds the executor
        if options.in_background:
            self._later.ask(signature.classes, RecordedSplits._begin, signature.classes, why)
            return self._context.interpret(flat, Reason.COMPILING)
        failure = self._begin(signature.classes, why)
        if failure is not None:
            return self._context.interpret(flat, failure.reason)
        return self._record_or_cut(signature.classes, flat, options)

    def _begin(self, classes: Classes, why: NotCompiled) -> NotCompiled | None:
        """Make the graph that records; or why there is none. `why`: the program is to be split."""
        made = self._postponed.made("recording values in mid-program", "the program", "stays in tier 0", self._instrument)
        if isinstance(made, NotCompiled):
            if self._postponed.is_open:
                self._refused[classes] = why
            else:
                self._gone(classes, False)
            return made
        self.table.exclude(classes, culprits(made.text, [(why.op, why.line)]))
        self._recordings[classes] = Recording(made)
        return None

    def _instrument(self) -> ValueGraph:
        program = self._context.program
        return steps.regions.instrument(program.graph, program.entry)

    def _gone(self, classes: Classes, again: bool) -> None:
        """There is no split for arguments of these classes any more; never `again`?"""
        if not again:
            with self._lock:
                self._given_up.add(classes)
                self._recordings.pop(classes, None)

    def _record_or_cut(self, classes: Classes, flat: Flat, options: Options) -> Flat:
        """Record a run, or cut the program when enough have been."""
        interpret, recording = self._context.interpret, self._recordings.get(classes)
        if recording is None or not recording.instrumented.publication.fits(flat):
            return interpret(flat, Reason.NO_LOWERING)
        if recording.runs < max(options.num_profiled_runs, 1):
            return self._record(recording, flat)
        if self._postponed.waits:
            return interpret(flat, Reason.BACKING_OFF)
        with self._lock:
            if classes in self._cutting or self.find(classes) is not None:  # another thread was quicker
                return interpret(flat, Reason.NO_LOWERING)
            self._cutting.add(classes)
        if options.in_background:
            self._later.ask(classes, RecordedSplits._cut, recording, classes)
            return interpret(flat, Reason.COMPILING)
        split = self._cut(recording, classes)
        return interpret(flat, split.reason) if isinstance(split, NotCompiled) else self.table.run(split, flat)

    def _record(self, recording: Recording, flat: Flat) -> Flat:
        """Answer a call by a run that records. Whatever it raises, no argument has been written."""
        instrumented, recorder = recording.instrumented, steps.regions.recorder_of(recording.facts)
        results = drawing.tried(lambda: instrumented.publication.results(flat, instrumented.tier0.call(*flat, record=recorder)))
        if results is None:
            return self._context.interpret(flat, Reason.PROFILING)
        with self._lock:
            recording.runs += 1
        last_plan.note(self._context.program)
        self._context.history.count("profiled_runs")
        action = "recorded values in mid-program, to split it into native regions"
        self._context.history.emit(EventKind.PROFILED, Reason.PROFILING, action=action)
        return results

    def _cut(self, recording: Recording, classes: Classes) -> Split | NotCompiled:
        """Cut the program for what was recorded; or why that cannot be."""
        program, instrumented = self._context.program, recording.instrumented
        guards = ", ".join(f"{n}: {c}" for n, c in zip(program.names, classes, strict=True))

        def cut() -> tuple[SplitCode, None]:
            text = steps.regions.with_facts(instrumented.text, program.entry, recording.facts)
            return steps.regions.split(text, program.entry, self.table.excluded(classes)), None

        try:
            split = cut_into_split(self._context, self._postponed, classes, guards, instrumented.publication, cut)
        finally:
            with self._lock:
                self._cutting.discard(classes)
        if isinstance(split, Split):
            self.table.put(split)
        elif not self._postponed.is_open:
            self._gone(classes, False)
        return split
