"""Names that a loop carries and that are a number on some paths and an array on others: native, and what plain Python gives, types included."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beside_python import alike, both, ending
from sampling import drawn

import tierup

PROGRAMS = {
    "sum_of_some": "s = 0.0\nfor i in range(len(x)):\n    if x[i] > t:\n        s += x[i]\nreturn s",
    "from_an_int": "s = 0\nc = 0\nfor v in x:\n    if v > t:\n        s += v\n        c += 1\nreturn s / c if c else 0.0",
    "in_loops_in_one_another": "s = 0.0\nfor i in range(a.shape[0]):\n    for j in range(a.shape[1]):\n        s += a[i, j]\nreturn s",
    "product": "n, m = a.shape\nc = np.zeros((n, n))\nfor i in range(n):\n    for j in range(n):\n        s = 0.0\n        for k in range(m):\n            s += a[i, k] * a[j, k]\n        c[i, j] = s\nreturn c",
    "stored_each_round": "out = np.zeros(len(x))\ns = 0.0\nfor i in range(len(x)):\n    if x[i] > t:\n        s += x[i]\n    out[i] = s\nreturn out",
    "tested": "s = 0.0\nfor i in range(len(x)):\n    if x[i] > t:\n        s += x[i]\n    if s > 1.0:\n        return i, s\nreturn -1, s",
    "two_at_once": "s, p = 0.0, 1\nfor i in range(len(x)):\n    if x[i] > t:\n        s = s + x[i]\n    else:\n        p = p * x[i]\nreturn s - p, s, p",
    "of_three_kinds": "s = 0\nfor i in range(len(x)):\n    if x[i] > t:\n        s = s + x[i]\n    elif x[i] > 0.3:\n        s = s + 0.5\nreturn s",
    "given_to_functions": "s = 0.0\nfor i in range(len(x)):\n    if x[i] > t:\n        s += x[i]\n    s = max(s, 0.25)\nreturn np.sqrt(s) + abs(s), float(s)",
    "division": "s = 0.0\nfor i in range(len(x)):\n    if x[i] > t:\n        s += x[i]\nreturn 1.0 / s",
    "rows": "s = 0\nfor i in range(a.shape[0]):\n    if a[i, 0] > t:\n        s = s + a[i]\nreturn s",
    "row_after_row": "s = 0\nfor i in range(a.shape[0]):\n    for j in range(2):\n        s = s + a[i] * j\nreturn s",
    "float_or_int": "s = 0\nfor i in range(n):\n    if i % 2:\n        s = s + 0.5\nreturn s, s * 2",
    "left_in_between": "s = 0.0\nfor v in x:\n    if v > 0.95:\n        break\n    if v > t:\n        s += v\n        continue\n    s = s * 0.5\nreturn s",
    "by_while": "i, s = 0, 0.0\nwhile i < len(x) and s < 2.0:\n    if x[i] > t:\n        s += x[i]\n    i += 1\nreturn s, i",
    "maximum": "m = -1.0\nfor v in x:\n    if v > m:\n        m = v\nreturn m",
    "another_choice_on_each_path": "s = x[:1].sum()\nfor i in range(n):\n    if i % 2 == 1:\n        s = max(s, 1)\n    else:\n        s = s * 0.5\nreturn s",
    "truth": "s = 0\nfor v in x:\n    if v > t:\n        s = v\nreturn 1 if s else 2",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "dtype"),
    drawn("carried choices", [(name, dtype) for name in PROGRAMS for dtype in (np.float64, np.float32, np.int64)], 4, kind=lambda case: case[1]),
    ids=lambda v: getattr(v, "__name__", v),
)
def test_what_is_a_number_or_an_array_is_native_and_what_python_has(name: str, dtype: type, tmp_path: Path) -> None:
    f, plain = both("x, a, t, n", PROGRAMS[name], tmp_path)
    rng = np.random.default_rng(1)
    for t, n, size in ((0.5, 4, 6), (0.1, 0, 6), (0.6, 3, 6), (9.0, 1, 6), (9.0, 2, 6), (0.2, 5, 6), (0.5, 4, 0), (0.4, 2, 6)):
        scale = 1 if dtype is not np.int64 else 4
        given = (rng.random(size) * scale).astype(dtype), (rng.random((size, 3)) * scale).astype(dtype), t, n
        assert alike(ending(f, *given), ending(plain, *given), 1e-5 if dtype is np.float32 else 1e-14), (t, n, size)
    is_mixed = name in ("of_three_kinds", "another_choice_on_each_path") and dtype is np.int64  # s + 0.5 of an array of ints has floats: tier 0, which asks the array
    assert (is_mixed or f.stats().hits >= 4) and f.stats().python == 0, f.explain()


def squares_of_some(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.5:
            s += x[i] ** 2
    return s


def until_it_is_large(x):
    s = x[0] * 0
    for i in range(len(x)):
        s = s + x[i] * x[i]
        if s > 1:
            return s * 2
    return s


def scaled_by_the_first_large_one(x):
    for i in range(len(x)):
        if x[i] > 0.6:
            return np.sum(x * x[i])
    return np.sum(x)


def pairs(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[i] * x[j]
    return s


@pytest.mark.parametrize("loss", [squares_of_some, until_it_is_large, scaled_by_the_first_large_one, pairs], ids=lambda f: f.__name__)
def test_gradients_go_through_what_a_loop_carries_and_how_it_is_left(loss):
    both = tierup.value_and_grad(loss)
    for x in (np.array([0.1, 0.7, 0.3, 0.9, 0.55]), np.array([0.1, 0.2]), np.array([0.1, 0.7, 0.3, 0.9, 0.55]), np.array([0.8, 0.9, 0.3])):
        value, gradient = both(x)
        steps = np.eye(len(x)) * 1e-6
        assert np.isclose(value, loss(x), rtol=1e-14)
        assert np.allclose(gradient, [(loss(x + step) - loss(x - step)) / 2e-6 for step in steps], atol=1e-7)


@pytest.mark.parametrize("row", ["a[i]", "a[i, 1:]", "np.outer(a[i], a[i, 2:])"])
def test_an_array_that_is_there_from_some_round_on_has_the_sizes_of_the_call(row: str, tmp_path: Path) -> None:
    f, plain = both("a, t", f"s = 0\nfor i in range(len(a)):\n    if a[i, 0] > t:\n        s = s + {row}\nreturn s", tmp_path)
    rng = np.random.default_rng(2)
    for size in (3, 40, 5, 300, 17, 4, 1000):
        a = rng.random((6, size))
        for t in (0.5, 0.0, 2.0, 0.9):
            assert alike(f(a, t), plain(a, t), 0)
    assert f.stats().hits >= 20 and len(f.versions) <= 3, f.explain()


OF_SIZES_THAT_THE_RUN_FINDS = {
    "in_a_loop": "y, s = x[m > 0.5], 0\nfor v in t:\n    if v > 0.5:\n        s = s + y * v\nreturn s",
    "on_a_path_before": "y = x[m > 0.5]\ns = y * 2 if t[0] > 0.5 else 0\nfor v in t:\n    if v > 0.5:\n        s = s + y * v\nreturn s",
    "or_nothing": "k, s = int(m[0] * 10) + 1, None\nfor v in t:\n    if v > 0.5:\n        s = x[:k] * v\nif s is None:\n    return x[:1]\nreturn s",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_SIZES_THAT_THE_RUN_FINDS)
def test_an_array_whose_size_the_run_finds_may_be_there_from_some_round_on(name: str, tmp_path: Path) -> None:
    f, plain = both("x, m, t", OF_SIZES_THAT_THE_RUN_FINDS[name], tmp_path)
    rng = np.random.default_rng(0)
    for call in range(24):
        size = (50, 50, 50, 20, 300)[call % 5]
        x, m, t = rng.random(size), rng.random(size), rng.random(4) * (call % 4 > 0)
        assert alike(f(x, m, t), plain(x, m, t)), call


IN_EXPRESSIONS = {
    "sum_of_the_larger": "s = 0.0\nfor i in range(len(x)):\n    s += max(x[i], 0.5)\nreturn s",
    "clipped": "out = np.zeros(len(x))\nfor i in range(len(x)):\n    out[i] = min(max(x[i], 0.2), 0.8) * 2\nreturn out",
    "operand_of_an_update": "m = 0.0\nfor v in x:\n    if v > m:\n        m = v\ny = x / (m + 1)\ny -= m\ny[0] += 2 * m\ny[1:] *= m\nreturn y",
    "argument": "m = 0.0\nfor v in x:\n    if v > t:\n        m = v\nreturn np.sqrt(m), abs(m), max(m, 0.25), np.full(3, m), [m, (m, 1)]",
    "index": "k = 0\nfor i in range(len(at)):\n    if at[i] > 2:\n        k = at[i]\nreturn x[k] + x[k:].sum() + x[:k].sum(), x[k - 1], k % 3, -k",
    "place": "k, y = 0, x * 1\nfor i in range(len(at)):\n    if at[i] > 2:\n        k = at[i]\n    y[k] += 1.5\ny[k], y[0] = y[0], y[k]\nreturn y",
    "bound_of_a_range": "k, s = 0, 0.0\nfor i in range(len(at)):\n    if at[i] > 2:\n        k = at[i]\nfor j in range(1, k):\n    s += x[j]\nreturn s",
    "condition_in_an_expression": "s = 0.0\nfor i in range(len(x)):\n    s += (x[i] if x[i] > t else 0.25) * 2\nreturn s",
    "comparison": "m = 0.0\nfor v in x:\n    if v > m:\n        m = v\nn = 0\nfor v in x:\n    n += 0.1 < v * 2 <= m\nreturn n, m == x[0]",
    "kept_in_a_list": "m = 0.0\nfor v in x:\n    if v > m:\n        m = v\nkept = [0.0, 1.0]\nkept[0] = m\nkept.append(m)\nreturn kept",
    "bool_at_first": "v = True\nfor j in range(len(x)):\n    if x[j] > t:\n        v = v + x[j] * 2\n    else:\n        v -= 1\nreturn v + 1",
    "bool_that_is_added": "n, v = 1, True\nfor j in range(len(x)):\n    if x[j] > t:\n        v = not v\n    n += v\nreturn n, v",
    "walrus": "s = 0.0\nfor v in x:\n    s = s + ((w := max(v, 0.5)) - w / 3)\nreturn s",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", IN_EXPRESSIONS)
def test_what_is_a_number_or_an_array_stands_anywhere_in_expressions(name: str, tmp_path: Path) -> None:
    f, plain = both("x, at, t", IN_EXPRESSIONS[name], tmp_path)
    rng = np.random.default_rng(4)
    for call in range(16):
        x, at = rng.random(9), rng.integers(0, 8, 6)
        if call % 5 == 4:
            x, at = -x, at * 0
        if call == 13:
            at[2] = 30
        ends = [ending(function, x.copy(), at.copy(), 0.6) for function in (f, plain)]
        assert alike(*ends), ends
    assert f.stats().hits >= 12 and "Python at" not in f.explain(), f.explain()
