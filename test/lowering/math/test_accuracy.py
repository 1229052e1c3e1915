"""Every expansion against NumPy in more precision: ordinary, huge, tiny and special arguments, with and without fused multiply-add."""

from __future__ import annotations

import numpy as np
import pytest
from math_samples import EXTENDED, FUNCTIONS, compiled, reference, sweep

from benchmarks.math_functions import NUMPY, Function, ulps

# in ulps; dense sweeps are in docs/math-accuracy.md
BOUNDS = {
    "erfc": (2.6, 3.6), "tanh": (1.4, 1.4), "cosh": (1.0, 1.4), "asinh": (1.0, 1.3), "atanh": (1.0, 1.4), "erf": (1.1, 2.3), "rsqrt": (1.5, 1.5),
}  # fmt: skip
PLAIN = "x86_64-unknown-linux-gnu:x86-64:"  # no fused multiply-add, no AVX

needs_extended = pytest.mark.skipif(not EXTENDED, reason="long double is no wider than double here")
DTYPES = ["f32", pytest.param("f64", marks=needs_extended)]


def bound(name: str, dtype: str) -> float:
    return BOUNDS.get(name, (1.0, 1.2))[dtype == "f64"]


def check(function: Function, name: str, limit: float) -> None:
    x = sweep(function.dtype)
    got = function(x)
    errors = ulps(got, reference(name, x))
    worst = int(np.argmax(errors))
    assert errors[worst] <= limit, f"{name}({x[worst]!r}) = {got[worst]!r}: {errors[worst]:.2f} ulp"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_function_is_within_its_bound_everywhere(name: str, dtype: str) -> None:
    check(compiled(name, dtype), name, bound(name, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "sin", "tan", "acosh"])
def test_function_is_as_good_without_fused_multiply_add(name: str, dtype: str) -> None:
    function = Function(f"%r = math.{name} %x : {dtype}", dtype, passes="tierup-expand-math{fma=false}")
    assert "math.fma" not in function.expanded
    check(function, name, bound(name, dtype) + 0.4)


@needs_extended
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_reduction_holds_for_the_doubles_nearest_to_multiples_of_half_pi(name: str) -> None:
    # 6381956970095103 * 2**797 is the worst case of all doubles: Muller, "Elementary Functions", 11.3.2
    x = np.array(
        [np.ldexp(6381956970095103.0, 797), 1e22, 2.0**1023, 5.34e300, np.pi, np.pi / 2, 22.0, 355.0, 573204.0, 102.1017612, 1e308]
    )
    function = compiled(name, "f64")
    assert ulps(function(x), reference(name, x)).max() <= 1.2


def test_f32_sine_of_every_exponent_is_right() -> None:
    x = np.ldexp(np.random.default_rng(0).uniform(1, 2, (256, 40)), np.arange(-128, 128)[:, None]).astype(np.float32).ravel()
    x = x[np.isfinite(x)]
    assert ulps(compiled("sin", "f32")(x), reference("sin", x)).max() <= 0.51


@pytest.mark.parametrize("dtype, tens", [("f32", 10), ("f64", 22)])
def test_exact_results_are_exact(dtype: str, tens: int) -> None:
    powers, twos, cubes = np.arange(tens + 1.0), np.arange(-126.0, 127), np.arange(1.0, 99)  # 10**tens is the last one in the format
    for name, x, want in (("log10", 10.0**powers, powers), ("log2", 2.0**twos, twos), ("exp2", twos, 2.0**twos), ("cbrt", cubes**3, cubes)):
        assert np.array_equal(compiled(name, dtype)(x), want.astype(NUMPY[dtype])), name


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("name", ["exp", "tanh", "log", "sin", "erf"])
def test_half_formats_are_rounded_once_from_f32(name: str, dtype: str) -> None:
    half = NUMPY[dtype]
    x = np.arange(0, 2**16, 7, dtype=np.uint16).view(half)
    with np.errstate(all="ignore"):
        got = Function(f"%r = math.{name} %x : {dtype}", dtype)(x).astype(np.float32)
        want = compiled(name, "f32")(x.astype(np.float32)).astype(half).astype(np.float32)
    assert np.array_equal(got, want, equal_nan=True)


def test_plain_x86_64_code_needs_no_call() -> None:
    function = Function("%r = math.exp %x : f32", "f32", passes="tierup-expand-math{fma=false}", target=PLAIN)
    assert not function.calls()
    check(function, "exp", 1.4)
