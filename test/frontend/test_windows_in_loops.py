"""x[i+a:i+b] in a loop over i: a size that is known where every window fits, and NumPy's result where some do not."""

import linecache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

import tierup


def function_of(text, name):
    """A function whose source can be read, as the front end does."""
    where = f"<window {name} {len(linecache.cache)}>"
    linecache.cache[where] = (len(text), None, text.splitlines(keepends=True), where)
    scope = {"np": np}
    exec(compile(text, where, "exec"), scope)
    return scope["f"]


ROUNDS = ("n", "n - 1", "n - 2", "n - m", "n - m + 1", "n + 1", "3", "m")
WINDOWS = st.tuples(
    st.sampled_from(["", "1, ", "2, "]), st.sampled_from(ROUNDS), st.integers(-2, 2), st.sampled_from(["0", "1", "2", "3", "m", "m - 1"])
)


@given(st.lists(WINDOWS, min_size=4, max_size=4), st.lists(st.tuples(st.integers(1, 7), st.integers(1, 4)), min_size=3, max_size=3))
@settings(max_examples=examples(3))
def test_windows_that_fit_and_windows_that_do_not_hold_what_numpys_hold(windows, sizes):
    lines = ["def f(x, k):", "    n, m = len(x), len(k)", "    out = np.zeros((4, 10))"]
    for row, (start, rounds, low, length) in enumerate(windows):
        lines += [f"    for i in range({start}{rounds}):", f"        w = x[i + {low}:i + {low} + {length}]"]
        lines += [f"        out[{row}, i] += (w * w).sum() + w.shape[0]"]
    f = function_of("\n".join([*lines, "    return out\n"]), "sums")
    jitted = tierup.jit(f)
    for n, m in sizes:
        x, k = np.arange(1.0, n + 1), np.ones(m)
        for _ in range(2):
            np.testing.assert_allclose(jitted(x, k), f(x, k))


PROGRAMS = {
    "convolution": "    n, m = len(x), len(k)\n    out = np.zeros(n - m + 1)\n    for i in range(n - m + 1):\n        out[i] = (x[i:i + m] * k).sum()\n",
    "from 1": "    n = len(x)\n    out = np.zeros(n)\n    for i in range(1, n - 1):\n        out[i] = np.dot(x[i - 1:i + 2], k)\n",
    "columns": "    n = len(x)\n    out = x[:, None] - x\n    for i in range(n):\n        out = np.minimum(out, out[:, i:i + 1] + out[i:i + 1, :])\n",
}


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_programs_that_need_a_windows_size_are_native(name):
    f = function_of(f"def f(x, k):\n{PROGRAMS[name]}    return out\n", name)
    jitted = tierup.jit(f)
    for n in (6, 6, 6, 7, 7, 9, 8, 11):
        x, k = np.cos(np.arange(n)), np.array([1.0, 2.0, 0.5])
        np.testing.assert_allclose(jitted(x, k), f(x, k), rtol=1e-12)
    assert jitted.stats().hits >= 5


def test_a_window_that_does_not_fit_raises_as_numpy_does():
    f = function_of(f"def f(x, k):\n{PROGRAMS['convolution'].replace('range(n - m + 1)', 'range(n - m + 2)')}    return out\n", "too far")
    jitted = tierup.jit(f)
    for _ in range(3):
        with pytest.raises((ValueError, IndexError)):
            jitted(np.ones(6), np.ones(3))
