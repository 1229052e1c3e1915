"""A result that NumPy has as a view of what the caller has is that view; where it is one of memory that the call makes, native code has a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.frontend.errors import UnsupportedSyntax

K = np.arange(4.0)


def turned(a: Any) -> Any:
    return a[::-1]


def parts(x: Any) -> Any:
    z = x * (1 + 2j)
    return z.real, z.imag


def with_its_base(x: Any) -> Any:
    w = x * 2
    return w[::-1], w


def either(x: Any) -> Any:
    y = x
    if x.sum() > 0:
        y = x * 2
    return np.flip(y)


def in_a_loop(x: Any) -> Any:
    y = x * 1
    for i in range(len(x)):
        y = y + i
    return y[::-1]


def perhaps_unchanged(x: Any) -> Any:
    y = x
    for _ in range(int(x[0, 0])):
        y = y + 1
    return y[:, ::-1]


OF_THE_CALLERS: tuple[Callable[[Any], Any], ...] = (
    lambda x: x[::-1],
    lambda x: x[:, ::-1][0],
    lambda x: np.flip(x),
    lambda x: np.fliplr(x.T),
    lambda x: np.flipud(np.asarray(x)),
    lambda x: (x * 2, x[1:, ::-1]),
    lambda x: {"a": x.reshape(-1)[::-2]},
    lambda x: turned(x),
    lambda x: turned(turned(x)),
    lambda x: K[::-1],
    lambda x: np.rot90(x),
    lambda x: np.moveaxis(np.flip(x, 0), 0, 1),
    lambda x: x[::-1].T[None],
    lambda x: x[::-1, ::-1],
    lambda x: x[::-1][::-1],
    lambda x: np.flip(turned(x), 1)[None, ::-1],
    with_its_base,
    lambda x: [turned(x * 2)] * 2,
    either,
    perhaps_unchanged,
)
OF_THE_CALLS: tuple[Callable[[Any], Any], ...] = (
    lambda x: np.cumsum(x[::-1])[::-1],
    lambda x: (x * 2)[::-1],
    lambda x: ((x * 2)[::-1, ::-1], (x + 1)[::-1]),
    parts,
    lambda x: np.sort(x)[:, ::-1],
    lambda x: turned(x + 1),
    lambda x: x[::-1].copy(),
    lambda x: [np.flip(x + 1), x[::-1] @ x.T],
    in_a_loop,
)


def outcome(function: Callable[[Any], Any], x: np.ndarray) -> list[Any]:
    """What a call gives and leaves, after the caller has written to all that it gave and then to its own array."""
    given = function(x)
    results = list(given.values()) if isinstance(given, dict) else list(given) if isinstance(given, (list, tuple)) else [given]
    for result in results:
        result += 10.0
    written = x.copy(), K.copy()
    x *= 3.0
    K[:] = np.arange(4.0)
    return [*written, *results]


@pytest.mark.parametrize("function", [*OF_THE_CALLERS, *OF_THE_CALLS])
def test_what_the_caller_writes_to_a_reversed_result_shows_in_its_array_as_in_numpy(function: Any) -> None:
    jitted = tierup.jit(function, compile="blocking")
    for number in (1.0, -1.0, 2.0, 0.0):
        x = np.linspace(number, 6.0, 6).reshape(2, 3)
        for found, wanted in zip(outcome(jitted, x.copy()), outcome(function, x.copy()), strict=True):
            np.testing.assert_array_equal(found, wanted)
    if function in OF_THE_CALLS:
        assert jitted.stats().hits == 3
    else:
        assert "returning a reversed view of an array that the caller has or gets" in jitted.explain()


def test_parts_of_the_callers_complex_array_are_views_of_it() -> None:
    jitted = tierup.jit(lambda z: z.real)
    for _ in range(3):
        z = np.array([1 + 2j, 3 - 1j])
        part = jitted(z)
        part += 1
        assert z.tolist() == [2 + 2j, 4 - 1j]


def test_strict_says_what_to_write_where_the_view_is_the_callers() -> None:
    with pytest.raises(UnsupportedSyntax, match=r"returning a reversed view of an array that the caller has or gets.*write \.copy\(\) after it"):
        tierup.jit(turned, strict=True)(np.ones(3))
