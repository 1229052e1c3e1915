"""A check that fails in the middle of a loop: the exception of plain Python, what was written before it, and the loop's code fit for the next call."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import function_of

import tierup

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
    source = f"def f(x, at, n):\n{textwrap.indent(PROGRAMS[name], '    ')}\n"
    plain: dict[str, Any] = {"np": np}
    exec(source, plain)  # noqa: S102 - our own program
    f = tierup.jit(function_of(source, tmp_path), weigh=False)
    rng = np.random.default_rng(3)
    fine = rng.integers(1, 5, 8)
    wrong = [(k, by) for k in (0, 3, 7) for by in (-40, 5, 8, 2**40)]
    for k, by in [(None, 0)] * 4 + wrong + [(None, 0)]:
        at = fine.copy()
        if k is not None:
            at[k] = by
        x = rng.random(8)
        ends = []
        for function in (f, plain["f"]):
            given = x.copy()
            try:
                with np.errstate(all="ignore"):
                    result = function(given, at, 8)
            except Exception as e:  # noqa: BLE001 - whatever plain Python raises
                result = f"{type(e).__name__}: {e}"
            ends.append((result, given))
        (found, left), (want, kept) = ends
        assert (found == want) if isinstance(want, str) else _same(found, want), (k, by)
        assert np.array_equal(left, kept), (k, by)
    assert f.stats().hits >= 4, f.explain()


def _same(found: Any, want: Any) -> bool:
    if isinstance(want, tuple):
        return len(found) == len(want) and all(map(_same, found, want))
    return type(found) is type(want) and np.array_equal(found, want)
