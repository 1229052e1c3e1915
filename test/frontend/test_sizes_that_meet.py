"""Arrays whose sizes only the run knows, and that must be of one size: native, and NumPy's answers where they are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup


def masks(x: Any, a: Any, b: Any) -> Any:
    return x[x > a] * x[x > b]


def products(x: Any, a: Any, b: Any) -> Any:
    return x[x > a] @ x[x > b]


def counts(x: Any, a: Any, b: Any) -> Any:
    k = x.astype(int)
    return np.bincount(k[k > a]) - np.bincount(k[k > b])


def beside(x: Any, a: Any, b: Any) -> Any:
    y = x.reshape(-1, 1)
    return np.hstack([y[x > a], y[x > b]])


def rounds(x: Any, a: Any, b: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += (x[x > a + k] - x[x > b + k]).sum()
    return total


def halves(x: Any, a: Any, b: Any) -> Any:
    out, n = x * a, len(x)
    while n > b:
        out[: n // 2] = out[:n:2] + out[1:n:2]
        n //= 2
    return out


@pytest.mark.parametrize("function", [masks, products, counts, beside, rounds, halves])
def test_a_call_whose_sizes_meet_is_native_and_numpy_s_where_they_do_not(function: Callable[..., Any]) -> None:
    def outcome(f: Callable[..., Any], *given: Any) -> Any:
        try:
            return f(*given)
        except ValueError as e:
            return str(e)

    f = tierup.jit(function, weigh=False)
    x = np.array([0.0, 5.0, 2.0, 7.0, 3.0, 1.0, 4.0, 6.0])
    for a, b in ((3.0, 3.0), (3.0, 3.0), (1.0, 6.0), (2.0, 5.0), (3.0, 3.0), (9.0, 9.0), (9.0, 6.0)):
        want, got = outcome(function, x, a, b), outcome(f, x, a, b)
        assert type(want) is type(got)
        np.testing.assert_array_equal(got, want)
    assert f.stats().interpreted == 0
    assert f.stats().hits >= 4
