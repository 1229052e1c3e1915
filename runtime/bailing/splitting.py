"""When and how a program that is not native as a whole is split: the part of the profiling executor that drives `regions.Regions`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tierup.dialect import forking
from tierup.dialect.kernels import drawing
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments.signature import Signature
from tierup.runtime.compiling import later
from tierup.runtime.compiling.backoff import Postponing
from tierup.runtime.compiling.later import Later
from tierup.runtime.events import EventKind
from tierup.runtime.explaining import last_plan
from tierup.runtime.explaining.history import History
from tierup.runtime.explaining.plans import NotCompiled, failures_are_refusals
from tierup.runtime.explaining.stats import Stats
from tierup.runtime.options import Options
from tierup.runtime.program import Program
from tierup.runtime.regions import Classes, Recording, Regions, Split

if TYPE_CHECKING:
    from tierup.runtime.compiling.regions import RegionCode
    from tierup.runtime.profiling import ProfilingExecutor

SPLITTABLE = frozenset({Reason.NO_LOWERING, Reason.TYPE_UNKNOWN, Reason.VIEW_RESULT, Reason.MUTATION})


class Splitting:
    """The splits of one program. `make_region` gives the executor of a region: of its code and its number."""

    def __init__(self, owner: ProfilingExecutor) -> None:
        self._owner = owner
        self._program: Program = owner.program
        self._history: History = owner.history
        self._lock = forking.lock()
        self._cutting: set[object] = set()
        self._failures = 0
        self._later = Later(owner, self)
        self._postponed = Postponing(owner.history)
        self.regions = Regions()

    @property
    def splits(self) -> tuple[Split, ...]:
        return tuple(self.regions.splits.values())

    @property
    def waits(self) -> bool:
        """Whether a split could not be made for now, and it is too early to try again."""
        return self._postponed.waits

    @property
    def hits(self) -> int:
        """How many calls splits answered."""
        return self.regions.hits

    def stats(self) -> Stats:
        return self.regions.stats() + Stats(bailouts=self._failures)

    def answer(self, signature: Signature, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...] | None:
        """The results of a call that a split answers, or a run on the way to one; None when this kind of call has neither."""
        split = self.regions.splits.get(signature.classes)
        if split is not None:
            return self._run(split, flat)
        if self._later.has(signature.classes):
            return self._history.interpret(flat, Reason.COMPILING)
        if options.profile and self.regions.recording(signature.classes) is not None:
            return self._record_or_cut(signature, flat, options)
        return None

    def may_start(self, signature: Signature, refusal: NotCompiled, options: Options) -> bool:
        """Whether a program whose bet on a call was refused is to be split for calls of its kind."""
        return refusal.reason in SPLITTABLE and self.regions.may_start(signature.classes, options.max_versions)

    def start(self, signature: Signature, flat: tuple[Any, ...], refusal: NotCompiled, options: Options) -> tuple[Any, ...]:
        """Answer a call whose bet was refused, and record from now on."""
        why = NotCompiled(refusal.reason, refusal.detail, refusal.line, refusal.op)  # the other's traceback holds the executor
        if later.is_wanted(options):
            self._later.ask(signature.classes, Splitting._begin, signature.classes, why)
            return self._history.interpret(flat, Reason.COMPILING)
        failure = self._begin(signature.classes, why)
        if failure is not None:
            return self._history.interpret(flat, failure.reason)
        return self._record_or_cut(signature, flat, options)

    def _begin(self, classes: Classes, why: NotCompiled) -> NotCompiled | None:
        """Make the graph that records; or why there is none. `why`: the program is to be split."""
        try:
            with failures_are_refusals("recording values in mid-program"):
                self.regions.start(self._program.graph, self._program.entry, classes, (why.op, why.line))
        except NotCompiled as e:
            if self._postponed.failed(e, "the program", "stays in tier 0"):
                self._owner.refused_again(classes, why)
            else:
                self.regions.stop(classes)
            return e
        self._postponed.succeeded()
        return None

    def _record_or_cut(self, signature: Signature, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        """Record a run, or cut the program when enough have been."""
        classes = signature.classes
        recording = self.regions.recording(classes)
        if recording is None or not recording.publish.fits(flat):
            return self._history.interpret(flat, Reason.NO_LOWERING)
        if recording.runs < max(options.num_profiled_runs, 1):
            drawing.begin()
            try:
                results = self.regions.record(recording, flat)
            except Exception:  # noqa: BLE001 - whatever it was, the pristine graph raises it, or gives the results
                drawing.give_up()
                return self._history.interpret(flat, Reason.PROFILING)
            last_plan.note(self._program)
            self._history.count("profiled_runs")
            action = "recorded values in mid-program, to split it into native regions"
            self._history.emit(EventKind.PROFILED, Reason.PROFILING, action=action)
            return results

        if self._postponed.waits:
            return self._history.interpret(flat, Reason.BACKING_OFF)
        with self._lock:
            if classes in self._cutting or classes in self.regions.splits:  # another thread was quicker
                return self._history.interpret(flat, Reason.NO_LOWERING)
            self._cutting.add(classes)
        if later.is_wanted(options):
            self._later.ask(classes, Splitting._cut, recording, classes)
            return self._history.interpret(flat, Reason.COMPILING)
        split = self._cut(recording, classes)
        return self._history.interpret(flat, split.reason) if isinstance(split, NotCompiled) else self._run(split, flat)

    def _cut(self, recording: Recording, classes: Classes) -> Split | NotCompiled:
        """Cut the program for what was recorded; or why that cannot be."""
        guards = ", ".join(f"{n}: {c}" for n, c in zip(self._program.names, classes, strict=True))
        try:
            with failures_are_refusals("cutting the program"):
                split = self.regions.cut(recording, self._program.entry, self._region, self._owner.calls() + 1, classes, guards)
            split.function = self._program.name
        except NotCompiled as e:
            if not self._postponed.failed(e, guards, "stays in tier 0"):
                self.regions.stop(classes)
            return e
        finally:
            with self._lock:
                self._cutting.discard(classes)
        self._postponed.succeeded()
        left = ", ".join(f"{op} at {line}" if line else op for op, line in split.code.left)
        self._history.emit(
            EventKind.SPLIT,
            Reason.NO_LOWERING,
            guard=guards,
            action=f"cut into {len(split.regions)} native regions; in tier 0: {left or 'views and scalars'}",
            milliseconds=split.milliseconds,
        )
        return split

    def recordings(self) -> list[tuple[Classes, Recording]]:
        """What instrumented runs have seen, by the classes of their arguments."""
        return self.regions.recordings()

    def release(self) -> None:
        """Let go of what only compiling needs, of the regions too."""
        self.regions.release()

    def _region(self, code: RegionCode, number: int) -> Any:
        name = f"{self._program.name}, region {number}"
        return self._owner.make_region(Program(name, code.graph, code.name, code.names, code.tier0, code.place))

    def _run(self, split: Split, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        if not split.publish.fits(flat):
            return self._history.interpret(flat, Reason.OVERLAP)
        self.regions.count(split)
        try:
            results = split.run(flat)
        except Exception:  # noqa: BLE001 - whatever it was, the pristine graph raises it, with all it writes before
            with self._lock:
                self._failures += 1
            return self._owner.failed(None, 0, flat)
        self.has_run(split)
        return results

    def has_run(self, split: Split) -> None:
        """After a call that a split has answered: look at what its regions have become."""
        if not split.reviewed and not any(region.is_open for region in split.regions):
            self._review(split)
        if split.is_new:
            split.is_new = False
            if split in self.splits:
                self._owner.on_version(self._owner.options())

    def _review(self, split: Split) -> None:
        """After a run of a split whose regions have been compiled: cut again without what has no code after all."""
        split.reviewed = True
        culprits = self.regions.excluded_by(split)
        if culprits:
            self.regions.exclude(split.classes, culprits)
        elif not any(region.versions for region in split.regions):
            self.regions.stop(split.classes)
            for region in split.regions:
                self._history.refusals.update(region.refusals)
