"""Lists that came in and that a function changes, or gives back: the caller's own object has what Python would have left in it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.frontend.errors import UnsupportedSyntax


def sorts(xs: Any) -> Any:
    for i in range(1, len(xs)):
        v, j = xs[i], i - 1
        while j >= 0 and xs[j] > v:
            xs[j + 1] = xs[j]
            j -= 1
        xs[j + 1] = v


def turns(xs: Any) -> Any:
    ys = xs
    i, j = 0, len(ys) - 1
    while i < j:
        ys[i], ys[j] = ys[j], ys[i]
        i, j = i + 1, j - 1
    return xs


def negates(xs: Any) -> Any:
    for i, x in enumerate(xs):
        if x:
            xs[i] = -x
    xs.reverse()
    return len(xs), xs


def _swap(xs: Any, i: Any, j: Any) -> Any:
    xs[i], xs[j] = xs[j], xs[i]
    return xs[i]


def swaps(xs: Any) -> Any:
    return _swap(xs, 0, -1) + _swap(xs, 1, 2)


def runs_over(xs: Any) -> Any:
    for i in range(len(xs) + 1):
        xs[i] += 1


def gives_back(xs: Any) -> Any:
    total = 0
    for x in xs:
        total += x
    return xs, total


def sorts_down(xs: Any) -> Any:
    xs.sort(reverse=True)
    return sorted(xs), xs[0]


OF_NUMBERS = [sorts, turns, negates, swaps, runs_over, gives_back, sorts_down]
NUMBERS: list[list[Any]] = [
    [3, 1, 2], [0.5, -0.0, 0.0, -1.5, math.nan, math.inf], [True, False, True], [(7 * i) % 11 for i in range(60)], [(0.75 * i) % 5 for i in range(400)],
    [2, 0.5, 0, -0.0, -1.5, math.nan, 2**60], [i % 7 / 2 if i % 3 else i for i in range(70)],
]  # fmt: skip


def relaxes(g: Any) -> Any:
    for i in range(1, len(g) - 1):
        for j in range(1, len(g[0]) - 1):
            g[i][j] = 0.25 * (g[i - 1][j] + g[i + 1][j] + g[i][j - 1] + g[i][j + 1])


def adds_up(g: Any) -> Any:
    for row in g:
        for j in range(1, len(row)):
            row[j] += row[j - 1]
    return g


def moves(ps: Any) -> Any:
    for i, (x, y, n) in enumerate(ps):
        if n > 1:
            ps[i] = x + 1, y * 2, n
    return ps


ROWS = [[[0.5, 1.0, 2.0], [1.5, 0.0, -1.0], [0.25, 4.0, 8.0]], [[1.0], [], [2.0, 3.0, 4.0]], [[float(i * j % 7) for j in range(9)] for i in range(8)],
        [[i * j % 7 if i % 2 else i * j / 2 for j in range(9)] for i in range(8)]]  # fmt: skip
TUPLES = [[(1, 0.5, 2), (3, -0.0, 1)], [(i, i / 2, i % 3) for i in range(40)]]


def _call(function: Callable[..., Any], *given: Any) -> tuple[str, str]:
    """What a call does, and what it leaves in its arguments: texts, in which a NaN is one."""
    try:
        result = function(*given)
    except Exception as e:  # noqa: BLE001 - the exceptions are compared
        result = type(e), str(e)
    here = next((i for i, arg in enumerate(given) if result is arg), None)
    return f"{result!r} {here}", repr(given)


@pytest.mark.parametrize(
    ("function", "kinds"), [*((f, NUMBERS) for f in OF_NUMBERS), *((f, ROWS) for f in (relaxes, adds_up)), (moves, TUPLES)], ids=lambda v: getattr(v, "__name__", "")
)
@pytest.mark.parametrize("entry", ["native", "python"])
def test_the_callers_list_has_what_python_leaves_in_it(function: Callable[..., Any], kinds: list[Any], entry: Any) -> None:
    f = tierup.jit(function, weigh=False, entry=entry)
    for given in kinds:
        for _ in range(4):
            assert _call(f, copy.deepcopy(given)) == _call(function, copy.deepcopy(given))
    if function is not runs_over:
        assert f.stats().hits > 0
        assert f.stats().python == 0 or function is sorts_down  # NaNs
        assert f.unsupported_calls == 0


def test_one_version_changes_lists_of_every_length() -> None:
    f = tierup.jit(sorts, weigh=False)
    for n in (5, 3, 90, 17, 1, 2000):
        xs = [(31 * i) % n for i in range(n)]
        f(xs)
        assert xs == sorted((31 * i) % n for i in range(n))
    assert len(f.variants) == 1
    assert len(f.versions) <= 2


def test_items_that_did_not_change_stay_the_objects_that_they_were() -> None:
    f = tierup.jit(negates, weigh=False)
    nan, large = math.nan, 2.0**70
    for _ in range(4):
        xs = [0.0, nan, large, 0.0]
        f(xs)
        assert xs[0] == xs[3] == 0
        assert xs[1] == -large
    zeros = [0.0, 0.0]
    first, second = zeros
    f(zeros)
    assert zeros[0] is first
    assert zeros[1] is second


def test_what_a_call_had_done_when_it_raised_stands_in_the_list() -> None:
    f = tierup.jit(runs_over, weigh=False)
    for _ in range(4):
        xs = [1, 2, 3]
        with pytest.raises(IndexError, match="list index out of range"):
            f(xs)
        assert xs == [2, 3, 4]


def _first_of(xs: Any, ys: Any) -> Any:
    xs[0] = 9.0
    return ys[0]


def _corner(g: Any) -> Any:
    g[0][0] = 5
    return g[1][0]


def _row(g: Any, xs: Any) -> Any:
    xs[0] = 7
    return g[0][0]


def test_a_list_that_stands_in_a_call_twice_is_changed_under_both_names() -> None:
    first_of, corner, row = (tierup.jit(f, weigh=False) for f in (_first_of, _corner, _row))
    for _ in range(4):
        assert first_of([1.0, 2.0], [3.0]) == 3.0
        assert corner([[1, 2], [3, 4]]) == 3
        assert row([[1, 2], [3, 4]], [5, 6]) == 1
    for _ in range(3):
        xs = [1.0, 2.0]
        assert first_of(xs, xs) == 9.0
        assert corner([[1, 2]] * 2) == 5
        g = [[1, 2], [3, 4]]
        assert row(g, g[0]) == 7
    assert first_of([1.0, 2.0], [3.0]) == 3.0
    assert [f.stats().hits for f in (first_of, corner, row)] == [4, 3, 3]


OUTSIDE = [1.0, 2.0]


def test_a_list_from_outside_that_is_the_argument_too_is_python_s() -> None:
    def f(xs: Any) -> Any:
        xs[0] = xs[1] + 1
        return OUTSIDE[0]

    jitted = tierup.jit(f)
    for _ in range(4):
        OUTSIDE[:] = [1.0, 2.0]
        assert jitted(OUTSIDE) == 3.0
        assert jitted([5.0, 6.0]) == 3.0


def test_lists_by_name_in_containers_and_by_default_are_changed() -> None:
    def f(xs: Any, *, each: Any, rest: Any = (1.0, [4.0, 5.0])) -> Any:
        for i in range(len(xs)):
            xs[i] += each["a"][i] + rest[1][0]
            each["a"][i] = 0.0
        rest[1][1] += 1.0
        return rest

    def default() -> Any:
        return f.__kwdefaults__["rest"][1][1]

    jitted = tierup.jit(f, weigh=False)
    for k in range(4):
        xs, named = [1.0, 2.0], {"a": [10.0, 20.0]}
        found = jitted(each=named, xs=xs)
        assert xs == [15.0, 26.0]
        assert named == {"a": [0.0, 0.0]}
        assert found[1][1] == default() == 6.0 + k
        assert found[1] is f.__kwdefaults__["rest"][1]
    assert jitted.stats().hits == 3


def test_arrays_and_lists_of_one_call_are_both_changed_and_where_python_must_answer_nothing_is_yet() -> None:
    def f(xs: Any, a: Any) -> Any:
        for i in range(len(xs)):
            a[i] += xs[i]
            xs[i] = i

    def finds(xs: Any, k: Any) -> Any:
        xs[0] = 5
        return xs.index(k)

    jitted, finding = tierup.jit(f, weigh=False), tierup.jit(finds, weigh=False)
    for _ in range(4):
        xs, a = [4, 5, 6], np.ones(3)
        jitted(xs, a)
        assert xs == [0, 1, 2]
        assert a.tolist() == [5.0, 6.0, 7.0]
        ys = [1, 2, 3]
        assert finding(ys, 3) == 2
        assert ys == [5, 2, 3]
        zs = [1, 2, 3]
        with pytest.raises(ValueError, match="not in list"):
            finding(zs, 99)
        assert zs == [5, 2, 3]
    assert jitted.stats().hits == 3


def test_short_lists_are_arrays_where_their_items_are_refused_and_items_where_arrays_are() -> None:
    def counts(xs: Any) -> Any:
        out = []
        for x in xs:
            if x > 1:
                out.append(x)
        xs[0] = len(out)
        return out

    jitted = tierup.jit(counts, weigh=False, strict=True)
    for given in ([3, 0, 2], [1, 5], [2] * 30):
        want = copy.copy(given)
        assert [jitted(given), given] == [counts(want), want]
    assert len(jitted.variants) == 1
    shaped = tierup.jit(lambda x, shape: x.reshape(shape))
    assert shaped(np.arange(6.0), [2, 3]).shape == (2, 3)


def test_a_list_of_another_length_is_refused_under_strict() -> None:
    def grows(xs: Any) -> Any:
        xs.append(1.0)

    with pytest.raises(UnsupportedSyntax, match="list"):
        tierup.jit(grows, strict=True)([1.0] * 30)
    xs = [1.0] * 30
    tierup.jit(grows)(xs)
    assert len(xs) == 31


def test_no_gradient_flows_through_a_list_that_changes() -> None:
    def f(x: Any, xs: Any) -> Any:
        xs[0] = 2
        return x * xs[0]

    with pytest.raises(tierup.NotDifferentiable, match="changes a list"):
        tierup.vjp(f, np.ones(3), [1, 2])
