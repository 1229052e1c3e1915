"""pow and atan2: special values as C has them, large and small results, constant and integer exponents."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from math_samples import EXTENDED
from sampling import drawn

from benchmarks.math_functions import NUMPY, Function, ulps

EDGES = (0.0, 1.0, 2.0, 3.0, 0.5, 1.5, math.inf, math.nan, 1e300, 4503599627370497.0, 9007199254740993.0, 5e-324, 1e-40, 1 / 3)


def pairs(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(over="ignore"):
        values = np.array([s * v for v in EDGES for s in (1, -1)]).astype(NUMPY[dtype])
    x, y = np.array(list(itertools.product(values, values)), NUMPY[dtype]).T
    return x, y


def wide(x: np.ndarray) -> np.ndarray:
    return x.astype(np.float64 if x.dtype == np.float32 else np.longdouble)


@pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("name, oracle", [("powf", np.power), ("atan2", np.arctan2)])
def test_special_pairs_are_as_in_c(name: str, oracle: np.ufunc, dtype: str) -> None:
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        want = oracle(wide(x), wide(y))
    errors = ulps(Function(f"%r = math.{name} %x, %y : {dtype}", dtype, 2)(x, y), want)
    worst = int(np.argmax(errors))
    assert errors[worst] <= 1.0, f"{name}({x[worst]!r}, {y[worst]!r}), not {want[worst]!r}"


@pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
@pytest.mark.parametrize("fma", ["true", "false"])
@pytest.mark.parametrize("dtype, bound", [("f32", 0.51), ("f64", 1.0)])
def test_pow_is_accurate_up_to_the_ends_of_the_range(dtype: str, bound: float, fma: str) -> None:
    rng = np.random.default_rng(5)
    info = np.finfo(NUMPY[dtype])
    top = math.log(float(info.max))
    x = np.concatenate([np.exp(rng.uniform(-top, top, 4000)), rng.uniform(0.5, 2, 4000), 1 + rng.standard_normal(4000) * 0.01]).astype(
        info.dtype
    )
    # results of every size, down to the denormals
    logs = rng.uniform(math.log(float(info.smallest_subnormal)), top, x.size)
    y = (logs / np.log(wide(x))).astype(info.dtype)
    keep = np.isfinite(y)
    x, y = x[keep], y[keep]
    # the long double power of C is good to 64 bits, f64's results need half as many guard bits as it has
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), y.astype(np.longdouble))
    got = Function(f"%r = math.powf %x, %y : {dtype}", dtype, 2, f"tierup-expand-math{{fma={fma}}}")(x, y)
    assert ulps(got, want).max() <= bound


@pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_atan2_is_accurate_in_all_quadrants_and_magnitudes(dtype: str) -> None:
    rng = np.random.default_rng(6)
    y, x = (
        rng.integers(0, 2 ** (8 * NUMPY[dtype].itemsize), 20000, dtype=f"u{NUMPY[dtype].itemsize}").view(NUMPY[dtype]) for _ in range(2)
    )
    with np.errstate(all="ignore"):
        x[::2] = (y[::2] * rng.standard_normal(10000)).astype(x.dtype)
        want = np.arctan2(wide(y), wide(x))
    assert ulps(Function(f"%r = math.atan2 %x, %y : {dtype}", dtype, 2)(y, x), want).max() <= 1.0


EXPONENTS = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 17.0, 64.0, -1.0, -2.0, -5.0, -64.0, 0.5, -0.5, 1.5, -1.5, 100.0, math.inf, -math.inf, math.nan)


@pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
@pytest.mark.parametrize(("exponent", "dtype"), drawn("constant exponents", list(itertools.product(EXPONENTS, ("f32", "f64"))), 2, lambda row: row[1]))
def test_constant_exponents_are_as_accurate(exponent: float, dtype: str) -> None:
    rng = np.random.default_rng(8)
    bits = rng.integers(0, 2 ** (8 * NUMPY[dtype].itemsize), 4000, dtype=f"u{NUMPY[dtype].itemsize}").view(NUMPY[dtype])
    x = np.concatenate([pairs(dtype)[0][::28], bits, rng.uniform(-2, 2, 4000).astype(bits.dtype)])
    with np.errstate(all="ignore"):
        want = np.power(x.astype(np.longdouble), np.longdouble(exponent))
    bits = np.array(exponent, NUMPY[dtype]).view(f"u{NUMPY[dtype].itemsize}")  # MLIR spells infinity so
    number = f"{exponent}" if math.isfinite(exponent) else hex(bits)
    body = f"%c = arith.constant {number} : {dtype}\n%r = math.powf %x, %c : {dtype}"
    assert ulps(Function(body, dtype)(x), want).max() <= 2.0


@pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
@pytest.mark.parametrize(
    ("exponent", "dtype", "known"),
    drawn("integer exponents", list(itertools.product((0, 1, 3, -3, 65, 2**53 + 1, -(2**62) - 1), ("f32", "f64"), (True, False))), 2, lambda row: row[1:]),
)
def test_integer_exponents(exponent: int, dtype: str, known: bool) -> None:
    x = np.concatenate([pairs(dtype)[0][::28], np.linspace(-2, 2, 999).astype(NUMPY[dtype])])
    with np.errstate(all="ignore"):
        want = np.power(np.abs(x.astype(np.longdouble)), np.longdouble(exponent))
        want = np.where(np.signbit(x) & (exponent % 2 == 1), -want, want)
    # an exponent that the pass can't see is a constant only to LLVM
    hidden = (
        f"%n = arith.constant {exponent} : i64"
        if known
        else f"%a = arith.constant {exponent - 1} : i64\n%b = arith.constant 1 : i64\n%n = arith.addi %a, %b : i64"
    )
    assert ulps(Function(f"{hidden}\n%r = math.fpowi %x, %n : {dtype}, i64", dtype)(x), want).max() <= 1.6


def test_two_to_the_power_of_x_is_exp2() -> None:
    base = "%c = arith.constant 2.0 : f32\n%r = math.powf %c, %x : f32"
    x = np.arange(-149.0, 128.0, dtype=np.float32)
    function = Function(base, "f32")
    assert np.array_equal(function(x), np.exp2(x.astype(np.float64)).astype(np.float32))
    assert "f64" not in function.expanded
