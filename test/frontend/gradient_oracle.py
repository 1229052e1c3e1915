"""Central differences of plain Python functions over trees of arrays: the oracle of the gradient functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def differences(function: Callable[..., Any], arguments: tuple[Any, ...], argnum: int, step: float = 1e-6) -> Any:
    """The gradient of `function`, whose result is of rank 0, by an argument in float64: a tree like the argument."""

    def of(tree: Any, rebuild: Callable[[Any], Any]) -> Any:
        if isinstance(tree, dict):
            return {k: of(v, lambda new, k=k: rebuild({**tree, k: new})) for k, v in tree.items()}
        if isinstance(tree, (list, tuple)):
            kind = type(tree)
            return kind(of(v, lambda new, i=i: rebuild(kind([*tree[:i], new, *tree[i + 1 :]]))) for i, v in enumerate(tree))
        if tree is None:
            return None
        flat = np.asarray(tree, np.float64)
        out = np.zeros_like(flat)
        for index in np.ndindex(flat.shape):
            sides = []
            for sign in (1, -1):
                moved = flat.copy()
                moved[index] += sign * step
                sides.append(float(rebuild(moved if flat.ndim else float(moved))))
            out[index] = (sides[0] - sides[1]) / (2 * step)
        return out

    return of(arguments[argnum], lambda new: function(*arguments[:argnum], new, *arguments[argnum + 1 :]))


def assert_close(found: Any, wanted: Any, rtol: float = 1e-6, atol: float = 1e-8) -> None:
    """The same tree, and close arrays in it."""
    assert type(found) is type(wanted) or not isinstance(wanted, (dict, list, tuple, type(None))), (type(found), type(wanted))
    if isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key in wanted:
            assert_close(found[key], wanted[key], rtol, atol)
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_close(a, b, rtol, atol)
    elif wanted is not None:
        assert np.shape(found) == np.shape(wanted)
        np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)
