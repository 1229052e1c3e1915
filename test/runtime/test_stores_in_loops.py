"""Stores in loops happen in place: whatever way a program spells them, no round copies an array. Cost then grows as NumPy's does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.lowering.building.journal import ONCE

N = 1024  # elements of the arrays: a round touches a few


def element_twice(a):
    for i in range(1, len(a)):
        a[i] *= 2
        a[i] += a[i - 1]
    return a


def element_once(a):
    for i in range(1, len(a)):
        a[i] = a[i] * 2 + a[i - 1]


def neighbours_in_turn(a):
    for i in range(len(a) - 1):
        a[i] += 1
        a[i + 1] += a[i]
        a[i] -= 1


def swap_by_name(a):
    for i in range(len(a) - 1):
        if a[i] > a[i + 1]:
            t = a[i]
            a[i] = a[i + 1]
            a[i + 1] = t


def swap_by_tuple(a):
    for i in range(len(a) - 1):
        a[i], a[i + 1] = a[i + 1], a[i]


def window(a):
    for i in range(len(a) - 4):
        a[i : i + 4] = a[i : i + 4] * 0.5 + 1


def window_added_to(a):
    for i in range(len(a) - 4):
        a[i : i + 4] += 1


def window_from_the_one_before(a):
    for i in range(1, len(a) - 4):
        a[i : i + 4] = a[i - 1 : i + 3]


def fresh(a):
    out = np.zeros_like(a)
    for i in range(len(a)):
        out[i % 7] += a[i]
    return out


def argument_and_fresh(a):
    b = np.empty_like(a)
    for i in range(len(a)):
        a[i] += 1
        b[i] = a[i]
    return b


def by_branch(a):
    for i in range(len(a)):
        if a[i] > 0.5:
            a[i] = 0.0
        else:
            a[i] = 1.0


def in_one_arm(a):
    for i in range(len(a)):
        if a[i] > 0.5:
            continue
        a[i] += 1


def by_condition(a):
    i = 0
    while i < len(a):
        a[i] = a[i] + 1
        i += 1


def until_break(a):
    for i in range(len(a)):
        a[i] += 1
        if a[i] > 1e9:
            break


def running_sum(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
        a[i] = s


def backwards(a):
    for i in range(len(a) - 2, -1, -1):
        a[i] += a[i + 1]


def by_steps(a):
    for i in range(0, len(a) - 1, 2):
        a[i] = a[i + 1]


def at_a_computed_place(a):
    for i in range(len(a)):
        a[(i * 7) % len(a)] = a[i] + 1


def from_the_end(a):
    for i in range(1, len(a)):
        a[-i] = a[i]


def column(m):
    for j in range(1, m.shape[1]):
        m[:, j] += m[:, j - 1]


def part_of_a_column(m):
    for j in range(1, m.shape[1]):
        m[1:-1, j] = m[1:-1, j - 1] * 0.5


def element_of_a_matrix_twice(m):
    for i in range(m.shape[0]):
        for j in range(1, m.shape[1]):
            m[i, j] *= 2
            m[i, j] -= m[i, j - 1]


def element_of_a_row_that_is_read_too(m):
    for i in range(1, m.shape[0]):
        for j in range(1, m.shape[1]):
            m[i, j] -= np.dot(m[i, :j], m[0, :j]) * 1e-4
            m[i, j] *= m[0, j]


def element_of_a_row(m):
    for j in range(m.shape[1]):
        m[1][j] = m[0][j]


def through_a_view(m):
    row = m[1]
    for j in range(1, m.shape[1]):
        row[j] = 1.0
        row[j - 1] += row[j]


def rows_in_turn(a):
    d = np.zeros((2, len(a)))
    for i in range(1, len(a)):
        d[0, i] = max(d[0, i - 1], d[1, i - 1] + a[i])
        d[1, i] = d[0, i - 1]
    return d


def filled(a):
    for i in range(len(a) - 3):
        a[i : i + 3].fill(i)


def copied_to(a):
    for i in range(len(a) - 3):
        np.copyto(a[i : i + 3], 1.0)


def by_out(a):
    for i in range(len(a) - 3):
        np.add(a[i : i + 3], 1.0, out=a[i : i + 3])


def _put(a, i):
    a[i] += 1


def by_a_helper(a):
    for i in range(len(a)):
        _put(a, i)


def counted(a):
    c = np.zeros(len(a), np.int64)
    for v in a:
        c[int(v * 10)] += 1
    return c


def two_copies(a):
    hi = a.copy()
    lo = a.copy()
    for i in range(1, len(a)):
        hi[i] = max(hi[i - 1], a[i])
        lo[i] = min(lo[i - 1], a[i])
    return hi - lo


def recurrence_of_two(a):
    b = np.zeros_like(a)
    for i in range(2, len(a)):
        b[i] = b[i - 1] * 0.5 + b[i - 2] * 0.25 + a[i]
        b[i - 2] -= 0.5
    return b


def table_of_distances(a):
    n = 32
    d = np.zeros((n, n), np.int64)
    for i in range(1, n):
        for j in range(1, n):
            cost = 0 if a[i] > a[j] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d


def integers(a):
    c = np.arange(len(a))
    for i in range(1, len(a)):
        c[i] ^= c[i - 1]
        c[i] += 3
    return c


def flags(a):
    seen = np.zeros(len(a), bool)
    for i in range(len(a)):
        j = (i * 5) % len(a)
        if not seen[j]:
            seen[j] = True
            a[j] += 1
    return seen


PROGRAMS = [f for f in list(globals().values()) if callable(f) and getattr(f, "__module__", "") == __name__ and f.__name__ != "_put"]


def copies_in_loops(graph: str) -> Iterator[str]:
    """Ops in loops that allocate or copy as many elements as an array has, once a round and not once a call."""
    with thread_context():
        module = parse_module(graph)
        for loop in [op for op in walk(module.operation) if op.name in ("scf.for", "scf.while")]:
            for op in walk(loop):
                if op.name in ("memref.copy", "memref.alloc") and ONCE not in op.attributes:
                    type_ = ir.ShapedType((op.results[0] if len(op.results) else op.operands[0]).type)
                    if not type_.has_static_shape or prod(type_.shape) >= N // 4:
                        yield str(op)


def table(a, n):
    t = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            t[i, j] = a[j] * i
    return t


def prefix_sums(a, n):
    t = np.zeros(n + 1)
    for i in range(n):
        t[i + 1] = t[i] + a[i]
    return t


def smoothed(a, n):
    t = a[:n] * 2.0
    for i in range(1, n):
        t[i] += 0.5 * t[i - 1]
    return t


def ways(a, n):
    t = np.zeros((n, 3), np.int64)
    for i in range(1, n):
        t[i, 0] = t[i - 1, 1] + 1
        t[i, 1] += t[i, 0] * 2
    return t


@pytest.mark.parametrize("program", [table, prefix_sums, smoothed, ways])
def test_no_round_copies_an_array_whose_size_is_any_int(program: Callable[..., Any]):
    f, a = tierup.jit(program, weigh=False), np.random.default_rng(5).random(N)
    for n in (40, 50, 60):
        np.testing.assert_allclose(f(a, n), program(a, n), rtol=1e-12)
    assert f.versions[0].guards.endswith("n: int = s0") and f.stats().hits == 2
    assert not list(copies_in_loops(f.plan(stage="buffers")))


SIZES: dict[str, Any] = {"known": {}, "open": {"fusion_strategy": [("dynamic", 1)]}}
CASES = [(p, sizes) for p in PROGRAMS for sizes in SIZES if sizes == "known" or p not in (column, part_of_a_column)]  # they hold a column


@pytest.mark.parametrize(("program", "sizes"), drawn("stores in loops", CASES, 4), ids=lambda x: getattr(x, "__name__", x))
def test_no_round_copies_an_array(program: Callable[..., Any], sizes: str):
    f = tierup.jit(program, weigh=False, num_profiled_runs=0, **SIZES[sizes])
    shape = (4, N // 4) if program.__code__.co_varnames[0] == "m" else (N,)
    start = np.random.default_rng(5).random(shape)
    got, expected = start.copy(), start.copy()
    result, wanted = f(got), program(expected)
    np.testing.assert_allclose(got, expected, rtol=1e-12)
    if wanted is None:
        assert result is None
    else:
        np.testing.assert_allclose(result, wanted, rtol=1e-12)
        assert result.dtype == wanted.dtype
    assert f.stats().hits == 1
    assert not list(copies_in_loops(f.plan(stage="buffers")))


def test_what_is_read_as_it_was_before_the_stores_is_no_victim_of_them():
    def program(a):
        out = np.zeros_like(a)
        for i in range(2, len(a)):
            before = a.copy()
            a[i] *= 2
            a[i] += before[i - 1]
            a[i - 1] = 0.0
            out[i] = before[i] - a[i] + before.sum() - a.sum()
            out[i] *= 0.5
        return out

    f = tierup.jit(program, weigh=False, num_profiled_runs=0)
    got, expected = (np.random.default_rng(6).random(64) for _ in range(2))
    np.testing.assert_allclose(f(got), program(expected), rtol=1e-9)
    np.testing.assert_allclose(got, expected, rtol=1e-9)
    assert f.stats().hits == 1
