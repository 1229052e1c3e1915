"""Lists of numbers that are arguments: one graph for all lengths where nothing changes them, and Python's values, types and errors always."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.runtime.arguments.lists.columns import FEWEST
from tierup.runtime.arguments.trees import MOST_NUMBERS


def pairs(xs: Any, k: Any) -> Any:
    n = 0
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            if xs[i] + xs[j] > k:
                n += 1
    return n


def prefixes(xs: Any, k: Any) -> Any:
    out, total = [], 0
    for i, x in enumerate(xs):
        total += i * x
        out.append(total / k)
    return out


def parts(xs: Any, k: Any) -> Any:
    return xs[-1], xs[1:], xs[::2], xs[k:-k], xs + xs, list(xs), [x * 2 for x in xs if x > k]


def arrays(xs: Any, k: Any) -> Any:
    a = np.array(xs)
    a[0] = k
    return a, np.ones(len(xs)) + xs, np.multiply(xs, 2), np.array([xs, xs]), np.arange(9)[[k, k]]


def sums(xs: Any, k: Any) -> Any:
    return sum(xs), min(xs), max(xs), any(xs), all(x > k for x in xs), len(xs), not xs


def sought(xs: Any, k: Any) -> Any:
    return k in xs, xs[k] in xs, xs.count(xs[k]), xs.index(xs[k]), 10**9 not in xs


def missing(xs: Any, k: Any) -> Any:
    return xs.index(12345)


def behind(xs: Any, k: Any) -> Any:
    return xs[len(xs) + k]


def third(ys: Any, k: Any) -> Any:
    return ys[k] + len(ys)


def handed(xs: Any, k: Any) -> Any:
    inner = lambda i: xs[i] * 2
    return third(xs, 3) + inner(k)


def either(xs: Any, k: Any) -> Any:
    ys = xs if len(xs) > 20 else [1, 2]
    while ys and k < len(ys) and ys[k] < 50:
        k += 1
    return k


WHOLE = [pairs, prefixes, parts, arrays, sums, sought, handed, either]


def changed(xs: Any, k: Any) -> Any:
    for i in range(len(xs) // 2):
        xs[i], xs[-1 - i] = xs[-1 - i], xs[i]
    xs.append(k)


def itself(xs: Any, k: Any) -> Any:
    return xs, k


def printed(xs: Any, k: Any) -> Any:
    print(len(xs))
    return sum(xs) + k


BY_ITEMS = [missing, behind, changed, itself, printed]


class Odd(float):
    pass


def lists(chance: random.Random, n: int) -> Iterator[list[Any]]:
    yield [chance.uniform(0, 100) for _ in range(n)]
    yield [chance.randrange(100) for _ in range(n)]
    yield [chance.random() > 0.5 for _ in range(n)]
    floats = [chance.uniform(0, 100) for _ in range(n)]
    yield [math.nan, *floats[1:-1], -0.0]
    yield [chance.choice([chance.uniform(0, 100), chance.randrange(100), 2**60 + 1]) for _ in range(n)]
    if n < 30:
        yield [chance.choice([chance.randrange(3), chance.random() > 0.5]) for _ in range(n)]
    for odd in (3, Odd(2), 10**30) if n < 5 or n > MOST_NUMBERS else ():
        yield [*floats[: n // 2], odd, *floats[n // 2 + 1 :]]


def outcome(f: Callable[..., Any], xs: list[Any], k: int) -> Any:
    """What a call gives, or raises, and what the list is then: by items and types, and whether an item of the result is the list."""
    try:
        found = f(xs, k)
    except Exception as e:  # noqa: BLE001 - compared
        return type(e), str(e), repr(xs)
    items = found if isinstance(found, tuple) else (found,)
    return [repr(i) if not isinstance(i, np.ndarray) else (i.dtype, repr(i.tolist())) for i in items], [type(i) for i in items], repr(xs), [i is xs for i in items]


@pytest.mark.parametrize("function", drawn("lists that came in", [*WHOLE, *BY_ITEMS], 3), ids=lambda f: f.__name__)
def test_a_function_of_a_list_gives_what_python_gives(function: Callable[..., Any]) -> None:
    decorated, chance = tierup.jit(function), random.Random(1)
    for n in (FEWEST, MOST_NUMBERS + 1, 4):
        for xs in lists(chance, n):
            k = chance.choice([2, 3])
            for _ in range(2):
                assert outcome(decorated, list(xs), k) == outcome(function, list(xs), k), (n, xs)


@pytest.mark.parametrize("function", drawn("lists of every length", WHOLE, 2), ids=lambda f: f.__name__)
def test_lists_of_every_length_have_one_graph_and_one_version(function: Callable[..., Any]) -> None:
    decorated, chance = tierup.jit(function), random.Random(2)
    for n in (20, 20, 30, 300, 31, 500):
        decorated([chance.uniform(0, 100) for _ in range(n)], 2)
    assert len(decorated._executors) == 1
    assert decorated.stats().versions <= 2  # of the first length, and of any
    assert decorated.stats().hits >= 3


def test_short_lists_of_a_third_length_are_arrays_where_the_program_needs_no_item_for_itself() -> None:
    def squares(xs: Any) -> Any:
        return [x * x for x in xs]

    def shaped(sizes: Any) -> Any:
        return np.ones(24).reshape(sizes)

    of_any_length, of_each = tierup.jit(squares), tierup.jit(shaped)
    for n in (1, 2, 3, 4, 5, 6, 7, 8):
        assert of_any_length([0.5] * n) == [0.25] * n
    assert len(of_any_length._executors) == 3
    assert of_any_length.stats().hits >= 4
    for sizes in ([24], [4, 6], [2, 3, 4], [2, 3, 2, 2]):
        assert of_each(sizes).shape == tuple(sizes)
    assert len(of_each._executors) == 4


def test_a_list_is_read_by_the_native_entry() -> None:
    decorated = tierup.jit(pairs)
    xs = [0.5] * 20
    for _ in range(3):
        decorated(xs, 1)
    before = decorated.times.entries
    for n in (20, 20):
        decorated([0.25] * n, 1)
    assert decorated.times.entries == before
    mixed = [0.25, 1, True] * 7  # another graph, of numbers of three kinds
    for _ in range(3):
        decorated(mixed, 1)
    before = decorated.times.entries
    for n in (1, 2):
        assert decorated(mixed * n, 1) == pairs(mixed * n, 1)
    assert decorated.times.entries == before + 1  # of the other length


def test_lists_in_lists_and_dicts_are_read_so_too() -> None:
    @tierup.jit
    def f(rows: Any, named: Any) -> Any:
        return rows[1][len(rows[0]) - 1] + sum(named["weights"])

    for n in (20, 20, 25, 40, 60):
        rows, named = [[1.5] * n, list(range(n + 5))], {"weights": [2] * n, "name": "w"}
        assert f(rows, named) == n - 1 + 2 * n
    assert len(f._executors) == 1


def test_lists_and_tuples_are_equal_as_their_items_are_to_python() -> None:
    @tierup.jit
    def f(xs: Any, ys: Any) -> Any:
        return xs == ys, xs == list(xs), xs != ys, (xs[0], 1) == (ys[0], 1), xs[0] in ys

    nan = math.nan
    for xs, ys in [([1.0, 2.0], [1.0, 2.0]), ([nan, 1.0], [nan, 1.0]), ([np.float64(1), 2], [1.0, 2]), ([1, 2], [1.0, 2.0])]:
        for _ in range(3):
            want = f.__wrapped__(xs, ys)
            assert f(xs, ys) == want
            assert [type(v) for v in f(xs, ys)] == [type(v) for v in want]


def test_places_of_take_and_of_indices_are_refused_as_numpy_refuses_lists_of_them() -> None:
    @tierup.jit
    def taken(xs: Any) -> Any:
        return np.take(np.arange(9), xs)

    @tierup.jit
    def indexed(xs: Any) -> Any:
        return np.arange(9)[xs]

    for f in (taken, indexed):
        for xs in ([1.0, math.nan], [math.inf, 1.0], [np.float64(1), np.float64(2)], [1, 2], [1.0] * 20, [1] * 20):
            for _ in range(3):
                assert outcome(lambda xs, _, f=f: f(xs), xs, 0) == outcome(lambda xs, _, f=f: f.__wrapped__(xs), xs, 0)


def grid_of(rows: Any, edges: Any) -> Any:
    seen = 0
    for i in range(1, len(rows) - 1):
        for j in range(1, len(rows[i]) - 1):
            if rows[i][j] >= rows[i - 1][j] and rows[i][j] >= rows[i][j + 1]:
                seen += 1
    return seen, sum(max(row) for row in rows), rows[-1][-1], len(rows[0])


def relaxed(rows: Any, edges: Any) -> Any:
    far = [100.0] * 9
    far[0] = 0.0
    for u, v, w in edges:
        if far[u] + w < far[v]:
            far[v] = far[u] + w
    return far, edges[2], edges[-1][1]


def row_chosen(rows: Any, edges: Any) -> Any:
    best = rows[0]
    for row in rows:
        if len(row) > 1 and row[1] > best[0]:
            best = row
    a, b, *_ = [best[0], len(best)]
    return a, b, best[:2], [row[0] for row in rows]


def as_arrays(rows: Any, edges: Any) -> Any:
    return np.array(rows).T, np.array(rows[1])


def row_itself(rows: Any, edges: Any) -> Any:
    return rows[1]


def lists_of_lists(chance: random.Random, n: int) -> Iterator[tuple[list[Any], list[Any]]]:
    number = lambda: chance.randrange(9)
    edges: list[Any] = [(number(), number(), chance.random()) for _ in range(3 * n)]
    yield [[chance.random() for _ in range(n)] for _ in range(n)], edges
    yield [[number() for _ in range(n)] for _ in range(n)], [[number(), number(), number()] for _ in range(3 * n)]
    yield [[number() for _ in range(number() + 2)] for _ in range(n)], edges
    yield [[chance.choice([0, 0.5, number(), chance.random()]) for _ in range(n)] for _ in range(n)], edges
    if n == 3:
        yield [[1.5] * n] * (n - 1) + [[1] * n], [*edges[1:], (1, 2, 3)]
        yield [[1.5] * n] * (n - 1) + [(1.5,) * n], [*edges[1:], (1, 2)]
        yield [[True] * n] * n + [[]], edges


@pytest.mark.parametrize("function", drawn("lists of lists", [grid_of, relaxed, row_chosen, as_arrays, row_itself], 3), ids=lambda f: f.__name__)
def test_a_function_of_lists_of_lists_and_tuples_gives_what_python_gives(function: Callable[..., Any]) -> None:
    decorated, chance = tierup.jit(function), random.Random(3)
    for n in (5, 20, 3):
        for rows, edges in lists_of_lists(chance, n):
            for _ in range(2):
                given = [list(row) if isinstance(row, list) else row for row in rows]
                got, want = (outcome(lambda rows, edges, f=f: f(rows, edges), given, edges) for f in (decorated, function))
                assert got == want, (rows, edges)


@pytest.mark.parametrize("function", [grid_of, relaxed, row_chosen, as_arrays], ids=lambda f: f.__name__)
def test_lists_of_lists_and_tuples_of_every_length_are_read_by_the_native_entry(function: Callable[..., Any]) -> None:
    decorated, chance = tierup.jit(function, weigh=False), random.Random(4)
    given = [next(lists_of_lists(chance, n)) for n in (6, 6, 9, 9, 30, 31)]
    for rows, edges in given:
        decorated(rows, edges)
    assert len(decorated._executors) == 1
    before = decorated.times.entries
    for rows, edges in given:
        decorated(rows, edges)
    assert decorated.times.entries == before
