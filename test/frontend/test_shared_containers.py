"""Lists and dicts with two names: a change by one of them is seen by the other, whichever path made them one."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup

HELPERS = """
def same(l):
    return l

def pick(c, l, m):
    if c:
        return l
    return m
"""
WAYS = {
    "a conditional expression": "l = a if x.sum() > 1 else b",
    "a branch": "if x.sum() > 1:\n        l = a\n    else:\n        l = b",
    "a nested branch": "l = b\n    if x.sum() > 1:\n        if x[0] > 0:\n            l = a",
    "a helper": "l = same(a)",
    "a helper that chooses": "l = pick(x.sum() > 1, a, b)",
    "a loop": "l = a\n    for i in range(int(x.sum())):\n        l = b",
    "a tuple": "t = (a, 1) if x.sum() > 1 else (b, 1)\n    l = t[0]",
    "a list of it": "t = {'k': a} if x.sum() > 1 else {'k': b}\n    l = t['k']",
}
CHANGES = {
    "nothing": "pass", "an append": "L.append(x)", "an item": "L[0] = x + 5", "a sum": "L += [x]", "an extend": "L.extend([x, x])", "a pop": "L.append(L.pop(0))",
}  # fmt: skip
RESULTS = ("l", "(l, a)", "(l, a, b)", "(a, b)", "(len(l), a)", "l[0] + a[0]")
CASES = list(itertools.product(WAYS, CHANGES, "la", RESULTS))


def identities(result: Any) -> list[tuple[int, int]]:
    """Which lists of a result are one."""
    items = result if isinstance(result, tuple) else (result,)
    return [(i, j) for i, j in itertools.combinations(range(len(items)), 2) if isinstance(items[i], list) and items[i] is items[j]]


@pytest.mark.parametrize(("way", "change", "of", "result"), drawn("shared containers", CASES, 40, lambda case: case[0]))
@pytest.mark.parametrize("total", [3.0, 0.5])
def test_a_change_is_seen_under_every_name(define: Callable[[str], Any], way: str, change: str, of: str, result: str, total: float) -> None:
    x = np.full(3, total / 3)
    lines = ["a = [x, x - 1]", "b = [x * 2, x]", WAYS[way], CHANGES[change].replace("L", of), f"return {result}"]
    f = define(f"{HELPERS}\ndef f(x):\n" + "".join(f"    {line}\n" for line in lines))
    want = f(x)
    jitted = tierup.jit(f, optimize=False)
    for _ in range(3):
        got = jitted(x)
        assert repr(got) == repr(want)
        assert identities(got) == identities(want)


@pytest.mark.parametrize("made", ["[x]", "[x] if n else [x * 3]", "[x, *more(x)]"])
def test_a_list_that_only_an_arm_has_may_change(define: Callable[[str], Any], made: str) -> None:
    f = define(f"def more(x):\n    return [x]\n\ndef f(x, n):\n    if x.sum() > 1:\n        l = {made}\n    else:\n        l = {made}\n    l.append(x)\n    return l\n")
    jitted = tierup.jit(f, strict=True)
    for n in (0, 1):
        assert repr(jitted(np.ones(3), n)) == repr(f(np.ones(3), n))


def test_a_list_that_two_paths_have_is_native_where_it_is_only_read(define: Callable[[str], Any]) -> None:
    f = define("def f(x):\n    a = [x * 3]\n    b = [x * 2]\n    l = a if x.sum() > 1 else b\n    return l[0] + 1, len(l), l\n")
    jitted = tierup.jit(f, strict=True)
    for _ in range(4):
        jitted(np.ones(3))
    assert jitted.stats().hits >= 2
