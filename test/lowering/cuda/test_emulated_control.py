"""Loops and branches: the host's part and kernels together, on the emulated device, against Python. No kernel here has run on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from emulated_programs import agrees, emulated

RNG = np.random.default_rng(13)


def f32(*sizes: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(sizes).astype(np.float32)


def test_a_loop_carries_arrays() -> None:
    def rnn(x, h):
        for t in range(x.shape[0]):
            h = np.tanh(x[t] + h)
        return h

    for outcome in (*agrees(rnn, (f32(4, 5), f32(5))), *agrees(rnn, (f32(4, 5), f32(5)), (f32(7, 3), f32(3)), dynamic=True)):
        assert outcome.reads == 0


def test_a_loop_whose_values_change_places() -> None:
    def swap(x, y, n: int):
        for _ in range(n):
            x, y = y, x + y
        return x - 2 * y

    agrees(swap, (f32(5), f32(5), 3), (f32(5), f32(5), 4), (f32(5), f32(5), 0))


def test_ints_are_checked_where_they_may_need_more_than_64_bits() -> None:
    def powers(x, n: int):
        m, k = n * n * n, n << 3
        for i in range(n & 3):
            m += i * k >> 1
        return x * (m % 7), m ^ k

    assert [outcome.status for outcome in agrees(powers, (f32(5), 3), (f32(5), -7), (f32(5), 2**20))] == [0, 0, 0]
    assert [outcome.status > 0 for outcome in emulated(powers, (f32(5), 2**21), (f32(5), 2**22))] == [True, True]


def test_a_loop_without_a_trip_count_waits_for_the_device() -> None:
    def halve(x):
        while x.sum() > 1:
            x = x * 0.5
        return x

    (outcome,) = agrees(halve, (np.abs(f32(5, 9)),))
    assert outcome.reads > 2


def test_both_sides_of_a_branch_on_values() -> None:
    def either(x):
        if x.sum() > 0:
            return x * 2
        return x - 1

    plus, minus = agrees(either, (np.abs(f32(5, 9)),), (-np.abs(f32(5, 9)),))
    assert plus.launches != minus.launches


def test_both_sides_of_a_branch_on_a_number() -> None:
    def either(x, n: int):
        x = x * 2 if n > 2 else x - 1
        return x + 1

    two, one = agrees(either, (f32(5, 9), 3), (f32(5, 9), 1))
    assert two.reads == one.reads == 0


def test_rows_written_one_after_the_other() -> None:
    def update(x):
        x = x.copy()
        for i in range(x.shape[0]):
            x[i] = x[i] + i
        return x

    agrees(update, (f32(5, 9),))


def test_numbers_come_back() -> None:
    (outcome,) = agrees(lambda x, a: float((x * a).sum()), (f32(5, 9), 2.5))
    assert outcome.reads == 1


def test_a_number_that_a_loop_over_elements_gives_the_host() -> None:
    def first_large(x):
        i = 0
        while i < x.shape[0] - 1 and x[i] < 1:
            i = i + 1
        return x * i

    agrees(first_large, (np.arange(5, dtype=np.float32) / 2,))
