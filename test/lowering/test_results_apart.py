"""Results that are computed from common values never share the caller's buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup


def three_sums(a, b, c):
    return np.sum(a), np.sum(b), np.sum(c)


def two_edits(a, b, c):
    x = np.exp(a)
    y = x.copy()
    y[0] = 1.0
    z = x.copy()
    z[1] = 2.0
    return y, z


def edit_and_original(a, b, c):
    x = np.exp(a)
    y = x.copy()
    y[0] = 1.0
    return y, x, x[1:] * 1.0


def edit_and_reads(a, b, c):
    x = np.exp(a)
    y = x.copy()
    y[0] = 1.0
    return y, np.sum(x), x[1:] + b[1:], y + c


def filled(a, b, c):
    z = np.zeros(4)
    y = z.copy()
    y[0] = a[0]
    x = z.copy()
    x[1] = a[1]
    return y, x, z, z + b


def in_branches(a, b, c):
    if np.sum(a) > np.sum(b):
        x = np.exp(a)
        y = x + b
    else:
        x = np.exp(b)
        y = x - a
    x[0] = 3.0
    return x, y, np.sum(c), np.sum(a)


def in_a_loop(a, b, c):
    x = np.zeros(4)
    y = np.zeros(4)
    for i in range(3):
        x = x + a * i
        y[i] = np.sum(x)
    return x, y, x * y


def exchanged(a, b, c):
    x, y = a + 1, b * c
    if np.sum(a) > np.sum(b):
        x, y = y, x
    return x, y


def rotated_in_turns(a, b, c):
    x, y, z = np.exp(a), b * b, c + 1
    if np.sum(a) > np.sum(b):
        x, y, z = y, z, x
    if np.sum(c) > 0:
        x, y = y, x
    return x, y, z


def returned_in_either_order(a, b, c):
    x, y = a + 1, b * b
    if np.sum(a) > np.sum(b):
        return y, x
    return x, y


PROGRAMS = [
    three_sums, two_edits, edit_and_original, edit_and_reads, filled, in_branches, in_a_loop, exchanged, rotated_in_turns,
    returned_in_either_order,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_result_is_its_own(program: Callable[..., tuple[Any, ...]]) -> None:
    f = tierup.jit(program)
    rng = np.random.default_rng(3)
    for _ in range(2):
        x, y, z = rng.standard_normal((3, 4))
        for a, b, c in ((x, y, z), (y, x, -z)):  # both arms of each branch
            for got, want in zip(f(a, b, c), program(a, b, c), strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-12)
    assert f.stats().hits == 3
