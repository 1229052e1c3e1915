"""Forward and backward programs: what they give, what they capture, and which of them serves a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.errors import NotDifferentiable
from tierup.runtime.executor import Executor
from tierup.runtime.function import Function
from tierup.runtime.gradient_pair import forward

RNG = np.random.default_rng(7)


def program(function: Function, *arguments: Any) -> tuple[Executor, tuple[Any, ...]]:
    """The executor that serves a call, and its leaves."""
    variant, flat = function.find(arguments, {})
    return variant.executor, flat


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def differences(fn: Callable[..., Any], arguments: tuple[np.ndarray, ...], cotangents: tuple[Any, ...], i: int) -> np.ndarray:
    """Central differences of sum(result * cotangent) in argument i."""

    def value(x: np.ndarray) -> float:
        found = fn(*arguments[:i], x, *arguments[i + 1 :])
        results = found if isinstance(found, tuple) else (found,)
        return sum(float((r * c).sum()) for r, c in zip(results, cotangents, strict=True) if c is not None)

    x, step = arguments[i], 1e-6
    out = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        out[at] = (value(up) - value(down)) / (2 * step)
    return out


@tierup.jit
def layer(x, w, b):
    h = np.tanh(x @ w + b)
    return (h * h).sum(), h


def test_a_pullback_gives_the_gradients_in_every_tier() -> None:
    arguments = numbers(4, 3), numbers(3, 5), numbers(5)
    executor, flat = program(layer, *arguments)
    cotangents = np.float64(1.5), numbers(4, 5)
    expected = [differences(layer.__tierup_function__, arguments, cotangents, i) for i in range(3)]
    for _ in range(4):
        results, pullback = forward(executor, flat, (0, 1, 2))
        np.testing.assert_allclose(results[1], np.tanh(arguments[0] @ arguments[1] + arguments[2]))
        for got, wanted in zip(pullback(cotangents), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)
    (pair,) = executor.gradients.pairs
    assert (pair.forward.stats().hits, pair.backward.executor.stats().hits) == (3, 3)
    assert executor.gradients.stats().hits == 3


def test_the_plain_program_runs_when_no_gradient_is_wanted() -> None:
    @tierup.jit
    def double(x):
        return x * 2

    executor, flat = program(double, numbers(3))
    (result,), pullback = forward(executor, flat, ())
    np.testing.assert_array_equal(result, flat[0] * 2)
    assert pullback([np.ones(3)]) == () and pullback.captured == ()
    stats = executor.gradients.stats()
    assert (stats.plain, stats.hits, stats.misses, stats.pairs) == (1, 0, 0, 0)
    assert executor.stats().calls == 1


def test_only_wanted_gradients_are_computed() -> None:
    @tierup.jit
    def product(x, w):
        return x @ w

    executor, flat = program(product, numbers(4, 3), numbers(3, 2))
    _, pullback = forward(executor, flat, (1,))
    (gradient,) = pullback([np.ones((4, 2))])
    np.testing.assert_allclose(gradient, flat[0].T @ np.ones((4, 2)))
    assert [c.name for c in pullback.captured] == ["x"]  # w is needed for the gradient of x alone


def test_an_op_without_a_gradient_is_named_with_its_line_alike_each_time() -> None:
    @tierup.jit
    def ranks(x):
        return np.sort(x) * 2  # the op

    executor, flat = program(ranks, numbers(5))
    said = []
    for _ in range(2):
        with pytest.raises(NotDifferentiable, match="aten.sort.*# the op") as caught:
            forward(executor, flat, (0,))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert executor.gradients.stats().refused == 2
