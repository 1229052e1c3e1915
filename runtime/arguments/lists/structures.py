"""Which structure the calls of a function have: lists of numbers are leaves, arrays of their numbers, or each item is an argument.

    def mean(xs): ...                  graph(xs: array of any number of floats)
    mean([0.5] * 300)          ->      graph(xs[0]: float, ..., xs[17]: float)    # where the one above is refused
                                       in parts, with more than 50 items

As arrays, lists of every length have one graph and one version, and are read as fast as memory is. Of short lists programs have use for
each item, as an axis, a size or a coefficient: they are arrays where that is refused, where there is such a graph already, and from the
third length on.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.runtime.arguments.lists.columns import FEWEST
from tierup.runtime.arguments.trees import CallShape
from tierup.runtime.base.errors import UnsupportedArgument

_MOST = 16  # structures that are known to have no graph with such leaves; with more no list is tried
_MOST_LENGTHS = 2  # of short lists, of which each item is an argument
_MOST_COUNTED = 64  # structures of which the lengths of short lists are counted, before that begins anew


class Structures:
    """Of one function. `whole_lists`: whether lists of numbers are leaves where that was not refused."""

    def __init__(self, *, whole_lists: bool = False) -> None:
        self.whole_lists = whole_lists
        self._taken: frozenset[CallShape] = frozenset()  # with such leaves, of which there is a graph
        self._refused: dict[CallShape, Exception] = {}
        self._by_items: dict[CallShape, set[CallShape]] = {}  # of each with such leaves: those with an item of a short list each

    def renewed(self) -> Structures:
        """Of the function when its code is read again."""
        return Structures(whole_lists=self.whole_lists)

    def of(self, arguments: Mapping[str, object]) -> tuple[CallShape, list[object]]:
        """The structure of a call, and its leaves. Raises what `CallShape.of` does."""
        if self.whole_lists and len(self._refused) < _MOST:
            whole = CallShape.of(arguments, fewest=1)
            if not whole[0].has_whole_lists or whole[0] in self._taken:
                return whole
            by_items = _with_long_ones(arguments, whole)
            if len(self._by_items) >= _MOST_COUNTED:
                self._by_items = {}
            lengths = self._by_items.setdefault(whole[0], set())
            if len(lengths) < _MOST_LENGTHS:
                lengths.add(by_items[0])
            for found in (by_items, whole) if by_items[0] in lengths else (whole, by_items):
                if found[0] not in self._refused:
                    return found
        return CallShape.of(arguments)

    def take(self, shape: CallShape) -> None:
        """There is a graph for calls of this structure."""
        if shape.has_whole_lists:
            self._taken |= {shape}

    def refuse(self, shape: CallShape, arguments: Mapping[str, object], error: Exception) -> Exception | None:
        """There is no graph for calls of this structure: what to raise, or None where such arguments have another one that may have one."""
        if not self.whole_lists or not CallShape.of(arguments, fewest=1)[0].has_whole_lists:
            return error
        self._refused = {**self._refused, shape: error.with_traceback(None)}
        try:
            return self._refused.get(self.of(arguments)[0])
        except UnsupportedArgument:  # too many for an argument each
            return error


def _with_long_ones(arguments: Mapping[str, object], whole: tuple[CallShape, list[object]]) -> tuple[CallShape, list[object]]:
    """As `whole`, but for short lists; that itself where these are too many for an argument each."""
    try:
        return CallShape.of(arguments, fewest=FEWEST)
    except UnsupportedArgument:
        return whole
