"""One program and its versions: who answers a call, and when a new version is compiled.

An executor takes flat arguments (arrays and Python scalars) and gives flat results. Its dispatch table answers the calls
that a version's guards fit; all others arrive in `_miss`, which profiles, bets, compiles, splits or interprets.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tierup.dialect.reasons import Reason
from tierup.lowering.abi import ArgumentSpec
from tierup.lowering.entry_records import Form, VersionRecord
from tierup.runtime import events, guards, plans
from tierup.runtime.dispatch import DispatchTable, make_table
from tierup.runtime.errors import NotOptimized, RecompileLimitWarning
from tierup.runtime.events import Event, EventKind
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.options import Options, Overrides
from tierup.runtime.plans import Compiled, NotCompiled
from tierup.runtime.regions import Regions, Split
from tierup.runtime.signature import Signature, Unsupported, describe_specs, signature_of
from tierup.runtime.stats import Stats
from tierup.runtime.strategy import Bet, SpeculationLog, with_values

if TYPE_CHECKING:
    from tierup.runtime.compile_regions import RegionCode
    from tierup.runtime.direct import DirectTable

_EVENTS_KEPT = 64
_SPLITTABLE = frozenset({Reason.NO_LOWERING, Reason.DTYPE_NOT_NATIVE, Reason.TYPE_UNKNOWN, Reason.VIEW_RESULT, Reason.MUTATION})
_WITHOUT_CODE = (Reason.SITE_GIVEN_UP, Reason.DEPTH_EXHAUSTED)
_AFTER_COUNTING = (EventKind.PROFILED, EventKind.MISS, EventKind.ERROR_EXIT)  # the others happen before their call is answered


@dataclass(frozen=True)
class Program:
    """A pristine graph as text, and its tier 0. `names`: the flat arguments'; `place`: where the user wrote it."""

    name: str
    graph: str
    entry: str
    names: tuple[str, ...]
    tier0: Tier0
    place: str = ""


@dataclass(frozen=True, eq=False)
class Version:
    """A compiled bet."""

    bet: Bet
    record: VersionRecord
    compiled: Compiled
    call: int
    guards: str

    @property
    def milliseconds(self) -> float:
        return self.compiled.milliseconds

    def __repr__(self) -> str:
        return f"<version: {self.guards}: {self.bet.kind}, compiled in {self.milliseconds:.0f} ms>"


class Executor:
    """The versions of one program. Thread-safe: the lock covers bookkeeping only, never a compile or a run.

    `is_region`: the program is a region of another's, which was profiled: its first call is compiled for at once, and it is not
    split further.
    """

    def __init__(self, program: Program, overrides: Overrides, direct: DirectTable | None = None, *, is_region: bool = False) -> None:
        self.program = program
        self._overrides = overrides
        self._direct = direct
        self._is_region = is_region
        self._lock = threading.RLock()
        self._local = threading.local()
        self.events: deque[Event] = deque(maxlen=_EVENTS_KEPT)
        self._clear()

    def _clear(self) -> None:
        self._log = SpeculationLog()
        self.versions: list[Version] = []
        self._tables: dict[str, DispatchTable] = {}
        self._callables: dict[str, Callable[..., Any]] = {}
        self._cutting: set[object] = set()
        self._retired_direct_hits = self._direct_failures = self._split_failures = 0
        self._counts = dict.fromkeys(("misses", "profiled_runs", "interpreted", "compiles"), 0)
        self._compiling: set[tuple[ArgumentSpec, ...]] = set()
        self._regions = Regions()
        self._warned = False
        self.last_reason: Reason | None = None
        self.refusals: dict[tuple[Reason, str, str], str] = {}  # why bets have no code, in order, without repeats; and the op

    def reset(self) -> None:
        """Forget all versions and all that was recorded; counters start again."""
        with self._lock:
            for table in self._tables.values():
                table.clear()
            if self._direct is not None:
                for version in self.versions:
                    self._direct.remove(version.record)
            self._clear()
            self.events.clear()

    # --- answering a call -------------------------------------------------------------------------------------------

    def call(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of one call with flat arguments."""
        options = self._overrides.current()
        if not options.optimize:
            return self._interpret(flat, Reason.OPTIMIZE_OFF)
        if not self.versions:
            return self._miss(*flat)
        run = self._callables.get(options.entry)
        if run is None:
            run = self._callables[options.entry] = self._table(options.entry).callable()
        results: tuple[Any, ...] = run(*flat)
        return results

    def _table(self, entry: str) -> DispatchTable:
        table = self._tables.get(entry)
        if table is None:
            with self._lock:
                table = self._tables.get(entry)
                if table is None:
                    table = make_table(len(self.program.names), self._miss, self.failed, entry=entry)
                    for version in self.versions:
                        table.add(version.record)
                    self._tables[entry] = table
        return table

    def _miss(self, *flat: Any) -> tuple[Any, ...]:
        """No version fits: record, and maybe compile one."""
        options = self._overrides.current()
        if getattr(self._local, "retrying", False):
            return self._interpret(flat, Reason.SITE_GIVEN_UP)
        try:
            signature = signature_of(flat)
        except Unsupported as e:
            return self._interpret(flat, e.reason)
        if not self.program.tier0.takes(flat):
            return self._interpret(flat, Reason.PROGRAM_RAISES)  # not recorded: no version may be made for what the program refuses
        if not options.strict and (split := self._regions.splits.get(signature.classes)) is not None:
            return self._run_split(split, flat)
        if not options.profile:
            return self._interpret(flat, Reason.PROFILE_OFF)
        if not options.strict and self._regions.recording(signature.classes) is not None:
            return self._split(signature, flat, options)
        with self._lock:
            proposal = self._propose(signature, options)
            if isinstance(proposal, Reason):
                self._log.record(signature)
        if isinstance(proposal, Reason):
            return self._answer_miss(flat, signature, proposal, options)
        refusal = self._compile(proposal, flat, options)
        if refusal is not None:
            return self._answer_refused(flat, signature, refusal, options)
        self._local.retrying = True
        try:
            result: tuple[Any, ...] = self._table(options.entry)(*flat)
        finally:
            self._local.retrying = False
        return result

    def _propose(self, signature: Signature, options: Options) -> Bet | Reason:
        if self._is_region and not self._log.bets:
            options = replace(options, num_profiled_runs=0)  # its program's profile was its own
        if not self.versions and self._counts["profiled_runs"] < options.num_profiled_runs:
            return Reason.DEPTH_EXHAUSTED if options.kind_of_version(0) is None else Reason.PROFILING
        proposal = self._log.propose(signature, options)
        if isinstance(proposal, Bet):
            if proposal.specs in self._compiling:
                return Reason.COMPILING
            self._compiling.add(proposal.specs)
            self._log.made(proposal)
        return proposal

    def _answer_miss(self, flat: tuple[Any, ...], signature: Signature, reason: Reason, options: Options) -> tuple[Any, ...]:
        if options.strict and reason in _WITHOUT_CODE and any(r is not Reason.PROGRAM_RAISES for r, _, _ in self.refusals):
            raise self._not_optimized()
        if reason is Reason.DEPTH_EXHAUSTED and self._log.bets:
            self._warn_of_limit(signature, options)
        if self.versions:
            self._count("misses")
            self._note_miss(flat, signature, reason)
            return self._tier0_results(flat)
        if reason is Reason.PROFILING:
            start = time.perf_counter()
            result = self._run_tier0(flat, "profiled_runs")
            self._emit(EventKind.PROFILED, reason, action="ran in tier 0", milliseconds=(time.perf_counter() - start) * 1e3)
            return result
        return self._interpret(flat, reason)

    def _warn_of_limit(self, signature: Signature, options: Options) -> None:
        """Say once, to the user, that calls like this one will stay slow."""
        with self._lock:
            if self._warned:
                return
            self._warned = True
        strategy = ", ".join(f"{count} {kind}" for kind, count in options.fusion_strategy)
        calls = ", ".join(f"{name}: {klass}" for name, klass in zip(self.program.names, signature.classes, strict=True))
        warnings.warn(
            f"{self.program.name} (at {self.program.place}) has used up its {self._log.bets} versions (fusion_strategy: {strategy}; "
            f"bailout_depth: {options.bailout_depth}); calls with ({calls}) that fit none run in the interpreter. "
            f"Raise fusion_strategy, call it with fewer kinds of arguments, or see explain().",
            RecompileLimitWarning,
            stacklevel=_stack_level(),
        )

    def _note_miss(self, flat: tuple[Any, ...], signature: Signature, reason: Reason) -> None:
        nearest = self._nearest(signature)
        mismatch = guards.explain(nearest.record, flat)
        if mismatch is None:
            self._emit(EventKind.MISS, reason, action="ran in tier 0")
            return
        name = self.program.names[mismatch.argument] if mismatch.argument >= 0 else "arguments"
        self._emit(
            EventKind.MISS,
            mismatch.reason,
            guard=f"{name}: {mismatch.what}",
            expected=mismatch.expected,
            actual=mismatch.actual,
            action=f"ran in tier 0: {reason.sentence}",
        )

    def _nearest(self, signature: Signature) -> Version:
        """The version whose guards agree with the call in most arguments."""

        def agreement(version: Version) -> int:
            return sum(
                (spec.dtype == klass.dtype and len(spec.sizes) == klass.rank) + (spec.sizes == sizes)
                for spec, klass, sizes in zip(version.bet.specs, signature.classes, signature.sizes, strict=True)
            )

        return max(self.versions, key=agreement)

    # --- programs that are not native as a whole ----------------------------------------------------------------------

    def _answer_refused(self, flat: tuple[Any, ...], signature: Signature, refusal: NotCompiled, options: Options) -> tuple[Any, ...]:
        """The bet on a call has no native code."""
        if options.strict and refusal.reason is not Reason.PROGRAM_RAISES:
            raise self._not_optimized()
        splittable = refusal.reason in _SPLITTABLE and not self._is_region
        if not splittable or not self._regions.may_start(signature.classes, options.max_versions):
            return self._interpret(flat, refusal.reason)
        try:
            self._regions.start(self.program.graph, self.program.entry, signature.classes, refusal)
        except type(refusal) as e:
            self._regions.stop(signature.classes)
            self._gave_up(e, "the program", "stays in tier 0")
            return self._interpret(flat, e.reason)
        return self._split(signature, flat, options)

    def _split(self, signature: Signature, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        """Record a run, or cut the program when enough have been."""
        classes = signature.classes
        recording = self._regions.recording(classes)
        if recording is None or not recording.publish.fits(flat) or classes in self._cutting:
            return self._interpret(flat, Reason.NO_LOWERING)
        if recording.runs < max(options.num_profiled_runs, 1):
            try:
                results = self._regions.record(recording, flat)
            except Exception:  # noqa: BLE001 - whatever it was, the pristine graph raises it, or gives the results
                return self._interpret(flat, Reason.PROFILING)
            self._count("profiled_runs")
            self._emit(EventKind.PROFILED, Reason.PROFILING, action="recorded values in mid-program, to split it into native regions")
            return results

        guards = ", ".join(f"{n}: {c}" for n, c in zip(self.program.names, classes, strict=True))
        with self._lock:
            self._cutting.add(classes)
        try:
            split = self._regions.cut(recording, self, classes, guards)
        except NotCompiled as e:
            self._regions.stop(classes)
            self._gave_up(e, guards, "stays in tier 0")
            return self._interpret(flat, e.reason)
        finally:
            with self._lock:
                self._cutting.discard(classes)
        left = ", ".join(f"{op} at {line}" if line else op for op, line in split.code.left)
        self._emit(
            EventKind.SPLIT,
            Reason.NO_LOWERING,
            guard=guards,
            action=f"cut into {len(split.regions)} native regions; in tier 0: {left or 'views and scalars'}",
            milliseconds=split.milliseconds,
        )
        return self._run_split(split, flat)

    def _run_split(self, split: Split, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        if not split.publish.fits(flat):
            return self._interpret(flat, Reason.OVERLAP)
        with self._lock:
            split.hits += 1
        try:
            results = split.run(flat)
        except Exception:  # noqa: BLE001 - whatever it was, the pristine graph raises it, with all it writes before
            with self._lock:
                self._split_failures += 1
            return self.failed(None, 0, flat)
        if split.hits == 1:
            self._review(split)
        return results

    def _review(self, split: Split) -> None:
        """After a split's first run, when its regions have been compiled: cut again without what has no code after all."""
        culprits = self._regions.excluded_by(split)
        if culprits:
            self._regions.exclude(split.classes, culprits)
        elif not any(region.versions for region in split.regions):
            self._regions.stop(split.classes)
            for region in split.regions:
                self.refusals.update(region.refusals)

    def region(self, code: RegionCode, number: int) -> Executor:
        """The executor of a region of this program."""
        name = f"{self.program.name}, region {number}"
        return Executor(Program(name, code.graph, code.name, code.names, code.tier0, code.place), self._overrides, is_region=True)

    def text(self, stage: str) -> str:
        """The newest version, or the newest split, at a stage. Raises RuntimeError when there is none."""
        newest = max(self.all_versions, key=lambda v: v.call, default=None)
        if newest is None:
            raise RuntimeError(f"{self.program.name} has no compiled version yet; explain() says why")
        if isinstance(newest, Split):
            return newest.text(stage)
        from tierup.runtime import compile_regions, compile_version  # here: loads MLIR and LLVM

        if stage in ("profiled", "guarded"):
            return compile_regions.stage_of_whole(self.program.graph, self.program.entry, newest.record.arguments, stage)
        request = newest.compiled.request
        return request.ir if stage == "specialized" else compile_version.stages(request, (stage,))[stage]

    @property
    def all_versions(self) -> tuple[Version | Split, ...]:
        """The whole program's versions, and its splits."""
        return (*self.versions, *self.splits)

    @property
    def splits(self) -> tuple[Split, ...]:
        return tuple(self._regions.splits.values())

    @property
    def refused_ops(self) -> tuple[tuple[str, str], ...]:
        """The ops that a compile was refused for, with the user's lines."""
        return tuple((op, line) for (_, _, line), op in self.refusals.items() if op)

    def _not_optimized(self) -> NotOptimized:
        found = "; ".join(f"{detail}" + (f" (at {line})" if line else "") for _, detail, line in self.refusals)
        return NotOptimized(f"{self.program.name} has no native code as a whole: {found}")

    def _interpret(self, flat: tuple[Any, ...], reason: Reason) -> tuple[Any, ...]:
        self.last_reason = reason
        return self._run_tier0(flat, "interpreted")

    def _run_tier0(self, flat: tuple[Any, ...], counter: str) -> tuple[Any, ...]:
        self._count(counter)
        return self._tier0_results(flat)

    def _count(self, counter: str) -> None:
        with self._lock:
            self._counts[counter] += 1

    def _tier0_results(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        result = self.program.tier0.call(*flat)
        return result if isinstance(result, tuple) else () if result is None else (result,)

    def failed(self, record: VersionRecord | None, status: int, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """Native code left at an error site, having written nothing: tier 0 runs the call again and raises the user's exception."""
        self._emit(EventKind.ERROR_EXIT, Reason.ERROR_SITE, action="ran again in tier 0")
        return self._tier0_results(flat)

    def failed_directly(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """As `failed`, for a call that came through the direct table."""
        with self._lock:
            self._direct_failures += 1
        return self.failed(None, 0, flat)

    # --- compiling --------------------------------------------------------------------------------------------------

    def _compile(self, bet: Bet, flat: tuple[Any, ...], options: Options) -> NotCompiled | None:
        """Add a version. Why there is none, else None."""
        description = describe_specs(bet.specs, self.program.names)
        specs = bet.specs
        start = time.perf_counter()
        try:
            try:
                compiled = self._compiled(specs, options)
            except NotCompiled:
                specs = with_values(bet.specs, flat)
                if specs == bet.specs:
                    raise
                compiled = self._compiled(specs, options)  # a size or a branch may hang on an int: bet on its value too
                with self._lock:
                    self._log.needs_values(bet.specs, specs)
        except NotCompiled as e:
            self._gave_up(e, description, f"not compiled: {e.detail}")
            return e
        finally:
            with self._lock:
                self._compiling.discard(bet.specs)
        artifact = compiled.artifact
        record = VersionRecord(
            specs, artifact.results, compiled.code.address, keepalive=compiled.code, work=artifact.work, form=Form.TUPLE, scalars=False
        )
        version = Version(bet, record, compiled, self.stats().calls + 1, describe_specs(specs, self.program.names))
        with self._lock:
            evicted = self._make_room(options)
            self.versions.append(version)
            self._counts["compiles"] += 1
            for table in self._tables.values():
                table.add(record, first=True)
            if self._direct is not None:
                self._direct.add(self, version)
        for old in evicted:
            self._emit(EventKind.EVICTED, Reason.EVICTED, guard=old.guards)
        kind = EventKind.GENERALISED if bet.kind == "dynamic" else EventKind.COMPILED
        self._emit(
            kind,
            Reason.GENERALISED if bet.kind == "dynamic" else None,
            action=f"{'loaded from disk' if compiled.from_disk else 'compiled'} a {bet.kind} version for {version.guards}",
            milliseconds=(time.perf_counter() - start) * 1e3,
        )
        return None

    def _gave_up(self, why: NotCompiled, guards: str, action: str) -> None:
        with self._lock:
            self.refusals[why.reason, why.detail, why.line] = why.op.removeprefix("torch.")
        self._emit(EventKind.GAVE_UP, why.reason, guard=guards, line=why.line, action=action)

    def _compiled(self, specs: tuple[ArgumentSpec, ...], options: Options) -> Compiled:
        graph, entry = self.program.graph, self.program.entry
        kept = plans.on_disk(graph, entry, specs, options)
        if kept is not None:
            return kept
        from tierup.runtime import compile_version as compiler  # here: loads MLIR and LLVM

        specialised = compiler.specialise(self.values, entry, specs)
        compiled = compiler.compile_version(specialised, entry, specs, options)
        plans.keep(graph, entry, specs, specialised)
        return compiled

    @cached_property
    def values(self) -> str:
        """The graph with mutation turned into values, as text."""
        from tierup.runtime import compile_version as compiler  # here: loads MLIR and LLVM

        return compiler.to_values(self.program.graph)

    def _make_room(self, options: Options) -> list[Version]:
        """Drop the least used versions beyond the bound. Called under the lock."""
        evicted = []
        while len(self.versions) >= options.max_versions:
            least = min(self.versions, key=lambda v: self.hits(v))
            self.versions.remove(least)
            for table in self._tables.values():
                table.remove(least.record)
            if self._direct is not None:
                self._retired_direct_hits += self._direct.hits(least.record)
                self._direct.remove(least.record)
            evicted.append(least)
        return evicted

    # --- what happened ----------------------------------------------------------------------------------------------

    def hits(self, version: Version) -> int:
        """How many calls a version answered."""
        total = sum(table.hits(version.record) for table in self._tables.values())
        return total + (self._direct.hits(version.record) if self._direct is not None else 0)

    def stats(self) -> Stats:
        tables = [table.counts() for table in self._tables.values()]
        hits, failures = sum(c.hits for c in tables), sum(c.failures for c in tables)
        if self._direct is not None:
            hits += self._retired_direct_hits + sum(self._direct.hits(v.record) for v in self.versions)
            failures += self._direct_failures
        return self._regions.stats() + Stats(
            hits=hits, bailouts=failures + self._split_failures, versions=len(self.versions), **self._counts
        )

    def _emit(self, kind: EventKind, reason: Reason | None, **details: Any) -> None:
        counted = kind in _AFTER_COUNTING
        details.setdefault("line", self.program.place)
        event = Event(kind, self.program.name, self.stats().calls + (not counted), reason, **details)
        self.events.append(event)
        events.emit(event)


def _stack_level() -> int:
    """How far up the stack the user's code is: the first frame that is not of this package."""
    here = os.path.dirname(__file__)
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    return level
