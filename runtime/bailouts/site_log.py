"""Which assumptions in mid-program are still made: how often each was lost, and what came instead. Free of MLIR."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tierup.dialect.base import forking
from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact, Profiled, ProfiledScalar

# One loss may be the odd call out, and two its neighbour. After the third the next one is more likely than not, and a bailout costs
# what the assumption saves in hundreds of calls.
LOSSES = 3
MOST_LOSSES = 48  # the patience with a program whose versions keep being made again doubles up to this


class SiteLog:
    """The assumptions of one program, by the slot of the profile that each is on. Thread-safe.

    An assumption that failed too often is never made again: a size that differed is left open, a number or a branch is no longer assumed.
    """

    def __init__(self) -> None:
        self._lock = forking.lock()
        self._losses: dict[int, int] = {}
        self._came: dict[int, Fact | None] = {}  # what came where assumptions failed, joined
        self._wider: dict[int, Fact | None] = {}  # what an assumption must let through; None: there is no assumption
        self._patience = LOSSES

    def lost(self, slots: Iterable[int], actual: Fact | None) -> bool:
        """Note an assumption that failed for `actual`. Whether it has failed too often now."""
        with self._lock:
            due = False
            for slot in slots:
                self._losses[slot] = self._losses.get(slot, 0) + 1
                before = self._came.get(slot, actual)
                self._came[slot] = None if before is None or actual is None else profiled.join(before, actual)
                due |= self._losses[slot] >= self._patience
            return due

    @property
    def patience(self) -> int:
        """How often an assumption may fail before it is dropped."""
        return self._patience

    def losses(self, slots: Iterable[int]) -> int:
        """How often the assumption failed since it is made as it is."""
        with self._lock:
            return max((self._losses.get(slot, 0) for slot in slots), default=0)

    def widen(self, facts: Mapping[Iterable[int], Fact]) -> None:
        """Never again make these assumptions, by their slots, that failed too often; be more patient from now on."""
        with self._lock:
            for slots, fact in facts.items():
                for slot in slots:
                    came = self._came.get(slot)
                    wider = None if came is None else profiled.join(fact, came)
                    self._wider[slot] = None if wider == fact else wider  # lost to something that does fit: by force, or by a symbol
                    self._losses[slot] = 0
            self._patience = min(2 * self._patience, MOST_LOSSES)

    def leave_open(self, facts: Mapping[Iterable[int], Fact]) -> None:
        """Assume no more sizes and numbers that followed from an assumption which is no longer made."""
        with self._lock:
            for slots, fact in facts.items():
                wider: Fact | None = None
                if isinstance(fact, Profiled) and fact.sizes is not None:
                    wider = replace(fact, sizes=(None,) * len(fact.sizes), strides=None)
                self._wider.update(dict.fromkeys(slots, wider))

    def allowed(self, facts: Mapping[int, Fact | None]) -> dict[int, Fact]:
        """What may be assumed, of what was recorded."""
        with self._lock:
            found = {slot: fact if slot not in self._wider else _joined(fact, self._wider[slot]) for slot, fact in facts.items()}
        return {slot: fact for slot, fact in found.items() if fact is not None and not _says_nothing(fact)}


def _joined(a: Fact | None, b: Fact | None) -> Fact | None:
    return None if a is None or b is None else profiled.join(a, b)


def _says_nothing(fact: Fact) -> bool:
    if isinstance(fact, ProfiledScalar):
        return fact.value is None or fact.kind == "float"
    return fact.dtype is None and fact.sizes is None
