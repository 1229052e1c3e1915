"""What NumPy does differently from torch, natively: the undecorated function is the oracle, and native code answers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tierup.frontend.jit import jit

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.25, 2.0, -3.0, np.inf, -np.inf, np.nan, 1e19, 3e-20, 1e-38, -1e30]


def natively(function: Callable[..., Any], *calls: tuple[Any, ...]) -> list[Any]:
    """What the calls give from native code; each is made until its version exists, at most thrice."""
    compiled = jit(function)
    results = []
    for arguments in calls:
        before = compiled.stats().hits
        for _ in range(3):
            result = compiled(*arguments)
        assert compiled.stats().hits > before, compiled.explain()
        results.append(result)
    return results


def the_same(got: NDArray[Any], want: NDArray[Any], ulps: int = 0) -> None:
    want = np.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_array_equal(np.signbit(got) & ~np.isnan(got), np.signbit(want) & ~np.isnan(want))
    if ulps:
        np.testing.assert_array_max_ulp(got[np.isfinite(want)], want[np.isfinite(want)], ulps)
        got, want = got[~np.isfinite(want)], want[~np.isfinite(want)]
    np.testing.assert_array_equal(got, want)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("exponent", [-0.5, -2, -2.0, -1, 0.5, 2, 3.0, 0])
def test_powers_of_special_values_are_numpys(dtype: type, exponent: float) -> None:
    x = np.array(SPECIAL, dtype)

    def known(x):
        return x**exponent

    the_same(natively(known, (x,))[0], x**exponent, 4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_power_that_the_run_knows_has_numpys_shortcut_for_the_root_alone() -> None:
    x = np.array(SPECIAL, np.float32)

    def power(x, exponent: float):
        return x**exponent

    exponents = (0.5, -0.5, 2.0, 1.7, 0.5)
    for got, exponent in zip(natively(power, *((x, e) for e in exponents)), exponents, strict=True):
        the_same(got, x**exponent, 4)


@pytest.mark.parametrize("flag", [True, False])
def test_a_bool_that_the_run_knows_takes_part_in_arithmetic(flag: bool) -> None:
    x = np.array([1.5, -0.0, 3.0], np.float32)

    def function(x, flag: bool):
        return x - flag, x * flag, x.astype(np.int32) + flag

    for got, want in zip(natively(function, (x, flag))[0], function(x, flag), strict=True):
        the_same(got, want)


def test_integer_division_by_zero_is_numpys_for_every_size() -> None:
    def function(a, b):
        return a // b, a % b, np.fmod(a, b)

    rng = np.random.default_rng(0)
    calls = [(rng.integers(-9, 9, n), rng.integers(-2, 3, n)) for n in (5, 70, 31)]
    with np.errstate(all="ignore"):
        for results, arguments in zip(natively(function, *calls), calls, strict=True):
            for got, want in zip(results, function(*arguments), strict=True):
                the_same(got, want)


@pytest.mark.parametrize(("shape", "axis"), [((3, 50), None), ((3, 50), 1), ((3, 50), -1), ((3, 50, 70), 2)], ids=str)
def test_float16_sums_along_the_last_axes_are_numpys(shape: tuple[int, ...], axis: int | None) -> None:
    x = np.random.default_rng(0).random(shape).astype(np.float16)

    def function(x):
        return x.sum(axis=axis), (x * 2).prod(axis=axis), x.mean(axis=axis)

    for got, want in zip(natively(function, (x,))[0], function(x), strict=True):
        the_same(got, want, 1)


def test_float16_sums_along_two_last_axes_are_numpys() -> None:
    x = np.random.default_rng(0).random((3, 50, 70)).astype(np.float16)

    def function(x):
        return x.sum(axis=(1, 2))

    the_same(natively(function, (x,))[0], function(x), 1)


def _column_sums(x):
    return x.sum(axis=0)


def test_float16_sums_along_other_axes_stay_with_numpy_which_rounds_every_step() -> None:
    compiled = jit(_column_sums)
    x = np.ones((5000, 2), np.float16)
    for _ in range(3):
        the_same(compiled(x), x.sum(axis=0))
    assert compiled(x)[0] == 2048 and not compiled.versions


# --- masks


def _mask(n: int, share: float = 0.5) -> NDArray[np.bool_]:
    return np.random.default_rng(n).random(n) < share


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_elements_where_a_mask_is_true_are_read_natively(share: float) -> None:
    def function(x, mask):
        y = x[mask]
        return y, y * 2 + 1, x[mask].sum()

    calls = [(np.arange(n, dtype=np.float32), _mask(n, share)) for n in (5, 8, 33)]
    for results, arguments in zip(natively(function, *calls), calls, strict=True):
        for got, want in zip(results, function(*arguments), strict=True):
            the_same(got, want)


def test_rows_and_columns_where_a_mask_is_true() -> None:
    x, rows, columns = np.arange(60).reshape(3, 4, 5), np.array([True, False, True]), np.array([False, True, True, False])

    def function(x, rows, columns):
        return x[rows], x[:, columns], x[x > 17]

    for got, want in zip(natively(function, (x, rows, columns))[0], function(x, rows, columns), strict=True):
        the_same(got, want)


def test_a_reduction_of_no_elements_raises_as_numpy_does() -> None:
    def function(x, mask):
        return x[mask].max()

    compiled = jit(function)
    x, mask = np.arange(4, dtype=np.float32), np.array([True, False, True, False])
    for _ in range(3):
        assert compiled(x, mask) == 2
    with pytest.raises(ValueError, match="zero-size"):
        compiled(x, np.zeros(4, np.bool_))
    assert compiled(x, mask) == 2


def test_writes_where_a_mask_is_true() -> None:
    def function(x, mask, row, value):
        x[mask] = 0.5
        x[:, row] = value
        x[x > 2] += 1
        return x

    calls = [(np.ones((n, 3), np.float32), _mask(n), np.array([True, False, True]), np.float32([[3.0]])) for n in (4, 6, 9)]
    for arguments in calls:
        want = function(arguments[0].copy(), *arguments[1:])
        compiled = jit(function)
        for _ in range(2):
            compiled(arguments[0].copy(), *arguments[1:])
        the_same(compiled(arguments[0].copy(), *arguments[1:]), want)
        assert compiled.stats().hits, compiled.explain()


def test_a_product_over_no_elements_is_zeros() -> None:
    def product(x, w):
        return x @ w

    empty = np.ones((20, 0), np.float32), np.ones((0, 30), np.float32)
    dirty = [np.full((20, 30), 7, np.float32) for _ in range(100)]  # what a result that nobody writes would show
    del dirty
    the_same(natively(product, empty)[0], np.zeros((20, 30), np.float32))


# What leaves the range of a dtype on the way, and comes back: NumPy rounds products at every step, and sums of float32 to float32.
ON_THE_WAY = [
    np.array([1e30, 1e30, 1e-30, 1e-30, 2, 3, 4, 5]), np.array([1e-30, 1e-30, 1e30, 1e30] * 5), np.array([3e38, 3e38, -3e38, -3e38] * 5),
    np.array([1.7e19] * 20 + [-1.7e19] * 20), np.array([-0.0, -0.0]), np.array([-0.0]), np.array([1e30, 0, 1e30, -1e30, np.inf]),
]  # fmt: skip


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_what_overflows_or_vanishes_on_the_way_of_a_reduction_does_as_in_numpy(axis: int | None) -> None:
    def reduced(x):
        return (
            np.prod(x, axis), np.cumprod(x, axis), np.cumsum(x, axis), np.sum(x, axis), np.mean(x, axis), np.var(x, axis), np.std(x, axis),
            np.logaddexp.accumulate(x, axis or 0),
        )  # fmt: skip

    compiled = jit(reduced)
    for dtype in (np.float32, np.float64):
        for row in ON_THE_WAY:
            x = row if dtype is np.float32 else np.where(abs(row) > 1e10, row * abs(row) ** 7, row)
            x = np.stack([x, x], 1 if axis == 0 else 0).astype(dtype)
            for _ in range(3):
                found = compiled(x)
            for got, want in zip(found, reduced(x), strict=True):
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * float(np.max(abs(x))))  # infinities and NaNs in the same places
                zero = want == 0
                np.testing.assert_array_equal(np.signbit(got) & zero & (got == 0), np.signbit(want) & zero & (got == 0))
    assert compiled.stats().hits


def test_nan_is_not_equal_to_itself() -> None:
    def same(x):
        y = x.reshape(-1).reshape(x.shape)
        return x == x, x == y, x >= x, x != x

    def same_number(x: float):
        n = 0
        while x == x and n < 3:  # noqa: PLR0124 - what the test is about
            n += 1
        return n, x >= x

    for dtype in (np.float16, np.float32, np.float64):
        x = np.array([[1.0, np.nan], [np.inf, -0.0]], dtype)
        for got, want in zip(natively(same, (x,))[0], same(x), strict=True):
            the_same(got, want)
    assert natively(same_number, (1.0,), (math.nan,)) == [same_number(1.0), (0, False)]


def test_int_of_what_is_no_number_raises() -> None:
    def whole(x):
        return int(x), math.floor(x), math.ceil(x)

    for make in (float, np.float32, np.asarray):
        compiled = jit(whole)
        for _ in range(3):
            assert compiled(make(-2.5)) == (-2, -3, -2)
            with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
                compiled(make(math.nan))
            with pytest.raises(OverflowError, match="cannot convert float infinity to integer"):
                compiled(make(-math.inf))
            assert compiled(make(2.0**63)) == (2**63, 2**63, 2**63)  # by Python, whose ints no program holds
        assert compiled.stats().hits


@pytest.mark.parametrize("convert", [int, float, bool])
@pytest.mark.parametrize("count", [0, 2])
def test_numbers_of_arrays_with_more_or_less_than_one_element_raise_as_numpy_does(convert: Callable[..., Any], count: int) -> None:
    def number(x):
        return convert(x)

    compiled, x = jit(number), np.ones(count)
    with pytest.raises(Exception) as wanted:  # noqa: PT011 - NumPy's, whichever it is
        convert(x)
    for _ in range(3):
        with pytest.raises(type(wanted.value), match=re.escape(str(wanted.value))):
            compiled(x)
