"""`tierup.vjp`: values, pullbacks, trees on both sides, and what is captured."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from gradient_oracle import assert_close, differences

import tierup

RNG = np.random.default_rng(2)
W, X, B = RNG.normal(size=(3, 4)), RNG.normal(size=(5, 3)), RNG.normal(size=4)


def layer(p: Any, x: Any, n: int) -> Any:
    h = np.tanh(x @ p["w"] + p["b"])
    return {"h": h * n, "more": [np.sum(p["w"] * p["c"]), (x.shape[0], "name")]}


def weighted(p: Any, x: Any, n: int, g: Any, k: float) -> Any:
    value = layer(p, x, n)
    return np.sum(value["h"] * g) + value["more"][0] * k


PARAMETERS = {"w": W, "b": B, "c": 2.0}
G = RNG.normal(size=(5, 4))


def test_the_pullback_gives_the_tree_of_each_primal() -> None:
    for _ in range(3):  # tier 0, compiled, native
        value, pullback = tierup.vjp(layer, PARAMETERS, X, 3)
        np.testing.assert_allclose(value["h"], layer(PARAMETERS, X, 3)["h"])
        assert value["more"][1] == (5, "name")
        found = pullback({"h": G, "more": [0.5, None]})
        arguments = (PARAMETERS, X, 3, G, 0.5)
        assert_close(found, (differences(weighted, arguments, 0), differences(weighted, arguments, 1), None))
        assert type(found[0]["c"]) is np.float64
        only = pullback({"h": None, "more": [1.0, (None, None)]})
        assert_close(only, ({"w": np.full((3, 4), 2.0), "b": np.zeros(4), "c": W.sum()}, np.zeros((5, 3)), None))
    assert tierup.last_executed_plan() is not None


def test_a_pullback_may_be_called_again_and_by_threads() -> None:
    _, pullback = tierup.vjp(lambda x: x**3, X)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(pullback(np.ones_like(X))[0])) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for gradient in found:
        assert_close(gradient, 3 * X**2)


def test_what_is_compiled_is_kept_with_the_function() -> None:
    def square(x: Any) -> Any:
        return x * x

    f = tierup.jit(square)
    for _ in range(3):
        _, pullback = tierup.vjp(f, X)
        assert_close(pullback(G[:, :3]), (2 * X * G[:, :3],))
        assert_close(tierup.vjp(square, X)[1](G[:, :3]), (2 * X * G[:, :3],))
    (variants,) = f.graphs.by_shape.values()
    stats = variants[0].executor.gradients.stats()
    assert (stats.misses, stats.hits, stats.pairs, stats.pullbacks) == (1, 2, 1, 3)


def test_has_aux() -> None:
    value, pullback, aux = tierup.vjp(lambda x: (x * x, {"sum": x.sum(), "name": "n"}), X, has_aux=True)
    np.testing.assert_array_equal(value, X * X)
    assert aux["name"] == "n" and aux["sum"] == X.sum()
    assert_close(pullback(np.ones_like(X)), (2 * X,))
    with pytest.raises(TypeError, match="a tuple \\(value, anything else\\)"):
        tierup.vjp(lambda x: x, X, has_aux=True)


def test_of_a_gradient_function() -> None:
    value, pullback = tierup.vjp(tierup.grad(lambda x: np.sum(x**3)), X)
    np.testing.assert_allclose(value, 3 * X**2)
    assert_close(pullback(G[:, :3]), (6 * X * G[:, :3],))


def test_captures_are_what_the_gradient_needs() -> None:
    _, pullback = tierup.vjp(lambda w, x: np.tanh(x @ w), W, X)
    saved = [c for c in pullback.captured if c.source == "saved"]
    assert sum(c.bytes for c in saved) <= 5 * 4 * 8  # of tanh its result, which may be held as such
    assert {c.name for c in pullback.captured if c.source == "argument"} == {"w", "x"}


def test_cotangents_that_do_not_fit() -> None:
    _, pullback = tierup.vjp(layer, PARAMETERS, X, 3)
    with pytest.raises(ValueError, match="the cotangent is a dict with the keys 'h', 'more'"):
        pullback({"h": G})
    with pytest.raises(ValueError, match="shape"):
        pullback({"h": G[1:], "more": [1.0, None]})
    with pytest.raises(ValueError, match=r"\['more'\] is a list of 2"):
        pullback({"h": G, "more": (1.0, None)})
    with pytest.raises((TypeError, ValueError), match="for which None stands|no cotangent"):
        pullback({"h": G, "more": [1.0, (1, None)]})
    with pytest.raises(TypeError, match="takes a Python function"):
        tierup.vjp(3, X)  # type: ignore[arg-type]  # that is the test


def test_a_float_that_would_be_a_constant_unseen() -> None:
    with pytest.raises(tierup.NotDifferentiable, match="Python float of an array"):
        tierup.vjp(lambda x: x * float(x.sum()), X)
    _, pullback = tierup.vjp(lambda x: x * float(tierup.stop_gradient(x.sum())), X)
    assert_close(pullback(np.ones_like(X)), (np.full_like(X, X.sum()),))


def test_no_gradient_names_op_and_line() -> None:
    def f(x: Any) -> Any:
        x[0] = 1
        return x

    for _ in range(2):
        with pytest.raises(tierup.NotDifferentiable, match="test_vjp.py"):
            tierup.vjp(f, X.copy())
