"""A program with bailouts that is not native as a whole: tier 0 with the bailouts in it, and native regions between them.

The parts are those of `regions.py`; what differs is when a program is cut, at once, since its first calls recorded what is needed, and
for which arguments: for those of the bet whose compile was refused, so that the bailouts prove the types that regions are cut for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tierup.dialect import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.abi import ArgumentSpec
from tierup.runtime import faults
from tierup.runtime.arguments.signature import Signature, describe_specs
from tierup.runtime.bailing.bailing import Bailing
from tierup.runtime.bailing.resuming import Resume, Resuming
from tierup.runtime.bailing.splitting import SPLITTABLE
from tierup.runtime.compiling import later, steps
from tierup.runtime.compiling.backoff import Postponing
from tierup.runtime.compiling.later import Later
from tierup.runtime.dispatching import guards
from tierup.runtime.events import EventKind
from tierup.runtime.explaining.plans import NotCompiled, failures_are_refusals
from tierup.runtime.explaining.stats import Stats
from tierup.runtime.options import Options
from tierup.runtime.program import Program
from tierup.runtime.regions import MAX_CUTS, Classes, Recording, Site, Split, culprits

if TYPE_CHECKING:
    from tierup.runtime.compiling.regions import RegionCode
    from tierup.runtime.profiling import ProfilingExecutor

Specs = tuple[ArgumentSpec, ...]


@dataclass(eq=False, repr=False)
class BailoutSplit(Split):
    """A guarded program cut into regions, for arguments that `specs` fits."""

    specs: Specs = ()

    def values(self, flat: tuple[Any, ...]) -> Any:
        return self.tier0.call(*flat, fail=faults.fail_of(self.function)) if self.tier0.fails else self.tier0.call(*flat)

    def stats(self) -> Stats:
        if self.resuming is None:
            return super().stats()
        return super().stats() + Stats(bailouts=sum(self.resuming.lost.values()))


class BailoutSplits:
    """The splits of one program with bailouts, by the guards on its arguments. Offers what `splitting.Splitting` does."""

    def __init__(self, owner: ProfilingExecutor, bailing: Bailing) -> None:
        self._owner, self._bailing = owner, bailing
        bailing.cut_later = self.cut_later
        self._program: Program = owner.program
        self._lock = forking.lock()
        self._splits: dict[Specs, BailoutSplit] = {}
        self._again: dict[Specs, str] = {}  # to be cut again at the next call: without bets on what, for people
        self._given_up: set[Specs] = set()
        self._cutting: set[Specs] = set()
        self._excluded: frozenset[str] = frozenset()
        self._retired = Stats()
        self.hits = 0  # of all splits, also of calls that are in one when it goes
        self._failures = 0
        self._later = Later(owner, self)
        self._postponed = Postponing(owner.history)

    @property
    def splits(self) -> tuple[BailoutSplit, ...]:
        return tuple(self._splits.values())

    @property
    def waits(self) -> bool:
        """Whether a split could not be made for now, and it is too early to try again."""
        return self._postponed.waits

    def stats(self) -> Stats:
        """Hits, fallbacks, bailouts and compiles of all splits, and how many there are."""
        with self._lock:
            now = sum((split.stats() for split in self.splits), self._retired)
            return replace(now, hits=self.hits, versions=len(self._splits), bailouts=now.bailouts + self._failures)

    def recordings(self) -> list[tuple[Classes, Recording]]:
        """None: the executor's own runs record, whatever becomes of a call."""
        return []

    def release(self) -> None:
        """Let go of what only compiling needs: no split is made from now on."""
        with self._lock:
            self._given_up.update(self._again)
            self._again.clear()
        for split in self.splits:
            split.release()
        self._bailing.release()

    def answer(self, signature: Signature, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...] | None:
        """The results of a call that a split answers; None when none fits."""
        for specs, split in list(self._splits.items()):
            if guards.first_mismatch(specs, flat) is None:
                return self._run(split, flat)
        again = next((specs for specs in list(self._again) if options.profile and guards.first_mismatch(specs, flat) is None), None)
        return None if again is None else self._record_or_cut(again, signature, flat, Reason.SITE_GIVEN_UP)

    def may_start(self, signature: Signature, refusal: NotCompiled, options: Options) -> bool:
        """Whether a program whose bet on a call was refused is to be split for such calls."""
        specs = self._bailing.refused(refusal)
        if refusal.reason not in SPLITTABLE or specs is None or specs in self._given_up:
            return False
        return len(self._splits) < options.max_versions

    def start(self, signature: Signature, flat: tuple[Any, ...], refusal: NotCompiled, options: Options) -> tuple[Any, ...]:
        """Cut the program for the bet that was refused; answer the call."""
        specs, (instrumented, _) = self._bailing.refused(refusal), self._bailing.prepare()
        if specs is None or instrumented is None:
            if self._bailing.postponed.is_open:
                self._owner.refused_again(signature.classes, refusal)
            return self._owner.history.interpret(flat, refusal.reason)
        self._exclude(refusal, instrumented.text)
        return self._record_or_cut(specs, signature, flat, refusal.reason)

    def _record_or_cut(self, specs: Specs, signature: Signature, flat: tuple[Any, ...], reason: Reason) -> tuple[Any, ...]:
        """Cut the program, or record a run where none was: `num_profiled_runs` may be 0, and no region can be cut without types."""
        if self._postponed.waits:
            return self._owner.history.interpret(flat, Reason.BACKING_OFF)
        if self._bailing.has_recorded(specs):
            return self._cut(specs, flat, reason)
        with self._lock:
            self._again.setdefault(specs, "")
        history = self._owner.history
        history.count("profiled_runs")
        results = self._bailing.run(flat, signature)
        action = "recorded values in mid-program, to cut it into native regions"
        history.emit(EventKind.PROFILED, Reason.PROFILING, action=action)
        return results

    def cut_later(self, specs: Specs, refusal: NotCompiled, dropped: str) -> None:
        """At the next call: a version was not to be had again without bets on what was `dropped`."""
        instrumented = self._bailing.instrumented
        if refusal.reason not in SPLITTABLE or instrumented is None:
            return
        self._exclude(refusal, instrumented.text)
        with self._lock:
            if specs not in self._given_up:
                self._again[specs] = dropped

    def _exclude(self, refusal: NotCompiled, graph: str) -> None:
        if self._bailing.blames(refusal):
            with self._lock:
                self._excluded |= culprits(graph, [(refusal.op, refusal.line)])

    def _cut(self, specs: Specs, flat: tuple[Any, ...], reason: Reason) -> tuple[Any, ...]:
        """Make the split for arguments of these guards, and answer a call with it. `reason`: for tier 0 while another thread cuts."""
        history = self._owner.history
        in_background = later.is_wanted(self._owner.options())
        with self._lock:
            if specs in self._cutting:
                return history.interpret(flat, Reason.COMPILING if in_background else reason)
            self._cutting.add(specs)
            if in_background:
                self._again.setdefault(specs, "")
        if in_background:
            self._later.ask(specs, BailoutSplits._finish, specs)
            return history.interpret(flat, Reason.COMPILING)
        split = self._finish(specs)
        if isinstance(split, NotCompiled):
            return history.interpret(flat, split.reason)
        if guards.first_mismatch(specs, flat) is not None:  # what was refused in the background was another call's
            return history.interpret(flat, reason)
        return self._run(split, flat)

    def _finish(self, specs: Specs) -> BailoutSplit | NotCompiled:
        """Cut the program for arguments of these guards; or why that cannot be."""
        history = self._owner.history
        try:
            with failures_are_refusals("cutting the program"):
                split = self._make(specs)
        except NotCompiled as e:
            again = self._postponed.failed(e, describe_specs(specs, self._program.names), "stays in tier 0")
            with self._lock:
                if again:
                    self._again.setdefault(specs, "")
                else:
                    self._given_up.add(specs)
                    self._again.pop(specs, None)
            return e
        finally:
            with self._lock:
                self._cutting.discard(specs)
        self._postponed.succeeded()
        left = ", ".join(f"{op} at {line}" if line else op for op, line in split.code.left)
        with self._lock:
            without = self._again.pop(specs, "")
            self._splits[specs] = split
        history.emit(
            EventKind.SPLIT,
            Reason.BET_DROPPED if without else Reason.NO_LOWERING,
            guard=split.guards,
            action=f"cut into {len(split.regions)} native regions" + (f" without a bet on {without}" if without else "")
            + f"; in tier 0: {left or 'views and scalars'}",
            milliseconds=split.milliseconds,
        )  # fmt: skip
        return split

    def _make(self, specs: Specs) -> BailoutSplit:

        start = time.perf_counter()
        bailing, entry = self._bailing, self._program.entry
        code = bailing.guarded(specs)
        if code is None or bailing.instrumented is None or bailing.publish is None:
            raise NotCompiled(Reason.MUTATION, "the program cannot be told as values")
        cut = steps.bailouts.split(code, self._excluded)
        regions = tuple(self._owner.make_region(self._region(region, i)) for i, region in enumerate(cut.regions))
        sites = {region.name: Site(e) for region, e in zip(cut.regions, regions, strict=True)}
        resuming = bailing.resume_of(code)
        resume = {i: Resume(resuming, i) for i in range(len(code.bets))}
        tier0 = steps.bailouts.tier0_with_bailouts(cut, entry, sites, resume, fail=self._owner.options().forcible)
        milliseconds = (time.perf_counter() - start) * 1e3
        described = describe_specs(specs, self._program.names)
        return BailoutSplit(
            (), described, cut, bailing.publish, tier0, regions, self._owner.calls() + 1, milliseconds, function=self._program.name,
            specs=specs, resuming=resuming,
        )  # fmt: skip

    def _region(self, code: RegionCode, number: int) -> Program:
        return Program(f"{self._program.name}, region {number}", code.graph, code.name, code.names, code.tier0, code.place)

    def _run(self, split: BailoutSplit, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        if not split.publish.fits(flat):
            return self._owner.history.interpret(flat, Reason.OVERLAP)
        with self._lock:
            split.hits += 1
            self.hits += 1
        assert split.resuming is not None  # all splits here have bailouts, be they none
        split.resuming.was_left = False
        try:
            results = split.run(flat)
        except Exception:  # noqa: BLE001 - whatever it was, the pristine graph raises it, with all it writes before
            with self._lock:
                self._failures += not split.resuming.was_left
            return self._owner.failed(None, 0, flat)
        if not split.reviewed and not any(region.is_open for region in split.regions):
            self._review(split)
        if split.is_new:
            split.is_new = False
            if split in self.splits:
                self._owner.on_version(self._owner.options())
        if split.resuming.is_due and self._owner.options().profile:
            self._drop_bets(split, split.resuming)
        return results

    def _drop_bets(self, split: BailoutSplit, resuming: Resuming) -> None:
        """Bets were lost too often: cut again without them at the next call."""
        with self._lock:
            if self._splits.get(split.specs) is not split:
                return
            del self._splits[split.specs]
            self._retired += split.stats()
        dropped = self._bailing.drop(resuming)
        self._bailing.leave_implied_open(resuming.code, split.specs)
        with self._lock:
            self._again[split.specs] = dropped or "what was lost too often"

    def _review(self, split: BailoutSplit) -> None:
        """After a run of a split whose regions have been compiled: cut again without what has no code after all."""
        split.reviewed = True
        refused = [why for region in split.regions for why in region.refused_ops]
        found = culprits(split.code.profiled, refused) - self._excluded
        if not found and any(region.versions for region in split.regions):
            return
        with self._lock:
            if self._splits.pop(split.specs, None) is None:
                return
            self._retired += split.stats()
            if found and len(self._excluded) < MAX_CUTS:
                self._excluded |= found
                self._again[split.specs] = ""
            else:
                self._given_up.add(split.specs)
        for region in split.regions:
            self._owner.history.refusals.update(region.refusals)
