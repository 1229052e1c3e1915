"""break, continue and return out of `try`, `with` and branches, in every kind of loop."""

from __future__ import annotations

import itertools
import textwrap
from pathlib import Path

import numpy as np
import pytest
from checking import plain
from running import function_of
from sampling import drawn

import tierup

LOOPS = ("for i in range(n):", "for i in range(6):", "for i in (0, 1, 2, 3, 4, 5):", "for i, r in enumerate(x):", "i = -1\nwhile i < 6:\n    i += 1", "i = -1\nwhile True:\n    i += 1\n    if i > 5: break")
HOLDERS = {
    "plain": "JUMP", "with": "with np.errstate(all='ignore'):\n    JUMP", "try": "try:\n    JUMP\nexcept ValueError:\n    v = v - 1",
    "handler": "try:\n    (1, 2)[2]\nexcept IndexError:\n    JUMP\nelse:\n    v = v - 1", "else": "try:\n    (1, 2)[1]\nexcept IndexError:\n    v = v - 1\nelse:\n    JUMP",
    "with_try": "with np.errstate(all='ignore'):\n    try:\n        w = 7\n        JUMP\n    except ValueError as e:\n        v = 1",
    "sets_before": "try:\n    w = 3\n    (1, 2)[2]\n    w = 4\nexcept IndexError:\n    v = v + w\n    JUMP", "in_one_arm": "if i % 2:\n    try:\n        JUMP\n    except ValueError:\n        v = v + 2\nelse:\n    v = v + 1",
}  # fmt: skip
CASES = list(itertools.product(LOOPS, HOLDERS, ("break", "continue", "return v * 2, i"), ("v.sum() > 9", "i == 2")))


def program(loop: str, holder: str, jump: str, condition: str) -> str:
    body = f"v = v + i\nif {condition}:\n{textwrap.indent(HOLDERS[holder].replace('JUMP', jump), '    ')}\nw = w + 1\nv = v * 1.5"
    lines = f"v = x[0]\nw = i = 0\n{loop}\n{textwrap.indent(body, '    ')}\nreturn v, w, i"
    return f"def f(x, n):\n{textwrap.indent(lines, '    ')}\n"


@pytest.mark.parametrize("case", drawn("jumps", CASES, 18), ids=str)
def test_a_jump_out_of_a_statement_is_the_one_of_the_loop(case: tuple[str, str, str, str], tmp_path: Path) -> None:
    source = program(*case)
    python = plain(source)
    x = np.arange(21.0).reshape(7, 3) / 8
    wants = [python(x, n) for n in (6, 0, 3, 6)]
    is_python = "return" in case[2] and "try" in HOLDERS[case[1]]  # what the run computes inside `try`
    for options in ({"optimize": False}, {}):
        f = tierup.jit(function_of(source, tmp_path), strict=not is_python, **options)
        for n, want in zip((6, 0, 3, 6), wants, strict=True):
            got = f(x, n)
            assert len(got) == len(want) and all(np.allclose(a, b, rtol=1e-14) for a, b in zip(got, want, strict=True)), source


@pytest.mark.parametrize(
    "after", ["try:\n    k = (1, 2)[1]\nexcept IndexError:\n    q = 1", "k = [1 for q in (3, 4)]", "k = n < 99 or (q := 5)", "with np.errstate(all=q):\n    q = 2", "k = n if n else (q := 3)"]
)  # fmt: skip
def test_what_a_loop_sets_lives_where_later_statements_may_not_set_it(after: str, tmp_path: Path) -> None:
    source = f"def f(x, n):\n    for i in range(n):\n        q = ('ignore', 'warn')[i == 0] if 'all=q' in {after!r} else x + i\n{textwrap.indent(after, '    ')}\n    return q\n"
    python = plain(source)
    f = tierup.jit(function_of(source, tmp_path))
    for n in (3, 3, 1, 5):
        assert np.array_equal(f(np.ones(2), n), python(np.ones(2), n))
