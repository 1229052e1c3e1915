"""The profiling executor: versions of a program for one choice of options that code depends on. How it answers a call is `life.py`'s; this
is what there is, and what happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tierup.runtime.account.stats import Stats
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.life import Life
from tierup.runtime.programs.context import Context

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from tierup.runtime.arguments.signature import Signature
    from tierup.runtime.bailouts.continuations import Continuations
    from tierup.runtime.base.options import Options
    from tierup.runtime.dispatching.direct import DirectTable
    from tierup.runtime.executors.splits.split import Split
    from tierup.runtime.programs.strategy import Seen


class ProfilingExecutor:
    """See the module. Thread-safe."""

    def __init__(self, context: Context, direct: DirectTable | None) -> None:
        self.context, self.program = context, context.program
        self.life = life = Life(context, direct)
        self.call, self.table, self.maker, self.simple = life.call, life.table, life.maker, life.simple
        self.splitting, self.assumptions = life.splitting, life.assumptions

    @property
    def versions(self) -> tuple[Version, ...]:
        """The versions of the whole program, oldest first."""
        return self.table.versions

    @property
    def splits(self) -> tuple[Split, ...]:
        """The splits of the program."""
        return tuple(self.splitting.table.splits.values())

    @property
    def is_optimized(self) -> bool:
        """Whether there is a plan that was made for what calls looked like."""
        return bool(self.versions or self.splits)

    def seen(self) -> list[Seen]:
        """What calls looked like that no version fitted."""
        with self.table.lock:
            return self.maker.log.calls()

    def warm(self, signatures: Sequence[Signature], flat: tuple[Any, ...], options: Options) -> bool:
        """See `Executor.warm`. Assumptions in mid-program are made of runs: there are none."""
        if self.assumptions is not None or not options.depth or not options.profile or self.program.released:
            return False
        return self.maker.make_for_profile(flat, signatures, options)

    @property
    def compiling(self) -> bool:
        """Whether a version is being compiled."""
        return self.maker.log.pending

    @property
    def undecided(self) -> bool:
        """Whether it will be tried again to make code."""
        return self.maker.postponed

    def locks(self) -> list[AbstractContextManager[object]]:
        """What is held while no version and no record may change."""
        return [self.table.lock]

    def continuations(self, version: Version | Split) -> Continuations | None:
        """What goes on where an assumption of a version fails; None when it has none, or is no version of this executor."""
        if not isinstance(version, Version):
            return version.continuations if version in self.splits else None
        return None if self.assumptions is None else self.assumptions.continuations(version.record)

    def described_plans(self) -> tuple[tuple[str, str, int], ...]:
        """None: versions are its plans."""
        return ()

    def hits(self, version: Version) -> int:
        """How many calls a version answered."""
        return self.table.hits(version)

    def stats(self) -> Stats:
        """What the versions did; what tier 0 answered is the history's to count."""
        hits, failures = self.table.counts()
        own = Stats(hits=hits, bailouts=failures + self.life.direct_failures, versions=len(self.table.versions))
        return own + self.splitting.table.stats() + (Stats() if self.assumptions is None else self.assumptions.stats())

    def total_hits(self) -> int:
        """`stats().hits`, at little cost."""
        return self.table.total_hits() + self.splitting.table.hits

    def cache_counts(self) -> tuple[int, int, int]:
        """(calls that code answered, hits, misses beside those that the history counts)."""
        hits = self.table.counts()[0] + self.splitting.table.hits
        return hits, hits, 0

    def close(self) -> None:
        """Take all versions out of their tables; what is being compiled is dropped when it arrives."""
        with self.table.lock:
            self.context.closed = True
            self.table.clear()

    def release(self) -> None:
        """Let go of what only compiling needs. The program's graph must have gone before."""
        self.maker.release()
        self.life.misses.clear()
        self.splitting.release()
