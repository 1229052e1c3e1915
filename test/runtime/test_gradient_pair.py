"""Forward and backward programs: what they give, what they capture, and which of them serves a call. The oracle is central differences
of the undecorated function; with PyTorch: test_gradient_pair_torch.py."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.ops import gradients
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.mlir.file import load
from tierup.runtime.base.errors import NotDifferentiable
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Overrides
from tierup.runtime.compiling import gradients as compile_gradients
from tierup.runtime.executors.executor import Executor
from tierup.runtime.executors.gradients.pair import forward
from tierup.runtime.functions.function import Function
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.programs.program import Program

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
    assert all(c.bytes for c in pullback.captured)  # no size: they are those of x and w
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


@pytest.fixture
def sort_has_no_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(gradients.table(), "tierup.partition", raising=False)


@pytest.mark.usefixtures("sort_has_no_gradient")
def test_an_op_without_a_gradient_is_named_with_its_line_alike_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    split = compile_gradients.split
    monkeypatch.setattr(compile_gradients, "split", lambda *arguments: tried.append(1) or split(*arguments))

    @tierup.jit
    def ranks(x):
        return np.partition(x, -1) * 2  # the op

    executor, flat = program(ranks, numbers(5))
    said = []
    for _ in range(2):
        with pytest.raises(NotDifferentiable, match="tierup.partition.*# the op") as caught:
            forward(executor, flat, (0,))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert executor.gradients.stats().refused == 2 and tried == [1]


# --- which pair serves a call ---------------------------------------------------------------------------------------------


def made_events(executor: Executor) -> list[Any]:
    return [e for e in executor.history.events if e.kind is EventKind.DIFFERENTIATED]


def test_the_wanted_gradients_choose_the_pair_and_an_event_says_so() -> None:
    @tierup.jit
    def product(x, w):
        return x @ w

    executor, flat = program(product, numbers(4, 3), numbers(3, 2))
    for wrt in ((0,), (0,), (0, 1), (0,), (0, 1)):
        _, pullback = forward(executor, flat, wrt)
        assert len(pullback([np.ones((4, 2))])) == len(wrt)
    stats = executor.gradients.stats()
    assert (stats.misses, stats.hits, stats.pairs, stats.pullbacks) == (2, 3, 2, 5)
    first, second = made_events(executor)
    assert (first.guard, first.reason) == ("gradients of x", None)
    assert (second.reason, second.expected, second.actual) == (Reason.REQUIRES_GRAD, "x", "x, w")
    assert [(p.describe, p.forward.stats().calls) for p in executor.gradients.pairs] == [("x", 3), ("x, w", 2)]


@pytest.mark.parametrize(
    ("x", "y", "reason", "actual"),
    [
        ((1, 4), (3, 4), Reason.SMALL_SIZE, "f64[1, ?]"),
        ((0, 4), (0, 4), Reason.SMALL_SIZE, "f64[0, ?]"),
        ((4,), (3, 4), Reason.WRONG_RANK, "f64[?]"),
    ],
)
def test_sizes_of_0_and_1_and_ranks_have_pairs_of_their_own(
    x: tuple[int, ...], y: tuple[int, ...], reason: Reason, actual: str
) -> None:
    def scale(x, y):
        return x * y

    graph = program(tierup.jit(scale), numbers(3, 4), numbers(3, 4))[0].program  # of any rank
    executor = Executor(graph, Overrides({}))
    for arguments in ((numbers(3, 4), numbers(3, 4)), (numbers(*x), numbers(*y)), (numbers(3, 4), numbers(3, 4))):
        (result,), pullback = forward(executor, arguments, (0, 1))
        cotangent = numbers(*result.shape)
        for i, gradient in enumerate(pullback([cotangent])):
            assert gradient.shape == arguments[i].shape
            np.testing.assert_allclose(gradient, differences(scale, arguments, (cotangent,), i), rtol=1e-5, atol=1e-8)
    assert executor.gradients.stats().pairs == 2
    event = made_events(executor)[1]
    assert (event.reason, event.expected, event.actual) == (reason, "x: f64[?, ?]", actual)


def test_other_sizes_are_served_by_the_same_pair_and_get_versions_of_their_own() -> None:
    def tanh(x):
        return np.tanh(x) * x

    f = tierup.jit(tanh)
    executor, _ = program(f, numbers(4))
    for n in (4, 4, 4, 6, 6, 9, 11, 13):
        x = numbers(n)
        _, pullback = forward(executor, (x,), (0,))
        (gradient,) = pullback([np.ones(n)])
        np.testing.assert_allclose(gradient, differences(tanh, (x,), (np.ones(n),), 0), rtol=1e-6, atol=1e-8)
    (pair,) = executor.gradients.pairs
    assert executor.gradients.stats().hits == 7
    for half in (pair.forward, pair.backward.executor):
        assert [v.speculation.kind for v in half.versions] == ["static", "static", "dynamic"]
        assert (half.stats().hits, half.stats().misses, half.stats().profiled_runs) == (6, 1, 1)


def test_pairs_are_bounded_and_the_one_used_longest_ago_goes() -> None:
    @tierup.jit(max_versions=2)
    def double(x):
        return x * 2

    executor, _ = program(double, numbers(2))
    for shape in ((2,), (1,), (2,), (0,), (2,), (1,)):
        _, pullback = forward(executor, (numbers(*shape),), (0,))
        np.testing.assert_array_equal(pullback([np.ones(shape)])[0], np.full(shape, 2.0))
    stats = executor.gradients.stats()
    assert (stats.pairs, stats.misses, stats.hits) == (2, 4, 2)
    evicted = [e for e in executor.history.events if e.reason is Reason.PAIR_EVICTED]
    assert len(evicted) == 2


# --- cotangents -----------------------------------------------------------------------------------------------------------


def three(x, y, z):
    return np.sin(x) * y, np.exp(z), y * y


@pytest.mark.parametrize("there", [(0, 1, 2), (0,), (1,), (2,), (0, 2), (1, 2)])
def test_where_cotangents_are_none_what_they_lead_to_is_not_computed(there: tuple[int, ...]) -> None:
    f, arguments = tierup.jit(three), (numbers(3), numbers(3), numbers(3))
    executor, flat = program(f, *arguments)
    cotangents = tuple(numbers(3) if k in there else None for k in range(3))
    reached = [{0}, {0, 2}, {1}]  # by x, y and z
    for _ in range(3):
        _, pullback = forward(executor, flat, (0, 1, 2))
        found = pullback(cotangents, zeros=False)
        for i, gradient in enumerate(found):
            if reached[i] & set(there):
                np.testing.assert_allclose(gradient, differences(three, arguments, cotangents, i), rtol=1e-6, atol=1e-8)
            else:
                assert gradient is None
        for zero, gradient in zip(pullback(cotangents), found, strict=True):
            np.testing.assert_allclose(zero, np.zeros(3) if gradient is None else gradient, rtol=1e-12)
    (pair,) = executor.gradients.pairs
    used = pair.backward if len(there) == 3 else pair.backward_from(there)
    assert used.executor.stats().hits == 5 and len(used.executor.versions) == 1
    assert len(used.executor.program.names) - len(used.order) == len(there)
    graph = used.executor.program.graph
    assert ("aten.cos" in graph, "saved" in graph and "cos" in graph) == (0 in there, 0 in there and "saved" in graph)
    assert len(used.positions) == sum(bool(r & set(there)) for r in reached)


def test_without_any_cotangent_nothing_runs() -> None:
    executor, flat = program(tierup.jit(three), numbers(3), numbers(3), numbers(3))
    _, pullback = forward(executor, flat, (0, 2))
    assert pullback([None] * 3, zeros=False) == (None, None)
    for gradient in pullback([None] * 3):
        np.testing.assert_array_equal(gradient, np.zeros(3))
    assert executor.gradients.stats().pullbacks == 0


def test_an_argument_on_which_nothing_depends_has_no_gradient_and_shifts_none() -> None:
    @tierup.jit
    def f(x, unused, y):
        return x * 2, y * 3

    executor, flat = program(f, numbers(2), numbers(2), numbers(2))
    _, pullback = forward(executor, flat, (0, 1, 2))
    x, unused, y = pullback([np.ones(2), np.ones(2)], zeros=False)
    assert unused is None
    np.testing.assert_array_equal((x, y), [[2, 2], [3, 3]])


def test_gradients_of_what_nothing_depends_on_are_zeros() -> None:
    @tierup.jit
    def f(x, y):
        return y * 2, np.argmax(x)

    executor, flat = program(f, numbers(3), numbers(2))
    for _ in range(3):
        _, pullback = forward(executor, flat, (0,))
        np.testing.assert_array_equal(pullback([np.ones(2), None])[0], np.zeros(3))
        assert pullback([np.ones(2), None], zeros=False) == (None,) and pullback.captured == ()
    assert executor.gradients.pairs[0].forward.stats().hits == 2


def test_an_optional_argument_that_is_none_shifts_nothing() -> None:
    @tierup.jit
    def f(x, bias, w):
        y = x * w
        return y if bias is None else y + bias

    for bias in (None, numbers(2)):
        executor, flat = program(f, np.array([1.0, 2.0]), bias, np.array([3.0, 4.0]))
        _, pullback = forward(executor, flat, tuple(range(len(flat))))
        found = pullback([np.ones(2)])
        np.testing.assert_array_equal(found[0], [3, 4])
        np.testing.assert_array_equal(found[-1], [1, 2])
        assert len(found) == (2 if bias is None else 3)


def test_cotangents_that_do_not_fit_are_refused() -> None:
    @tierup.jit
    def f(x):
        return x * 2, np.argmax(x)

    executor, flat = program(f, numbers(3))
    _, pullback = forward(executor, flat, (0,))
    with pytest.raises(ValueError, match="2 results have as many cotangents, not 1"):
        pullback([np.ones(3)])
    with pytest.raises(ValueError, match=r"result 0 has the shape \(4,\), the result \(3,\)"):
        pullback([np.ones(4), None])
    with pytest.raises(TypeError, match="result 0 has the dtype complex128"):
        pullback([np.ones(3, complex), None])
    with pytest.raises(TypeError, match="result 1 is no array of floating dtype"):
        pullback([np.ones(3), np.ones(())])
    np.testing.assert_array_equal(pullback([np.ones(3, np.float32), None])[0], np.full(3, 2.0))  # cast as an assignment would


@pytest.mark.parametrize("options", [{}, {"optimize": False}], ids=["native", "tier 0"])
def test_gradients_share_no_memory(options: dict[str, Any]) -> None:
    @tierup.jit(**options)
    def add(x, y, z):
        return x + y, z.sum()

    executor, flat = program(add, numbers(3), numbers(3), numbers(3))
    for _ in range(3):
        cotangents = [np.ones(3), np.zeros(())]
        _, pullback = forward(executor, flat, (0, 1, 2))
        x, y, z = pullback(cotangents)
        x += 1
        z += 1  # not a view of a single number
        np.testing.assert_array_equal((y, cotangents[0], z), np.ones((3, 3)))
        np.testing.assert_array_equal(cotangents[1], 0)


# --- captures -------------------------------------------------------------------------------------------------------------


def test_captured_are_arguments_and_results_as_they_are_and_each_value_once() -> None:
    @tierup.jit
    def f(a, b):
        return np.tanh(a * b * a + b)

    executor, flat = program(f, numbers(4), numbers(4))
    for _ in range(3):
        (result,), pullback = forward(executor, flat, (0, 1))
        held = [(c.name, c.source, c.bytes) for c in pullback.captured]
        assert held == [("a", "argument", 32), ("b", "argument", 32), ("saved0", "saved", 32), ("result0", "result", 32)]
        a, b, _, same = pullback._captured
        assert a is flat[0] and b is flat[1] and same is result


def ratio(x):
    e = np.exp(x)
    return e / e.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(
    ("fn", "saved"),
    [
        (lambda x: (x.T * 2)[1:], [0, 0]),  # of views and products with numbers, two sizes
        (lambda x: np.where(x > 0, x * 3, x), []),  # a comparison with an argument
        (lambda x: np.maximum(np.exp(x * 2) * 3, 1.0), [96, 12, 12]),  # two masks, not what was compared; and exp
        (lambda x: (x * 2 + 1).sum(axis=0), [0, 0]),
        (ratio, [96, 24]),  # and no sizes: they are those of what is there
        (lambda x: np.sin(x * 2) * np.cos(x * 2), [96, 96, 96]),  # x * 2 is computed once
    ],
    ids=["views", "comparison", "maximum", "sum", "ratio", "twice"],
)
def test_what_is_cheap_to_compute_again_is_not_saved(fn: Callable[..., Any], saved: list[int]) -> None:
    executor, flat = program(tierup.jit(fn), numbers(3, 4))
    (result,), pullback = forward(executor, flat, (0,))
    assert [c.bytes for c in pullback.captured if c.source == "saved"] == saved
    cotangent = numbers(*result.shape)
    np.testing.assert_allclose(pullback([cotangent])[0], differences(fn, flat, (cotangent,), 0), rtol=1e-5, atol=1e-7)


def test_what_is_compared_more_often_than_it_has_bytes_is_saved_itself() -> None:
    @tierup.jit
    def clipped(x, y, z):
        t = x * 2
        return np.maximum(t, y) + np.maximum(t, z)

    executor, flat = program(clipped, *(numbers(8, dtype="float32") for _ in range(3)))
    _, pullback = forward(executor, flat, (0, 1, 2))
    assert [c.bytes for c in pullback.captured if c.source == "saved"] == [32]


def viewed(x, y):
    t = x * 3
    return t * t, t.T * y  # the second reads a view of what the first does


def sized(x, y):
    return x * y.T, y.sum() * 2  # the second asks for the sizes of what the first reads


@pytest.mark.parametrize("fn", [viewed, sized])
def test_a_backward_program_for_fewer_cotangents_reads_of_what_was_captured_for_all(fn: Callable[..., Any]) -> None:
    executor, flat = program(tierup.jit(fn), numbers(3, 4), numbers(4, 3))
    for _ in range(3):
        results, pullback = forward(executor, flat, (0, 1))
        cotangents = None, numbers(*results[1].shape)
        for i, gradient in enumerate(pullback(cotangents)):
            np.testing.assert_allclose(gradient, differences(fn, flat, cotangents, i), rtol=1e-5, atol=1e-7)
    (pair,) = executor.gradients.pairs
    assert pair.backward_from((1,)) is not pair.backward
    assert pair.backward_from((1,)).executor.stats().hits == 2


def _fails(*arguments: object) -> None:
    raise ZeroDivisionError("in the compiler")


@pytest.mark.parametrize("made", [lambda *arguments: None, _fails], ids=["there is none", "the compiler fails"])
def test_zeros_stand_for_missing_cotangents_where_no_backward_program_does_without(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    executor, flat = program(tierup.jit(three), numbers(3), numbers(3), numbers(3))
    _, pullback = forward(executor, flat, (0, 1, 2))
    expected = pullback([np.ones(3), None, None])
    executor.gradients.clear()
    monkeypatch.setattr(compile_gradients, "restricted", made)
    _, pullback = forward(executor, flat, (0, 1, 2))
    np.testing.assert_array_equal(pullback([np.ones(3), None, None]), expected)
    assert made_events(executor)[-1].action == "zeros stand for the others"
    (pair,) = executor.gradients.pairs
    assert pair.backward.executor.stats().calls == 1


def test_a_pullback_gives_gradients_for_what_its_arrays_hold_when_it_is_called() -> None:
    @tierup.jit
    def square(x):
        return x * x

    executor, flat = program(square, np.array([1.0, 2.0]))
    for _ in range(3):
        _, pullback = forward(executor, flat, (0,))
        before = flat[0].copy()
        flat[0][:] = 5  # documented: arrays are captured as they are
        np.testing.assert_array_equal(pullback([np.ones(2)])[0], [10, 10])
        flat[0][:] = before
        np.testing.assert_array_equal(pullback([np.ones(2)])[0], 2 * before)


# --- programs -------------------------------------------------------------------------------------------------------------


def branching(x):
    if x.sum() > 0:
        y = np.tanh(x) * 2
    else:
        y = x * x
    return y * x


def looping(x, w, n):
    h = x
    for _ in range(n):
        h = np.tanh(h @ w)
    return h, (h * h).mean()


def growing(x, n):
    a = x
    for _ in range(n):
        a = np.concatenate([a * a, x])
    return a


def widening(x, y):
    a = x
    for _ in range(3):
        a = np.tanh(a) * y + a * 0.5
    return a


def halving(x):
    a = x
    while (a * a).sum() > 1:
        a = a * 0.5
    return a * x


def sometimes_equal(x, y, flag):
    if flag:
        z = x + y
    else:
        z = x * 2
    return z.sum() * 3, y.sum() * x.sum()


def slicing(x, y):
    return x[1:] * y


@pytest.mark.parametrize(
    ("fn", "arguments", "wrt", "native"),
    [
        (branching, (np.array([1.0, 2.0]),), (0,), True),
        (branching, (np.array([1.0, -2.0]),), (0,), True),
        (looping, (numbers(2, 3), numbers(3, 3), 3), (0, 1), True),
        (looping, (numbers(2, 3), numbers(3, 3), 0), (0, 1), True),
        (looping, (numbers(2, 3), numbers(4, 4), 0), (0, 1), False),  # the sizes are to be equal in an iteration, and there is none
        (growing, (numbers(2), 2), (0,), False),  # saved in a list: its items have different sizes
        (widening, (numbers(1, 4), numbers(3, 1)), (0, 1), False),  # the first iteration broadcasts what the loop carries
        (halving, (numbers(4) + 3,), (0,), True),
        (sometimes_equal, (numbers(3), numbers(3), True), (0, 1), True),
        (sometimes_equal, (numbers(3), numbers(4), False), (0, 1), True),  # the sizes are to be equal in the other arm only
        (slicing, (numbers(5), numbers(4)), (0, 1), True),
        (slicing, (numbers(2), numbers(4)), (0, 1), True),  # a size that is 1 broadcasts, though both are said to be 2 or more
    ],
)
def test_gradients_go_through_branches_loops_and_computed_sizes(
    fn: Callable[..., Any], arguments: tuple[Any, ...], wrt: tuple[int, ...], native: bool
) -> None:
    executor, flat = program(tierup.jit(fn), *arguments)
    found = fn(*arguments)
    results = found if isinstance(found, tuple) else (found,)
    cotangents = tuple(np.asarray(numbers(*np.shape(r))) for r in results)
    for _ in range(3):
        got, pullback = forward(executor, flat, wrt)
        for a, b in zip(got, results, strict=True):
            np.testing.assert_allclose(a, b)
        for i, gradient in zip(wrt, pullback(cotangents), strict=True):
            np.testing.assert_allclose(gradient, differences(fn, arguments, cotangents, i), rtol=1e-5, atol=1e-7)
    (pair,) = executor.gradients.pairs
    assert bool(pair.backward.executor.stats().hits) == native


def test_lists_of_arrays_go_in_and_out_leaf_by_leaf() -> None:
    @tierup.jit
    def f(arrays, scale):
        return [a * scale for a in arrays], {"last": arrays[-1] * arrays[0]}

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    executor, flat = program(f, [x, y], 3.0)
    for _ in range(3):
        results, pullback = forward(executor, flat, (0, 1))
        assert len(results) == 3
        np.testing.assert_array_equal(pullback([None, np.ones(2), np.ones(2)]), [[3, 4], [4, 5]])


def test_sizes_that_one_path_needs_equal_are_a_check_of_the_pair() -> None:
    executor, _ = program(tierup.jit(sometimes_equal), numbers(3), numbers(3), True)
    for n, flag in ((3, True), (4, False), (3, False), (4, False), (3, True)):
        arguments = numbers(3), numbers(n), flag
        _, pullback = forward(executor, arguments, (0, 1))
        cotangents = np.float64(2), np.float64(3)
        for i, gradient in enumerate(pullback(cotangents)):
            expected = differences(sometimes_equal, arguments, cotangents, i)
            np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    assert [p.forward.stats().calls for p in executor.gradients.pairs] == [2, 3]
    event = made_events(executor)[1]
    assert (event.reason, event.actual) == (Reason.UNEQUAL_SIZES, "sizes that some path needs equal, and that differ")


@pytest.mark.usefixtures("sort_has_no_gradient")
def test_what_the_program_raises_comes_before_what_its_gradient_lacks() -> None:
    @tierup.jit
    def f(x, y):
        return np.partition(x + y, -1)

    executor, _ = program(f, numbers(3), numbers(3))
    for _ in range(2):
        with pytest.raises(ValueError, match="broadcast"):
            forward(executor, (numbers(3), numbers(4)), (0,))
        with pytest.raises(NotDifferentiable, match="tierup.partition"):
            forward(executor, (numbers(3), numbers(3)), (0,))


def test_a_leaf_of_integers_and_a_number_have_no_gradient() -> None:
    executor, flat = program(tierup.jit(lambda x, n: x * n), np.arange(3), 2.0)
    with pytest.raises(NotDifferentiable, match="x, which is an array of int64: pass an array of floating dtype"):
        forward(executor, flat, (0,))
    with pytest.raises(NotDifferentiable, match="n, which is of type float"):
        forward(executor, flat, (1,))
    with pytest.raises(ValueError, match="no leaf 2"):
        forward(executor, flat, (2,))
    assert executor.gradients.stats().pairs == 0


def test_a_function_that_writes_its_argument_has_no_gradient() -> None:
    @tierup.jit
    def f(x):
        x += 1
        return x * 2

    executor, flat = program(f, np.zeros(3))
    for _ in range(2):
        with pytest.raises(NotDifferentiable, match=r"writes to argument 0.*x \+= 1"):
            forward(executor, flat, (0,))
    np.testing.assert_array_equal(flat[0], np.zeros(3))  # not written before it is refused


def test_second_derivatives_are_the_pullback_of_a_pullback() -> None:
    def cube(x, w):
        h = np.tanh(x * w)
        return h * h * x, h.sum()

    executor, flat = program(tierup.jit(cube), numbers(3), numbers(3))
    cotangents, of_gradients = (numbers(3), np.float64(0.5)), (numbers(3), numbers(3))

    def first(x, w, a, b):
        found = forward(executor, (x, w), (0, 1))[1]([a, b])
        return tuple(g for g in found if g is not None)

    arguments = (*flat, *map(np.asarray, cotangents))
    expected = [differences(first, arguments, of_gradients, i) for i in range(4)]
    for _ in range(3):
        _, pullback = forward(executor, flat, (0, 1), order=2)
        found, second = pullback.again(cotangents)
        np.testing.assert_allclose(found, first(*arguments))
        leaves, of_cotangents = second(of_gradients)
        for got, wanted in zip((*leaves, *of_cotangents), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-6)
    backward = executor.gradients.pairs[0].backward.executor
    assert backward.gradients.pairs[0].backward.executor.stats().hits == 2
    with pytest.raises(RuntimeError, match="order=2"):
        forward(executor, flat, (0,))[1].again(cotangents)


def test_second_derivatives_through_a_loop_that_saves_a_list_are_refused() -> None:
    executor, flat = program(tierup.jit(growing), numbers(2), 2)
    results, pullback = forward(executor, flat, (0,), order=2)
    np.testing.assert_allclose(
        pullback([np.ones_like(results[0])])[0], differences(growing, flat, (np.ones_like(results[0]),), 0), rtol=1e-5, atol=1e-7
    )
    for _ in range(2):
        with pytest.raises(NotDifferentiable, match="growing .backward of x. has no gradient: a loop saves arrays in a list"):
            pullback.again([np.ones_like(results[0])])


def test_second_derivatives_go_through_a_loop_that_saves_one_tensor() -> None:
    executor, flat = program(tierup.jit(looping), numbers(2, 3), numbers(3, 3), 3)
    cotangents, of_gradients = (numbers(2, 3), np.float64(0.5)), (numbers(2, 3), numbers(3, 3))

    def first(x, w):
        return forward(executor, (x, w, 3), (0, 1))[1](cotangents)

    for _ in range(2):
        _, pullback = forward(executor, flat, (0, 1), order=2)
        _, second = pullback.again(cotangents)
        leaves, _ = second(of_gradients)
        for i, gradient in enumerate(leaves):
            np.testing.assert_allclose(gradient, differences(first, flat[:2], of_gradients, i), rtol=1e-4, atol=1e-6)


# --- executors ------------------------------------------------------------------------------------------------------------


def test_the_plan_that_ran_last_is_the_backward_programs() -> None:
    executor, flat = program(tierup.jit(lambda x: np.tanh(x) * 2), numbers(3))
    for tier in ("tier 0", "native", "native"):
        _, pullback = forward(executor, flat, (0,))
        assert str(tierup.last_executed_plan()).startswith(f"<lambda> (forward of x): {tier}")
        pullback([np.ones(3)])
        assert str(tierup.last_executed_plan()).startswith(f"<lambda> (backward of x): {tier}")


def test_explain_and_debug_state_list_forward_and_backward_programs() -> None:
    @tierup.jit
    def f(x, y):
        return np.sin(x) * y, y * 2

    assert "gradients" not in f.explain()
    executor, flat = program(f, numbers(3), numbers(3))
    for _ in range(3):
        _, pullback = forward(executor, flat, (0,))
        pullback([np.ones(3), None])
    text = f.explain()
    assert "gradients: 2 hits, 1 pair made, 3 pullbacks" in text
    assert "f (forward of x): 3 calls = 2 hits" in text and "f (backward of x): 3 calls = 2 hits" in text
    (state,) = f.debug_state().programs
    assert [s.name for s in state.backward] == ["f (forward of x)", "f (backward of x)"]
    assert [s.stats.hits for s in state.backward] == [2, 2]
    assert "aten.cos" in str(state.backward[1].executors[0].versions[0].after)


@pytest.mark.parametrize("which", ["forward", "backward"])
def test_a_guard_that_fails_between_forward_and_backward_changes_no_gradient(which: str) -> None:
    executor, flat = program(tierup.jit(three), numbers(3), numbers(3), numbers(3))
    cotangents = [np.ones(3), None, None]
    for _ in range(3):
        _, pullback = forward(executor, flat, (0, 1))
        expected = pullback(cotangents)
    (pair,) = executor.gradients.pairs
    half = pair.forward if which == "forward" else pair.backward_from((0,)).executor
    before = half.stats()
    with tierup.testing.faults(guard=f"three ({which}*:argument0") as injected:
        _, pullback = forward(executor, flat, (0, 1))
        for got, wanted in zip(pullback(cotangents), expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-12)
    assert len(injected.fired) == 1
    after = half.stats()
    assert (after.hits - before.hits, after.misses - before.misses) == (0, 1)


def test_an_assumption_that_forward_loses_in_mid_program_changes_no_gradient() -> None:
    executor, flat = program(tierup.jit(branching, speculate="bailout"), np.array([1.0, 2.0]))
    for sign in (1, 1, 1, -1, 1, -1):
        x = flat[0] * sign
        (result,), pullback = forward(executor, (x,), (0,))
        np.testing.assert_allclose(result, branching(x))
        np.testing.assert_allclose(pullback([np.ones(2)])[0], differences(branching, (x,), (np.ones(2),), 0), rtol=1e-6)
    (pair,) = executor.gradients.pairs
    assert (pair.forward.stats().hits, pair.forward.stats().bailouts) == (5, 2)
    assert (pair.backward.executor.stats().hits, pair.backward.executor.stats().bailouts) == (5, 0)  # it is told which arm was taken


@pytest.mark.parametrize("options", [{"compile": "background"}, {"speculate": "bailout"}, {"executor": "specializing"}, {"optimize": False}])
def test_forward_and_backward_programs_follow_the_options(options: dict[str, Any]) -> None:
    f, arguments = tierup.jit(three, **options), (numbers(3), numbers(3), numbers(3))
    executor, flat = program(f, *arguments)
    cotangents = numbers(3), numbers(3), numbers(3)
    for _ in range(4):
        _, pullback = forward(executor, flat, (0, 1, 2))
        for i, gradient in enumerate(pullback(cotangents)):
            np.testing.assert_allclose(gradient, differences(three, arguments, cotangents, i), rtol=1e-6, atol=1e-8)
        assert executor.wait(200)
    (pair,) = executor.gradients.pairs
    for half in (pair.forward, pair.backward.executor):
        assert (half.stats().hits > 0) == ("optimize" not in options)


def test_threads_share_a_pair_that_is_made_once() -> None:
    f, arguments = tierup.jit(three), (numbers(3), numbers(3), numbers(3))
    executor, flat = program(f, *arguments)
    expected = [np.cos(flat[0]) * flat[1], np.sin(flat[0])]
    start, wrong = threading.Barrier(4), []

    def work(number: int) -> None:
        start.wait()
        for k in range(20):
            _, pullback = forward(executor, flat, (0, 1))
            found = pullback([np.ones(3), None, None if (k + number) % 2 else np.zeros(3)])
            wrong.extend(g for g, e in zip(found, expected, strict=True) if not np.allclose(g, e))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    stats = executor.gradients.stats()
    assert not wrong and (stats.pairs, stats.hits + stats.misses, stats.misses, stats.pullbacks) == (1, 80, 1, 80)


def test_reset_drops_pairs_and_a_pullback_outlives_it() -> None:
    f = tierup.jit(lambda x: np.tanh(x) * x)
    executor, flat = program(f, numbers(3))
    for _ in range(3):
        _, pullback = forward(executor, flat, (0,))
        expected = pullback([np.ones(3)])[0]
    f.reset()
    assert not executor.gradients.pairs
    np.testing.assert_array_equal(pullback([np.ones(3)])[0], expected)


def test_release_lets_go_of_the_graphs_of_pairs_which_go_on() -> None:
    f = tierup.jit(lambda x, y: np.tanh(x) * y)
    executor, flat = program(f, numbers(3), numbers(3))
    for _ in range(3):
        expected = forward(executor, flat, (0,))[1]([np.ones(3)])
    assert f.release()  # the function itself was never called
    (pair,) = executor.gradients.pairs
    assert pair.forward.program.released and pair.backward.executor.program.released and not executor.program.released
    for _ in range(2):
        f(*flat)
    assert f.release() and executor.program.released
    np.testing.assert_array_equal(forward(executor, flat, (0,))[1]([np.ones(3)]), expected)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"no gradient that was not wanted before.*reset\(\) builds it again"):
            forward(executor, flat, (1,))


def test_a_dropped_function_frees_its_pairs_and_what_a_pullback_held() -> None:
    f = tierup.jit(lambda x: np.tanh(np.exp(x)) * x)
    executor, flat = program(f, numbers(3))
    for _ in range(3):
        _, pullback = forward(executor, flat, (0,))
        pullback([np.ones(3)])
    saved = weakref.ref(next(v for v, c in zip(pullback._captured, pullback.captured, strict=True) if c.source == "saved" and c.bytes))
    pair = executor.gradients.pairs[0]
    code = [weakref.ref(half.versions[0].compiled.code) for half in (pair.forward, pair.backward.executor)]
    del pullback
    assert saved() is None
    del f, executor, pair
    gc.collect()
    assert [c() for c in code] == [None, None]


# --- lists of arrays, which programs in MLIR take and give ----------------------------------------------------------------

LISTS = """
func.func @f(%sizes: !torch.list<int>, %l: !torch.list<vtensor> {tierup.name = "l"}, %y: !torch.vtensor {tierup.name = "y"}) -> (!torch.list<vtensor>, !torch.vtensor) {
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int -1
  %a = torch.aten.__getitem__.t %l, %int0 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %b = torch.aten.__getitem__.t %l, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %0 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.mul.Tensor %0, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
  %2 = torch.prim.ListConstruct %0, %1 : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %same = torch.aten.view %y, %sizes : !torch.vtensor, !torch.list<int> -> !torch.vtensor
  %3 = torch.aten.tanh %same : !torch.vtensor -> !torch.vtensor
  return %2, %3 : !torch.list<vtensor>, !torch.vtensor
}
"""


def test_lists_of_arrays_have_lists_of_gradients(tmp_path: Path) -> None:
    path = tmp_path / "lists.mlir"
    path.write_text(LISTS)
    graph = load(path)
    text = graph.module.operation.get_asm(enable_debug_info=True)
    executor = Executor(Program("f", text, "f", ("sizes", "l", "y"), translate(graph.module, "f")), Overrides({}))
    a, b, c, y, of_first, of_second = (numbers(3) for _ in range(6))
    for _ in range(3):
        (listed, _), pullback = forward(executor, ([3], [a, b, c], y), (2, 1), order=2)
        np.testing.assert_allclose(listed, [a * c, a * c * y])
        of_y, of_list = pullback([[of_first, of_second], None])
        product = of_first + of_second * y
        np.testing.assert_allclose(of_y, of_second * a * c)
        np.testing.assert_allclose(of_list, [product * c, np.zeros(3), product * a])
        assert pullback([None, np.ones(3)], zeros=False)[1] == [None, None, None]
        _, second = pullback.again([[of_first, of_second], None])
        (again_of_y, again_of_list), (of_listed, _) = second([None, [np.ones(3), None, None]])
        np.testing.assert_allclose(again_of_y, of_second * c)
        np.testing.assert_allclose(again_of_list, [np.zeros(3), np.zeros(3), product])
        np.testing.assert_allclose(of_listed, [c, c * y])
    with pytest.raises(ValueError, match="number 0 of the cotangents is a list of 2"):
        pullback([np.ones(3), None])
    forward(executor, ([3], [a, b], y), (2, 1))
    assert [p.describe for p in executor.gradients.pairs] == ["y, l[0], l[1], l[2]", "y, l[0], l[1]"]
    event = made_events(executor)[-1]
    assert (event.reason, event.expected, event.actual) == (Reason.WRONG_SIZE, "lists of 3", "lists of 2")
    assert executor.gradients.pairs[0].backward_from((0, 1)).executor.stats().hits == 2  # native code takes the items of lists
