"""Lists that branches and loops append to: native, and what plain Python gives, with more items than the first graph has room for."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import alike, both, ending
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sampling import drawn, examples

import tierup
from tierup.dialect.speculation.reasons import Reason

FEW, MANY = 7, 1500  # the first graph has room for 1024
X = {n: np.random.default_rng(n).standard_normal(n) for n in (0, FEW, MANY)}
# of an array: bodies that are native as a whole
NATIVE = {
    "where an element is positive": "out = []\nfor i in range(len(x)):\n    if x[i] > 0:\n        out.append(float(x[i]) * 2)\nreturn out",
    "NumPy's scalars": "out = []\nfor v in x:\n    if v > 0:\n        out.append(v)\nreturn out",
    "bools": "out = []\nfor v in x:\n    out.append(v > 0)\nreturn out",
    "ints": "out = [-1, -1]\nfor i in range(len(x)):\n    if x[i] < 0:\n        out.append(i)\nreturn out, len(out)",
    "tuples": "out = []\nfor i, v in enumerate(x):\n    if v > 0:\n        out.append((i, v, (float(v), v > 1)))\nreturn out",
    "complex numbers": "out = []\nfor v in x:\n    out.append(complex(v, 1.0) ** 2)\nreturn out",
    "an array of it": "out = []\nfor v in x:\n    if v > 0.5:\n        out.append(v * 2)\nreturn np.array(out), np.array(out).max() + 1, np.asarray(out)[:2]",
    "an array of pairs": "out = []\nfor v in x:\n    out.append((float(v), 2.0))\nreturn np.array(out)",
    "an array of ints": "out = []\nfor i in range(len(x)):\n    out.append(i)\nreturn np.array(out)",
    "the last items": "f = [1.0, 1.0]\nfor v in x:\n    f.append(f[-1] / 2 + f[-2] * float(v) / 4)\nreturn f[-1], f[len(f) - 1], f",
    "in a while": "out = []\nt = 0.0\nwhile t < len(x):\n    out.append(t)\n    t += 0.75\nreturn out, t",
    "until one is found": "out = []\nfor v in x:\n    if v > 2:\n        break\n    out.append(float(v))\nelse:\n    out.append(100.0)\nreturn out",
    "in loops in one another": "out = []\nfor i in range(len(x)):\n    for j in range(i, min(i + 3, len(x))):\n        if x[i] > x[j]:\n            out.append((i, j))\nreturn out",
    "one in each round": "total = 0.0\nfor i in range(3):\n    row = []\n    for v in x:\n        if v > i:\n            row.append(float(v))\n    total += len(row)\nreturn total",
    "by +=": "out = []\nfor v in x:\n    out += [float(v), 0.5]\nreturn out",
    "by extend": "out = []\nfor v in x:\n    if v > 0:\n        out.extend((v, v))\nreturn out",
    "by another name": "out = []\nother = out\nfor v in x:\n    other.append(float(v))\nreturn out is other, len(out), out",
    "two of them": "a, b = [], []\nfor v in x:\n    if v > 0:\n        a.append(float(v))\n    else:\n        b.append(v)\nreturn a, b",
    "looped over": "out = []\nfor v in x:\n    out.append(float(v))\ns = 0.0\nfor v in out:\n    s = s * 0.5 + v\nreturn s, out",
    "items written": "out = []\nfor v in x:\n    out.append(float(v))\n    if len(out) > 3:\n        out[-2] += 10.0\nfor i in range(len(out)):\n    out[i] = out[i] * 2\nreturn out",
    "on one of several paths": "out = []\nfor v in x:\n    out.append(float(v))\nif len(out) < 3:\n    return None\nif out[0] > 9:\n    return 1.5, out\nreturn out, len(out)",
    "made on a path": "n = 3\nif len(x) > 3:\n    out = []\n    for v in x:\n        out.append(float(v))\n    n = len(out)\nreturn n",
    "repeated": "best = [1] * len(x)\nfor i in range(len(x)):\n    for j in range(max(0, i - 4), i):\n        if x[j] < x[i] and best[j] + 1 > best[i]:\n            best[i] = best[j] + 1\nreturn best, len(best)",
    "repeated fewer than no times": "n = len(x) - 9\nout = [True] * n\nother = out\nother.append(n > 0)\nreturn len(out), out[-1], out is other",
    "counters": "counts = [0] * 4\nfor v in x:\n    counts[int(v) % 4] += 1\nreturn counts",
    "items exchanged": "a = len(x) * [0.0]\nfor i in range(len(x)):\n    a[i] = float(x[i])\nfor i in range(len(x) - 1):\n    if a[i] > a[i + 1]:\n        a[i], a[i + 1] = a[i + 1], a[i]\nreturn a",
    "read at any place": "w, s = [0.5, 1.0, 0.25], 0.0\nfor i in range(len(x)):\n    s += w[i % 3] * float(x[i])\nreturn s, w",
    "repeated in each round": "t = 0.0\nfor i in range(len(x)):\n    row = [0.5] * (i % 5)\n    row.append(float(x[i]))\n    row[i % len(row)] += 2.0\n    for v in row:\n        t = t * 0.5 + v\nreturn t",
    "of two kinds": "out = []\nfor v in x:\n    if v > 0:\n        out.append(float(v))\n    else:\n        out.append(1)\nreturn out",
    "of three kinds": "out = [False] * len(x)\nfor i in range(len(x)):\n    if x[i] > 0.3:\n        out[i] = float(x[i])\n    elif x[i] > -0.3:\n        out[i] = i\nreturn out, [v * 2 for v in out]",
    "zeros that become floats": "out = [0] * len(x)\nfor i in range(len(x)):\n    out[i] += float(x[i])\n    out[i // 2] -= 1\nreturn out, out[-1] if out else 0",
    "sums of what came before": "out = [0]\nfor v in x:\n    out.append(out[-1] + float(v))\nreturn out, out[len(out) // 2]",
    "zeros, and NumPy's scalars": "out = [0] * len(x)\nfor i in range(len(x)):\n    if x[i] > 0:\n        out[i] = x[i]\nreturn out, out[0] if out else 1",
    "zeros that become means": "sums, counts = [0] * 4, [0] * 4\nfor v in x:\n    sums[int(abs(v)) % 4] += float(v)\n    counts[int(abs(v)) % 4] += 1\nreturn [s / c if c else 0 for s, c in zip(sums, counts)]",
    "an array of two kinds": "out = [0] * len(x)\nfor i in range(len(x)):\n    if x[i] > 0:\n        out[i] = float(x[i])\nreturn np.array(out), sum(out), max(out, default=0), len(out)",
    "of two kinds in tuples in tuples": "out = []\nfor i, v in enumerate(x):\n    out.append((i, (float(v) if v > 0 else 0, i)))\ns = 0.0\nfor i, (w, j) in out:\n    s = s + w * 2 + j\nreturn s, out",
    "the larger of two kinds": "best = [0] * (len(x) + 2)\nfor i in range(len(x) - 1, -1, -1):\n    best[i] = max(best[i + 1], float(x[i]) + best[i + 2])\nreturn best[0], best",
    "its truth": "out = []\nfor v in x:\n    if v > 1:\n        out.append(1.0)\nreturn 1 if out else 2, bool(out), not out",
}  # fmt: skip
# of an array: bodies that are native as a whole, in which lists have one another's place
IN_HEAPS = {
    "rows of numbers": "out = []\nfor v in x:\n    out.append([float(v), 1.0])\nreturn out",
    "a choice of lists": "a, b = [], []\nfor v in x:\n    (a if v > 0 else b).append(float(v))\nreturn a, b",
    "the best of lists": "best = []\nfor i in range(3):\n    cur = []\n    for v in x:\n        if v > i * 0.1:\n            cur.append(float(v))\n    if len(cur) > len(best):\n        best = cur\nreturn best",
    "rows": "out = [[0.0] * 3 for _ in range(len(x))]\nfor i in range(len(x)):\n    out[i][1] = float(x[i])\nreturn out",
    "one row many times": "out = [[0.0, 1.0]] * len(x)\nif out:\n    out[0][1] = 5.0\nreturn out",
    "a choice of repeated lists": "a, b = [0.0] * len(x), [1.0] * len(x)\nfor i in range(len(x)):\n    (a if x[i] > 0 else b)[i] += 1.0\nreturn a, b",
    "popped": "stack = []\nfor v in x:\n    stack.append(float(v))\n    if len(stack) > 2:\n        stack.pop()\nreturn stack",
    "rows that grow": "t = []\nfor i in range(len(x)):\n    row = []\n    for j in range(i % 7):\n        row.append(float(x[j]) * i)\n    t.append(row)\nreturn t, len(t)",
    "empty ones first": "n = len(x)\nadj = [[] for _ in range(n)]\nfor i in range(n):\n    adj[i * 7 % n].append(i)\n    adj[(i + 3) % n].append(i * 2)\nreturn adj",
    "the last one and this one": "prev = [0.0] * 5\nfor v in x:\n    cur = [float(v)] * 5\n    for j in range(1, 5):\n        cur[j] = prev[j - 1] + cur[j]\n    prev = cur\nreturn prev",
    "names exchanged": "a, b = [1.0] * 4, [2.0] * 4\nfor i in range(len(x)):\n    a[i % 4] += float(x[i])\n    a, b = b, a\nreturn a, b",
    "rows of two kinds": "t = [[0] for _ in range(len(x))]\nfor i in range(len(x)):\n    if x[i] > 0:\n        t[i][0] = float(x[i])\nreturn t",
    "a product of matrices": "n = min(len(x), 5)\na = [[float(v) * j for j in range(n)] for v in x[:n]]\nc = [[0] * n for _ in range(n)]\nfor i in range(n):\n    for j in range(n):\n        for k in range(i):\n            c[i][j] += a[i][k] * a[k][j]\nreturn c",
    "shortest ways": "n = min(len(x), 6)\nd = [[float('inf')] * n for _ in range(n)]\nfor i in range(n):\n    d[i][i] = 0\n    d[i][i - 1] = abs(float(x[i]))\nfor k in range(n):\n    for i in range(n):\n        for j in range(n):\n            if d[i][k] + d[k][j] < d[i][j]:\n                d[i][j] = d[i][k] + d[k][j]\nreturn d",
    "rows exchanged, and written by a name": "t = [[float(v), float(v) * 2] for v in x]\nfor i in range(len(x) - 1):\n    if t[i][0] > t[i + 1][0]:\n        t[i], t[i + 1] = t[i + 1], t[i]\n    row = t[i]\n    row[1] += 1.0\nreturn t",
    "a row that changes while it is looped over": "t = [[1.0] for _ in range(len(x))]\ns = 0.0\nfor r in t:\n    for v in r:\n        s += v\n        if len(r) < 3:\n            r.append(v + 1)\nreturn s",
    "slices and sums of lists": "a = [0.0] * len(x)\nfor i in range(len(x)):\n    a[i] = float(x[i])\nb = a[1:]\nd = a[:]\nif d:\n    d[0] = 9.0\nreturn a, b, a[::-1], d, a[-3:], a[1:-1:2], a[5:2], a[-100:100], a + [1.0, 2.0], [0.5] + b, a + b",
    "a stack, turned round": "stack, out = [], []\nfor i in range(len(x)):\n    stack.append(i)\n    while stack and x[stack[-1]] > 0:\n        out.append(stack.pop())\nout.reverse()\nreturn stack, out",
    "popped of none": "stack = []\nfor v in x:\n    if v > 0:\n        stack.append(1)\n    else:\n        stack.pop()\nreturn stack",
    "three deep": "t = [[[0.0] * 2 for _ in range(3)] for _ in range(len(x))]\nfor i in range(len(x)):\n    t[i][i % 3][i % 2] = float(x[i])\nreturn t",
    "which one it is": "n = len(x)\nt = [[0.0] for _ in range(n)]\nr = t[0] if n else [1.0]\nk = 0\nfor i in range(n):\n    if t[i] is r:\n        k += 1\n    if t[i] is not t[-1]:\n        k += 10\nreturn k",
    "functions that write and make them": "def push(out, v):\n    out.append(v)\n    return len(out)\ndef row(n):\n    made = []\n    for i in range(n):\n        made.append(i)\n    return made\nout, t, k = [], [], 0\nfor i, v in enumerate(x):\n    k += push(out, float(v))\n    t.append(row(i % 4))\nreturn out, k, t",
    "functions that read them from around": "n = len(x)\nparent = list(range(n))\ndef find(a):\n    while parent[a] != a:\n        parent[a] = parent[parent[a]]\n        a = parent[a]\n    return a\nfor i in range(n - 1):\n    if x[i] > x[i + 1]:\n        parent[find(i)] = find(i + 1)\nreturn parent",
    "pairs in rows": "t = [[] for _ in range(4)]\nfor i, v in enumerate(x):\n    t[i % 4].append((i, float(v)))\ns = 0.0\nfor row in t:\n    for i, v in row:\n        s += i * v\nreturn s, t, max(len(row) for row in t)",
    "places that an array has": "t = [0] * max(len(x), 1)\nfor i in np.argsort(x):\n    t[i] += 1\nreturn t",
    "rows of rows, of all columns": "t = [[float(v) * j for j in range(3)] for v in x]\nu = [r[:] for r in t]\nfor r in u:\n    r[0] = 0.0\nreturn [[r[j] for r in t] for j in range(3)], u, sum(sum(r) for r in t)",
    "a place that is none": "t = [[0.0] * 3 for _ in range(len(x))]\nfor i in range(len(x)):\n    t[i][i] = 1.0\nreturn t",
    "made on two paths": "if len(x) > 3:\n    out = [1.0] * len(x)\nelse:\n    out = [2.0, 3.0]\nout[0] += 1.0\nfor v in x:\n    out.append(float(v))\nreturn out",
}  # fmt: skip
# bodies of which some statements are Python's, or that have no native code
IN_PART = {
    "NumPy's scalars of two dtypes": "out = []\nfor v in x:\n    out.append(v)\nout.append((x > 0).sum())\nreturn out, [type(v).__name__ for v in out]",
    "beside a choice": "v2 = 1j if len(x) > 3 else 0\nout = []\nfor v in x:\n    out.append((v, float(v)))\nreturn out, v2",
    "returned twice": "out = []\nfor v in x:\n    out.append(float(v))\nreturn [out, (out,)]",
    "in a function that writes its argument": "out = []\nfor i in range(len(x)):\n    x[i] += 1\n    out.append(float(x[i]))\nreturn out",
    "repeated in a function that writes its argument": "out = [0.5] * len(x)\nfor i in range(len(x)):\n    x[i] += 1\n    out[i] += float(x[i])\nreturn out",
    "random numbers": "out = []\nfor v in x:\n    out.append(np.random.rand() + float(v))\nreturn out",
    "slices and sorting": "out = []\nfor v in x:\n    out.append(float(v))\nreturn out[1:3], sorted(out)[:2], sum(out), tuple(out)",
    "appended to while it is looped over": "out = [4.0]\nfor v in out:\n    if v > 0.5:\n        out.append(v / 2)\nreturn out",
    "appended to behind a loop over it": "out = []\nfor i in range(len(x)):\n    for v in out:\n        if v > x[i]:\n            break\n    out.append(float(x[i]))\nreturn out",
    "repeated, of large ints": "f = [1] * (len(x) + 2)\nfor i in range(2, len(x) + 2):\n    f[i] = f[i - 1] * 3 + f[i - 2]\nreturn f[-1] % 1000003, len(f)",
    "repeated by a float": "return [1.0] * float(len(x))",
    "a place that is none": "out = [0.0] * len(x)\nfor i in range(len(x) + 1):\n    out[i] = 1.0\nreturn out",
    "one list twice in the result": "t = [[float(v)] for v in x]\nt.append([1.0])\nfor i in range(len(x)):\n    t[i][0] += 1\nreturn t, t[0]",
    "rows in a function that writes its argument": "t = [[0.0] * 2 for _ in range(len(x))]\nfor i in range(len(x)):\n    x[i] += 1\n    t[i][0] = float(x[i])\nreturn t",
    "printed": "out = []\nfor v in x:\n    out.append(float(v))\nprint(len(out))\nout.append(3.0)\nreturn out",
    "an index that is none": "out = []\nfor v in x:\n    out.append(float(v))\nreturn out[len(x)]",
}  # fmt: skip


def check(body: str, folder: Path, sizes: tuple[int, ...] = (FEW, FEW, 0, MANY, MANY, MANY, FEW)) -> Any:
    jitted, plainly = both("x", body, folder)
    for n in sizes:
        ours, theirs = X[n].copy(), X[n].copy()
        np.random.seed(n)
        found = ending(jitted, ours)
        state = copy.deepcopy(np.random.get_state())
        np.random.seed(n)
        wanted = ending(plainly, theirs)
        assert alike(found, wanted, 0), (n, found, wanted)
        np.testing.assert_equal((ours, state), (theirs, np.random.get_state()))
    return jitted


@pytest.mark.parametrize("name", drawn("growing lists", [*NATIVE], 3))
def test_lists_that_loops_append_to_are_native(name: str, tmp_path: Path) -> None:
    jitted = check(NATIVE[name], tmp_path)
    assert jitted.stats().hits >= 2, jitted.explain()
    assert "Python at" not in jitted.explain() and "foreign call" not in jitted.explain(), jitted.explain()


@pytest.mark.parametrize("name", drawn("lists in heaps", [*IN_HEAPS], 3))
def test_lists_that_have_one_anothers_place_are_native(name: str, tmp_path: Path) -> None:
    more = (MANY, MANY, MANY) if name in ("rows", "rows that grow") else (FEW,)  # the first graph has room for 1024 rows
    jitted = check(IN_HEAPS[name], tmp_path, (FEW, FEW, 0, *more))
    assert jitted.stats().hits, jitted.explain()
    assert "Python at" not in jitted.explain() and "foreign call" not in jitted.explain(), jitted.explain()


@pytest.mark.parametrize("name", drawn("lists in part", [*IN_PART], 4))
def test_other_lists_are_pythons_where_they_change(name: str, tmp_path: Path) -> None:
    check(IN_PART[name], tmp_path)


def test_a_list_with_more_items_than_the_graph_has_room_for_is_pythons_once(tmp_path: Path) -> None:
    jitted, seen = check(NATIVE["by +="], tmp_path, (FEW, FEW, FEW)), []
    with tierup.events.subscribe(seen.append):
        for _ in range(4):
            assert len(jitted(X[MANY])) == 2 * MANY
    (told,) = [e for e in seen if e.reason is Reason.LIST_IS_FULL]
    assert told.action == "a list of more than 1024 items" and jitted.stats().hits >= 2, jitted.explain()


def test_strict_functions_have_lists_that_grow_too(tmp_path: Path) -> None:
    def until(n: float) -> list[float]:
        out, s = [], 0.0
        while s < n:
            out.append(s)
            s += 1
        return out

    jitted = tierup.jit(until, strict=True)
    for n in (10.0, 2000.0, 2000.0, 2000.0):
        assert jitted(n) == until(n)
    assert jitted.stats().hits


def test_every_call_gives_a_list_of_its_own(tmp_path: Path) -> None:
    jitted, _ = both("x", NATIVE["where an element is positive"], tmp_path)
    first, second = jitted(X[FEW]), jitted(X[FEW])
    first.append(None)
    assert second == jitted(X[FEW]) and first is not second


STEPS = st.lists(
    st.sampled_from((
        "out.append({a})", "if v > {b}:\n    out.append({a})", "if len(out) > 1:\n    out[-1] = {a}", "if out:\n    s += out[0] - out[-1]",
        "out += [{a}, s]", "if len(out) > i:\n    s += out[i]", "s += 1.5", "if v < {b}:\n    continue", "out.append(out[len(out) // 2] + {b} if out else s)",
        "if out:\n    out[i % len(out)] = {a}", "if len(out) > i:\n    out[i] += s", "if len(out) > 1:\n    k = i % (len(out) - 1)\n    out[k], out[k + 1] = out[k + 1], out[k]",
        "other = [{a}] * (i % 3)\n    other.append(s)\n    s = s * 0.5 + other[i % len(other)]".replace("\n    ", "\n"),
    )), min_size=1, max_size=5,
)  # fmt: skip


@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(STEPS, st.sampled_from(("float(v)", "s", "float(v) * i", "2.5", "i", "1")), st.sampled_from(("0", "0.5", "-1.0")),
       st.sampled_from(("[]", "[0.5] * len(x)", "(len(x) - 3) * [{b}]", "[1.0, 2.0]", "[{b}] * 4", "[0] * len(x)", "[0]")))  # fmt: skip
def test_any_steps_in_a_loop_leave_the_list_that_python_has(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], a: str, b: str, start: str
) -> None:
    lines = "\n".join(steps).format(a=a, b=b).replace("\n", "\n    ")
    body = f"out = {start.format(b=b)}\ns = 0.0\nfor i, v in enumerate(x):\n    {lines}\nreturn out, s, len(out)"
    check(body, tmp_path_factory.mktemp("lists"), (FEW, FEW, 0, FEW))


def test_a_list_that_only_one_of_two_results_has_is_made_where_it_is_the_result() -> None:
    @tierup.jit
    def f(x: Any, n: int) -> Any:
        made = []
        for i in range(n):
            made.append((i, float(x[i])))
        if n > 2:
            return {"pairs": made, "n": n}
        if n == 0:
            return made, 1.5
        return x + 1

    x = np.arange(4.0)
    for n in (3, 3, 3, 1, 1, 1, 0, 0, 0, 3, 1):
        got, want = f(x, n), f.__wrapped__(x, n)
        assert repr(got) == repr(want)
    assert f.stats().hits >= 3
