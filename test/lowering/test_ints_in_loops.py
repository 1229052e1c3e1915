"""Ints that loops compute positions, remainders and conditions with: as plain Python has them, native code or not, and with its exceptions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

from benchmarks.loops import sorted_by_swaps
from tierup.frontend.jit import jit

MOST = (1 << 63) - 1


def outcome(f: Callable[..., Any], *values: Any) -> Any:
    """What a call gives, or raises, and what it left of its arguments."""
    given = copy.deepcopy(values)
    try:
        result: Any = f(*given)
    except Exception as e:  # noqa: BLE001 - whatever Python raises
        result = type(e), str(e)
    return result, [v.tolist() if isinstance(v, np.ndarray) else v for v in given]


def same(f: Callable[..., Any], calls: list[tuple[Any, ...]]) -> Any:
    """Compare all calls with plain Python, after native code was made for the first."""
    native = jit(f, weigh=False)
    for values in (calls[0], calls[0], calls[0], *calls):
        got, wanted = outcome(native, *values), outcome(f, *values)
        assert repr(got) == repr(wanted), (values, got, wanted)
        assert type(got[0]) is type(wanted[0])
    assert native.stats().hits
    return native


def divided(a: int, b: int) -> tuple[int, int, bool, bool, int, int, int]:
    zero, truth = a % b == 0, False
    if a % b:
        truth = True
    return a // b, a % b, zero, truth, (a % 8) + 16 * (a % -8) + 256 * (a // -8), a // 7, a // 10


EDGES = [0, 1, -1, 2, -2, 3, -3, 7, -7, 8, -8, 63, MOST, -MOST, -MOST - 1, 1 << 32, -(1 << 32)]


def test_quotients_and_remainders_of_ints_are_pythons() -> None:
    same(divided, [(7, 3), *((a, b) for a in EDGES for b in EDGES)])


def of_whole(a: int, b: int) -> tuple[int, int, bool, int, int]:
    if a >= 0 and b > 0:
        return a // b, a % b, a % b == 0, a // 7, a % 7
    if a >= -1 and b > 0:
        return a // b, a % b, a % b == 0, a // 7, a % 7
    return a, b, False, 0, 0


def test_quotients_and_remainders_of_what_is_not_negative_are_pythons() -> None:
    same(of_whole, [(7, 3), *((a, b) for a in EDGES for b in EDGES)])


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(st.integers(-MOST - 1, MOST), st.integers(-9, 9)), min_size=1, max_size=20))
def test_quotients_and_remainders_of_any_ints_are_pythons(pairs: list[tuple[int, int]]) -> None:
    native = _DIVIDED
    for a, b in pairs:
        assert outcome(native, a, b) == outcome(divided, a, b)


_DIVIDED = jit(divided, weigh=False)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_remainders_of_elements_are_numpys(dtype: type[Any]) -> None:
    def left(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.stack([a % b, a % dtype(8), a % dtype(7), a // b, a // dtype(7)])

    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    a = np.array([low, low + 1, 0, 1, 6, 7, 8, 9, high - 1, high], dtype)
    native = jit(left, weigh=False)
    for divisor in (1, 2, 3, 7, 100, *(() if low == 0 else (-1, -3, -8))):
        for _ in range(3):
            b = np.full_like(a, divisor)
            np.testing.assert_array_equal(native(a, b), left(a, b))
    assert native.stats().hits


def test_powers_of_two_of_growing_ints_leave_native_code_with_nothing_written() -> None:
    def grown(a: np.ndarray, k: int, rounds: int) -> int:
        i = 0
        while i < rounds:
            a[i % len(a)] += 1.0
            k = 3 * k + 1
            i += 1
        return k

    f = same(grown, [(np.zeros(5), 2, 10), (np.zeros(5), 2, 39), (np.zeros(5), 2, 40), (np.zeros(5), -5, 60), (np.zeros(5), MOST, 1)])
    assert f.stats().misses or f.stats().interpreted


def test_a_position_that_saturates_is_no_position() -> None:
    """After the check that fails the loop carries arrays, and may go on: what is read there lies in the array."""

    def read(a: np.ndarray, at: int, by: int) -> float:
        i, s, kept = 0, 0.0, a * 1.0
        while i < 4:
            kept = kept[::-1] + 1.0
            at = at * by + 1
            if 0 <= at:
                s += kept[at]
            i += 1
        return s

    same(read, [(np.arange(90.0), 1, 2), (np.arange(90.0), 1, 3), (np.arange(90.0), 1 << 61, 4), (np.arange(90.0), 5, MOST)])


@pytest.mark.parametrize(("low", "high"), [(0, 4), (2, 9), (8, 12), (-3, 2), (9, 3), (-12, 1)])
def test_positions_that_rounds_raise_are_counted_from_the_start_and_checked_at_the_end(low: int, high: int) -> None:
    def kept(a: np.ndarray, low: int, high: int) -> int:
        at = 0
        for i in range(low, high):
            if a[i] > 0.5:
                a[at] = a[i]
                at += 1
        return at

    a = np.random.default_rng(3).random(10)
    same(kept, [(a, 0, 5), (a, low, high)])


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 30, 97, 100, 121])
def test_a_sieve_is_pythons(n: int) -> None:
    def sieve(n: int, beyond: int) -> tuple[int, int]:
        is_prime = np.ones(n + 1, np.bool_)
        is_prime[:2] = False
        i = 2
        while i * i <= n + beyond:
            if is_prime[i]:
                for j in range(i * i, n + 1, i):
                    is_prime[j] = False
            i += 1
        return int(is_prime.sum()), i

    native = same(sieve, [(30, 0)])
    stores = [line for line in native.plan("torch").splitlines() if "select_scatter" in line]
    assert stores and all('tierup.inside = "from_start"' in line for line in stores)
    same(sieve, [(30, 0), (n, 0), (n, 50)])


def test_bools_in_memory_are_bytes_that_may_hold_any_truth() -> None:
    def counted(flags: np.ndarray) -> tuple[int, np.ndarray]:
        n = 0
        for flag in flags:
            if flag:
                n += 1
        return n, ~flags

    odd = np.array([0, 1, 2, 255, 0, 4], np.uint8).view(np.bool_)
    native = jit(counted, weigh=False)
    for flags in (odd > 0, odd > 0, odd > 0, odd):
        n, others = native(flags)
        assert n == 4 and others.tolist() == [True, False, False, False, True, False]
    assert native.stats().hits >= 2


@pytest.mark.parametrize(("size", "at"), [(10, 3), (5000, 4999), (5000, None), (5000, 512), (1, 0), (0, None)])
def test_a_search_is_left_where_it_ends(size: int, at: int | None) -> None:
    """Its rounds go in chunks; the round that ends it may be any of one."""

    def found(a: np.ndarray) -> int:
        for i in range(len(a)):
            if a[i] > 0:
                return i
        return -1

    a = np.zeros(size)
    if at is not None:
        a[at] = 1.0
    same(found, [(a,), (np.zeros(7),)])


def test_rounds_of_a_loop_in_chunks_are_unrolled() -> None:
    """LLVM does so where it counts the rounds of a chunk in a few instructions."""

    native = same(sorted_by_swaps, [(np.random.default_rng(3).random(40),)])
    assert native.plan("optimized").count("fcmp ogt double") >= 4


def test_counters_and_what_is_not_0_are_proven() -> None:
    """Small steps reach no number of 64 bits in any run; and a remainder by what is not negative, and not 0, is neither negative nor refused."""

    def rounds_of_euclid(n: int, of: int) -> tuple[int, int]:
        count, last = 0, 0
        for i in range(1, n):
            x, y = i, max(of, 0)
            while y:
                x, y = y, x % y
                count += 1
            last = x
        return count, last

    native = same(rounds_of_euclid, [(20, 12), (50, 37), (0, 5), (3, MOST), (9, 0)])
    assert "_fits" not in native.plan("torch")
    assert "i32 6553" not in native.plan("optimized")  # the status of a check that failed


@pytest.mark.parametrize("start", [0, 5, MOST - 3, -MOST - 1])
def test_a_counter_that_begins_near_the_end_is_checked(start: int) -> None:
    def counted(n: int, start: int) -> int:
        count = start
        while n:
            n &= n - 1
            count += 1
        return count

    same(counted, [(7, 0), (0, start), (255, start), (1 << 62, start), (31, start)])
