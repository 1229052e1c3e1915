"""A check that fails in the middle of a loop: the exception of plain Python, what was written before it, and the loop's code fit for the next call."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beside_python import alike, both, ending

PROGRAMS = {
    "a_load": "s = 0.0\nfor i in range(n):\n    s += x[at[i]]\nreturn s",
    "a_store": "for i in range(n):\n    x[at[i]] += 1.5\nreturn x",
    "in_two_loops": "s = 0.0\nfor i in range(3):\n    for j in range(n):\n        s = s * 0.5 + x[at[j] + i - 1]\n    x[i] = s\nreturn x, s",
    "behind_a_loop": "k = -1\nfor i in range(n):\n    if at[i] > 3:\n        k = at[i]\nreturn x[k]",
    "of_a_while_loop": "i, s = 0, 0.0\nwhile s < 1e9 and i < n:\n    s += abs(x[at[i]])\n    i += 1\nreturn s, i",
    "left_by_break": "k = 0\nfor i in range(n):\n    if x[at[i]] < 0.1:\n        break\n    k += at[i]\nreturn k",
    "left_by_return": "for i in range(n):\n    if x[at[i]] < 0.1:\n        return i\nreturn -1",
    "a_division": "s = 0\nfor i in range(n):\n    s += 100 // (at[i] - 5)\nreturn s",
    "an_int_too_large": "s = 1\nfor i in range(n):\n    s = s * (int(at[i]) + 3)\nreturn s",
    "positions_carried": "k = 0\nfor i in range(n):\n    k = at[k]\nreturn k, x[k]",
    "both_sides": "lo, hi = 0, n\nwhile lo < hi:\n    x[lo], x[at[lo]] = x[at[lo]], x[lo]\n    lo += 1\n    hi -= 1\nreturn x",
    "rows_made_in_it": "out = np.zeros((n, 3))\nfor i in range(n):\n    row = np.arange(3) * x[at[i]]\n    out[i] = row + at[i]\nreturn out",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_check_that_fails_in_any_round_leaves_what_python_leaves(name: str, tmp_path: Path) -> None:
    f, plain = both("x, at, n", PROGRAMS[name], tmp_path)
    rng = np.random.default_rng(3)
    fine = rng.integers(1, 5, 8)
    wrong = [(k, by) for k in (0, 3, 7) for by in (-40, 5, 8, 2**40)]
    for k, by in [(None, 0)] * 4 + wrong + [(None, 0)]:
        at = fine.copy()
        if k is not None:
            at[k] = by
        x = rng.random(8)
        left, kept = x.copy(), x.copy()
        assert alike(ending(f, left, at, 8), ending(plain, kept, at, 8), 0), (k, by)
        assert np.array_equal(left, kept), (k, by)
    assert f.stats().hits >= 4, f.explain()


BY_ENDS = {
    "sums": "s = 0.0\nfor i in range(low, high):\n    s += x[i + k]\nreturn s",
    "differences": "s = 0.0\nfor i in range(low, high):\n    s += x[k - i] * x[i]\nreturn s",
    "products": "s = 0.0\nfor i in range(low, high):\n    s += x[2 * i + k]\nreturn s",
    "products_from_the_end": "s = 0.0\nfor i in range(5):\n    s += x[c + i * -3]\nreturn s",
    "backwards": "for i in range(high, low, -1):\n    x[i] += 0.5 * x[i - k]\nreturn x",
    "of_some_rounds": "for i in range(low, high):\n    if x[i + k] > 0.3:\n        x[i] += x[i + k]\nreturn x",
    "counted_in_some_rounds": "for i in range(low, high):\n    if x[i] > 0.5:\n        k += 1\n        x[k] = x[i] * 0.5\nreturn x, k",
    "counted_both_ways": "for i in range(low, high):\n    if x[i] > 0.5:\n        c -= 1\n    else:\n        c += 2\n    x[c] += 1.0\nreturn x",
    "counted_by_what_wraps": f"for i in range(low, high):\n    x[c] += 1.0\n    c += {2**62}\nreturn x",
    "rows": "m = x.reshape(4, 4)\ns = 0.0\nfor i in range(low, high):\n    for j in range(4):\n        s += m[i, j] * m[j, k]\nreturn s",
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", BY_ENDS)
def test_positions_with_ends_inside_beyond_and_counted_from_the_end_are_pythons(name: str, tmp_path: Path) -> None:
    f, plain = both("x, low, high, k", f"c = np.zeros(1, np.int64)[0] + k\n{BY_ENDS[name]}", tmp_path)
    start = np.random.default_rng(4).random(16)
    ends = [(0, 5), (2, 4), (3, 7), (0, 16), (0, 17), (-3, 6), (-16, 16), (-17, 2), (9, 9), (-(2**63), -(2**63) + 3), (2**63 - 4, 2**63 - 1)]
    for low, high in ends:
        for k in (0, 1, 3, -1, -4, 7, 2**62, 2**63 - 1, -(2**63)):
            left, kept = start.copy(), start.copy()
            assert alike(ending(f, left, low, high, k), ending(plain, kept, low, high, k), 0), (low, high, k)
            assert np.array_equal(left, kept), (low, high, k)
    assert f.stats().hits >= 20, f.explain()
