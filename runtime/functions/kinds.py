"""Calls of kinds that there is no graph for, of a function that has graphs for others: `f(None)` among calls with arrays.

A kind is what can be told quickly: the types of arguments, the dtypes and ranks of arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tierup.runtime.functions.elsewhere import Elsewhere

_MOST = 16  # kinds that are remembered: of others each call asks again


class Kinds:
    """Who answers calls of these kinds."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], Elsewhere] = {}

    def elsewhere(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Elsewhere | None:
        """Who answers calls of this kind, None where nobody is named."""
        return self._known.get(_kind(args, kwargs)) if self._known else None

    def leave_to(self, elsewhere: Elsewhere, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Let it answer calls of this kind."""
        if len(self._known) < _MOST:
            self._known = {**self._known, _kind(args, kwargs): elsewhere}  # threads read it without a lock

    def __iter__(self) -> Iterator[Elsewhere]:
        """Those who answer."""
        return iter(dict.fromkeys(self._known.values()))


def _kind(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    return (*map(_of, args), *((name, _of(value)) for name, value in kwargs.items()))


def _of(value: Any) -> Any:
    return (value.dtype, value.ndim) if type(value) is np.ndarray else type(value)
