"""`return` and `else` of loops, and jumps out of loops that change what kind of value a name has: native, and what plain Python gives."""

from __future__ import annotations

import ast
import random
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import both
from checking import plain

from tierup.frontend.python.flow.leaving import leaving
from tierup.frontend.python.flow.parts import with_blocks

PROGRAMS = {
    "first_above": "for i in range(len(x)):\n    if x[i] > t:\n        return i\nreturn -1",
    "element_found": "for v in x:\n    if v > t:\n        return v\nreturn None",
    "row_found": "for i in range(len(x)):\n    row = y[i:i + 2]\n    if row.sum() > t:\n        return row * 2\nreturn x * 3",
    "argument_itself": "for v in x:\n    if v > t:\n        return x\nreturn y",
    "is_prime": "if n < 2:\n    return False\ni = 2\nwhile i * i <= n:\n    if n % i == 0:\n        return False\n    i += 1\nreturn True",
    "for_ever": "c = 0\nwhile True:\n    if n == 1:\n        return c\n    n = n // 2 if n % 2 == 0 else 3 * n + 1\n    c += 1",
    "bisection": "lo, hi = 0, len(x)\nwhile lo < hi:\n    m = (lo + hi) // 2\n    if x[m] == t:\n        return m\n    if x[m] < t:\n        lo = m + 1\n    else:\n        hi = m\nreturn -1, lo",
    "pair": "for i in range(len(x)):\n    for j in range(len(y)):\n        if x[i] + y[j] > t:\n            return i, j\nreturn None",
    "inner_else": "c = 0\nfor i in range(2, n + 2):\n    for j in range(2, i):\n        if i % j == 0:\n            break\n    else:\n        c += 1\nreturn c",
    "else_returns": "for v in x:\n    if v > t:\n        break\nelse:\n    return -1.0\nreturn v",
    "while_else": "i = 0\nwhile i < len(x):\n    if x[i] > t:\n        break\n    i += 1\nelse:\n    i = -i\nreturn i",
    "sum_until": "s = 0.0\nk = -1\nfor i in range(len(x)):\n    s += x[i]\n    if s > t:\n        k = i\n        break\nreturn k, s",
    "sum_returned": "s = 0\nfor i in range(len(x)):\n    s += x[i]\n    if s > t:\n        return s, i\nreturn s",
    "sum_by_while": "i, s = 0, 0.0\nwhile i < len(x):\n    s = s + x[i]\n    if s > t:\n        break\n    i += 1\nreturn i, s",
    "last_seen": "for i in range(len(x)):\n    v = x[i]\n    if v > t:\n        break\nreturn v, i",
    "skips": "s = 0.0\nfor v in x:\n    if v < t:\n        continue\n    s += v\n    if s > 3:\n        return s\nreturn -s",
    "choice": "for i in range(len(x)):\n    if x[i] > t:\n        return x[i] if i % 2 else i\nreturn None",
    "written": "for i in range(len(x)):\n    if x[i] > t:\n        return x\n    x[i] = t\nreturn x[:2]",
    "known_rounds": "for k in range(50):\n    d = (t * t - 2) / (2 * t + 1)\n    t = t - d\n    if abs(d) < 1e-9:\n        return t, k\nreturn t, -1",
    "truth_of_an_element": "for i in range(len(x)):\n    if x[i] > t or (i > n and y[i]):\n        return i\nreturn -1 if not (n and x[0]) else n",
    "largest": "m = x[0]\nfor i in range(1, len(x)):\n    if x[i] > m:\n        m = x[i]\nreturn m",
}  # fmt: skip
STAY_IN_PART = {"else_returns", "written"}  # a name that no round may set; a view or the array itself


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_that_is_left_is_native_and_gives_what_python_gives(name: str, tmp_path: Path) -> None:
    f, plain = both("x, y, t, n", PROGRAMS[name], tmp_path)
    rng = np.random.default_rng(1)
    for t, n in ((0.5, 7), (0.9, 9), (1.7, 27), (0.2, 1), (99.0, 13), (0.7, 2)):
        x, y = np.sort(rng.random(6)), rng.random(6)
        mine, theirs = x.copy(), x.copy()
        found, want = f(mine, y, t, n), plain(theirs, y, t, n)
        assert repr(found) == repr(want) and repr(mine) == repr(theirs)
        assert (found is mine, found is y) == (want is theirs, want is y)
    assert name in STAY_IN_PART or f.stats().hits >= 4 and f.stats().python == 0, f.explain()


def _statements(draw: random.Random, depth: int, loops: int, names: list[str]) -> str:
    """Statements of ints, loops in one another with all jumps."""
    lines = []
    for _ in range(draw.randint(1, 3)):
        kind, test = draw.random(), f"{draw.choice(names)} % {draw.choice((2, 3, 5))} == {draw.randrange(3)}"
        if kind < 0.3:
            lines.append(f"{draw.choice(names[:2])} += {draw.choice(names)} + 1")
        elif kind < 0.55 and depth < 3:
            name = f"i{depth}"
            head = f"for {name} in range({draw.choice(('n', '3', 'n - 2'))}):" if draw.random() < 0.7 else f"{name} = 0\nwhile {name} < n:\n    {name} += 1"
            body = _statements(draw, depth + 1, loops + 1, [*names, name])
            lines.append(f"{head}\n{textwrap.indent(body, '    ')}")
            if draw.random() < 0.4:
                lines.append(f"else:\n{textwrap.indent(_statements(draw, depth + 1, loops, names), '    ')}")
        elif kind < 0.9:
            value = draw.choice((*names, "a, b", "7", "-1", "None", f"a if {test} else b", "(b, n)"))
            jump = draw.choice(("break", "continue", f"return {value}", f"return {value}")) if loops else f"return {value}"
            lines.append(f"if {test}:\n    {jump}")
        else:
            lines.append("a = b - a")
    return "\n".join(lines)


def _rewritten(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Every loop with `return` or `else` in it as `leaving` has it."""
    made: list[ast.stmt] = []
    for node in statements:
        found = leaving(node) if isinstance(node, (ast.For, ast.While)) else None
        if found is None:
            made.append(with_blocks(node, _rewritten))
            continue
        names = dict.fromkeys([found.left, *found.slots])
        made += [ast.Assign([ast.Name(name, ast.Store())], ast.Constant(0)) for name in names]
        made += [with_blocks(found.loop, _rewritten), *_rewritten(found.after)]
    return made


@pytest.mark.parametrize("seed", range(60))
def test_a_loop_without_return_and_else_does_what_the_loop_with_them_does(seed: int) -> None:
    source = f"def f(n, a, b):\n{textwrap.indent(_statements(random.Random(seed), 0, 0, ['a', 'b', 'n']), '    ')}\n    return a, b\n"  # noqa: S311
    tree = ast.parse(source)
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = _rewritten(function.body)
    without: dict[str, Any] = {}
    with_them = plain(source)
    exec(compile(ast.fix_missing_locations(tree), "rewritten", "exec"), without)  # noqa: S102
    loops = [node for node in ast.walk(tree) if isinstance(node, (ast.For, ast.While))]
    assert not any(loop.orelse or any(isinstance(inner, ast.Return) for inner in ast.walk(loop)) for loop in loops)
    for n in range(6):
        for a in range(4):
            assert without["f"](n, a, 1) == with_them(n, a, 1), source
