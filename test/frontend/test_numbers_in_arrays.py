"""Numbers that meet arrays, stored in them or computed with them, for every dtype: NumPy's result, dtype and exception in every tier."""

import math

import numpy as np
import pytest
from sampling import drawn

import tierup

DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
NUMBERS = {
    float: [math.nan, math.inf, -math.inf, 300.7, -1.5, 127.5, -128.9, 255.9, 2.0, 3e9, 2.0**31, -(2.0**31) - 0.5, 2.0**63, -(2.0**63)],
    int: [200, -1, 0, 2, 5, 1 << 31, -(1 << 31), 1 << 40, 2**63 - 1],
    bool: [True, False],
}


def element(x, v):
    x[0] = v
    return x


def part(x, v):
    x[1:] = v
    return x


def nothing(x, v):
    x[0:0] = v
    return x


def listed(x, v):
    x[np.array([0, 2])] = v
    return x


def masked(x, v):
    x[x > 3] = v
    return x


def each(x, v):
    for i in range(len(x)):
        x[i] = v
    return x


def scalar(x, v):
    x[0] = np.float64(v) * 1
    return x


def added_to_an_element(x, v):
    x[0] += v
    return x


def padded(x, v):
    return np.pad(x, 1, constant_values=v)


def filled(x, v):
    return np.full_like(x, v)


def chosen(x, v):
    return np.where(x > 3, v, x), np.maximum(v, x), np.clip(x, 0, v)


def angle(x, v):
    return np.arctan2(x, v), np.copysign(x, v)


def truths(x, v):
    return np.logical_and(x, v), np.logical_or(v, x), x < v, v == x


def summed(x, v):
    return x + v, v * x


def divided(x, v):
    return x / v, v / x


def squared(x, v):
    return x**2, np.power(x, 2), x[0] ** 2, np.power(x > 1, 2) + v, (x > 1) ** 2


def differences(x, v):
    return np.diff(x) != v, np.diff(x > 1)


def made(x, v):
    return np.array(v, dtype=x.dtype), np.array([v, x[0]], dtype=x.dtype), np.asarray((2, v), dtype=x.dtype), np.array([3, 4], dtype=x.dtype)


def made_of_a_list(x, v):
    out = [v + 0]
    for i in range(len(x)):
        out.append(v)
    return (np.array(out, np.int16),)


def typed(x, v):
    return np.int8(v), np.array([[v], [1]], np.int64)


def unsigned(x, v):
    return np.uint8(v), np.array([v], np.uint32)


def copied(x, v):
    np.copyto(x, v, casting="unsafe")
    return x


STORES = (element, part, nothing, listed, masked, each, scalar, added_to_an_element, padded, copied)
ASKED = (element, part, nothing, listed, masked, each, made, made_of_a_list, typed, unsigned)
OTHERS = (filled, chosen, angle, truths, summed, divided, squared, differences, made, made_of_a_list, typed, unsigned)
CASES = [(f, dtype, kind) for f in STORES + OTHERS for dtype in DTYPES for kind in NUMBERS]


def outcome(function, x, v):
    """The results, or the name of the exception's class."""
    with np.errstate(all="ignore"):
        try:
            results = function(x.copy(), v)
        except (ArithmeticError, ValueError, TypeError) as e:
            return type(e).__name__
    return results if isinstance(results, tuple) else (results,)


def is_any_value(function, dtype, v):
    """What C leaves open: a float that an integer cannot hold, converted without a question."""
    return np.dtype(dtype).kind in "iu" and isinstance(v, float) and function not in ASKED and not 0 <= v < 100


def agree(got, want):
    if isinstance(want, str) or isinstance(got, str):
        return got == want or (got == "TypeError" and want == "_UFuncNoLoopError")
    for g, w in zip(got, want, strict=True):
        if type(g) is not type(w) or g.dtype != w.dtype or g.shape != w.shape:
            return False
        if not np.allclose(g, w, 2e-3 if w.dtype == np.float16 else 1e-6, 0, equal_nan=True):
            return False
    return True


@pytest.mark.parametrize(
    ("function", "dtype", "kind"), drawn("numbers in arrays", CASES, 16, lambda c: c[0].__name__), ids=lambda v: getattr(v, "__name__", v)
)
def test_a_number_in_an_array_is_what_numpy_makes_of_it(function, dtype, kind):
    jitted, x = tierup.jit(function), np.array([1, 2, 4]).astype(dtype)
    for v in NUMBERS[kind]:
        want = outcome(function, x, v)
        if is_any_value(function, dtype, v) and not isinstance(want, str):
            continue
        for call in range(3):
            got = outcome(jitted, x, v)
            assert agree(got, want), f"call {call} of {function.__name__}({dtype}, {v}): {got}, not {want}"


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8"])
@pytest.mark.parametrize("number", [5, 5.5], ids=["int", "float"])
def test_a_number_that_the_run_knows_is_stored_natively_and_asked_whether_it_fits(dtype, number):
    jitted = tierup.jit(element)
    for v in (number, number + 1, number + 2):
        np.testing.assert_array_equal(jitted(np.zeros(2, dtype), v), element(np.zeros(2, dtype), v))
    assert jitted.stats().hits == 2
    if isinstance(number, float) or dtype != "int64":
        with pytest.raises((ValueError, OverflowError)):
            jitted(np.zeros(2, dtype), math.nan if isinstance(number, float) else 300)


def array_in_an_element(x, v):
    x[0] = x[1:2] + v
    return x


def array_added_to_an_element(x, v):
    x[0] += x[1:2] * v
    return x


def masked_in_an_element(x, v):
    x[0] = x[x == x][:1] + v
    return x


def masked_added_to_elements(x, v):
    for i in range(len(x)):
        x[i] += x[(x[..., None] == x[0])[..., 0]] * v


def element_of_what_was_masked(x, v):
    rows = np.stack([x, x])
    y = rows[rows[:, 0] == x[0]]
    y[v] = x[:1]
    y[0][0] += x[:1]
    return y


def scalars_out_of_masks(x, v):
    x[0] = np.max(x[x == x]) * v
    x[1] += x[x == x][0]
    return x


@pytest.mark.filterwarnings("ignore:Conversion of an array")
@pytest.mark.parametrize(
    "function",
    [array_in_an_element, array_added_to_an_element, masked_in_an_element, masked_added_to_elements, element_of_what_was_masked, scalars_out_of_masks],
)
def test_an_element_takes_an_array_of_one_where_numpy_lets_it(function):
    for x in (np.array([1.0, 2.0, 4.0]), np.array([True, False, True])):
        jitted, want = tierup.jit(function), outcome(function, x, 1)
        for call in range(3):
            assert agree(outcome(jitted, x, 1), want), f"call {call} of {x.dtype}"


@tierup.jit
def counted(x, k):
    total = x[0] * 0
    for j in range(k[1], k[0]):
        total = total + x[j]
    return total, np.zeros((k[0], 2)).shape, x[: k[0]], x.reshape(k[2], -1)


def test_numpys_ints_out_of_arrays_are_ints_where_python_wants_one():
    x = np.arange(6.0)
    for dtype in (np.int64, np.uint8, np.int32):
        k = np.array([4, 1, 3], dtype)
        for _ in range(3):
            total, shape, part, rows = counted(x, k)
            assert total == x[1:4].sum() and shape == (4, 2) and rows.shape == (3, 2)
            np.testing.assert_array_equal(part, x[:4])
    assert counted.stats().hits >= 3
    for dtype in (np.float64, np.float16, np.bool_):
        for _ in range(3):
            with pytest.raises(TypeError):
                counted(x, np.array([1, 1, 1], dtype))
