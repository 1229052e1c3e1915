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

import tierup
from tierup.dialect.ops.scalars.libm import LIBM

ONE = ["sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "exp", "expm1", "exp2", "log", "log2", "log10", "log1p",
       "cbrt", "erf", "erfc", "sqrt", "fabs", "degrees", "radians", "isnan", "isinf", "isfinite", "floor", "ceil", "trunc"]  # fmt: skip
TWO = ["atan2", "pow", "log"]
EDGES = [0.0, -0.0, 0.5, -0.75, 1.0, -1.0, 1 - 2**-53, 2.5, -3.0, 5e-324, 709.7, 709.75, 709.79, -745.2, 1023.95, 1e18, -1e308, math.inf, -math.inf, math.nan, 3, -2, True]
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


@pytest.mark.parametrize("name", ONE)
def test_a_function_of_one_number_gives_pythons_bits_and_exceptions(name: str, folder: Path) -> None:
    jitted, plainly = made(name, 1, folder)
    for value in EDGES * 2:
        check(jitted, plainly, value)
    assert jitted.stats().hits >= 10, jitted.explain()


@pytest.mark.parametrize("name", TWO)
def test_a_function_of_two_numbers_gives_pythons_bits_and_exceptions(name: str, folder: Path) -> None:
    jitted, plainly = made(name, 2, folder)
    for a in EDGES:
        for b in EDGES:
            check(jitted, plainly, a, b)
    assert jitted.stats().hits >= 10, jitted.explain()


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(ONE), st.floats(), st.floats(-4, 4))
def test_any_float_gives_pythons_bits(folder: Path, name: str, any_: float, small: float) -> None:
    for value in (any_, small, small * 200):
        check(*made(name, 1, folder), value)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(TWO), st.floats(), st.floats() | st.integers(-20, 20))
def test_any_two_numbers_give_pythons_bits(folder: Path, name: str, a: float, b: float) -> None:
    check(*made(name, 2, folder), a, b)


def test_every_function_of_the_library_is_tried() -> None:
    assert {name.removeprefix("tierup.math_") for name in LIBM} <= {*ONE, *TWO}


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


def test_an_argument_that_is_no_number_is_pythons_type_error() -> None:
    for call in (lambda x: math.sin([x]), lambda x: math.atan2(x, "a"), lambda x: math.exp()):
        jitted = tierup.jit(call)
        for _ in range(3):
            assert ending(jitted, 1.0) == ending(call, 1.0)
