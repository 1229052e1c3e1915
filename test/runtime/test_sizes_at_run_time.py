"""Sizes that are numbers of the call: native code takes those that fit, and leaves the others' exceptions to tier 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup

X = np.arange(12, dtype="f4")


def corners(x, n):
    t = np.zeros((n, n), complex)
    t[0, 0] = x[1]
    t[n - 1, n - 1] = x[2]
    return (t * t.T).real.sum()


# program, a number that fits, others that fit natively, others: tier 0 answers or raises
PROGRAMS = {
    "reshape": (lambda x, n: x.reshape(n, 4) * 2.0, 3, (3,), (5, 2, 0, -1, -3, 1 << 62, (1 << 62) + 3)),
    "one size inferred": (lambda x, n: x.reshape(n, -1) * 2.0, 3, (1, 2, 4, 12), (5, 0, -1, 13, 1 << 40)),
    "twice": (lambda x, n: x[:9].reshape(n, n) * 2.0, 3, (3,), (2, 4, 0, -1, -3, 1 << 33)),
    "of a quotient": (lambda x, n: x.reshape(x.shape[0] // n, n) * 1.0, 3, (1, 2, 4, 6, 12), (5, 7, 13)),
    "of none": (lambda x, n: x[12:].reshape(n, 4) * 2.0, 0, (0,), (1, 5, 1 << 62)),
    "broadcast in front": (lambda x, n: np.broadcast_to(x, (n, 12)) * 2.0, 3, (0, 1, 5), (-1,)),
    "broadcast a size that stays": (lambda x, n: np.broadcast_to(x, (2, n)) * 2.0, 12, (12,), (5, 1, 0, -1, 24)),
    "broadcast one": (lambda x, n: np.broadcast_to(x.reshape(12, 1), (12, n)) * 2.0, 3, (0, 1, 5), (-1,)),
    "fresh": (lambda x, n: np.zeros((n, 2)).sum() + x, 3, (0, 1, 5), (-1,)),
    "fresh, too many": (lambda x, n: np.zeros((n, n)).sum() + x, 3, (0, 1, 5), (1 << 32, (1 << 32) + 1, 1 << 62)),
    "fresh, more bytes than 64 bits say": (corners, 3, (1, 5), (0, 1 << 29, 1 << 30)),
    "fresh, of an array's size, too many": (lambda x, n: np.zeros((n, x.shape[0], 2)).sum() + x, 3, (0, 1, 5), (1 << 30, 1 << 60)),
    "fresh, of a product": (lambda x, n: np.zeros((n * n, n)).sum() + x, 3, (0, 1, 5), (1 << 12, 1 << 22, 1 << 30)),
    "fresh, in the result": (lambda x, n: np.zeros(n) + x[0], 3, (0, 1, 5), (1 << 60, 1 << 62, (1 << 63) - 1)),
    "broadcast, too many": (lambda x, n: np.broadcast_to(x, (n, 12)).sum(), 3, (1, 5), (1 << 60, 1 << 62)),
    "an identity": (lambda x, n: np.eye(n).sum() + x, 3, (0, 1, 5), (-1, 1 << 60, -(1 << 62))),
    "an identity that is no square": (lambda x, n: np.eye(n, 3)[:2] * x[0], 3, (0, 1, 5), (-1, 1 << 62)),
    "a range": (lambda x, n: np.arange(n).sum() + x, 3, (0, 1, 5, -1, -(1 << 63)), ()),
    "a range, too long": (lambda x, n: np.arange(n)[:2] + x[0], 3, (2, 5), (1 << 62, (1 << 63) - 1)),
    "a range from far": (lambda x, n: np.arange(n, 10)[:2] + x[0], 3, (2, 8, (1 << 63) - 1), (-(1 << 62), -(1 << 63))),
}


def attempt(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except (ValueError, MemoryError, IndexError) as e:
        return str(e).partition(" (at")[0]


@pytest.mark.parametrize("name", drawn("sizes that do not fit", list(PROGRAMS), 2))
def test_a_size_that_does_not_fit_never_leaves_native_code(name: str) -> None:
    function, fits, natively, otherwise = PROGRAMS[name]
    f = tierup.jit(function)
    for _ in range(2):
        f(X.copy(), fits)
    for numbers, is_native in ((natively, True), (otherwise, False)):
        for n in numbers:
            before = f.stats()
            found, wanted = attempt(f, X.copy(), n), attempt(function, X.copy(), n)
            assert isinstance(found, str) == isinstance(wanted, str), (n, found, wanted)
            if not isinstance(wanted, str):
                np.testing.assert_array_equal(found, wanted)
                assert np.shape(found) == np.shape(wanted)
            after = f.stats()
            assert (after.hits > before.hits and after.bailouts == before.bailouts) == is_native, n
    assert f.stats().compiles <= 3  # for the number, for any of 2 or more, for any


def test_a_negative_width_of_padding_raises_in_every_tier() -> None:
    f = tierup.jit(lambda x, n: np.pad(x, n))
    for n in (-1, 2, 2, -1, 2):
        assert np.array_equal(attempt(f, X, n), attempt(np.pad, X, n)), n


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.zeros(x.shape[0] - 5).sum(),
        lambda x: np.eye(x.shape[0] - 5).sum(),
        lambda x: np.full((2, x.shape[0] - 5), 2.0).sum(),
        lambda x: np.broadcast_to(x[0], (x.shape[0] - 5,)).sum(),
    ],
    ids=["zeros", "eye", "full", "broadcast_to"],
)
def test_a_size_that_arguments_make_negative_raises_in_every_tier(program: Any) -> None:
    f = tierup.jit(program)
    for n in (8, 8, 9, 11, 4, 7, 14, 2):
        assert attempt(f, np.ones(n)) == attempt(program, np.ones(n)), n


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments).tolist()
    except IndexError:
        return IndexError


def test_an_axis_of_diff_that_is_not_there_raises_in_every_tier() -> None:
    x = X.reshape(3, 4)
    f = tierup.jit(lambda x, n: np.diff(x, axis=n))
    for n in (1, 1, 1, 0, -1, -2, -3, -4, 2, 5):
        assert outcome(f, x, n) == outcome(lambda x, n: np.diff(x, axis=n), x, n), n


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.diff(x, axis=-3),
        lambda x: np.take(x, 0, axis=-3),
        lambda x: x.take([0], axis=2),
        lambda x: np.take_along_axis(x, np.zeros((3, 1), np.int64), axis=-3),
        lambda x: np.take_along_axis(x, np.zeros((3, 1), np.int64), axis=3),
    ],
    ids=["diff", "take", "take of the method", "take_along_axis", "take_along_axis beyond"],
)
def test_a_constant_axis_that_is_not_there_raises(program: Any) -> None:
    f = tierup.jit(program)
    for _ in range(3):
        assert outcome(f, X.reshape(3, 4)) is outcome(program, X.reshape(3, 4)) is IndexError


def in_rounds(x: Any, n: int) -> Any:
    total = x[0] * 0.0
    for _ in range(3):
        total = total + x[n:][0]
    return total


@pytest.mark.parametrize(
    "function",
    [
        lambda x, n: x[n:][0] * 2.0,
        lambda x, n: x[n:][-1] * 2.0,
        lambda x, n: x[x[:, 0] > n][0] * 2.0,
        lambda x, n: x[n:][np.array([0, -1])] * 2.0,
        lambda x, n: np.take(x[n:], np.array([0, 0]), axis=0) * 2.0,
        lambda x, n: x[n:, n:][0, 0] * 2.0,
        in_rounds,
    ],
)
def test_an_axis_that_turns_out_to_be_empty_is_not_read(function: Any) -> None:
    f = tierup.jit(function)

    def answer(call: Any, x: np.ndarray, n: int) -> Any:
        try:
            return call(x, n)
        except IndexError:
            return "IndexError"

    for rows in (4, 4, 5, 6):
        x = np.arange(rows * 3, dtype="f4").reshape(rows, 3) + 1
        for n in (1, 2, 0, rows, 100):
            before, found, wanted = f.stats(), answer(f, x, n), answer(function, x, n)
            np.testing.assert_array_equal(found, wanted)
            if before.versions and f.stats().misses == before.misses:
                assert f.stats().bailouts - before.bailouts == (wanted == "IndexError" if isinstance(wanted, str) else 0)
