"""The profiling executor: profile, bet, compile the bet behind guards, answer what it does not fit in tier 0.

All calls that no version fits arrive in `_miss`, which profiles, bets, compiles, splits or interprets.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tierup.dialect.reasons import Reason
from tierup.lowering.abi import ArgumentSpec
from tierup.lowering.entry_records import VersionRecord
from tierup.runtime import guards
from tierup.runtime.compiling import Values, make_version
from tierup.runtime.errors import NotOptimized, RecompileLimitWarning
from tierup.runtime.events import EventKind
from tierup.runtime.history import History
from tierup.runtime.options import Options, Overrides
from tierup.runtime.plans import NotCompiled
from tierup.runtime.program import Program
from tierup.runtime.signature import Signature, Unsupported, signature_of
from tierup.runtime.splitting import Splitting
from tierup.runtime.stats import Stats
from tierup.runtime.strategy import Bet, SpeculationLog, with_values
from tierup.runtime.version_table import VersionTable

if TYPE_CHECKING:
    from tierup.runtime.direct import DirectTable
    from tierup.runtime.executor import Executor

_WITHOUT_CODE = (Reason.SITE_GIVEN_UP, Reason.DEPTH_EXHAUSTED)


class ProfilingExecutor:
    """Versions of a program for one choice of options that code depends on. Thread-safe: locks cover bookkeeping only.

    `is_region`: the program is a region of another's, which was profiled: its first call is compiled for at once, and it is not
    split further. `make_region` makes the executor of a region of this program.
    """

    def __init__(
        self,
        program: Program,
        overrides: Overrides,
        history: History,
        values: Values,
        direct: DirectTable | None,
        make_region: Callable[[Program], Executor],
        *,
        is_region: bool,
    ) -> None:
        self.program, self.history, self.make_region = program, history, make_region
        self._overrides = overrides
        self._values = values
        self._is_region = is_region
        self.table = VersionTable(len(program.names), self._miss, self.failed, direct, self)
        self._lock = self.table.lock
        self._local = threading.local()
        self._log = SpeculationLog()
        self._compiling: set[tuple[ArgumentSpec, ...]] = set()
        self._warned = False
        self._direct_failures = 0
        self.splitting = Splitting(self)

    def calls(self) -> int:
        """How many calls the program has answered, under any options."""
        return self.history.calls()

    def stats(self) -> Stats:
        """What the versions did; what tier 0 answered is the history's to count."""
        hits, failures = self.table.counts()
        return self.splitting.stats() + Stats(hits=hits, bailouts=failures + self._direct_failures, versions=len(self.table.versions))

    def close(self) -> None:
        """Take all versions out of their tables."""
        self.table.clear()

    # --- answering a call -------------------------------------------------------------------------------------------

    def call(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        if not self.table.versions:
            return self._miss(*flat)
        results: tuple[Any, ...] = self.table.callable(options.entry)(*flat)
        return results

    def _miss(self, *flat: Any) -> tuple[Any, ...]:
        """No version fits: record, and maybe compile one."""
        options = self._overrides.current()
        if getattr(self._local, "retrying", False):
            return self.history.interpret(flat, Reason.SITE_GIVEN_UP)
        try:
            signature = signature_of(flat)
        except Unsupported as e:
            return self.history.interpret(flat, e.reason)
        if not self.program.tier0.takes(flat):
            return self.history.interpret(flat, Reason.PROGRAM_RAISES)  # not recorded: no version may be made for what the program refuses
        if not options.strict:
            answered = self.splitting.answer(signature, flat, options)
            if answered is not None:
                return answered
        if not options.profile:
            return self.history.interpret(flat, Reason.PROFILE_OFF)
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
            result: tuple[Any, ...] = self.table.callable(options.entry)(*flat)
        finally:
            self._local.retrying = False
        return result

    def _propose(self, signature: Signature, options: Options) -> Bet | Reason:
        if self._is_region and not self._log.bets:
            options = replace(options, num_profiled_runs=0)  # its program's profile was its own
        if not self.table.versions and self.history.counts["profiled_runs"] < options.num_profiled_runs:
            return Reason.DEPTH_EXHAUSTED if options.kind_of_version(0) is None else Reason.PROFILING
        proposal = self._log.propose(signature, options)
        if isinstance(proposal, Bet):
            if proposal.specs in self._compiling:
                return Reason.COMPILING
            self._compiling.add(proposal.specs)
            self._log.made(proposal)
        return proposal

    def _answer_miss(self, flat: tuple[Any, ...], signature: Signature, reason: Reason, options: Options) -> tuple[Any, ...]:
        if options.strict and reason in _WITHOUT_CODE and any(r is not Reason.PROGRAM_RAISES for r, _, _ in self.history.refusals):
            raise self._not_optimized()
        if reason is Reason.DEPTH_EXHAUSTED and self._log.bets:
            self._warn_of_limit(signature, options)
        if self.table.versions:
            self.history.count("misses")
            self._note_miss(flat, signature, reason)
            return self.program.run(flat)
        if reason is Reason.PROFILING:
            start = time.perf_counter()
            self.history.count("profiled_runs")
            result = self.program.run(flat)
            self.history.emit(EventKind.PROFILED, reason, action="ran in tier 0", milliseconds=(time.perf_counter() - start) * 1e3)
            return result
        return self.history.interpret(flat, reason)

    def _answer_refused(self, flat: tuple[Any, ...], signature: Signature, refusal: NotCompiled, options: Options) -> tuple[Any, ...]:
        """The bet on a call has no native code."""
        if options.strict and refusal.reason is not Reason.PROGRAM_RAISES:
            raise self._not_optimized()
        if self._is_region or not self.splitting.may_start(signature, refusal, options):
            return self.history.interpret(flat, refusal.reason)
        return self.splitting.start(signature, flat, refusal, options)

    def failed(self, record: VersionRecord | None, status: int, flat: tuple[Any, ...], live: object = None) -> tuple[Any, ...]:
        """Native code left at an error site, having written nothing: tier 0 runs the call again and raises the user's exception."""
        self.history.emit(EventKind.ERROR_EXIT, Reason.ERROR_SITE, action="ran again in tier 0")
        return self.program.run(flat)

    def failed_directly(self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: object = None) -> tuple[Any, ...]:
        """As `failed`, for a call that came through the direct table."""
        with self._lock:
            self._direct_failures += 1
        return self.failed(record, status, flat, live)

    # --- compiling --------------------------------------------------------------------------------------------------

    def _compile(self, bet: Bet, flat: tuple[Any, ...], options: Options) -> NotCompiled | None:
        """Add a version. Why there is none, else None."""
        start = time.perf_counter()
        try:
            try:
                version = make_version(self.program, self._values, bet, bet.specs, options, self.calls() + 1)
            except NotCompiled:
                specs = with_values(bet.specs, flat)
                if specs == bet.specs:
                    raise
                # a size or a branch may hang on an int: bet on its value too
                version = make_version(self.program, self._values, bet, specs, options, self.calls() + 1)
                with self._lock:
                    self._log.needs_values(bet.specs, specs)
        except NotCompiled as e:
            self.history.gave_up(e, bet.describe(self.program.names), f"not compiled: {e.detail}")
            return e
        finally:
            with self._lock:
                self._compiling.discard(bet.specs)
        evicted = self.table.add(version, options.max_versions)
        self.history.count("compiles")
        for old in evicted:
            self.history.emit(EventKind.EVICTED, Reason.EVICTED, guard=old.guards)
        dynamic, origin = bet.kind == "dynamic", "loaded from disk" if version.compiled.from_disk else "compiled"
        self.history.emit(
            EventKind.GENERALISED if dynamic else EventKind.COMPILED,
            Reason.GENERALISED if dynamic else None,
            action=f"{origin} a {bet.kind} version for {version.guards}",
            milliseconds=(time.perf_counter() - start) * 1e3,
        )
        return None

    # --- words for people -------------------------------------------------------------------------------------------

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
        nearest = self.table.nearest(signature)
        mismatch = guards.explain(nearest.record, flat)
        if mismatch is None:
            self.history.emit(EventKind.MISS, reason, action="ran in tier 0")
            return
        name = self.program.names[mismatch.argument] if mismatch.argument >= 0 else "arguments"
        self.history.emit(
            EventKind.MISS,
            mismatch.reason,
            guard=f"{name}: {mismatch.what}",
            expected=mismatch.expected,
            actual=mismatch.actual,
            action=f"ran in tier 0: {reason.sentence}",
        )

    def _not_optimized(self) -> NotOptimized:
        found = "; ".join(f"{detail}" + (f" (at {line})" if line else "") for _, detail, line in self.history.refusals)
        return NotOptimized(f"{self.program.name} has no native code as a whole: {found}")


def _stack_level() -> int:
    """How far up the stack the user's code is: the first frame that is not of this package."""
    here = os.path.dirname(__file__)
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        level, frame = level + 1, frame.f_back
    return level
