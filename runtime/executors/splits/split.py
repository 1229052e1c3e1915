"""A program that has no native code as a whole: tier 0 with native regions in it.

What tier 0 still runs is Python with one call per region. A region is an executor of its own: its first version is compiled for what
the program's profile saw, and whatever fits no version runs in the region's unspecialised twin, which adds versions beside the first,
never below it.

A split program writes to no argument before it is through, so an exception in it is no loss: the pristine graph runs the call
again, raises what the user should see, and has written what it would have written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.dialect.optable.kernels import drawing
from tierup.runtime.account import last_plan
from tierup.runtime.account.last_plan import ExecutedPlan
from tierup.runtime.account.stats import Stats
from tierup.runtime.account.times import TIER0, During
from tierup.runtime.base.protocols import ProgramExecutor
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.backoff import Postponing
from tierup.runtime.faults import faults
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.programs.publication import Publication

if TYPE_CHECKING:
    from tierup.runtime.bailouts.continuations import Continuations
    from tierup.runtime.compiling.regions import SplitCode
    from tierup.runtime.programs.context import Context


@dataclass(eq=False)
class Split:
    """A program cut into regions. `key`: what it is for, arguments of some dtypes, ranks and layouts, or of some guards; any sizes."""

    key: Any
    guards: str
    code: SplitCode
    publication: Publication
    tier0: Tier0
    regions: tuple[ProgramExecutor, ...]
    call: int
    milliseconds: float
    function: str  # the program's name
    continuations: Continuations | None = None  # where assumptions in mid-program go on when they fail
    hits: int = 0
    is_new: bool = True  # whether no call ran it yet
    reviewed: bool = False  # whether what its regions' compiles have shown was looked at
    placed: Any = None  # what runs it with arrays on a device
    note: str = ""  # of its last run, for explain()

    def serves(self, flat: tuple[Any, ...]) -> bool:
        """Whether the arguments lie in memory as the code asks."""
        return not self.code.row_major or all(a.flags.c_contiguous for a in flat if isinstance(a, np.ndarray))

    def run(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of a call. Whatever it raises, no argument has been written."""
        drawing.begin()
        try:
            with During(TIER0):
                values = self.tier0.call(*flat, fail=faults.fail_of(self.function)) if self.tier0.fails else self.tier0.call(*flat)
            results = self.publication.results(flat, values)
        except BaseException:
            drawing.give_up()
            raise
        last_plan.note(self)
        return results

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
        """Its hits, the calls of regions that tier 0 answered (fallbacks), their compiles, and the assumptions that failed (bailouts)."""
        regions = [region.stats() for region in self.regions]
        in_tier0 = sum(r.misses + r.interpreted + r.profiled_runs for r in regions)
        left = 0 if self.continuations is None else sum(self.continuations.lost.values())
        return Stats(hits=self.hits, fallbacks=in_tier0, compiles=sum(r.compiles for r in regions), bailouts=left)

    @property
    def left_in_tier0(self) -> str:
        """What of the program tier 0 runs, for people."""
        return ", ".join(f"{op} at {line}" if line else op for op, line in self.code.left) or "views and scalars"

    def text(self, stage: str) -> str:
        """The program at a stage; from `values` on, its regions' newest versions, one after another."""
        if stage in ("profiled", "guarded"):
            if not self.code.graph:
                raise RuntimeError(f"the graph of {self.function} was released; reset() builds it again")
            return self.code.profiled if stage == "profiled" else self.code.guarded
        return "\n".join(region.text(stage) for region in self.regions if region.versions)

    def __repr__(self) -> str:
        return f"<version: {self.guards}: split into {len(self.regions)} native regions>"


def culprits(graph: str, refused: Iterable[tuple[str, str]]) -> frozenset[str]:
    """Refused (op, line) pairs as `tierup-fuse-groups{excluded=...}` takes them: the op where the graph has it, else its line. None for
    how results share memory."""
    found = set()
    for op, line in refused:
        if op == "func.return":
            continue
        name = op.removeprefix("torch.")
        found.add(name if f"torch.{name} " in graph or f'torch.operator "{name}"' in graph else line)
    return frozenset(found - {""})


def cut_into_split(
    context: Context,
    postponed: Postponing,
    key: Any,
    guards: str,
    publication: Publication,
    cut: Callable[[], tuple[SplitCode, Continuations | None]],
) -> Split | NotCompiled:
    """A program cut by `cut`, which gives its code, and where the assumptions that stand in it go on: with an executor for each region, and
    tier 0 that calls them. Or why there is none, which `postponed` has told."""
    start, program = time.perf_counter(), context.program

    def make() -> Split:
        code, continuations = cut()
        regions = tuple(context.make_region(context.part(f"region {i}", region)) for i, region in enumerate(code.regions))
        sites = {region.site: Site(executor) for region, executor in zip(code.regions, regions, strict=True)}
        if continuations is None:
            tier0 = steps.regions.main_tier0(code, program.entry, sites)
        else:
            resume, fail = continuations.by_index(), context.options().forcible
            tier0 = steps.bailouts.tier0_with_bailouts(code, program.entry, sites, resume, fail=fail)
        milliseconds, call = (time.perf_counter() - start) * 1e3, context.calls() + 1
        return Split(key, guards, code, publication, tier0, regions, call, milliseconds, program.name, continuations)

    return postponed.made("cutting the program", guards, "stays in tier 0", make)


class Site:
    """What a split program's source calls for a region."""

    def __init__(self, executor: ProgramExecutor) -> None:
        self._executor = executor

    def __call__(self, *values: Any) -> Any:
        """Run the region: one result comes back as itself, several as a tuple."""
        results = self._executor.call(values)
        return results[0] if len(results) == 1 else results

