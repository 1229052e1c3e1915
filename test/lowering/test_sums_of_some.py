"""Sums in loops to which not every round adds: tierup-merge-kinds and tierup-choose-terms take nothing away from what Python computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup


def some(x, least):
    total = 0.0
    for i in range(len(x)):
        if x[i] > least:
            total += x[i]
    return total


def otherwise(x, least):
    a, d, p = 0.0, np.float64(-0.0), 1.0
    for v in x:
        if v <= least:
            a = a + least
        else:
            a = v * v + a
            d -= v
            p *= v
    return a, d, p


def of_a_matrix(x, least):
    total = count = 0.0
    for i in range(len(x)):
        for j in range(i):
            if x[i] > least and x[j] > least:
                total += x[i] * x[j]
                count += 1
        if total < 0:
            total = 0.0
    return total, count


def of_negative_zero(x, least):
    total = -0.0
    for v in x:
        if v > least:
            total = total + v
    return total


def one_after_the_other(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i]
    for i in range(len(y)):
        total -= y[i]
    return total


SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, -5e-324, 1.7e308, -1.7e308])


def bits(found: Any) -> list[Any]:
    values = found if isinstance(found, tuple) else (found,)
    return [(type(v), "nan" if np.isnan(v) else np.asarray(v).tobytes()) for v in values]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("program", [some, otherwise, of_a_matrix, of_negative_zero])
def test_sums_of_some_elements_are_pythons_to_the_bit(program: Callable[..., Any], dtype: str) -> None:
    f = tierup.jit(program, weigh=False)
    random = np.random.default_rng(3)
    with np.errstate(all="ignore"):
        for number in range(40):
            x = random.standard_normal(9).astype(dtype)
            chosen = random.random(9) < 0.3 * (number % 3)
            x[chosen] = random.choice(SPECIAL, int(chosen.sum())).astype(dtype)
            least = float(random.choice([-np.inf, 0.0, -0.0, 0.5, np.inf]))
            assert bits(f(x, least)) == bits(program(x, least)), (x, least)
    assert f.stats().hits >= 30, f.explain()


def test_a_round_adds_without_asking_what_kind_the_sum_has() -> None:
    f = tierup.jit(some, weigh=False)
    x = np.arange(5.0)
    for _ in range(3):
        f(x, 1.5)
    assert "arith.addf" in (text := f.plan(stage="buffers")) and text.count("arith.addf") == 1
    assert "arith.constant -0.000000e+00" in text


def test_loops_that_add_to_one_number_one_after_the_other_are_one_plan() -> None:
    """Each may be the first that adds; of the paths that known sizes leave, one sets what is returned."""
    f = tierup.jit(one_after_the_other, weigh=False, strict=True)
    for sizes in ((5, 7), (5, 7), (5, 7), (3, 4), (6, 2), (0, 3), (0, 3), (2, 0), (0, 0), (0, 0), (5, 7)):
        x, y = (np.arange(n) + 0.5 for n in sizes)
        assert bits(f(x, y)) == bits(one_after_the_other(x, y)), sizes
    assert f.stats().hits >= 6, f.explain()
