"""Lists of arrays among the leaves and results of a program, as gradients take them: item by item. Only programs in MLIR have such leaves;
of Python's lists each item is a leaf already. Free of MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.runtime.arguments.nesting import Nesting
from tierup.runtime.executors.gradients.pullback import Captured, Pullback, SecondPullback


class ListPullback(Pullback):
    """A pullback whose gradients and cotangents are lists where the leaves and results were."""

    def __init__(self, flat: Pullback, results: Nesting, wanted: Nesting) -> None:
        self._flat, self._nested_results, self._nested_wanted = flat, results, wanted

    def __call__(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[Any, ...]:
        """As `Pullback`; None for a list of results: nothing flows to any of them."""
        return self._nested_wanted.nested(self._flat(self._nested_results.flat(cotangents, "cotangents"), zeros=zeros))

    def again(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[tuple[Any, ...], ListSecondPullback]:
        """As `Pullback.again`."""
        found, second = self._flat.again(self._nested_results.flat(cotangents, "cotangents"), zeros=zeros)
        return self._nested_wanted.nested(found), ListSecondPullback(second, self._nested_results, self._nested_wanted)

    @property
    def captured(self) -> tuple[Captured, ...]:
        """What is held until the pullback goes."""
        return self._flat.captured


class ListSecondPullback(SecondPullback):
    """A second pullback with lists where there were lists."""

    def __init__(self, flat: SecondPullback, results: Nesting, wanted: Nesting) -> None:
        self._flat, self._nested_results, self._nested_wanted = flat, results, wanted

    def __call__(self, cotangents: Sequence[Any], *, zeros: bool = True) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """As `SecondPullback`."""
        leaves, of_cotangents = self._flat(self._nested_wanted.flat(cotangents, "cotangents"), zeros=zeros)
        return self._nested_wanted.nested(leaves), self._nested_results.nested(of_cotangents)
