"""The splits of one program, and what becomes of them: run, reviewed when regions are compiled, cut again without what has no code."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Generic, TypeVar

from tierup.dialect.base import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.stats import Stats
from tierup.runtime.base.events import EventKind
from tierup.runtime.executors.splits.split import Split, culprits

if TYPE_CHECKING:
    from tierup.runtime.base.protocols import Flat
    from tierup.runtime.programs.context import Context

SPLITTABLE = frozenset({Reason.NO_LOWERING, Reason.TYPE_UNKNOWN, Reason.VIEW_RESULT, Reason.MUTATION})
_MOST_CUTS = 4  # a region whose code is refused after all names the op that was at fault, and the program is cut again without it

Key = TypeVar("Key", bound=Hashable)


class SplitTable(Generic[Key]):
    """Splits by what they are for. Thread-safe.

    `may_cut`: whether what a split is for can be cut anew. `gone`: told that a split went, and whether it is to be cut again, else it is
    given up. `apart`: what no region may hold hangs on what a split is for.
    """

    def __init__(
        self, context: Context, may_cut: Callable[[Key], bool], gone: Callable[[Key, bool], object], *, apart: bool = False
    ) -> None:
        self._context, self._may_cut, self._gone, self._is_apart = context, may_cut, gone, apart
        self.splits: dict[Key, Split] = {}
        self.lock = forking.lock()  # bookkeeping; not held while anything runs or is made
        self.hits = 0  # of all splits, also of calls that are in one when it goes
        self._failures = 0
        self._retired = Stats()  # what splits that are gone have done
        self._excluded: dict[Key | None, frozenset[str]] = {}  # what no region may hold: ops by name, or by the user's line

    def stats(self) -> Stats:
        """Hits, fallbacks, bailouts and compiles of all splits, and how many there are."""
        with self.lock:
            now = sum((split.stats() for split in self.splits.values()), self._retired)
            return replace(now, hits=self.hits, versions=len(self.splits), bailouts=now.bailouts + self._failures)

    def excluded(self, key: Key) -> frozenset[str]:
        """The ops, by name or by the user's line, that no region of the split for `key` may hold."""
        return self._excluded.get(key if self._is_apart else None, frozenset())

    def exclude(self, key: Key, ops: frozenset[str]) -> None:
        """Let no region of the split for `key` hold these ops any more, beside those before."""
        with self.lock:
            self._excluded[key if self._is_apart else None] = self.excluded(key) | ops

    def put(self, split: Split, *, without: str = "") -> None:
        """A program was cut, `without` an assumption on what, for people."""
        with self.lock:
            self.splits[split.key] = split
        self._context.history.emit(
            EventKind.SPLIT,
            Reason.ASSUMPTION_DROPPED if without else Reason.NO_LOWERING,
            guard=split.guards,
            action=f"cut into {len(split.regions)} native regions" + (f" without an assumption on {without}" if without else "")
            + f"; in tier 0: {split.left_in_tier0}",
            milliseconds=split.milliseconds,
        )  # fmt: skip

    def retire(self, split: Split) -> bool:
        """Take a split out; whether it was there."""
        with self.lock:
            if self.splits.get(split.key) is not split:
                return False
            del self.splits[split.key]
            self._retired += split.stats()
            return True

    def release(self) -> None:
        """Let go of what only compiling needs."""
        for split in tuple(self.splits.values()):
            split.release()

    # --- a call --------------------------------------------------------------------------------------------------------

    def run(self, split: Split, flat: Flat) -> Flat:
        """The results of a call."""
        if not split.publication.fits(flat):
            return self._context.interpret(flat, Reason.OVERLAP)
        if not split.serves(flat):
            return self._context.interpret(flat, Reason.STRIDES)
        with self.lock:
            split.hits += 1
            self.hits += 1
        inside = split.continuations
        if inside is not None:
            inside.was_left = False
        results: Flat | None = None
        with suppress(Exception):  # whatever it was, the pristine graph raises it, with all it writes before
            results = split.run(flat)
        if results is None:
            with self.lock:
                self._failures += inside is None or not inside.was_left
            return self._context.run_again(flat)
        if split.is_new or not split.reviewed:
            self._has_run(split)
        return results

    def ran_elsewhere(self, split: Split) -> None:
        """A split has answered a call with arrays on a device."""
        with self.lock:
            split.hits += 1
            self.hits += 1
        self._has_run(split)

    def _has_run(self, split: Split) -> None:
        """Look at what its regions have become."""
        if not split.reviewed and not any(region.is_open for region in split.regions):
            self._review(split)
        if split.is_new:
            split.is_new = False
            if self.splits.get(split.key) is split:
                self._context.on_version(self._context.options())

    def _review(self, split: Split) -> None:
        """All regions were compiled, or refused: what has no code after all goes to tier 0."""
        key, split.reviewed = split.key, True
        before = self.excluded(key)
        found = culprits(split.code.profiled, [why for region in split.regions for why in region.refused_ops]) - before
        again = bool(found) and len(before) < _MOST_CUTS and self._may_cut(key)
        if not again and any(region.versions for region in split.regions) or not self.retire(split):
            return
        if again:
            self.exclude(key, found)
        else:
            for region in split.regions:
                self._context.history.refusals.update(region.refusals)
        self._gone(key, again)
