"""A program that has no native code as a whole: tier 0 with native regions in it.

When a compile of the whole is refused, the next call of that kind runs the instrumented graph and records; the one after that
cuts the program (`compile_regions.split`). What tier 0 still runs is Python with one call per region. A region is an executor of
its own: its first version is compiled for what the program's profile saw, and whatever fits no version runs in the region's
unspecialised twin, which adds versions beside the first, never below it.

A split program writes to no argument before it is through, so an exception in it is no loss: the pristine graph runs the call
again, raises what the user should see, and has written what it would have written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect import forking
from tierup.dialect.kernels import drawing
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments.signature import ArgumentClass
from tierup.runtime.compiling import steps
from tierup.runtime.dispatching.guards import overlaps_itself
from tierup.runtime.explaining import last_plan
from tierup.runtime.explaining.last_plan import ExecutedPlan
from tierup.runtime.explaining.plans import NotCompiled
from tierup.runtime.explaining.stats import Stats
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.protocols import ProgramExecutor

if TYPE_CHECKING:
    from tierup.runtime.bailing.resuming import Resuming
    from tierup.runtime.compiling.regions import Facts, Instrumented, RegionCode, SplitCode

Classes = tuple[ArgumentClass, ...]
MAX_CUTS = 4  # a region whose code is refused after all names the op that was at fault, and the program is cut again without it


@dataclass(eq=False)
class Split:
    """A program cut into regions, for arguments of some dtypes, ranks and layouts; any sizes."""

    classes: Classes
    guards: str
    code: SplitCode
    publish: Publication
    tier0: Tier0
    regions: tuple[ProgramExecutor, ...]
    call: int
    milliseconds: float
    hits: int = 0
    function: str = ""  # the program's name
    resuming: Resuming | None = None  # where bets in mid-program go on when they are lost
    is_new: bool = True  # whether no call ran it yet
    reviewed: bool = False  # whether what its regions' compiles have shown was looked at
    placed: Any = None  # what runs it with arrays on a device
    note: str = ""  # of its last run, for explain()

    def run(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of a call. Whatever it raises, no argument has been written."""
        drawing.begin()
        try:
            results = self.publish.results(flat, self.values(flat))
        except BaseException:
            drawing.give_up()
            raise
        last_plan.note(self)
        return results

    def values(self, flat: tuple[Any, ...]) -> Any:
        """What the graph of values gives."""
        return self.tier0.call(*flat)

    def release(self) -> None:
        """Let go of what only compiling needs. Stages that show it are gone."""
        self.code = replace(self.code, profiled="", guarded="", graph="")
        for region in self.regions:
            region.release()

    def executed(self) -> ExecutedPlan:
        """What `last_executed_plan` says after a run."""
        names = tuple(region.program.name for region in self.regions)
        return ExecutedPlan(self.function, "split", self, self.guards, names)

    def stats(self) -> Stats:
        regions = [region.stats() for region in self.regions]
        in_tier0 = sum(r.misses + r.interpreted + r.profiled_runs for r in regions)
        return Stats(hits=self.hits, fallbacks=in_tier0, compiles=sum(r.compiles for r in regions))

    def text(self, stage: str) -> str:
        """The program at a stage; from `values` on, its regions' newest versions, one after another."""
        if stage in ("profiled", "guarded"):
            if not self.code.graph:
                raise RuntimeError(f"the graph of {self.function} was released; reset() builds it again")
            return self.code.profiled if stage == "profiled" else self.code.guarded
        return "\n".join(region.text(stage) for region in self.regions if region.versions)

    def __repr__(self) -> str:
        return f"<version: {self.guards}: split into {len(self.regions)} native regions>"


@dataclass
class Recording:
    """A program on its way to a split: what its instrumented runs have seen. `excluded`: what no region may hold, ops by name or by
    the user's line (lowering may name an op that the graph spells otherwise)."""

    instrumented: Instrumented
    publish: Publication
    excluded: frozenset[str]
    facts: Facts = field(default_factory=dict)
    runs: int = 0


@dataclass(frozen=True)
class Publication:
    """How the results of a graph of values become the user's: `writebacks`, `aliases` and so on as `tierup-functionalize` says."""

    n_results: int
    writebacks: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()
    read_only: tuple[int, ...] = ()
    perhaps_read_only: tuple[int, ...] = ()

    def refusal(self) -> str:
        """Why the results cannot be published from values; "" when they can."""
        for alias in self.aliases:
            kind, _, argument = alias.rpartition(";")[2].partition(":")  # behind what it is to other results
            if kind in ("view", "may_view", "unclear_view") and int(argument) in self.writebacks:
                return "a result is a view of an argument that the program writes"
        return ""

    def fits(self, flat: tuple[Any, ...]) -> bool:
        """Whether the written arguments can be written after the run: writable, and apart from all others, and in themselves, in memory."""
        for i in self.writebacks:
            if not flat[i].flags.writeable or overlaps_itself(flat[i]):
                return False
            if any(j != i and isinstance(other, np.ndarray) and np.may_share_memory(flat[i], other) for j, other in enumerate(flat)):
                return False
        return True

    def results(self, flat: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
        """Write the arguments that the program writes; the user's results. Those that the program makes afresh share no memory with an
        argument or with each other."""
        values = given if isinstance(given, tuple) else () if given is None else (given,)
        if not self.writebacks:
            return self._locked(self._apart(flat, values))
        written = [flat[i] for i in self.writebacks]

        def apart(value: Any) -> Any:
            return value.copy() if isinstance(value, np.ndarray) and any(np.may_share_memory(value, w) for w in written) else value

        user = [self._user(alias, value, flat, apart) for alias, value in zip(self.aliases, values, strict=False)]
        new = [apart(value) for value in values[self.n_results :]]
        for array, contents in zip(written, new, strict=True):
            np.copyto(array, contents)
        return self._locked(self._apart(flat, tuple(user)))

    def _locked(self, user: tuple[Any, ...]) -> tuple[Any, ...]:
        """Results, those of them read-only that NumPy gives so."""
        for i in self.read_only:
            if isinstance(user[i], np.ndarray):
                user[i].flags.writeable = False
        return user

    def _apart(self, flat: tuple[Any, ...], user: tuple[Any, ...]) -> tuple[Any, ...]:
        """Results, those of them copied that should be apart: where values are what they are, a copy of a value may be the value."""
        others = [value for value in flat if isinstance(value, np.ndarray)]
        made = []
        for i, value in enumerate(user):
            alias = self.aliases[i] if self.aliases else ""
            if alias == "fresh" and isinstance(value, np.ndarray):
                copied = not value.flags.writeable and i not in (*self.read_only, *self.perhaps_read_only)
                if copied or any(np.may_share_memory(value, other) for other in others):
                    value = value.copy()
                others.append(value)
            made.append(value)
        return tuple(made)

    def _user(self, alias: str, value: Any, flat: tuple[Any, ...], apart: Any) -> Any:
        kind, _, argument = alias.partition(":")
        if kind == "argument":
            return flat[int(argument)]
        return apart(value) if kind == "fresh" else value


class Regions:
    """The splits of one executor's program, by the classes of the arguments that they were made for."""

    def __init__(self) -> None:
        self.splits: dict[Classes, Split] = {}
        self._recordings: dict[Classes, Recording] = {}
        self._given_up: set[Classes] = set()
        self._retired = Stats()  # what splits that are gone have done
        self.lock = forking.lock()  # bookkeeping; not held while anything runs or is made
        self.hits = 0  # of all splits, also of calls that are in one when it goes

    def may_start(self, classes: Classes, bound: int) -> bool:
        """Whether a split for arguments of these classes is still to be tried. `bound`: the number of splits there may be."""
        return classes not in self._given_up and len(self._recordings) < bound

    def start(self, graph: str, entry: str, classes: Classes, culprit: tuple[str, str]) -> None:
        """Record calls with arguments of these classes from now on. `culprit`: an op for which the program is not native as a whole, and
        the user's line.
        Raises NotCompiled when the program cannot be told as values."""

        instrumented = steps.regions.instrument(graph, entry)
        publish = Publication(
            instrumented.n_results, instrumented.writebacks, instrumented.aliases, instrumented.read_only, instrumented.perhaps_read_only
        )
        if publish.refusal():
            raise NotCompiled(Reason.VIEW_RESULT, publish.refusal())
        self._recordings[classes] = Recording(instrumented, publish, culprits(instrumented.text, [culprit]))

    def recording(self, classes: Classes) -> Recording | None:
        return self._recordings.get(classes)

    def recordings(self) -> list[tuple[Classes, Recording]]:
        """The programs on their way to a split, or cut; by the classes of arguments that came."""
        return list(self._recordings.items())

    def stop(self, classes: Classes) -> None:
        """No split for arguments of these classes, ever."""
        with self.lock:
            self._given_up.add(classes)
            self._recordings.pop(classes, None)
            self._retire(classes)

    def count(self, split: Split) -> None:
        """A call is answered by a split."""
        with self.lock:
            split.hits += 1
            self.hits += 1

    def _retire(self, classes: Classes) -> None:
        with self.lock:
            split = self.splits.pop(classes, None)
            if split is not None:
                self._retired += split.stats()

    def release(self) -> None:
        """Let go of what only compiling needs: no split is made from now on."""
        self._recordings.clear()
        for split in tuple(self.splits.values()):
            split.release()

    def stats(self) -> Stats:
        """Hits, fallbacks and compiles of all splits, and how many there are."""
        with self.lock:
            now = sum((split.stats() for split in self.splits.values()), self._retired)
            return replace(now, hits=self.hits, versions=len(self.splits))

    def record(self, recording: Recording, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """A run that records. Whatever it raises, no argument has been written."""

        given = recording.instrumented.recorder.call(*flat, record=steps.regions.recorder_of(recording.facts))
        results = recording.publish.results(flat, given)
        with self.lock:
            recording.runs += 1
        return results

    def cut(
        self,
        recording: Recording,
        entry: str,
        make_region: Callable[[RegionCode, int], ProgramExecutor],
        call: int,
        classes: Classes,
        guards: str,
    ) -> Split:
        """The split that the recordings suggest, made in call number `call`. Raises NotCompiled when no region is worth it."""

        start = time.perf_counter()
        text = steps.regions.with_facts(recording.instrumented.text, entry, recording.facts)
        code = steps.regions.split(text, entry, recording.excluded)
        regions = tuple(make_region(region, i) for i, region in enumerate(code.regions))
        sites = {region.name: Site(e) for region, e in zip(code.regions, regions, strict=True)}
        tier0 = steps.regions.main_tier0(code, entry, sites)
        milliseconds = (time.perf_counter() - start) * 1e3
        split = Split(classes, guards, code, recording.publish, tier0, regions, call, milliseconds)
        with self.lock:
            self.splits[classes] = split
        return split

    def excluded_by(self, split: Split) -> frozenset[str]:
        """What stands in regions of the split whose code was refused for it."""
        recording = self._recordings.get(split.classes)
        if recording is None:  # released meanwhile
            return frozenset()
        found = culprits(split.code.profiled, [why for region in split.regions for why in region.refused_ops])
        return frozenset() if len(recording.excluded) >= MAX_CUTS else found - recording.excluded

    def exclude(self, classes: Classes, ops: frozenset[str]) -> None:
        """Cut again at the next call, without these ops."""
        recording = self._recordings.get(classes)
        if recording is not None:
            with self.lock:
                recording.excluded |= ops
                self._retire(classes)


def culprits(graph: str, refused: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Refused (op, line) pairs as `tierup-fuse-groups{excluded=...}` takes them: the op where the graph has it, else its line."""
    found = set()
    for op, line in refused:
        name = op.removeprefix("torch.")
        found.add(name if f"torch.{name} " in graph else line)
    return frozenset(found - {""})


class Site:
    """What a split program's source calls for a region."""

    def __init__(self, executor: ProgramExecutor) -> None:
        self._executor = executor

    def __call__(self, *values: Any) -> Any:
        results = self._executor.call(values)
        return results[0] if len(results) == 1 else results

