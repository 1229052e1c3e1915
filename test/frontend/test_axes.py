"""Axes that an array has not got, and the axes of rank 0: NumPy's result or its AxisError, in every call."""

import linecache

import numpy as np
import pytest
from sampling import drawn

import tierup


def flipped(x, axis):
    return np.flip(x, axis=0)


def squeezed(x, axis):
    return np.squeeze(x, axis=-1)


def squeezed_too_far(x, axis):
    return np.squeeze(x, axis=2)


def differences(x, axis):
    return np.diff(x, axis=-2)


def taken(x, axis):
    return np.take(x, np.array([0]), axis=0)


def swapped(x, axis):
    return np.swapaxes(x, 0, -1)


def moved(x, axis):
    return np.moveaxis(x, 0, -1)


def along(x, axis):
    return np.take_along_axis(x, x.astype(np.int64), axis=-1)


def summed(x, axis):
    return np.sum(x, axis=axis)


def squeezed_at(x, axis):
    return np.squeeze(x, axis=axis)


FUNCTIONS = (flipped, squeezed, squeezed_too_far, differences, taken, swapped, moved, along, summed, squeezed_at)


def outcome(function, x):
    try:
        return np.asarray(function(x, 2))
    except (ValueError, IndexError) as e:
        return type(e)


@pytest.mark.parametrize("function", drawn("axes", FUNCTIONS, 2), ids=lambda f: f.__name__)
def test_an_axis_is_refused_as_numpy_refuses_it(function):
    for x in (np.array(2.0), np.zeros(3), np.zeros((1, 1))):
        jitted, want = tierup.jit(function), outcome(function, x)
        for call in range(3):
            got = outcome(jitted, x)
            if isinstance(want, type) or isinstance(got, type):
                assert got is want, f"call {call}, rank {x.ndim}: {got}, not {want}"
            else:
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("function", [lambda x: np.sum(x, axis=2), lambda x: np.expand_dims(x, -4), lambda x: np.moveaxis(x, 0, 3)])
def test_the_exception_knows_axis_and_rank(function):
    jitted = tierup.jit(function)
    said = []
    for call in (function, jitted, jitted, jitted):
        with pytest.raises(np.exceptions.AxisError) as raised:
            call(np.zeros(3))
        said.append((raised.value.axis, raised.value.ndim, raised.value.args, str(raised.value)))
    assert said[0][0] is not None and said == said[:1] * 4


ODD = ("()", "[0]", "True", "(0, 0)", "(-1, 1)", "np.int64(1)", "(True,)", "1.0")
REDUCTIONS = ("sum", "mean", "max", "min", "std", "var", "ptp", "prod", "any", "all", "argmax", "argmin", "cumsum", "cumprod")


@pytest.mark.parametrize("name", drawn("odd axes", REDUCTIONS, 2))
def test_odd_axes_of_reductions_give_what_numpy_gives_or_are_refused_by_name(name):
    answered = 0
    for axis in ODD:
        text = f"def reducing(x):\n    return np.{name}(x, {axis})\n"
        where = f"<odd axis {name} {axis}>"
        linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
        scope = {"np": np}
        exec(compile(text, where, "exec"), scope)
        jitted, x = tierup.jit(optimize=False)(scope["reducing"]), np.arange(6.0).reshape(2, 3)
        try:
            want = scope["reducing"](x)
        except (TypeError, ValueError) as e:
            want = type(e)
        try:
            got = jitted(x)
        except tierup.UnsupportedSyntax:
            continue
        except (TypeError, ValueError) as e:
            got = type(e)
        answered += 1
        assert isinstance(got, type) == isinstance(want, type), (axis, got, want)
        if isinstance(got, type):
            assert issubclass(got, want) or issubclass(want, got), (axis, got, want)
        else:
            np.testing.assert_array_equal(got, want)
    assert answered >= 3


def test_an_axis_that_is_no_int_and_misshapen_pad_widths_raise_numpys_exceptions():
    @tierup.jit
    def taking(x):
        return np.take(x, [0], 1.0)

    @tierup.jit
    def padding(x):
        return np.pad(x, (4, 5, 6, 7))

    for function, error in ((taking, TypeError), (padding, ValueError)):
        with pytest.raises(error):
            function(np.zeros((2, 2)))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["all", "any", "prod"])
def test_several_axes_are_reduced_as_one(name, keepdims):
    axes = ", ".join(f"np.{name}(x, axis={axis}, keepdims={keepdims})" for axis in ((0, 1), (2, 0), (-1, 1), (0, 1, 2)))
    source = f"def reduced(x):\n    return {axes}\n"
    file = f"<several axes {name} {keepdims}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope = {"np": np}
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the lines are our own
    reduced = scope["reduced"]
    jitted = tierup.jit(reduced)
    rng = np.random.default_rng(0)
    large, laid = np.array([[[1e300, 1e300], [0.0, 1.0]]]), rng.random((3, 3, 2)).astype(np.float32).T
    for x in (rng.random((2, 3, 4)), rng.random((2, 3, 4)) > 0.4, np.zeros((2, 0, 4)), large, laid):
        for _ in range(3):
            with np.errstate(all="ignore"):
                found, expected = jitted(x), reduced(x)
            for ours, theirs in zip(found, expected, strict=True):
                assert type(ours) is type(theirs) and ours.dtype == theirs.dtype and ours.shape == theirs.shape
                np.testing.assert_allclose(ours, theirs, 1e-6)
    assert jitted.stats().hits >= 5


@pytest.mark.parametrize("axis", ["(0, 0)", "(0, 3)", "(0, -1, 2)"])
def test_several_axes_that_are_none_raise_as_in_numpy(axis):
    source, file = f"def f(x):\n    return np.any(x, axis={axis})\n", f"<several axes {axis}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope = {"np": np}
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the lines are our own
    with pytest.raises((TypeError, ValueError)) as theirs:
        scope["f"](np.ones((2, 3, 4)))
    with pytest.raises((TypeError, ValueError)) as ours:
        tierup.jit(scope["f"])(np.ones((2, 3, 4)))
    assert type(ours.value) is type(theirs.value)


def in_full(function, *given):
    try:
        found = function(*given)
    except (TypeError, ValueError) as e:
        return type(e).__name__, str(e)
    return type(found), found.dtype, found.shape, found.tolist()


ODD = (False, True, np.array(2.5), np.array(1), (0,), (0, True), [True], (), -1, 2)


@pytest.mark.parametrize("function", [
    lambda x, v: x.sum(v), lambda x, v: np.prod(x, v), lambda x, v: np.any(x, v), lambda x, v: x.std(v), lambda x, v: x.cumsum(v), lambda x, v: x.argmax(v),
    lambda x, v: np.count_nonzero(x, v), lambda x, v: np.repeat(x, 2, v), lambda x, v: np.concatenate([x, x], v), lambda x, v: np.roll(x, v),
    lambda x, v: np.roll(x, 1, v), lambda x, v: np.zeros(v), lambda x, v: x.reshape(v), lambda x, v: np.full(v, x),
])  # fmt: skip
def test_what_is_no_axis_and_no_shape_is_refused_with_numpys_words(function):
    jitted = tierup.jit(function, weigh=False)
    for x in (np.array(3.0), np.arange(2.0)):
        for v in ODD:
            assert in_full(jitted, x, v) == in_full(function, x, v)
