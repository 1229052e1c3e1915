"""`speculate="bailout"`: what a profiling executor does for assumptions in mid-program.

Calls that no version fits run the instrumented graph, which records what a guard inside could assume. A version is then the guarded
graph, compiled whole, with an exit at each bailout; or, where an op has no native code, tier 0 with the bailouts in it and native regions
between them (`splits/guarded.py`). Where an assumption fails its continuation goes on (`continuations.py`), and what that gives is written
and returned as the program's. An assumption that fails too often is dropped: the version is made again without it (`site_log.py`).

No argument is written before the call is through. So whatever is raised on the way, the pristine graph runs the call again and raises it
as the user should see it; no op that programs have does anything outside of its results and of what it writes, so nothing happens twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from tierup.dialect.base import forking
from tierup.dialect.facts import profiled
from tierup.dialect.optable.kernels import drawing
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import EXIT_BASE, ArgumentKind, ArgumentSpec
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.account import last_plan
from tierup.runtime.account.stats import Stats
from tierup.runtime.arguments.signature import ArgumentClass, Signature, describe_specs
from tierup.runtime.bailouts.continuations import Continuations, Tally
from tierup.runtime.bailouts.site_log import SiteLog
from tierup.runtime.base.options import Options
from tierup.runtime.base.protocols import Flat
from tierup.runtime.base.recent import Recent
from tierup.runtime.code.plans import CompilerOutput, NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.new_version import Produce, make_version
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.compiling.scheduling.later import Later
from tierup.runtime.faults import faults
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.program import Program
from tierup.runtime.programs.publication import Publication
from tierup.runtime.programs.speculations import Speculation

if TYPE_CHECKING:
    from tierup.runtime.compiling.bailouts import Guarded
    from tierup.runtime.compiling.regions import Facts, ValueGraph
    from tierup.runtime.dispatching.version import Version

Specs = tuple[ArgumentSpec, ...]
Shapes = tuple[tuple[ArgumentClass, ...], tuple[tuple[int, ...], ...]]
_SHAPES_KEPT = 64  # per program, as in the speculation log: an unseen shape per call must not grow memory


class Assumptions:
    """The assumptions in mid-program of one executor."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._lock = forking.lock()
        self._facts: Recent[Shapes, Facts] = Recent()
        self._continuations: WeakKeyDictionary[VersionRecord, Continuations] = WeakKeyDictionary()
        self._untyped: WeakSet[NotCompiled] = WeakSet()
        self._tallies: list[Tally] = []  # of all versions there ever were: as many as the strategy allows
        self.log = SiteLog()
        self.publication: Publication | None = None  # None before the first run, and where the program cannot be told as values
        self.instrumented: ValueGraph | None = None
        self.runs = 0  # calls answered in tier 0, recorded or not
        self._was_tried = False
        self.postponed = Postponing(context.history)
        self._later = Later(context, self)
        self._refused: WeakKeyDictionary[NotCompiled, Specs] = WeakKeyDictionary()

    # --- recording ----------------------------------------------------------------------------------------------------

    def run(self, flat: Flat, signature: Signature) -> Flat:
        """Answer a call in tier 0, recording values in mid-program where that can be."""
        if not self._was_tried and self._context.options().in_background:
            return self._context.program.run(flat)  # `why_not_ready` has asked for it
        with self._lock:
            self.runs += 1
        instrumented, publication = self.prepare(), self.publication
        if instrumented is None or publication is None or not publication.fits(flat):
            return self._context.program.run(flat)

        seen: Facts = {}
        given = drawing.tried(lambda: (instrumented.tier0.call(*flat, record=steps.regions.recorder_of(seen)),))
        if given is None:
            return self._context.program.run(flat)
        with self._lock:
            before = self._facts.get(signature.shapes, {})
            _merge(before, seen)
            self._facts.keep(signature.shapes, before, _SHAPES_KEPT)
        results = publication.results(flat, *given)
        last_plan.note(self._context.program)
        return results

    def interpret(self, flat: Flat, signature: Signature, reason: Reason) -> Flat:
        """As `Context.interpret`, recording."""
        self._context.history.interpreted(reason)
        return self.run(flat, signature)

    def why_not_ready(self, options: Options) -> Reason | None:
        """None when a call can be recorded, or cannot ever. Where no call waits for compiles this asks for what is needed."""
        if not self._was_tried and options.in_background:
            if not self.postponed.waits:
                self._later.ask("instrumented", Assumptions.prepare)
            return None if self._was_tried else Reason.COMPILING
        return Reason.NO_RESOURCES if self.postponed.is_open and not options.strict else None

    def prepare(self) -> ValueGraph | None:
        """The instrumented graph, made when it is first needed; None where there is none to be had."""
        if not self._was_tried and not self.postponed.waits:
            made = self.postponed.made(
                "recording values in mid-program", "the program", "no assumptions in mid-program", self._instrument
            )
            if self.postponed.is_open:
                return None
            if not isinstance(made, NotCompiled):
                with self._lock:
                    self.instrumented, self.publication = made, made.publication
            self._was_tried = True
        return self.instrumented

    def _instrument(self) -> ValueGraph:
        program = self._context.program
        return steps.bailouts.instrument(program.graph, program.entry)

    def release(self) -> None:
        """Let go of what only new versions need. What goes on where an assumption of one fails stays: it is made of the version's own
        text."""
        with self._lock:
            self._was_tried, self.instrumented, self.postponed.is_open = True, None, False
            self._facts.clear()

    def has_recorded(self, specs: Specs) -> bool:
        """Whether a call that fits these guards was recorded."""
        with self._lock:
            return any(_accepts(specs, shapes) for shapes in self._facts)

    def _recorded(self, specs: Specs) -> Facts:
        """What calls that fit these guards have shown."""
        found: Facts = {}
        with self._lock:
            for shapes, facts in self._facts.items():
                if _accepts(specs, shapes):
                    _merge(found, facts)
        return found

    # --- making versions ----------------------------------------------------------------------------------------------

    def make(self, program: Program, speculation: Speculation, valued: Specs, options: Options, call: int, produce: Produce) -> Version:
        """As `make_version`, with assumptions in mid-program where there are some to make. Raises NotCompiled."""
        codes: dict[Specs, Guarded] = {}

        def with_assumptions(graph: str, entry: str, specs: Specs, options: Options) -> CompilerOutput:
            code = self.guarded(specs)
            if program.has_bailouts and (code is None or not code.assumptions):
                raise NotCompiled(Reason.MUTATION, f"@{entry} comes with bailouts, and its writes cannot be told as values")
            if code is None or not code.assumptions:
                return produce(graph, entry, specs, options)
            try:
                produced = produce(code.text, entry, specs, options)
            except NotCompiled as e:
                if program.has_bailouts or e.reason is Reason.NO_RESOURCES:
                    raise
                return self._without_assumptions(e, produce, specs, options)
            codes[specs] = code
            return produced

        try:
            version = make_version(program, speculation, valued, options, call, with_assumptions)
        except NotCompiled as e:
            with self._lock:
                self._refused[e] = speculation.specs
            raise
        if version.record.arguments in codes:
            with self._lock:
                self._continuations[version.record] = self.continuations_of(codes[version.record.arguments])
        return version

    def _without_assumptions(self, refusal: NotCompiled, produce: Produce, specs: Specs, options: Options) -> CompilerOutput:
        """Code for a program whose assumptions have none. Raises NotCompiled."""
        program = self._context.program
        try:
            produced = produce(program.graph, program.entry, specs, options)
        except NotCompiled as e:
            # of the two reasons the one that stands though types in mid-program are known, unless it is about the assumptions themselves
            if not _is_about_assumptions(refusal):
                raise refusal from None
            with self._lock:
                self._untyped.add(e)
            raise
        place = f" at {refusal.line}" if refusal.line else ""
        action = f"no assumptions in mid-program: {refusal.detail}{place}"
        self._context.history.gave_up(refusal, describe_specs(specs, program.names), action)
        return produced

    def refused(self, refusal: NotCompiled) -> Specs | None:
        """The guards that the version was to have of which `refusal` says why there is none."""
        with self._lock:
            return self._refused.get(refusal)

    def blames(self, refusal: NotCompiled) -> bool:
        """Whether what was refused is so though types in mid-program are assumed: what it names has no place in a native region."""
        with self._lock:
            return refusal not in self._untyped and not _is_about_assumptions(refusal)

    def guarded(self, specs: Specs) -> Guarded | None:
        """The program with the assumptions that are to be made for arguments of these guards; None when it cannot have any. Raises
        NotCompiled."""
        if self.instrumented is None:
            return None
        facts = self.log.allowed(self._recorded(specs))
        entry, forcible = self._context.program.entry, self._context.options().forcible
        return steps.bailouts.guarded(self.instrumented.text, entry, specs, facts, force=forcible)

    def continuations_of(self, code: Guarded) -> Continuations:
        """New continuations for a guarded program, none of them compiled yet; what they compile counts in `stats()`."""
        context = self._context
        assert context.make_continuation is not None  # else there would be no assumptions
        made = Continuations(code, context.program.name, self.log, context.history, context.make_continuation)
        with self._lock:
            self._tallies.append(made.tally)
        return made

    # --- assumptions that fail -------------------------------------------------------------------------------------------

    def left(self, record: VersionRecord, status: int, flat: Flat, live: Flat) -> tuple[Flat, Continuations | None]:
        """Native code left at a bailout: the results of the call; and the continuations, where a version is due to be made again, since
        one of its assumptions failed too often."""
        continuations = self._of(record)
        assert self.publication is not None  # there is a guarded version
        if faults.active:
            faults.left(self._context.program.name, status - EXIT_BASE)
        place, publication = self._context.place, self.publication
        results = drawing.tried(lambda: place.results(publication, flat, continuations.go_on(status - EXIT_BASE, live)))
        if results is None:
            return self._context.run_again(flat, serial=record.serial), None
        return results, continuations if continuations.is_due and self._context.options().profile else None

    def _of(self, record: VersionRecord) -> Continuations:
        with self._lock:
            return self._continuations[record]

    def goes_on_by_code(self, record: VersionRecord, status: int) -> bool:
        """Whether there is code for what goes on after this exit."""
        executor = self._of(record).executors.get(status - EXIT_BASE)
        return executor is not None and bool(executor.versions)

    def drop(self, continuations: Continuations) -> str:
        """Make the assumptions that failed too often no more, or weaker; which, for people."""
        lost = [assumption for i, assumption in enumerate(continuations.code.assumptions) if continuations.lost.get(i)]
        due = [assumption for assumption in lost if self.log.losses(assumption.slots) >= self.log.patience]
        self.log.widen({assumption.slots: assumption.fact for assumption in due})
        return ", ".join(f"{assumption.what}{f' at {assumption.place}' if assumption.place else ''}" for assumption in due)

    def leave_implied_open(self, before: Guarded, specs: Specs) -> None:
        """What followed from an assumption that is no longer made is as wrong as that was: sizes and numbers that need an assumption of
        their own now."""
        now = self.guarded(specs)
        if now is not None:
            self.log.leave_open({assumption.slots: assumption.fact for assumption in now.assumptions if assumption.slots <= before.implied})

    # --- what happened ------------------------------------------------------------------------------------------------

    def continuations(self, record: VersionRecord) -> Continuations | None:
        """What goes on where an assumption of a version fails; None when it has none, or is no version of this executor."""
        with self._lock:
            return self._continuations.get(record)

    def stats(self) -> Stats:
        """How often something was compiled to go on where an assumption failed; all else is 0."""
        with self._lock:
            return Stats(compiles=sum(tally.compiles for tally in self._tallies))


def _is_about_assumptions(refusal: NotCompiled) -> bool:
    """Whether it is a bailout that has no native code, not what the program does."""
    return "bailout" in refusal.op


def _merge(into: Facts, facts: Facts) -> None:
    """Join facts, by slot, into others."""
    for slot, fact in facts.items():
        before = into.get(slot, fact)
        into[slot] = None if before is None or fact is None else profiled.join(before, fact)


def _accepts(specs: Specs, shapes: Shapes) -> bool:
    """Whether arguments of these classes and sizes keep the guards on them, as far as those are about sizes."""
    return all(
        spec.kind is klass.kind
        and (spec.kind is not ArgumentKind.ARRAY or (spec.dtype == klass.dtype and len(spec.sizes) == klass.rank))
        and all(known == size if isinstance(known, int) else size >= 2 for known, size in zip(spec.sizes, sizes, strict=True))
        for spec, klass, sizes in zip(specs, *shapes, strict=True)
    )
