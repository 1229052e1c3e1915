"""Comprehensions and what takes items one by one (`sum`, `any`, `max`, `map`, `reduce`): native, in Python's order, however many items there are."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import alike, both, ending
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import drawn, examples

X = {n: np.random.default_rng(n).standard_normal(n) * 2 for n in (0, 1, 6, 9)}
NATIVE = {
    "sum": "return sum(x), sum(x, 1.5), sum(v * v for v in x)",
    "sum of floats": "return sum(float(v) for v in x), sum([float(v) * 0.1 for v in x], 0.25), sum([0.1] * 10)",
    "sum of ints": "return sum(1 for v in x if v > 0), sum(i for i in range(len(x)))",
    "sum of those that pass": "return sum(v for v in x if v > 0)",
    "sum over two": "return sum(x[i] * x[j] for i in range(len(x)) for j in range(i) if i + j > 1)",
    "sum of products": "return sum(a * b for a, b in zip(x, x[::-1])), sum(i * v for i, v in enumerate(x))",
    "a list of sums": "a = np.outer(x, x + 1)\nreturn [sum(row) for row in a], [sum(row) * 2 + i for i, row in enumerate(a)]",
    "goes on from a sum": "s = sum(x)\nreturn s * 2 + 1, np.sin(s)",
    "a list": "return [float(v) * 2 for v in x], [v * 2 for v in x]",
    "a list of those that pass": "return [float(v) for v in x if v > 0 if v < 2]",
    "a list of pairs": "return [(i, float(v)) for i, v in enumerate(x) if v > 0], list(enumerate(x))",
    "a list over two": "return [i * j for i in range(len(x)) for j in range(i)]",
    "an array of a list": "y = np.array([v * 2 for v in x])\nreturn y, len([v for v in x if v > 0])",
    "a table": "return np.array([[v * w for v in x] for w in x]), np.asarray([[i * j for j in range(3)] for i in range(len(x))]), np.array([[float(x[i]) for i in range(len(x))] for _ in range(2)])",
    "a table of what is asked of another": "a = np.outer(x, x) > 0\nn = len(x)\ndef beside(i, j):\n    return sum(a[(i + k) % n, j] for k in (-1, 1))\nreturn np.array([[1 if beside(i, j) == 2 else 0 for j in range(n)] for i in range(n)])",
    "in one another": "return [sum(v * i for v in x) for i in range(3)], sum(sum(a * b for a in x) for b in x)",
    "any and all": "return any(v > 2 for v in x), all(v > -9 for v in x), any(x), all(x)",
    "any over two": "return any(x[i] > x[j] for i in range(len(x)) for j in range(i)), all(x[i] > x[j] for i in range(len(x)) for j in range(i))",
    "any stops": "return any(10.0 / v > 1 for v in (1.0, float(len(x)))), all(x[i] > 9 for i in (0, 99))",
    "max and min": "return max(x), min(x), max(abs(v) for v in x), max(x[0], 1.5, x[0] * 2), min((3, 1))",
    "max by a key": "return max(x, key=lambda v: -v * v), min([3.0, -1.0, float(x[0])], key=abs), max([2, 3, 1], key=lambda v: -v)",
    "max with a default": "return max((float(v) for v in x), default=-1.0), min([], default=n_), max((3, 1), default=9), max(x, default=7)".replace("n_", "2.5"),
    "a generator in a loop": "s = 0.0\nfor v in (t * 2 for t in x):\n    s += v\nreturn s",
    "a generator in a zip": "return sum(a * b for a, b in zip((t + 1 for t in x), x))",
    "an item that only raises": "s = 0\nfor v in map(lambda u: 1 // 0, x[6:]):\n    s += v\nreturn s, sum(1 // 0 for v in x[6:]), list(map(lambda u: 1 % 0, x[6:]))",
    "map": "return list(map(lambda a, b: a * b, x, x)), sum(map(abs, x)), [v for v in map(float, (1, 2))]",
    "loops over a filter": "s, v = 0.0, -1.0\nfor v in filter(lambda q: q > 0.1, x):\n    if v > 1.5:\n        break\n    if v < 0.5:\n        continue\n    s += float(v)\nelse:\n    s = -s\nfor i, w in filter(lambda p: p[1] < 0, enumerate(x)):\n    return s, i, v\nreturn s, v, sum(1 for q in x)",
    "filter": "k = 0.5\nbig = list(filter(lambda v: v > k, x))\nreturn len(big), big, sum(filter(None, x)), any(filter(lambda v: v > 2, x)), sum(filter(lambda i: i % 2, range(len(x))))",
    "reduce": "return functools.reduce(lambda a, b: a * 0.5 + b, x, 0.0), functools.reduce(lambda a, b: a + b, [1, 2, 3])",
    "the names are its own": "v, i = 5, x\nr = [v * 2 for v in x], sum(i for i in x)\nreturn r, v, i",
    "over a list that grew": "l = [float(v) for v in x if v > 0]\nreturn sum(l), [v * 2 for v in l], any(v > 1 for v in l), list(l)",
    "of what is known": "return [[i * j for j in range(3)] for i in range(3)], tuple(v for v in (1, 2)), {k: k * x for k in (1, 2)}",
}  # fmt: skip
EMPTY = ("max and min", "max by a key")  # raise of no items
IN_PART = {
    "names that generators bind": "last = 1.5\nt = sum(filter(None, (v if (last := v) > 0.5 else 0 for v in x)))\nu = last\nw = list(map(lambda q: q * 2, (v for v in x if (last := v * 3) > 0)))\nreturn t, u, w, last",
    "names that are bound until one is found": "last = 1.5\nt = any(map(lambda q: q > 1, ((last := v) * 2 for v in x)))\nreturn t, last",
    "names that are bound beside others": "last = 1.5\nt = list(zip(((last := v) for v in x), x))\nm = max(((last := v) * 2 for v in x), key=lambda q: -q, default=0)\nk = 0.5\nfor y in filter(None, ((k := v) * 2 for v in x)):\n    if y > 1:\n        break\nreturn t, last, m, k",
    "rows of other lengths": "return [len(r) for r in [[v for v in x[:i]] for i in range(len(x))]], np.array([[i for i in range(3)] for v in x if v > 0])",
    "rows": "return [x[i:i + 2] for i in range(len(x))]",
    "a set": "return {float(v) for v in x} == set(x.tolist())",
    "a dict": "return {i: float(v) for i, v in enumerate(x)}",
    "two generators that are kept": "g = (v for v in x)\nh = (v * 2 for v in x)\nreturn sum(g), sum(g), list(h), list(h)",
    "a generator that is given away": "return sorted(v for v in x), ','.join(str(i) for i in range(len(x)))",
    "max of those that pass, with a default": "return max((v for v in x if v > 99), default=-1)",
    "a filter that is kept": "g = filter(lambda v: v > 0, x)\nreturn sum(g), sum(g), max(filter(None, x), default=0.5)",
    "a filter of another name": "def filter(test, items):\n    return [test, len(items)]\nreturn list(filter(1, x))",
    "a filter by what is no function": "return sum(filter(3, x))",
    "writes": "y = x.copy()\ndef put(i):\n    y[i] = i\n    return i\nreturn [put(i) for i in range(len(x))], y",
}  # fmt: skip


def check(body: str, folder: Path, sizes: tuple[int, ...] = (6, 6, 9, 6, 1, 9, 0, 0)) -> Any:
    jitted, plainly = both("x", body, folder)
    plainly.__globals__["functools"] = functools
    for n in sizes:
        found, wanted = ending(jitted, X[n].copy()), ending(plainly, X[n].copy())
        assert alike(found, wanted, 1e-15), (n, found, wanted)
    return jitted


@pytest.mark.parametrize("name", drawn("comprehensions", [*NATIVE], 3))
def test_items_are_taken_in_native_code(name: str, tmp_path: Path) -> None:
    jitted = check(NATIVE[name], tmp_path)
    assert jitted.stats().hits >= 2, jitted.explain()
    assert "Python at" not in jitted.explain() and "foreign call" not in jitted.explain(), jitted.explain()


def test_a_sum_of_arrays_that_are_none_is_pythons(tmp_path: Path) -> None:
    jitted = check("k = 2\na = [sum(row) for row in np.outer(x, x)]\nreturn a, sum(x) * k", tmp_path, (6, 6, 6, 0, 6, 0, 9))
    assert jitted.stats().hits >= 3 and "Python at" not in jitted.explain(), jitted.explain()


@pytest.mark.parametrize("name", IN_PART)
def test_what_no_native_code_holds_is_pythons(name: str, tmp_path: Path) -> None:
    check(IN_PART[name], tmp_path)


ELEMENTS = st.sampled_from(("v", "(k := float(v))", "float(v)", "i", "float(v) * i", "v > 0", "(v + i) * k", "1", "k", "v if v > 0 else k", "0.1"))
TESTS = st.sampled_from(("", " if v > k", " if i % 2", " if v > -9 if i"))
TAKERS = st.sampled_from(("sum({})", "[{}]", "any({})", "all({})", "list({})", "sum([{}])", "sum(({}), k)", "len([{}])", "max([k, *[{}]])", "sum(map(float, [{}]))"))


@settings(max_examples=examples(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(TAKERS, ELEMENTS, TESTS), min_size=1, max_size=3))
def test_any_comprehension_gives_what_python_gives(tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[str, str, str]]) -> None:
    values = ", ".join(taker.format(f"{element} for i, v in enumerate(x){test}") for taker, element, test in parts)
    check(f"k = 0.5\nreturn {values}, k", tmp_path_factory.mktemp("comprehensions"), (6, 6, 9, 0, 6))
