"""Int arguments that sizes hang on: which these are, what versions assume of them, and that results are NumPy's on either side of a guard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tierup

X = np.linspace(0.5, 3.0, 24)


def table(x, n):
    t = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            t[i, j] = x[j] * i
    return t


def prefix_sums(x, n):
    t = np.zeros(n + 1)
    for i in range(n):
        t[i + 1] = t[i] + x[i]
    return t


def windows(x, n):
    t = np.empty(len(x) - n + 1)
    for i in range(len(x) - n + 1):
        t[i] = x[i : i + n].max()
    return t


def made(k):
    return np.full((k, 2), 1.5)


def filled_by_a_helper(x, n):
    return made(n) + made(n + 1)[1:]


def doubled_until(x, n):
    m = 1
    while m < n:
        m = m * 2
    return np.ones(m) * n


def chosen(x, n):
    k = n if x[0] > 0 else 4
    return np.arange(k) * 2.0


def less_than_before(x, n):
    t = np.zeros((n - 3, n))
    t[0, 1] = 5.0
    for j in range(n):
        t[0, j] = x[j]
    return t


def rows_of_a_length(x, n):
    t = np.zeros((n, len(x)))
    for j in range(len(x)):
        t[0, j] = x[j]
    return t


def a_cube(x, n):
    t = np.zeros((n, n, 2 * n + 10))
    for j in range(n):
        t[j, n - 1, j + n] = x[0]
    return t


PROGRAMS: dict[str, Any] = {
    "fewer by three": less_than_before,
    "of a length": rows_of_a_length,
    "a cube": a_cube,
    "a table": table,
    "one more": prefix_sums,
    "windows": windows,
    "by a helper": filled_by_a_helper,
    "by a loop": doubled_until,
    "by a branch": chosen,
    "a slice": lambda x, n: x[:n] * 2.0,
    "what is left of one": lambda x, n: x[n:] + 1.0,
    "a reshape": lambda x, n: x.reshape(n, -1) * 2.0,
    "a broadcast": lambda x, n: np.broadcast_to(x[:1], (n,)) + 1.0,
    "two of them": lambda x, n: np.full((n, 3), 2.0) + np.ones((n, 1)),
    "with an array of that size": lambda x, n: np.zeros(n) + x[:5],
}
NUMBERS = [6, 6, 6, 5, 8, 1, 0, -1, -2, -3, -4, -5, -6, -7, 24, 25, 1 << 40, 1 << 62, 1 << 63, np.int64(5), np.int32(3), True, False]


def attempt(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as e:  # noqa: BLE001 - compared with NumPy's own
        return type(e)


@pytest.mark.parametrize("entry", ["native", "python"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_numpys_for_whatever_number_comes(name: str, entry: str) -> None:
    f = tierup.jit(PROGRAMS[name], entry=entry, weigh=False)
    for n in NUMBERS:
        found, wanted = attempt(f, X, n), attempt(PROGRAMS[name], X, n)
        if isinstance(wanted, type):
            assert found is wanted, n
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-12, err_msg=repr(n))
            assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", ["a table", "one more", "by a helper", "a slice", "a reshape", "two of them"])
def test_a_number_is_assumed_until_it_changes_and_then_any_is_taken(name: str) -> None:
    f = tierup.jit(PROGRAMS[name], weigh=False)
    for n in (6, 6, 6, 3, 8, 6, 12):
        np.testing.assert_allclose(f(X, n), PROGRAMS[name](X, n))
    assert [(v.guards.partition("n: ")[2], v.call) for v in f.versions] == [("int = 6", 2), ("int = s0", 4)]
    s = f.stats()
    assert (s.profiled_runs, s.hits, s.compiles) == (1, 6, 2)


def test_numbers_that_differ_in_each_call_cost_one_compile() -> None:
    f = tierup.jit(table, weigh=False)
    for n in range(2, 20):
        np.testing.assert_array_equal(f(X, n), table(X, n))
    assert (f.stats().compiles, f.stats().hits) == (1, 17) and "n: int = s0" in f.versions[0].guards


def corner_of_a_cube(x, n):
    t = np.zeros((n, n, n))
    t[n - 1, 0, 1] = x[0]
    return t.sum()


def of_pairs(x, n):
    a = np.arange(n) * 1j
    return (a[:, None] * a[None, :])[1, 2] + x[0]


@pytest.mark.parametrize("n", [1 << 15, 1 << 20, 1 << 22, 1 << 30, 1 << 31, 1 << 62, -1])
def test_a_number_of_elements_that_no_memory_holds_is_numpys_error_each_time_it_comes(n: int) -> None:
    f = tierup.jit(corner_of_a_cube, weigh=False)
    for _ in range(3):
        with pytest.raises((MemoryError, ValueError)):
            f(X, n)
    for k in (4, 4, 5):
        assert f(X, k) == corner_of_a_cube(X, k)


def test_what_is_made_of_a_number_of_elements_has_no_more_than_memory_has() -> None:
    f = tierup.jit(of_pairs, weigh=False)
    assert f(X, 3) == of_pairs(X, 3)
    for _ in range(2):
        with pytest.raises((MemoryError, ValueError)):
            f(X, 1 << 22)


def test_a_literal_of_elements_that_no_memory_holds_breaks_no_compiler() -> None:
    def program(x):
        return np.zeros((2**31, 2**31, 2**31)).sum() + x[0]

    f = tierup.jit(program, weigh=False)
    for _ in range(3):
        with pytest.raises((MemoryError, ValueError)):
            f(X)
    assert "the compiler failed" not in f.explain()


def scaled(x, n):
    return x * n


def picked(x, n):
    return x[n] + x[n - 1]


def counted(x, n):
    for _ in range(n):
        x = x * 2.0
    return x


@pytest.mark.parametrize("function", [scaled, picked, counted, lambda x, n: np.roll(x, n), lambda x, n: np.full(3, n) * x[0]])
def test_numbers_that_no_size_hangs_on_are_left_open(function: Any) -> None:
    f = tierup.jit(function, weigh=False)
    for n in (3, 3, 4, 0, 1):
        np.testing.assert_allclose(f(X, n), function(X, n))
    assert f.stats().compiles == 1 and f.versions[0].guards.endswith("n: int")


def test_a_version_for_any_number_stands_behind_the_one_for_a_value() -> None:
    f = tierup.jit(table, weigh=False)
    for n in (6, 6, 7, 1) + (9,) * 40 + (6,):
        f(X, n)
    assert [v.guards.partition("n: ")[2] for v in f.versions] == ["int = 6", "int = s0", "int"]
    assert tierup.last_executed_plan().guards.endswith("n: int = 6")


def test_a_number_is_assumed_with_sizes_that_vary() -> None:
    f = tierup.jit(windows, weigh=False)
    for size in (24, 20, 16, 12, 11):
        np.testing.assert_array_equal(f(X[:size].copy(), 3), windows(X[:size], 3))
    assert [v.guards for v in f.versions] == ["x: f64[s0], n: int = 3"]


def needs_them_equal(x, n):
    return (np.arange(n) * 1.0 + x).sum()


def test_sizes_that_a_program_needs_equal_are_compared_with_the_number() -> None:
    f = tierup.jit(needs_them_equal, weigh=False)
    for n in (24, 24, 12, 12, 6):
        np.testing.assert_allclose(f(X[:n].copy(), n), needs_them_equal(X[:n], n))
    with pytest.raises(ValueError, match="broadcast"):
        f(X, 6)
