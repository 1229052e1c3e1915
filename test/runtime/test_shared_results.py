"""Results share memory with one another and with arguments in every tier as NumPy's do: in the first call and in later ones, in whichever
way a loop or a branch goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup


def reshaped(x, n):
    v = x + 1
    return v, v.reshape(-1)


def of_a_branch(x, n):
    v = x + 1
    w = v if x.sum() > 0 else v * 2
    return v, w


def the_last_row_of_a_loop(x, n):
    v = x + 1
    w = v[0]
    for i in range(n):
        w = v[i]
    return v, w


def one_that_a_loop_hands_on(x, n):
    v = x + 1
    w = v
    for _ in range(n):
        w = w[:]
    return v, w


def two_that_are_one_after_a_round(x, n):
    a = x + 1
    b = x + 2
    for _ in range(n):
        a = a * 2
        b = a[1:]
    return a, b


def one_of_two_arguments_or_of_two_results(x, n):
    v = x * 2
    w = x[1:] if n > 1 else v[1:]
    return v, w


def a_view_of_what_a_loop_writes(x, n):
    w = x * 2
    for _ in range(n):
        w = x[:, :]
        w += 1
    return w, x


def one_that_was_written_or_the_other(x, n):
    v = x + 1
    w = x * 2
    w[1, 0] = 3
    if x.sum() > 99:
        w = v
    return w, v


def turned_while_written(x, n):
    a = x + 1
    b = x * 2
    for _ in range(n):
        a += 3
        a, b = b, a
    return a, b


def written_after_one_is_the_other(x, n):
    a = x + 1
    b = x * 2
    for _ in range(n):
        b = a
        a += 3
    return a, b


def fibonacci(x, n):
    a = x * 2
    b = x + 1
    for _ in range(n):
        a, b = b, a + b
    return a, b


def two_that_start_as_one(x, n):
    a = x * 2
    total = a
    for _ in range(n):
        a, total = a * 0.5 + 1, total + a
    return total, a


def until_it_is_small(x, n):
    v = x + n
    w = v
    while w.sum() > 20:
        w = w * 0.5
    return v, w


def a_copy_or_the_argument(x, n):
    w = x.copy() if n > 1 else x[:]
    return w, np.concatenate([x]) if x.sum() > n + 4 else x


def a_copy_or_the_result(x, n):
    v = x * 2
    w = v
    if n > 1:
        w = v.copy()
    return v, w


SHARING = [reshaped, of_a_branch, the_last_row_of_a_loop, one_that_a_loop_hands_on, two_that_are_one_after_a_round,
           one_of_two_arguments_or_of_two_results, written_after_one_is_the_other, a_copy_or_the_argument,
           a_copy_or_the_result, a_view_of_what_a_loop_writes]  # fmt: skip
NATIVE = [one_that_was_written_or_the_other, turned_while_written, fibonacci, two_that_start_as_one,
          until_it_is_small]  # apart in all calls that run a round  # fmt: skip


def arrays(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from arrays(item)


def sharing(results: Any, arguments: Any) -> list[list[bool]]:
    """Of each result whether it shares memory with each argument and result."""
    everything = [*arrays(arguments), *arrays(results)]
    return [[np.shares_memory(result, other) for other in everything] for result in arrays(results)]


WAYS = ({}, {"speculate": "bailout"}, {"executor": "specializing"})


@pytest.mark.parametrize(
    ("function", "options"),
    drawn("shared results", [(function, options) for function in (*SHARING, *NATIVE) for options in WAYS], 3, lambda row: row[0]),
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_results_share_memory_where_numpy_s_do(function, options) -> None:
    ours = tierup.jit(function, **options)
    for n in (2, 2, 2, 0, 1, 3):
        x, y = np.ones((3, 2)), np.ones((3, 2))
        got, want = ours(x, n), function(y, n)
        assert sharing(got, x) == sharing(want, y)
        for _ in range(2):
            for a, b in zip((x, *got), (y, *want), strict=True):
                np.testing.assert_array_equal(a, b)
            got[1][...] = 7  # what is written to the one is seen in the others
            want[1][...] = 7
    if function in NATIVE and not options:
        assert [v.speculation.kind for v in ours.versions], ours.explain()


def a_later_argument_that_is_written(x, y, n):
    y[0] = 1
    return y if y.sum() > n else x


def a_part_of_a_later_argument_that_is_written(x, y, n):
    y[0] = 1
    v = y[1:] if y.size > n else x[1:]
    x[0] += n
    return v


def what_a_loop_makes_of_two(x, y, n):
    v = x
    for i in range(n):
        y[i % 2] += i
        v = y if i > 1 else x
    return v


@pytest.mark.parametrize("function", [a_later_argument_that_is_written, a_part_of_a_later_argument_that_is_written, what_a_loop_makes_of_two])
@pytest.mark.parametrize("options", [{}, {"level": 0}, {"speculate": "bailout"}, {"optimize": False}], ids=str)
def test_a_result_that_is_one_of_several_arguments_is_that_one_where_one_of_them_is_written(function, options) -> None:
    ours = tierup.jit(function, **options)
    for size, n in ((3, 2), (3, 2), (4, 2), (5, 4), (5, 99), (5, 1), (6, 0)):
        given, expected = ([np.ones((size, 2)), np.ones((size, 2))] for _ in range(2))
        got, want = ours(*given, n), function(*expected, n)
        assert [got is a for a in given] == [want is a for a in expected] and sharing([got], given) == sharing([want], expected)
        for _ in range(2):
            for a, b in zip((got, *given), (want, *expected), strict=True):
                np.testing.assert_array_equal(a, b)
            got[...] = want[...] = 7


def test_a_program_whose_results_share_memory_says_why_it_is_not_native() -> None:
    ours = tierup.jit(the_last_row_of_a_loop)
    for _ in range(3):
        ours(np.ones((3, 2)), 2)
    assert not ours.stats().hits
    assert "a loop: two results may share memory" in ours.explain()


def test_a_loop_that_runs_no_round_is_left_to_tier_0_by_a_check() -> None:
    ours = tierup.jit(until_it_is_small)
    for n in (40, 40, 40):
        v, w = ours(np.ones((3, 2)), n)
        assert not np.shares_memory(v, w)
    hits = ours.stats().hits
    v, w = ours(np.ones((3, 2)), 0)
    assert np.shares_memory(v, w) and tierup.last_executed_plan().tier == "tier 0" and hits


def test_results_that_cannot_share_memory_stay_native() -> None:
    def apart(x):
        i = x.astype(np.int32)
        return i, i.astype(np.float64), x * 2, (x * 2).reshape(-1)

    ours = tierup.jit(apart)
    for _ in range(3):
        results = ours(np.ones((3, 2), np.float32))
    assert ours.stats().hits == 2 and not any(np.shares_memory(results[0], r) for r in results[1:])


def test_values_of_a_split_program_that_share_memory_inside_it_are_native() -> None:
    def ranked(x):
        both = np.concatenate([x, x + 1]) * 2
        half = both[: x.shape[0]]
        return np.exp(half) + both[np.argpartition(both, 2)][: x.shape[0]] + np.argpartition(half, 2)

    ours = tierup.jit(ranked)
    for _ in range(5):
        x = np.linspace(0, 1, 5)
        np.testing.assert_allclose(ours(x), ranked(x), rtol=1e-14)
    assert (ours.stats().hits, ours.stats().fallbacks) == (3, 0)
