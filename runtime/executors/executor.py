"""Who answers the calls of one program: the executor that the options ask for, each kind with versions of its own.

An executor takes flat arguments (arrays and Python scalars) and gives flat results. Options take effect at the next call: those that
code depends on (`Options.code`) choose among the executors here, all others are read at every call that no version fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tierup.dialect.base import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account import counters
from tierup.runtime.account.counters import Counters
from tierup.runtime.account.history import History
from tierup.runtime.account.stats import Stats
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.once import Owner
from tierup.runtime.base.options import Changed, Options, Overrides
from tierup.runtime.base.protocols import Place, ProgramExecutor
from tierup.runtime.code import plans
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.scheduling.background import queue
from tierup.runtime.dispatching.direct import DirectTable
from tierup.runtime.dispatching.releasing import waiting
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.host import HOST
from tierup.runtime.executors.profiling import ProfilingExecutor
from tierup.runtime.executors.splits.split import Split
from tierup.runtime.programs.context import Context
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.runtime.arguments.signature import Signature
    from tierup.runtime.bailouts.continuations import Continuations
    from tierup.runtime.executors.gradients.pair import Gradients
    from tierup.runtime.executors.specializing import SpecializingExecutor
    from tierup.runtime.programs.strategy import Seen

DEVICE_STAGES = ("kernels", "nvvm", "ptx")  # that only code for a device has
ALSO_DEVICE_STAGES = ("torch", "linalg", "buffers", "optimized")
Kind: TypeAlias = "ProfilingExecutor | SpecializingExecutor"


class Executor:
    """One program under all options. Thread-safe.

    `direct`: the table in the user's own convention that the versions for the function's own options stand in as well.
    `is_region`: the program is a region of another's; `is_part`: what goes on where an assumption of another's failed. Neither is counted
    apart. `owner`: the function that the program belongs to; `leave_to_python` has its Python function answer it; `keep` keeps the program
    for processes to come, once it has a version.
    """

    def __init__(
        self,
        program: Program,
        overrides: Overrides,
        direct: DirectTable | None = None,
        *,
        is_region: bool = False,
        is_part: bool = False,
        owner: Owner | None = None,
        leave_to_python: Callable[[str, str], object] = lambda why, remedy: None,
        keep: Callable[[], None] | None = None,
    ) -> None:
        self.program, self._keep = program, keep
        self._overrides = overrides
        self._direct = direct
        self._is_region, self._leave_to_python = is_region, leave_to_python
        self._lock = forking.lock()
        self.history = History(program, self.calls, owner or Owner(), is_inside=is_region or is_part)
        self._counted_before = Counters(graph_executors_constructed=1)  # before the last reset
        self._clear()
        if not (is_region or is_part):
            counters.begin(self)

    @property
    def direct(self) -> DirectTable | None:
        """The table in the user's convention that its versions stand in too."""
        return self._direct

    def __del__(self) -> None:
        counters.end(self)

    def _clear(self) -> None:
        self._kinds: dict[tuple[object, ...], Kind] = {}
        self._gradients: Gradients | None = None

    def reset(self) -> None:
        """Forget all versions and all that was recorded; counters start again."""
        with self._lock:
            self._counted_before = self.counters()
            for kind in self._kinds.values():
                kind.close()
            self._clear()
            self.history.clear()

    def release(self) -> bool:
        """Let go of what only compiling needs: the graph, its copies, and what was recorded. False when there is nothing to let go, or
        no version yet. Versions go on answering; a call that fits none runs in tier 0, whatever it is."""
        released = [executor.release() for executor in self.gradient_executors]
        if self.program.released or not self.is_optimized:
            return any(released)
        with self._lock:
            self.program.release()
            for forget in plans.on_release:
                forget()
            for kind in self._kinds.values():
                kind.release()
        self.history.emit(EventKind.RELEASED, None, action="released the graph and the records")
        return True

    def _has_version(self, options: Options) -> None:
        keep, self._keep = self._keep, None
        if keep is not None:
            keep()
        if not options.release_graphs or self._is_region:
            return
        if options.release_delay:
            waiting.put(self, options.release_delay)
        else:
            self.release()

    def call(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of one call with flat arguments."""
        options = self._overrides.current()
        kind = self._kinds.get(options.code)
        return (self._new_kind(options) if kind is None else kind).call(flat, options)

    def seen(self) -> Iterator[Seen]:
        """What calls looked like that no version fitted, under all options: kinds, sizes, and the values of ints that sizes hang on."""
        for kind in self._kinds.values():
            yield from kind.seen()

    def warm(self, signatures: Sequence[Signature], flat: tuple[Any, ...], options: Options) -> bool:
        """Ask for the version that calls which look like these would get, as the last of them; whether one is made, or on its way. `flat`:
        its arguments, but for their sizes."""
        kind = self._kinds.get(options.code)
        return (self._new_kind(options) if kind is None else kind).warm(signatures, flat, options)

    def _new_kind(self, options: Options) -> Kind:
        with self._lock:
            kind = self._kinds.get(options.code)
            if kind is None:
                kind = self._make_kind(options)
                self._kinds = {**self._kinds, options.code: kind}
            return kind

    def _make_kind(self, options: Options) -> Kind:
        overrides = self._overrides
        given = self.program.given(options)
        if given is not None and not given.learns:  # there are its versions, and no compiler for what others would do
            overrides, options = Changed(overrides, _as_it_came), _as_it_came(options)
        place: Place = HOST
        direct = self._direct if options.code == overrides.base().code else None
        if options.backend != "cpu":
            from tierup.runtime.cuda.calls import choosing  # here: most programs run on the CPU

            if choosing.wants_device(options, self.history):
                overrides, direct = Changed(overrides, choosing.on_device), None
                place = choosing.place(self.program, overrides, self.history)
            else:
                overrides = Changed(overrides, choosing.on_cpu)
        assumes = options.speculate == "bailout" or self.program.has_bailouts
        context = Context(
            self.program,
            overrides,
            self.history,
            place,
            self._region,
            is_region=self._is_region,
            make_continuation=self._continuation if assumes and not self._is_region else None,  # a region has nothing inside to assume
            on_version=self._has_version,
            leave_to_python=self._leave_to_python,
        )
        if options.executor == "specializing":
            from tierup.runtime.executors.specializing import SpecializingExecutor  # here: most programs are called without

            return SpecializingExecutor(context)
        return ProfilingExecutor(context, direct)

    @property
    def options(self) -> Options:
        """Those in force here."""
        return self._overrides.current()

    @property
    def gradients(self) -> Gradients:
        """The programs of this one's gradients; none before they are asked for."""
        if self._gradients is None:
            from tierup.runtime.executors.gradients.pair import Gradients  # here: most programs have none

            with self._lock:
                if self._gradients is None:
                    self._gradients = Gradients(self)
        return self._gradients

    @property
    def has_gradients(self) -> bool:
        """Whether gradients were ever asked for."""
        return self._gradients is not None

    @property
    def gradient_executors(self) -> Sequence[ProgramExecutor]:
        """Those of the forward and backward programs that there are."""
        return [] if self._gradients is None else self._gradients.executors

    def another(self, program: Program) -> Executor:
        """An executor of another program under the same options."""
        return Executor(program, self._overrides, owner=self.history.owner)

    def _region(self, program: Program) -> Executor:
        return Executor(program, self._overrides, is_region=True, owner=self.history.owner)

    def _continuation(self, program: Program) -> Executor:
        """Of what goes on where an assumption in mid-program fails."""
        from tierup.runtime.bailouts.continuations import deeper  # here: only where there are such

        return Executor(program, Changed(self._overrides, deeper), is_part=True, owner=self.history.owner)

    def locked(self, until: ExitStack) -> list[tuple[tuple[object, ...], Kind]]:
        """The executors of this program, by the options that code depends on; none changes until `until` is closed."""
        until.enter_context(self._lock)
        for kind in self._kinds.values():
            for lock in kind.locks():  # a plan that is made meanwhile waits for the first
                until.enter_context(lock)
        return list(self._kinds.items())

    # --- what there is, and what happened ------------------------------------------------------------------------------

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions of the whole program."""
        return tuple(version for kind in self._kinds.values() for version in kind.versions)

    def versions_under(self, options: Options) -> tuple[Version, ...]:
        """The versions of the whole program for calls under these options."""
        kind = self._kinds.get(options.code)
        return () if kind is None else kind.versions

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits of the program, under all options."""
        return tuple(split for kind in self._kinds.values() for split in kind.splits)

    @property
    def all_versions(self) -> tuple[Version | Split, ...]:
        """The whole program's versions, and its splits."""
        return (*self.versions, *self.splits)

    @property
    def plans(self) -> tuple[tuple[str, str, int], ...]:
        """(spec, how it runs, calls that code answered) of each plan of the specialising executor, least recently used first."""
        return tuple(plan for kind in self._kinds.values() for plan in kind.described_plans())

    @property
    def refusals(self) -> dict[tuple[Reason, str, str], str]:
        """Why speculations have no code, as (reason, detail, the user's line), in order, without repeats; and the op."""
        return self.history.refusals

    @property
    def refused_ops(self) -> tuple[tuple[str, str], ...]:
        """The ops that a compile was refused for, with the user's lines."""
        return tuple((op, line) for (_, _, line), op in self.refusals.items() if op)

    @property
    def compiling(self) -> bool:
        """Whether a version is being compiled."""
        return any(kind.compiling for kind in self._kinds.values())

    @property
    def is_open(self) -> bool:
        """Whether a version is being compiled, or will be tried again."""
        return any(kind.compiling or kind.undecided for kind in self._kinds.values())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the compiles in the background of this program, of its regions, continuations and gradients, are done. False when the
        seconds are over first."""
        histories = [executor.history for executor in self.with_parts()]
        return queue.wait(timeout, lambda job: any(map(job.is_for, histories)))

    def with_parts(self) -> Iterator[ProgramExecutor]:
        """This one, those of its regions, of what goes on where its assumptions fail, and of its gradients."""
        yield self
        for version in self.all_versions:
            if isinstance(version, Split):
                for region in version.regions:
                    yield from region.with_parts()
            inside = self.continuations(version)
            if inside is not None:
                for executor in inside.executors.values():
                    yield from executor.with_parts()
        for executor in self.gradient_executors:
            yield from executor.with_parts()

    def hits(self, version: Version) -> int:
        """How many calls a version answered; 0 of one that is no longer here."""
        return sum(kind.hits(version) for kind in self._kinds.values())

    def continuations(self, version: Version | Split) -> Continuations | None:
        """The assumptions in mid-program of a version, and what goes on where they fail; None when it has none."""
        found = (kind.continuations(version) for kind in self._kinds.values())
        return next((each for each in found if each is not None), None)

    def calls(self) -> int:
        """`stats().calls`, at less cost."""
        counts = self.history.counts
        hits = [kind.total_hits() for kind in self._kinds.values()]
        return counts["misses"] + counts["profiled_runs"] + counts["interpreted"] + sum(hits)

    def calls_with_gradients(self) -> int:
        """`stats_with_gradients().calls`, at less cost."""
        return self.calls() if self._gradients is None else self.calls() + self._gradients.program_calls()

    def stats(self) -> Stats:
        """Counts of what happened to the program since it was made or reset; without its gradients."""
        return sum((kind.stats() for kind in self._kinds.values()), Stats(**self.history.counts))

    def stats_with_gradients(self) -> Stats:
        """Its own and those of the forward and backward programs that were made of it."""
        return self.stats() if self._gradients is None else self.stats() + self._gradients.program_stats()

    def counters(self) -> Counters:
        """What was counted since the executor was made, resets or not. No region is asked: this is also what `__del__` does, which may run
        in the middle of anything, and a region may be in use by the thread of background compiles."""
        found = [kind.cache_counts() for kind in self._kinds.values()]
        by_hand = self.history.counts
        calls = sum(answered for answered, _, _ in found) + by_hand["misses"] + by_hand["profiled_runs"] + by_hand["interpreted"]
        misses = by_hand["misses"] + by_hand["profiled_runs"] + sum(misses for _, _, misses in found)
        return self._counted_before + Counters(0, calls, sum(hits for _, hits, _ in found), misses)

    @property
    def is_optimized(self) -> bool:
        """Whether there is a plan that was made for what calls looked like."""
        return any(kind.is_optimized for kind in self._kinds.values())

    def text(self, stage: str) -> str:
        """The newest version, or the newest split, at a stage. Raises RuntimeError when there is none."""
        newest = max(self.all_versions, key=lambda v: v.call, default=None)
        if newest is None:
            raise RuntimeError(f"{self.program.name} has no compiled version yet; explain() says why")
        if isinstance(newest, Split):
            return newest.text(stage)

        if stage in ("profiled", "guarded", "recorded", "values") and self.program.released:
            raise RuntimeError(f"the graph of {self.program.name} was released; reset() builds it again")
        if stage in ("profiled", "guarded", "recorded"):
            inside = self.continuations(newest)
            if inside is not None:
                return inside.code.profiled if stage == "profiled" else inside.code.text
            if stage == "recorded":
                threads = newest.compiled.request.threads
                return steps.version.recorded(self.program.graph, self.program.entry, newest.record.arguments, threads)
            return steps.regions.stage_of_whole(self.program.graph, self.program.entry, newest.record.arguments, stage)
        if stage == "values":
            return steps.version.to_values(self.program.graph)
        request = newest.compiled.request
        if stage == "specialized":
            return request.ir
        if stage in DEVICE_STAGES or newest.record.on_device and stage in ALSO_DEVICE_STAGES:
            from tierup.lowering.cuda import showing  # here: loads MLIR and LLVM

            options = self._overrides.current()
            target = options.target or newest.compiled.target
            return showing.stage(request, stage, target, libraries=options.libraries, tf32=options.tf32)
        return steps.version.stages(request, (stage,))[stage]


def _as_it_came(options: Options) -> Options:
    """The options under which a program that came with its versions runs, where no others can be made."""
    return replace(options, executor="profiling", speculate="versioned")
