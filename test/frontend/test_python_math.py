"""Python's `math` in programs: its bits and its exceptions, in tier 0 and in native code, in loops, and of arrays' elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import alike, both, ending
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import drawn, examples

import tierup
from tierup.dialect.ops.scalars.libm import LIBM
from tierup.frontend.python.functions.python_math_rewritten import REWRITTEN_MATH

ONE = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p",
       "cbrt", "erf", "erfc", "sqrt", "fabs", "degrees", "radians", "isnan", "isinf", "isfinite", "floor", "ceil", "trunc", "frexp", "modf",
       "ulp", "hypot", "gamma", "lgamma"]  # fmt: skip
TWO = ["atan2", "pow", "log", "copysign", "fmod", "remainder", "nextafter", "hypot", "isclose", "ldexp"]
OF_INTS = {"isqrt": 1, "factorial": 1, "gcd": 2, "lcm": 2, "comb": 2, "perm": 2}
EDGES = [0.0, -0.0, 0.5, -0.75, 1.0, -1.0, 1 - 2**-53, 2.5, -3.0, 5e-324, 709.7, 709.75, 709.79, -745.2, 1023.95, 1e18, -1e308, math.inf, -math.inf, math.nan, 3, -2, True]
OTHERS = ["2", b"2", None, [1.0], np.float32(2), np.float64(2.5), np.int8(3), np.uint64(2**63)]  # numbers to some functions, refused by some
# made once: what is compiled for a float serves all
MADE: dict[str, tuple[Any, Callable[..., Any]]] = {}


def made(name: str, count: int, folder: Path) -> tuple[Any, Callable[..., Any]]:
    if f"{name}{count}" not in MADE:
        given_ = ", ".join("ab"[:count])
        jitted, plainly = both(given_, f"return math.{name}({given_})", folder)
        jitted.__wrapped__.__globals__["math"] = plainly.__globals__["math"] = math
        MADE[f"{name}{count}"] = jitted, plainly
    return MADE[f"{name}{count}"]


def check(jitted: Any, plainly: Any, *given_: Any) -> None:
    # from Python 3.14 on some words end with the number, where that is a float
    found, wanted = (repr(ending(f, *given_)).partition(", got ")[0].strip("'") for f in (jitted, plainly))
    assert found == wanted, (given_, found, wanted)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("math")


@pytest.mark.parametrize("name", drawn("math of one", ONE, 4))
def test_a_function_of_one_number_gives_pythons_bits_and_exceptions(name: str, folder: Path) -> None:
    jitted, plainly = made(name, 1, folder)
    for value in EDGES * 2:
        check(jitted, plainly, value)
    assert jitted.stats().hits >= 10, jitted.explain()
    for value in OTHERS:
        check(jitted, plainly, value)


@pytest.mark.parametrize("name", drawn("math of two", TWO, 4))
def test_a_function_of_two_numbers_gives_pythons_bits_and_exceptions(name: str, folder: Path) -> None:
    jitted, plainly = made(name, 2, folder)
    for a in EDGES:
        for b in EDGES:
            check(jitted, plainly, a, b)
    assert jitted.stats().hits >= 10, jitted.explain()
    for value in OTHERS:
        check(jitted, plainly, value, 2)
        check(jitted, plainly, 2.5, value)


INTS = [0, 1, -1, 2, 5, 12, 17, 20, 21, 30, 61, 97, 3037000499**2 - 1, 3037000499**2, 2**63 - 1, -(2**63), 2**63, 10**30, True, 2.5]


@pytest.mark.parametrize("name", OF_INTS)
def test_a_function_of_ints_gives_pythons_of_any_size_and_its_exceptions(name: str, folder: Path) -> None:
    jitted, plainly = made(name, OF_INTS[name], folder)
    small = INTS[:11] if name in ("factorial", "comb", "perm") else INTS  # what Python takes long for
    for a in [*INTS[:11], *small]:
        for given_ in [(a,)] if OF_INTS[name] == 1 else [(a, b) for b in small]:
            check(jitted, plainly, *given_)
    assert jitted.stats().hits >= 10, jitted.explain()
    for value in OTHERS:
        for given_ in [(value,)] if OF_INTS[name] == 1 else [(value, 2), (2, value)]:
            check(jitted, plainly, *given_)


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(ONE), st.floats(), st.floats(-4, 4))
def test_any_float_gives_pythons_bits(folder: Path, name: str, any_: float, small: float) -> None:
    for value in (any_, small, small * 200):
        check(*made(name, 1, folder), value)


@settings(max_examples=examples(20), deadline=None)
@given(st.sampled_from(TWO), st.floats(), st.floats() | st.integers(-20, 20))
def test_any_two_numbers_give_pythons_bits(folder: Path, name: str, a: float, b: float) -> None:
    check(*made(name, 2, folder), a, b)


def test_every_function_of_the_library_is_tried() -> None:
    assert {name.removeprefix("tierup.math_") for name in LIBM} <= {*ONE, *TWO}
    assert {f.__name__ for f in REWRITTEN_MATH} <= {*ONE, *TWO, *OF_INTS, "dist", "fsum"}


def of_elements(x: Any) -> Any:
    s, y = 0.0, np.zeros(len(x))
    for i in range(len(x)):
        y[i] = math.log(x[i]) + math.atan2(x[i], 2)
        s += math.exp(-math.sin(float(x[i])) ** 2)
    return s, y


def test_elements_of_arrays_in_a_loop_are_native_and_one_outside_of_the_domain_raises() -> None:
    jitted = tierup.jit(of_elements, strict=True)
    x, bad = np.linspace(0.1, 3, 40), np.linspace(0.1, 3, 40)
    bad[30] = -1.0
    for given_ in (x, x, x.astype(np.float32), bad, x, bad):
        assert alike(ending(jitted, given_), ending(of_elements, given_), 1e-15)
    assert jitted.stats().hits >= 3, jitted.explain()


def of_items(x: Any, n: int) -> Any:
    kept = []
    for v in x:
        if v > 0.2:
            kept.append(float(v))
    sums = math.fsum(x), math.fsum(kept), math.fsum(float(v) * 0.1 for v in x), math.fsum([1, n, 1e-20, -n])
    return sums, math.prod(range(1, n)), math.prod(kept), math.prod([2, n, 0.5]), math.prod(v for v in x if v > 0.7)


def of_points(x: Any, y: Any, p: Any, q: Any) -> Any:
    whole = math.gcd(12, len(x), 8), math.lcm(4, len(y), 6), math.gcd(), math.lcm()
    return math.dist(x, y), math.dist(p, q), math.dist(x[:3], q), math.hypot(*p, 1.0), math.hypot(), whole


def test_sums_and_products_of_items_are_native_to_the_bit() -> None:
    jitted, r = tierup.jit(of_items, strict=True), np.random.default_rng(0)
    for x in (r.random(60), r.random(60), r.random(90) * 2, np.array([1e16, 1.0, -1e16, 3e-9]), np.array([math.inf, 1.0]),
              np.array([1e308, 1e308, -1e308]), np.array([math.inf, -math.inf]), np.zeros(1)):  # fmt: skip
        for n in (2, 9, 9, 30):
            check(jitted, of_items, x, n)
    assert jitted.stats().hits >= 10, jitted.explain()


def test_lengths_of_vectors_are_native_to_the_bit() -> None:
    jitted, r = tierup.jit(of_points, strict=True), np.random.default_rng(0)
    for scale in (1.0, 1.0, 1e200, 1e-200, 1e-320, math.inf, math.nan):
        x, y = r.random(20) * scale, r.random(20)
        check(jitted, of_points, x, y, (1.0, scale, 3), (0.5, 1.0, 2))
        check(jitted, of_points, x, y[1:], (1.0, scale, 3), (0.5, 1.0, 2))
    assert jitted.stats().hits >= 4, jitted.explain()


def test_an_argument_that_is_no_number_is_pythons_type_error() -> None:
    for call in (lambda x: math.sin([x]), lambda x: math.atan2(x, "a"), lambda x: math.exp()):
        jitted = tierup.jit(call)
        for _ in range(3):
            assert ending(jitted, 1.0) == ending(call, 1.0)
