"""Python's numbers and operators, and operators on arrays: as the undecorated function."""

import ast

import numpy as np
import pytest
from frontend_oracle import call, check
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

import tierup
from tierup.frontend.python.operations import operators

X = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
Y = np.linspace(0.5, 2, 12).reshape(3, 4)
INTS = np.arange(-3, 3, dtype=np.int8).reshape(2, 3)
BOOLS = np.array([True, False, True])


def arithmetic(x, s):
    return x + s, s + x, x - s, s - x, x * s, s * x, x / s, s / x


def division(x, s):
    return x // s, x % s, s // x, s % x


def powers(x, s):
    return x**2, x**s, s**x


def comparisons(x, s):
    return x < s, s < x, x <= s, x > s, s >= x, x == s, s != x


def unary(x, s):
    return -x, +x, abs(x)


@pytest.mark.parametrize("function", [arithmetic, division, powers, comparisons, unary])
@pytest.mark.parametrize("s", [2, 2.5, np.float32(2.5), np.int64(2), Y, INTS[0, 1]], ids=lambda s: type(s).__name__)
def test_float_array_with_a_number_or_array(function, s):
    check(function, X, s)


@pytest.mark.parametrize("function", [arithmetic, division, comparisons, unary])
@pytest.mark.parametrize("s", [2, 2.5, np.float32(2.5), np.int64(2), True], ids=lambda s: type(s).__name__)
def test_int_array_with_a_number(function, s):
    check(function, INTS, s)


def bits(x, y):
    return x & y, x | y, x ^ y, ~x, x << 1, x >> 1, x & 3, 3 | x, x ^ 1


def test_bit_operators():
    check(bits, INTS, INTS[::-1])


def masks(x):
    return ~(x > 0) & (x < 2) | (x == 1), (x > 0) ^ (x > 1)


def test_masks():
    check(masks, X)


def bool_arithmetic(b, n):
    return b + b, b * 2, b / 2, b + True, True + b, b & True, 1 / b, n + True


def test_bool_arrays():
    check(bool_arithmetic, BOOLS, 3)


def numbers(n, f, b):
    return (
        n + 1, n - f, n * f, f / n, n / 2, n // 2, n % 3, -n, n**2, f // 0.3, f % 0.3, -f, f - n, b + 1, b * f, ~n,
        n > f, n == 3, f != f, f <= n, n >= 3, n < f < 5, not b, not n, b and n > 1, b or n > 1, n if b else 0,
        min(n, 2), max(n, 7), max(f, 0.5, 9.5), abs(-f), abs(-n), int(f), float(n), bool(n), bool(f), n in (1, 2, 3), n not in (1, f),
    )  # fmt: skip


@given(n=st.integers(-1000, 1000).filter(bool), f=st.floats(-1e6, 1e6).filter(lambda f: abs(f) > 1e-3), b=st.booleans())
@settings(max_examples=examples(20), deadline=None)
def test_python_numbers(n, f, b):
    check(numbers, n, f, b, unranked=False)


def divided(a, b):
    return a / b


def floored(a, b):
    return a // b, a % b


@pytest.mark.parametrize("function", [divided, floored])
@pytest.mark.parametrize("pair", [(1, 0), (1.5, 0), (1, 0.0), (0.0, -0.0), (7, 2), (-7, 2), (7.5, -2), (True, 2)])
def test_division_of_numbers_by_zero_raises_as_python_does(function, pair):
    check(function, *pair, unranked=False)


def folded(x):
    c = np.sqrt(2 / np.pi)
    scale = np.float32(1) / 3
    return x * c, x * scale, (2**10 - 1) % 7 * x, x * np.finfo(np.float32).eps, -np.inf < 0, f"n{1 + 1}", np.dtype("float32"), 1 == 1.0


def test_constants_are_computed_as_python_does():
    check(folded, X)


def scalars_of_arrays(x):
    s = x.sum()
    t = s * 2 + x[0, 0]
    return s, t, float(s), int(t), bool(s > 0), s / 3, 1 / s, x * s, abs(s), -s, s == s


@pytest.mark.parametrize("x", [X, INTS, Y], ids=["f32", "i8", "f64"])
def test_numpy_scalars(x):
    check(scalars_of_arrays, x)


def rank_zero(a):
    return a + 1, a, a[()], a * 2.5, np.exp(a), np.zeros(()), a.reshape(()), np.where(a > 0, a, 0.0)


def test_rank_zero_arrays_and_scalars_keep_their_types():
    check(rank_zero, np.array(2.0, np.float32))
    check(rank_zero, np.float32(2))


def empty(x):
    return x + 1, x.sum(), x * 2.5, x > 0, x.sum(axis=0)


def test_empty_arrays():
    check(empty, X[:0])


def truth(x):
    return 1 if x else 0


@pytest.mark.parametrize("x", [X, X[:1, :1], np.float32(0), np.array(2)], ids=["many", "one", "zero", "rank0"])
def test_truth_of_arrays(x):
    check(truth, x)


def chained(x):
    return 0 < x < 1


def test_chained_comparison_of_arrays_asks_for_their_truth():
    check(chained, X)
    check(chained, X[0, 0])


def shapes(x):
    n, m = x.shape
    return (
        n,
        m,
        x.shape,
        x.shape[0] * 2,
        x.shape[-1],
        x.ndim,
        x.size,
        len(x),
        x.shape == (3, 4),
        x.shape[:1],
        x.dtype,
        x.dtype == np.float32,
    )


def test_shapes_and_dtypes():
    check(shapes, X, unranked=False)


def unranked_shapes(x):
    n, m = x.shape
    return n, m, x.shape[0], x.ndim, x.size, np.zeros(x.shape), np.zeros(x.shape[:-1]), x.dtype == np.float64


def test_shapes_of_unknown_rank():
    check(unranked_shapes, X)
    check(unranked_shapes, X[0])


def structure(x, items):
    d = {"a": x, "b": 1}
    first, *rest = items
    (p, q), r = (x, 2), [x] * 2
    pairs = [(i, v) for i, v in enumerate(items) if i != 1]
    return (
        d,
        d["a"],
        "b" in d,
        first,
        rest,
        p,
        q,
        r,
        pairs,
        [*items, 3],
        items[::-1],
        items[-1],
        {k: v for k, v in d.items()},
        sum(items),
        tuple(items),
        len(items),
    )


def test_tuples_lists_and_dicts():
    check(structure, X, [X, X * 2, X * 3], unranked=False)


def adds_to_an_item(pair):
    pair[0] += 1
    return pair[0]


def test_adding_to_an_item_of_a_tuple_writes_the_array_and_raises():
    check(adds_to_an_item, [X.copy(), X])
    for pair in ((X.copy(), X), (np.float32(1), X), (1, X)):
        check(adds_to_an_item, pair)
        with pytest.raises(TypeError, match="'tuple' object does not support item assignment"):
            call(adds_to_an_item, pair)


def conditional(x, flag):
    y = x if flag else 0.0
    return y * 2, x if flag is None else x + 1


def test_conditional_expression_may_give_two_kinds_of_value():
    check(conditional, X, True)
    check(conditional, X, False)


def test_what_a_signals_handler_raises_while_a_constant_is_computed_is_no_part_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    class TimeIsUp(Exception):
        pass

    def interrupted(a: object, b: object) -> bool:
        raise TimeIsUp

    @tierup.jit
    def counted(x):
        n = 0
        while n < 3:
            n = n + 1
        return x * n

    with monkeypatch.context() as patched:
        patched.setitem(operators.FOLD, ast.Lt, interrupted)
        with pytest.raises(TimeIsUp):
            counted(np.ones(2))
    assert counted(np.ones(2)).tolist() == [3, 3]
