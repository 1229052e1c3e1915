"""What has no gradient: an error that names the function, the operation or argument, the line, and what to do; the same at each call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.ops import gradients

X = np.arange(12, dtype=np.float64).reshape(3, 4)
HERE = __file__
PROGRAMS = Path(__file__).parents[1] / "corpus"
HELD = np.ones(4)


def line_of(function: Callable[..., Any], text: str) -> int:
    """The line of a test function's source with this text."""
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def refused(error: type[Exception], function: Any, *args: Any, **kwargs: Any) -> str:
    """The message, which is the same at each call."""
    said = set()
    for _ in range(3):
        with pytest.raises(error) as caught:
            function(*args, **kwargs)
        assert error is tierup.NotDifferentiable or type(caught.value) is error
        said.add(str(caught.value))
    (message,) = said
    return message


@pytest.fixture
def no_rule_for_tanh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(gradients.table(), "aten.tanh")


@pytest.mark.usefixtures("no_rule_for_tanh")
def test_an_operation_without_a_gradient() -> None:
    def g(x: Any) -> Any:
        return np.tanh(x).sum()

    message = refused(tierup.NotDifferentiable, tierup.grad(g), X)
    assert message.startswith(
        f"{HERE}:{line_of(g, 'np.tanh(')}: grad(g): 'torch.aten.tanh' op has no gradient (in `return np.tanh(x).sum()`)"
    )
    assert "tierup.stop_gradient" in message
    with pytest.raises(tierup.UnsupportedSyntax):  # Python shows the line
        tierup.grad(g)(X)


@pytest.mark.usefixtures("no_rule_for_tanh")
def test_an_operation_without_a_gradient_in_a_function_that_is_called() -> None:
    @tierup.jit
    def inner(x: Any) -> Any:
        return np.tanh(x)

    def f(x: Any) -> Any:
        return inner(x).sum()

    message = refused(tierup.NotDifferentiable, tierup.value_and_grad(f), X)
    assert message.startswith(f"{HERE}:{line_of(inner.__wrapped__, 'np.tanh(')}: value_and_grad(f): ")


def test_a_write_to_an_argument() -> None:
    def f(x: Any, out: Any) -> Any:
        out[0] = x.sum()
        return x.sum()

    message = refused(tierup.NotDifferentiable, tierup.grad(f), X, np.zeros(3))
    assert message.startswith(f"{HERE}:{line_of(f, 'out[0] =')}") and "writes to `out`" in message and "copy" in message


def test_a_write_to_an_array_of_the_enclosing_scope() -> None:
    def f(x: Any) -> Any:
        HELD[:] = x[0]
        return x.sum()

    message = refused(tierup.NotDifferentiable, tierup.grad(f), X)
    assert message.startswith(f"{HERE}:{line_of(f, 'HELD[:]')}") and "writes to `HELD`" in message
    assert HELD.tolist() == [1, 1, 1, 1]


def test_writes_to_arrays_of_its_own_are_fine() -> None:
    def f(x: Any) -> Any:
        y = x.copy()
        y[0] = x[1] * x[1]
        y *= 2
        return y.sum()

    wanted = np.full((3, 4), 2.0)
    wanted[0] = 0
    wanted[1] += 4 * X[1]
    np.testing.assert_allclose(tierup.grad(f)(X), wanted)


@pytest.mark.parametrize("value", [X.astype(np.int64), X > 1, 3, True, "a", np.int32(3), object()], ids=lambda v: type(v).__name__)
def test_an_argument_that_is_not_of_floats(value: Any) -> None:
    def f(p: Any) -> Any:
        return np.sum(p["w"])

    message = refused(TypeError, tierup.grad(f), {"w": value})
    assert f"grad(f) of {HERE}:{line_of(f, 'def f')}: argument p['w'] is " in message and "leave it out of argnums" in message


def test_a_result_that_is_not_of_rank_0() -> None:
    def f(x: Any, axis: int = 0) -> Any:
        return x.sum(axis=0)

    message = refused(ValueError, tierup.value_and_grad(f), X)
    assert (
        f"value_and_grad(f) of {HERE}:{line_of(f, 'def f')}: the function returns an array with dims" in message
        and "sum or mean" in message
    )


def test_a_result_whose_rank_only_the_run_knows() -> None:
    def f(x: Any, shape: Any) -> Any:
        return np.squeeze(x)

    g = tierup.grad(f)
    assert g(np.array([[2.0]]), ()).tolist() == [[1.0]]
    with pytest.raises(ValueError, match="of rank 0"):
        g(np.ones((2, 1)), ())
    assert g(np.array([[3.0]]), ()).tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("function", "error", "said"),
    [
        (lambda x: x.argmax(), TypeError, "returns an integer or a bool"),
        (lambda x: (x > 1).any(), TypeError, "returns an integer or a bool"),
        (lambda x: (x.sum(), x), TypeError, "has_aux=True"),
        (lambda x: None, TypeError, "returns None"),
        (lambda x: float(x.sum()), TypeError, "a Python float"),
    ],
    ids=["int", "bool", "tuple", "None", "float"],
)
def test_a_result_that_has_no_gradient(function: Any, error: type[Exception], said: str) -> None:
    assert said in refused(error, tierup.grad(function), X)


def of_float(x: Any) -> Any:
    t = float(x.sum())
    return np.sum(x * (t + 1))


def of_float_in_a_branch(x: Any) -> Any:
    t = 2.0
    if x.sum() > 0:
        t = float(x.sum())
    return np.sum(x) * t


def of_float_in_a_loop(x: Any) -> Any:
    t = 0.0
    for i in range(x.shape[0]):
        t = t + float(x[i, 0])
    return np.sum(x * t)


@pytest.mark.parametrize("function", [of_float, of_float_in_a_branch, of_float_in_a_loop])
def test_a_float_that_would_be_a_constant_unseen(function: Any) -> None:
    message = refused(tierup.NotDifferentiable, tierup.grad(function), X)
    assert message.startswith(f"{HERE}:{line_of(function, ' float(')}: ") and "without float()" in message


def test_floats_that_the_gradient_does_not_meet() -> None:
    def f(x: Any) -> Any:
        y = x * 2 if float(x.sum()) > 0 else x
        n = int(x.sum())
        t = float(tierup.stop_gradient(x.sum()))
        s = x.sum()
        with tierup.no_grad():
            u = float(s)
        return (y * n * t).sum() + u * x.sum(), float(x[0, 1])

    total = X.sum()
    (_, first), found = tierup.value_and_grad(f, has_aux=True)(X)[0], tierup.grad(f, has_aux=True)(X)[0]
    np.testing.assert_allclose(found, np.full((3, 4), 2 * total**2 + total))
    assert first == 1.0


def test_has_aux_needs_a_pair() -> None:
    assert "a tuple (value, anything else)" in refused(TypeError, tierup.grad(lambda x: x.sum(), has_aux=True), X)


def test_a_function_that_raises_raises_its_own() -> None:
    def f(x: Any) -> Any:
        raise ValueError("mine")

    assert "mine" in refused(ValueError, tierup.grad(f), X)


def test_errors_inside_a_program_come_from_the_run() -> None:
    @tierup.jit
    def f(x: Any, n: int) -> Any:
        if x.sum() > 0:
            return tierup.grad(lambda_)(n)
        return x.sum()

    assert f(-X, 3) == -66
    with pytest.raises(TypeError, match=r"(?s)argument x is a Python int.*test_gradient_errors.py"):
        f(X, 3)


def lambda_(x: Any) -> Any:
    return x * 1.0


def test_what_makes_no_gradient_function() -> None:
    with pytest.raises(TypeError, match="takes a Python function or a tierup.jit function, not int"):
        tierup.grad(3)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(TypeError, match="positions or names"):
        tierup.grad(lambda_, 1.0)  # type: ignore[arg-type]  # that is the test
    with pytest.raises(TypeError, match="tierup.vjp takes these"):
        tierup.grad(tierup.load(PROGRAMS / "branches.mlir"))
    for argnums in (1, -2, "y", (0, 5)):
        with pytest.raises(ValueError, match=r"lambda_\(\) has no parameter .*: it has x"):
            tierup.grad(lambda_, argnums)
    with pytest.raises(ValueError, match="twice"):
        tierup.grad(lambda_, (0, "x"))
    with pytest.raises(TypeError, match="max_version"):
        tierup.grad(lambda_, max_version=2)
    with pytest.raises(TypeError, match="missing"):
        tierup.grad(lambda_)()
    assert "there is no argument xs[2]" in refused(TypeError, tierup.grad(variadic, 2), X, X)


def variadic(*xs: Any) -> Any:
    return xs[0].sum()


def test_a_pullback_in_a_program() -> None:
    def f(x: Any) -> Any:
        return tierup.vjp(np.sum, x)[0]

    assert "use tierup.value_and_grad there" in refused(tierup.UnsupportedSyntax, tierup.jit(f, strict=True), X)


def test_an_exception_that_only_python_makes_is_the_one_of_the_function() -> None:
    def median(x: Any) -> Any:
        return np.percentile(x, 30)

    def refuses(x: Any) -> Any:
        if x.sum() < 5:
            raise ValueError(f"no room in {x.tolist()}")
        return np.sum(x * x)

    for f, x in ((median, np.zeros(0)), (refuses, np.zeros(2))):
        with pytest.raises(Exception) as want:  # noqa: PT011 - whichever
            f(x)
        for gradient in (tierup.value_and_grad(f), tierup.grad(f)):
            for _ in range(3):
                with pytest.raises(want.type) as got:
                    gradient(x)
                assert (got.type, str(got.value)) == (want.type, str(want.value))


def test_of_what_only_python_has_an_answer_for_there_is_no_gradient() -> None:
    def rises(x: Any) -> Any:
        return x.sum() + np.sum(x, where=x[:1] < 3)

    gradient = tierup.grad(rises)
    assert gradient(np.arange(6.0)[None]).tolist() == [[2, 2, 2, 1, 1, 1]]
    assert rises(np.arange(6.0).reshape(2, 3)) == 15 + 15  # a mask for each row, which is written for none of the tiers
    assert "for these values Python alone has an answer" in refused(tierup.NotDifferentiable, gradient, np.arange(6.0).reshape(2, 3))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=["tier 0", "compiled"])
def test_the_median_of_nothing_is_nan_and_has_a_gradient_of_zeros(options: dict[str, Any]) -> None:
    def loss(x: Any) -> Any:
        return np.median(x[x == 1]) + x.sum()

    gradient = tierup.value_and_grad(loss, **options)
    for x, middle in ((np.ones(3), 1), (np.ones(3), 1), (np.zeros(3), 0)):
        value, found = gradient(x)
        assert np.isnan(value) == (not middle) and found.tolist() == [1, 1 + middle, 1]
