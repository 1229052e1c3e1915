"""What a function says of itself: what happened at its calls, which versions there are, its programs at every stage."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tierup.runtime.account.counters import Counters, total_of
from tierup.runtime.account.stats import Stats
from tierup.runtime.account.times import PARTS, Times, places
from tierup.runtime.arguments.trees import CallShape
from tierup.runtime.base import options as options_module
from tierup.runtime.base.once import Owner
from tierup.runtime.base.protocols import ProgramExecutor
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.dispatching.direct import DirectTable
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.executor import Executor
from tierup.runtime.executors.splits.split import Split
from tierup.runtime.functions.elsewhere import Elsewhere
from tierup.runtime.functions.graphs.changing import told_apart
from tierup.runtime.functions.graphs.graphs import Graphs
from tierup.runtime.functions.graphs.variant import Built, Variant
from tierup.runtime.functions.kinds import Kinds

if TYPE_CHECKING:
    from tierup.runtime.functions.debug_state import DebugState
    from tierup.runtime.functions.verdict.cause import Facts

STAGES = ("profiled", "guarded", "recorded", "values", "specialized", "torch", "linalg", "buffers", "loops", "llvm", "optimized", "asm",
          "kernels", "nvvm", "ptx")  # fmt: skip


class Report:
    """A function's account of itself, on what `Function` keeps. Parts of a function are functions."""

    __name__: str
    elsewhere: Elsewhere | None
    _kinds: Kinds
    graphs: Graphs
    _overrides: options_module.Overrides
    _uncalled: Callable[[], Built]
    _tables: Mapping[object, DirectTable]
    times: Times
    _stats_before: Stats  # of graphs that were dropped
    _counted_before: Counters  # by executors that were let go
    once: Owner

    @property
    def _executors(self) -> list[Executor]:
        return [v.executor for v in self.graphs.variants]

    @property
    def _parts(self) -> Sequence[Report]:
        """Functions that answer parts of this one's calls."""
        return [part for answers in self._elsewhere for part in answers.functions]

    @property
    def _elsewhere(self) -> list[Elsewhere]:
        """Who answers calls that no graph of this function does: all of them, or those of some kinds."""
        return [*([] if self.elsewhere is None else [self.elsewhere]), *self._kinds]

    @property
    def _all_executors(self) -> list[Executor]:
        return [*self._executors, *(e for part in self._parts for e in part._all_executors)]

    @property
    def calls_in_python(self) -> int:
        """How many calls the Python function answered."""
        return 0

    @property
    def let_through(self) -> int:
        """How many calls Python answered at once, of a function of which there is no graph."""
        return 0

    def answered(self) -> int:
        """How many calls it has answered, those whose gradients were wanted and pullbacks included: `stats().calls`, at less cost."""
        return self._stats_before.calls + self.calls_in_python + sum([executor.calls_with_gradients() for executor in self._executors])

    @property
    def seconds_in_tier0(self) -> float:
        """What the shortest recorded run of its programs took; 0 where there was none."""
        return min((e.history.seconds_in_tier0 for e in self._executors), default=0.0)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The graphs in use."""
        return tuple(self.graphs.variants)

    @property
    def shapes(self) -> list[tuple[CallShape, Variant]]:
        """The graphs in use, and the structure of the calls of each."""
        return [(shape, v) for shape, found in self.graphs.by_shape.items() for v in found]

    @property
    def versions(self) -> tuple[Version | Split, ...]:
        """The versions there are now: whole programs compiled, and programs split into native regions."""
        return tuple(version for executor in self._all_executors for version in executor.all_versions)

    @property
    def own_options(self) -> dict[str, Any]:
        """The options it was made with."""
        return self._overrides.changes

    def stats(self) -> Stats:
        """Counts of what happened since the function was made or `reset`. A call whose gradient is wanted counts as one of the forward
        program, its pullback as one of the backward program. Of a function that is translated in part, calls are those of its regions."""
        before = self._stats_before + Stats(python=self.calls_in_python)
        own = sum((e.stats_with_gradients() for e in self._executors), before)
        return sum((part.stats() for part in self._parts), own)

    @property
    def is_optimized(self) -> bool:
        """Whether some calls are answered by a plan that was compiled for what calls looked like."""
        return any(executor.is_optimized for executor in self._all_executors)

    def counters(self) -> dict[str, int]:
        """What `tierup.counters` counts, of this function alone; a `reset` takes nothing off."""
        return self._counted.by_name()

    @property
    def _counted(self) -> Counters:
        own = self._counted_before + total_of(executor.counters() for executor in self._executors)
        return sum((part._counted for part in self._parts), own)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what calls have asked to be compiled in the background is compiled; with `compile="blocking"` there is nothing to
        wait for. False when the seconds are over first."""
        until = None if timeout is None else time.monotonic() + timeout
        return all(e.wait(None if until is None else max(0.0, until - time.monotonic())) for e in self._all_executors)

    def debug_state(self) -> DebugState:
        """All that there is, as a tree of dataclasses: graphs, what was recorded, versions before and after they were optimised, regions,
        what was assumed. Print it, or read it. Cheap: texts are made when they are asked for."""
        from tierup.runtime.functions.debug_state import debug_state  # here: few programs look

        return debug_state(self.__name__, self._all_executors, self._overrides.current(), self.counters(), lambda: self.graph)

    def explain(self, details: bool = False) -> str:
        """For people: where the time of its calls went, why it is slow and what to do; which versions there are, what they are worth, what
        missed and why, what has no native code and why. `details`: all versions, graphs and events, and not only some of many alike."""
        from tierup.runtime.functions.explain import explain  # here: few programs look

        functions = (self, *self._parts)
        constants: dict[ProgramExecutor, str] = {
            e: text for f in functions for found in f.graphs.by_shape.values() for e, text in told_apart(found).items()
        }
        read = sorted({str(access) for f in functions for access in f.graphs.numbers.read})
        before = sum((f._stats_before for f in functions), Stats())
        islands = self._islands()
        return explain(
            self.__name__, self._all_executors, before, read, constants, islands, self.calls_in_python, self._facts(),
            details=details,
        )  # fmt: skip

    def verdict(self) -> list[str]:
        """Why it is slow and what to do, in lines of `explain()`; none where nothing was called."""
        from tierup.runtime.functions.verdict import words  # here: as above

        return words.verdict(self._facts())

    def _islands(self) -> list[str]:
        """What answers calls, or parts of it, in the place of graphs, for people."""
        islands = [] if self.elsewhere is None else self.elsewhere.explain()
        islands += [f"calls of another kind: {line}" if i == 0 else line for other in self._kinds for i, line in enumerate(other.explain())]
        return islands

    @property
    def times_by_part(self) -> dict[str, float]:
        """What its calls took until now, seconds by part."""
        return self.times.by_part

    def _facts(self) -> Facts:
        """What the verdict on it is found from."""
        from tierup.runtime.functions.verdict.arguments import WAYS  # here: as above
        from tierup.runtime.functions.verdict.cause import Facts

        functions = (self, *self._parts)
        seconds = dict.fromkeys(PARTS, 0.0)
        for function in functions:
            for part, spent in function.times_by_part.items():
                seconds[part] += spent
        slow: Counter[str] = Counter()
        for function in functions:
            for table in function._tables.values():
                if table.native is not None:
                    slow.update({cause.name: count for cause, count in table.native.counts().slow.items() if cause.name in WAYS})
        events = [event for executor in self._executors for event in executor.history.events if event.caller]
        return Facts(
            name=self.__name__,
            line=self.times.place or next((e.program.place for e in self._all_executors), ""),
            stats=self.stats(),
            seconds=seconds,
            times=[function.times for function in functions],
            place=places().get((self.times.name, self.times.place)),
            executors=self._all_executors,
            variants=[(shape.parameters, v) for f in functions for shape, found in f.graphs.by_shape.items() for v in found],
            read=[access for f in functions for access in f.graphs.numbers.read],
            fixed=[access for f in functions for access in f.graphs.numbers.fixed],
            left=[left for elsewhere in self._elsewhere for left in elsewhere.left],
            in_parts=self.let_through if self._elsewhere else 0,
            python_is_quicker=getattr(self.elsewhere, "compared", None),
            slow=slow,
            caller=events[-1].caller if events else "",
            named=self.once.named,
        )

    def release(self) -> bool:
        """Let go of what only compiling needs (graphs, their copies, records) where there are versions; False when nothing was let go.

        Versions go on; a call that fits none runs in tier 0. `reset` builds the graph again. See the option `release_graphs`.
        """
        released = [executor.release() for executor in self._all_executors]  # all of them
        return any(released)

    @property
    def graph(self) -> str:
        """The pristine graph as MLIR text: the newest one that was built, or what the annotations alone give. Raises RuntimeError
        when it was released."""
        try:
            return self._newest().program.graph
        except NotCompiled as e:
            raise RuntimeError(str(e)) from None

    def source(self) -> str:
        """Tier 0's Python source."""
        return self._newest().program.tier0.source

    def plan(self, stage: str = "specialized") -> str:
        """The text of the newest version at a stage: profiled, guarded, recorded, values, specialized, torch, linalg, buffers, loops, llvm,
        optimized or asm (docs/debugging.md); or of its kernels for a GPU: kernels, nvvm or ptx (docs/cuda.md).

        For a program that was split, the stages from values on are those of its regions, one after another.
        Raises ValueError for a stage that is none, RuntimeError when no version was compiled.
        """
        if stage not in STAGES:
            raise ValueError(f"no stage {stage!r}: choose from {', '.join(STAGES)}")
        if not self.versions:
            raise RuntimeError(f"{self.__name__} has no compiled version yet; explain() says why")
        return max(self._all_executors, key=lambda e: max((v.call for v in e.all_versions), default=-1)).text(stage)

    def _newest(self) -> Built:
        graphs = [v.built for variants in self.graphs.by_shape.values() for v in variants]
        return graphs[-1] if graphs else self._uncalled()
