"""One cause of time spent, and what the finders of causes are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.records import cached_property, dataclass
from tierup.runtime.account.stats import Stats
from tierup.runtime.account.times import COMPILING, GRAPHS, LOADING, START_UP, TIER0, WAITING, Place, Times

if TYPE_CHECKING:
    from tierup.runtime.arguments.hidden import Access
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.executors.executor import Executor
    from tierup.runtime.functions.elsewhere import Left
    from tierup.runtime.functions.graphs.variant import Variant


ONCE = (START_UP, GRAPHS, COMPILING, LOADING, WAITING)


@dataclass(frozen=True)
class Cause:
    """What costs time. `what`: with "Slow because" before it; `remedy`: with "Do" before it. `seconds`: what it cost, as far as is known;
    `calls`: how many calls, or graphs, it concerns; `line`: the user's. `once`: what any program pays in its first calls, and no cause
    where there is another."""

    what: str
    remedy: str
    seconds: float
    calls: int
    line: str
    once: bool = False


@dataclass(frozen=True)
class Facts:
    """What is known of a function: all that is here is kept for other purposes. `seconds`: of all calls, by the parts of `times.PARTS`.
    `left`: what Python answers, not being translated, and `in_parts` how many calls, where it does. `slow`: calls that the native entry
    left to Python, by cause."""

    name: str
    line: str
    stats: Stats
    seconds: Mapping[str, float]
    times: Sequence[Times]
    place: Place | None
    executors: Sequence[Executor]
    variants: Sequence[tuple[tuple[tuple[str, Any], ...], Variant]]  # with the parameters of the call's shape
    read: Sequence[Access]
    fixed: Sequence[Access]
    left: Sequence[Left]
    in_parts: int
    python_is_quicker: tuple[float, float] | None  # seconds of a call: of Python, of what was made of it
    slow: Mapping[str, int]
    caller: str
    named: Callable[[str], str]  # what its ops are called, in a text for people

    @property
    def total(self) -> float:
        """Seconds of all calls."""
        return sum(self.seconds.values())

    @property
    def once(self) -> float:
        """Seconds of what its first calls make: all that is kept for the others."""
        return sum(self.seconds[part] for part in ONCE)

    @property
    def recurring(self) -> float:
        """Seconds of calls besides that."""
        return self.total - self.once

    @property
    def entries(self) -> int:
        """How many calls came through Python."""
        return sum(times.entries + times.left for times in self.times)

    @property
    def graphs(self) -> int:
        """How many were made."""
        return sum(times.graphs for times in self.times)

    @cached_property
    def versions(self) -> Sequence[tuple[Executor, Version, int]]:
        """With their hits."""
        return [(executor, version, executor.hits(version)) for executor in self.executors for version in executor.versions]

    @cached_property
    def parts(self) -> Sequence[Any]:
        """The executors, and those of regions and continuations."""
        return list(self._parts())

    def _parts(self) -> Iterator[Any]:
        for executor in self.executors:
            yield from executor.with_parts()

    def seconds_of_call(self, version: Version) -> float | None:
        """What a call of a version takes, None where none was timed."""
        for times in self.times:
            found = times.native.of_version(version.record.serial)
            if found is not None:
                return found
        return None

    def beyond_first(self, versions: Sequence[Version]) -> float:
        """Seconds of the compiles of these, but for the function's first version, which any program has."""
        first = min((v for _, v, _ in self.versions), key=lambda v: v.record.serial, default=None)
        return sum(v.milliseconds for v in versions if v is not first) / 1e3

    def of_structures(self) -> float:
        """Seconds of what calls of another structure than the first make."""
        in_tier0 = self.seconds[TIER0] * (1 - 1 / max(1, self.graphs))
        return self.of_graphs() + self.beyond_first([v for _, v, _ in self.versions]) + in_tier0

    def of_graphs(self, but: int = 1) -> float:
        """Seconds of all graphs but so many of them, of those that were made."""
        part = self.seconds["graphs"]
        return part * max(0, self.graphs - but) / max(1, self.graphs)


def listed(items: Sequence[str], most: int = 5) -> str:
    """`a, b and c`; of many the first, and how many more there are."""
    items = list(items)
    if len(items) > most:
        return f"{', '.join(items[: most - 1])} and {len(items) - most + 1} more"
    return " and ".join(filter(None, (", ".join(items[:-1]), *items[-1:])))
