"""Gradient functions in `tierup.jit` functions: training steps that are one native plan; what stop_gradient and no_grad leave out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gradient_oracle import assert_close, differences

import tierup

RNG = np.random.default_rng(1)


def loss(params: Any, x: Any, y: Any) -> Any:
    h = x
    for w, b in params[:-1]:
        h = np.tanh(h @ w + b)
    w, b = params[-1]
    return np.mean((h @ w + b - y) ** 2)


jit_loss = tierup.jit(loss)
loss_and_grad = tierup.value_and_grad(loss)


@tierup.jit
def sgd(params: Any, x: Any, y: Any, rate: float) -> Any:
    value, grads = loss_and_grad(params, x, y)
    return value, [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(params, grads, strict=True)]


@tierup.jit
def sgd_in_place(params: Any, x: Any, y: Any, rate: float) -> Any:
    value, grads = tierup.value_and_grad(jit_loss)(params, x, y)
    with tierup.no_grad():
        for (w, b), (dw, db) in zip(params, grads, strict=True):
            w -= rate * dw
            b -= rate * db
    return value


@tierup.jit
def adam(params: Any, moments: Any, t: Any, x: Any, y: Any) -> Any:
    value, grads = loss_and_grad(params, x, y)
    new_params, new_moments = [], []
    for p, g, m in zip(params, grads, moments, strict=True):
        updated = [one(*of, t) for of in zip(p, g, m, strict=True)]
        new_params.append((updated[0][0], updated[1][0]))
        new_moments.append((updated[0][1], updated[1][1]))
    return value, new_params, new_moments


@tierup.jit
def one(p: Any, g: Any, m: Any, t: Any) -> Any:
    first, second = 0.9 * m[0] + 0.1 * g, 0.999 * m[1] + 0.001 * g * g
    step = (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
    return p - 0.01 * step, (first, second)


def problem(sizes: tuple[int, ...] = (3, 4, 2), rows: int = 5, dtype: Any = np.float64) -> tuple[Any, Any, Any]:
    params = [(RNG.normal(size=(m, n)).astype(dtype), np.zeros(n, dtype)) for m, n in zip(sizes, sizes[1:], strict=False)]
    return params, RNG.normal(size=(rows, sizes[0])).astype(dtype), RNG.normal(size=(rows, sizes[-1])).astype(dtype)


def reference_step(params: Any, x: Any, y: Any, rate: float) -> Any:
    grads = differences(loss, (params, x, y), 0)
    return loss(params, x, y), [(w - rate * dw, b - rate * db) for (w, b), (dw, db) in zip(params, grads, strict=True)]


def test_a_training_step_is_one_native_plan() -> None:
    params, x, y = problem()
    expected = params
    for _ in range(4):
        value, params = sgd(params, x, y, 0.1)
        wanted, expected = reference_step(expected, x, y, 0.1)
        assert value == pytest.approx(wanted)
        assert_close(params, expected, rtol=1e-6)
    stats = sgd.stats()
    assert (stats.hits, stats.compiles, stats.versions) == (3, 1, 1)
    assert "in tier 0: aten" not in sgd.explain() and len(sgd.plan("specialized").split("func.func")) == 2
    with tierup.assert_optimized():
        sgd(params, x, y, 0.1)


def test_a_training_step_that_writes_its_parameters() -> None:
    params, x, y = problem()
    expected = [(w.copy(), b.copy()) for w, b in params]
    arrays = [a for layer in params for a in layer]
    for _ in range(4):
        value = sgd_in_place(params, x, y, 0.1)
        wanted, expected = reference_step(expected, x, y, 0.1)
        assert value == pytest.approx(wanted)
        assert_close(params, expected, rtol=1e-6)
    assert all(a is b for a, b in zip(arrays, [a for layer in params for a in layer], strict=True))
    assert sgd_in_place.stats().hits == 3 and "in tier 0: aten" not in sgd_in_place.explain()


def test_adam_written_by_the_user() -> None:
    params, x, y = problem()
    moments = [tuple((np.zeros_like(a), np.zeros_like(a)) for a in layer) for layer in params]
    expected = [[a.copy() for a in layer] for layer in params]
    state = [[[0.0 * a, 0.0 * a] for a in layer] for layer in params]
    for t in (1.0, 2.0, 3.0, 4.0):
        value, params, moments = adam(params, moments, t, x, y)
        grads = differences(loss, ([tuple(layer) for layer in expected], x, y), 0)
        for layer, of, held in zip(expected, grads, state, strict=True):
            for k, g in enumerate(of):
                held[k] = [0.9 * held[k][0] + 0.1 * g, 0.999 * held[k][1] + 0.001 * g * g]
                layer[k] = layer[k] - 0.01 * (held[k][0] / (1 - 0.9**t)) / (np.sqrt(held[k][1] / (1 - 0.999**t)) + 1e-8)
    assert_close(params, [tuple(layer) for layer in expected], rtol=1e-4, atol=1e-6)
    assert adam.stats().hits == 3 and "in tier 0: aten" not in adam.explain()


def test_layers_in_a_dict() -> None:
    @tierup.jit
    def step(params: Any, x: Any) -> Any:
        value, grads = tierup.value_and_grad(named_loss)(params, x)
        return value, {k: params[k] - 0.1 * grads[k] for k in params}

    params, x = {"w": RNG.normal(size=(3, 2)), "b": np.zeros(2)}, RNG.normal(size=(4, 3))
    for _ in range(3):
        value, new = step(params, x)
        grads = differences(named_loss, (params, x), 0)
        assert value == pytest.approx(named_loss(params, x))
        assert_close(new, {k: params[k] - 0.1 * grads[k] for k in params})
        params = new


def named_loss(params: Any, x: Any) -> Any:
    return np.mean(np.tanh(x @ params["w"] + params["b"]))


def test_gradients_of_several_kinds_of_arguments_in_one_program() -> None:
    @tierup.jit
    def both(x: Any, m: Any) -> Any:
        return tierup.grad(squares)(x), tierup.grad(squares)(m), tierup.grad(squares)(2.0), tierup.grad(tierup.grad(squares))(3.0)

    x, m = RNG.normal(size=3), RNG.normal(size=(2, 2))
    for _ in range(3):
        assert_close(both(x, m), (2 * x, 2 * m, 4.0, 2.0))
    assert both.stats().hits == 2


def squares(x: Any) -> Any:
    return np.sum(x * x)


def test_the_gradient_of_a_program_that_takes_gradients() -> None:
    @tierup.jit
    def norm_of_gradient(w: Any, x: Any) -> Any:
        g = tierup.grad(quartic)(w, x)
        return np.sum(g * g)

    w, x = RNG.normal(size=3), RNG.normal(size=3)
    found = tierup.grad(norm_of_gradient)(w, x)
    assert_close(found, differences(norm_of_gradient, (w, x), 0), rtol=1e-5)


def quartic(w: Any, x: Any) -> Any:
    return np.sum((w * x) ** 4)


def test_a_method_whose_gradient_is_taken_in_a_method() -> None:
    class Model:
        def __init__(self) -> None:
            self.scale = np.array([1.0, 2.0, 3.0])

        @tierup.jit
        def loss(self, w: Any, x: Any) -> Any:
            return np.sum((w * x * self.scale) ** 2)

        @tierup.jit
        def step(self, w: Any, x: Any) -> Any:
            return w - 0.1 * tierup.grad(self.loss)(w, x)

    model, w, x = Model(), RNG.normal(size=3), RNG.normal(size=3)
    for _ in range(3):
        assert_close(model.step(w, x), w - 0.1 * 2 * w * (x * model.scale) ** 2)
        model.scale = model.scale * 2


def test_stop_gradient() -> None:
    def f(p: Any, x: Any) -> Any:
        held = tierup.stop_gradient({"p": p, "n": 2})
        return np.sum(p * x) * held["n"] + np.sum(held["p"] * x) * 10 + np.sum(tierup.stop_gradient(p) * p)

    p, x = RNG.normal(size=4), RNG.normal(size=4)
    g = tierup.value_and_grad(f)
    for _ in range(3):
        value, found = g(p, x)
        assert value == pytest.approx(f(p, x))
        assert_close(found, 2 * x + p)
    assert tierup.stop_gradient(x) is x


@tierup.no_grad()
def targets(x: Any, p: Any) -> Any:
    return np.tanh(x * p)


jit_targets = tierup.jit(targets)


def test_no_grad_blocks_and_functions() -> None:
    def f(p: Any, x: Any) -> Any:
        with tierup.no_grad():
            scale = np.sum(p * p)
            if x.sum() > 0:
                scale = scale * p[0]
            alias = p
        return np.sum(p * x) * scale + np.sum(jit_targets(x, p) * p) + np.sum(alias)

    p, x = RNG.normal(size=4), np.abs(RNG.normal(size=4))
    g = tierup.grad(f)
    for sign in (1, 1, -1, -1):
        z = sign * x
        scale = np.sum(p * p) * (p[0] if sign > 0 else 1)
        assert_close(g(p, z), z * scale + np.tanh(z * p) + 1)


def test_no_grad_blocks_that_write() -> None:
    """What is written keeps the gradient that it had; what is written into it has none."""

    def f(p: Any, x: Any) -> Any:
        y = p * 3
        z = p * 1
        with tierup.no_grad():
            y += p
            z[0] = p[1]
        return np.sum(y * x) + np.sum(z)

    p, x = RNG.normal(size=4), RNG.normal(size=4)
    g = tierup.value_and_grad(f)
    for _ in range(3):
        value, found = g(p, x)
        assert value == pytest.approx(f(p.copy(), x))
        assert_close(found, 3 * x + np.array([0, 1, 1, 1]))


def test_a_write_in_a_no_grad_block_to_part_of_a_view_is_refused() -> None:
    """The rest of the view would lose its gradient."""

    def f(p: Any) -> Any:
        z = p * 2
        with tierup.no_grad():
            v = z[1:]
            v[0] = 5
        return np.sum(z)

    with pytest.raises(tierup.NotDifferentiable, match="through memory that is not its own"):
        tierup.grad(f)(np.ones(4))


def test_no_grad_without_parentheses() -> None:
    @tierup.jit
    @tierup.no_grad
    def constant(x: Any) -> Any:
        return x * x

    x = RNG.normal(size=3)
    assert_close(tierup.grad(lambda x: np.sum(constant(x) * x))(x), x * x)


def test_no_grad_in_a_jit_function_changes_no_value() -> None:
    @tierup.no_grad()
    @tierup.jit
    def f(x: Any) -> Any:
        with tierup.no_grad():
            y = x * 2
        y += 1
        return y

    x = RNG.normal(size=4)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x * 2 + 1)
    with tierup.no_grad():
        np.testing.assert_array_equal(f(x), x * 2 + 1)
    with pytest.raises(TypeError, match="decorates a Python function"):
        tierup.no_grad()(3)  # type: ignore[type-var]  # that is the test


def test_calls_that_are_wrong_name_the_line() -> None:
    @tierup.jit
    def f(x: Any) -> Any:
        return tierup.grad(squares, argnums=3)(x)

    with tierup.options(strict=True), pytest.raises(tierup.UnsupportedSyntax, match=r"has no parameter 3"):
        f(np.ones(3))

    @tierup.jit
    def g(x: Any) -> Any:
        return tierup.value_and_grad(squares, max_versions=3)(x)

    with tierup.options(strict=True), pytest.raises(tierup.UnsupportedSyntax, match=r"the argument `max_versions`"):
        g(np.ones(3))
