"""What a function did, counted."""

from __future__ import annotations

from tierup.dialect.base.records import dataclass


@dataclass(frozen=True)
class Stats:
    """Disjoint counts: calls = hits + misses + profiled_runs + interpreted + python.

    `hits`: a version's guards held. `raised`: of the hits, those that a check in native code made raise, which `explain()` counts apart.
    `misses`: versions exist, none fitted or had an answer, tier 0 had. `profiled_runs`: tier 0 answered before there was a version, and
    recorded. `interpreted`: tier 0 answered for another reason (see `explain()`). `python`: the Python function answered, in a turn that
    was timed or since it is quicker, or the program in PyTorch that the function was made of.
    `bailouts`: of the hits, those that left native code at an exit site, or at an error site where tier 0 raised.
    `fallbacks`: a region's check failed and its unspecialised twin ran. `compiles`, `versions`: made in all, there now.
    `plan_cache_hits`, `plan_cache_misses`: calls of the specialising executor whose argument spec had a plan, and had none.
    """

    hits: int = 0
    misses: int = 0
    profiled_runs: int = 0
    interpreted: int = 0
    bailouts: int = 0
    fallbacks: int = 0
    compiles: int = 0
    versions: int = 0
    plan_cache_hits: int = 0
    plan_cache_misses: int = 0
    python: int = 0
    raised: int = 0

    @property
    def calls(self) -> int:
        """All calls, however they were answered."""
        return self.hits + self.misses + self.profiled_runs + self.interpreted + self.python

    @property
    def by_answer(self) -> dict[str, int]:
        """All calls once, by what became of them: those that raised are no hits here."""
        return {
            "hits": self.hits - self.raised, "raised": self.raised, "misses": self.misses, "profiled_runs": self.profiled_runs,
            "interpreted": self.interpreted, "python": self.python,
        }  # fmt: skip

    def __add__(self, other: Stats) -> Stats:
        # field by field: a bailout sums up, and a loop over names takes ten times as long
        return Stats(
            self.hits + other.hits,
            self.misses + other.misses,
            self.profiled_runs + other.profiled_runs,
            self.interpreted + other.interpreted,
            self.bailouts + other.bailouts,
            self.fallbacks + other.fallbacks,
            self.compiles + other.compiles,
            self.versions + other.versions,
            self.plan_cache_hits + other.plan_cache_hits,
            self.plan_cache_misses + other.plan_cache_misses,
            self.python + other.python,
            self.raised + other.raised,
        )
