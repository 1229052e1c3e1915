"""Programs that write to arrays they are given: native code writes there, and what fails half way leaves what plain NumPy leaves."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.lowering.base.abi import ResultKind

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(0)


def scattered(x: Array, at: Array) -> None:
    for k in range(at.shape[0]):
        x[at[k]] += k + 1


def at_one_place(x: Array, at: Array) -> None:
    for k in range(at.shape[0]):
        x[0] += at[k]
        x[x.shape[0] - 1] = x[at[k]]


def in_order(x: Array, at: Array) -> None:
    for k in range(at.shape[0]):
        if k < x.shape[0]:
            x[k] = at[k]
        else:
            x[at[k]] = -1


def until_found(x: Array, at: Array) -> int:
    i = 0
    while x[i] != at[0] + 10000:
        x[i] = -x[i]
        i += 1
    return i


def sorted_by_insertion(x: Array, at: Array) -> None:
    for i in range(1, 20):
        key = x[i]
        j = i - 1
        while j >= 0 and x[j] > key:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = key
    x[at[0]] = at[at.shape[0] - 1]
    x[at[at.shape[0] - 1]] = 0


def slices(x: Array, at: Array) -> Array:
    x[3:6] = 2
    x[1:] += x[:-1]
    x[at[0]] = x[at[at.shape[0] - 1]]
    return x[2:]


def rows(x: Array, at: Array) -> None:
    for k in range(at.shape[0]):
        x[k : k + 4] += at[k]
        x[at[k]] += x[0]


def everything(x: Array, at: Array) -> Array:
    x *= 2
    x += at[0]
    return x


PROGRAMS = [scattered, at_one_place, in_order, until_found, sorted_by_insertion, slices, rows, everything]


def ended(f: Callable[..., Any], x: Array, at: Array) -> tuple[Array, str]:
    """What x is after a call, and what came of that."""
    try:
        result = f(x, at)
    except IndexError as e:
        return x, repr(e)
    return x, str(result)


@pytest.mark.parametrize("size", [30, 9000], ids=["copied first", "noted, and copied when they are many"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: str(program.__name__))
def test_a_program_that_writes_its_argument_leaves_what_numpy_leaves(program: Callable[..., Any], size: int) -> None:
    f = tierup.jit(program)
    for dtype in (np.float64, np.int32):
        for count in (1, 5, 700):
            for fails in (False, True):
                x, at = (RNG.standard_normal(size) * 99).astype(dtype), RNG.integers(0, size, count)
                if fails:
                    at[RNG.integers(0, count)] = size + 1
                plain, ours = ended(program, x.copy(), at), ended(f, x.copy(), at)
                np.testing.assert_array_equal(ours[0], plain[0])
                assert ours[1] == plain[1]
    assert f.stats().hits >= 6
    assert {v.record.results[-1].kind for v in f.versions if v.record is not None} == {ResultKind.WRITTEN}


def counted(x: Array, n: int) -> None:
    i = 0
    while i < n:
        x[i % 10007] += 1
        i += 1


def sums(x: Array, n: int) -> None:
    for i in range(len(x)):
        total = 0.0
        for j in range(n):
            total = total * 0.5 + j
        x[i] = total
    x[0] = -1.0


def checked(x: Array, n: int) -> None:
    for i in range(n):
        x[i * i % (i + 1)] += 1


@pytest.fixture
def interrupted() -> Iterator[Callable[[Callable[..., Any], Array], None]]:
    """Calls a function for what would take years, and has a signal's handler raise meanwhile."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    def call(f: Callable[..., Any], x: Array) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        with pytest.raises(KeyboardInterrupt):
            f(x, 10**15)

    before = signal.signal(signal.SIGALRM, stop)
    yield call
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("program", [counted, sums, checked], ids=lambda program: str(program.__name__))
def test_what_is_interrupted_leaves_what_some_of_the_rounds_have_written(program: Callable[..., Any], interrupted: Any) -> None:
    f, x = tierup.jit(program), np.zeros(10007)
    for _ in range(3):
        f(x, 100)
    assert f.stats().hits >= 1
    x[:] = 0
    interrupted(f, x)
    if program is counted:
        assert x.min() > 0 and set(np.diff(x)) <= {0, -1}  # so many elements have had a round more
    else:  # the first sum was not done; where a check may fail, everything is put back
        assert not x.any()


def test_an_array_that_another_argument_shows_too_is_not_written_by_native_code() -> None:
    @tierup.jit
    def moved(x: Array, y: Array) -> None:
        for i in range(y.shape[0]):
            x[i] = y[i] + 1

    def call(f: Callable[..., Any]) -> Array:
        memory = np.arange(50.0)
        f(memory[1:], memory[:-1])
        return memory

    for _ in range(4):
        moved(np.zeros(49), np.zeros(49))
    hits = moved.stats().hits
    assert hits >= 2
    np.testing.assert_array_equal(call(moved), call(moved.__wrapped__))
    assert moved.stats().hits == hits
