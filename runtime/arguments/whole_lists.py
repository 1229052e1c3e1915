"""Which structure the calls of a function have: lists of numbers are leaves, arrays of their numbers, or each item is an argument.

    def mean(xs): ...                  graph(xs: array of any number of floats)
    mean([0.5] * 300)          ->      graph(xs[0]: float, ..., xs[17]: float)    # where the one above is refused
                                       Python, with more than 50 items           # as above

As arrays, lists of every length have one graph and one version, and are read as fast as memory is. Their items cannot change there: a
function that changes its list, gives it to somebody, or returns it is built by items.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.runtime.arguments.trees import CallShape

_MOST = 16  # structures that are known to have no such graph; with more no list is tried


class Structures:
    """Of one function. `whole_lists`: whether lists of numbers are leaves where that was not refused."""

    def __init__(self) -> None:
        self.whole_lists = False
        self._by_items: frozenset[CallShape] = frozenset()

    def of(self, arguments: Mapping[str, object]) -> tuple[CallShape, list[object]]:
        """The structure of a call, and its leaves. Raises what `CallShape.of` does."""
        shape, leaves = CallShape.of(arguments, whole_lists=self.whole_lists)
        return CallShape.of(arguments) if shape in self._by_items else (shape, leaves)

    def refuse(self, shape: CallShape) -> None:
        """There is no graph for lists that are leaves, in calls of this structure."""
        self._by_items |= {shape}
        self.whole_lists = len(self._by_items) < _MOST
