"""Slices at positions that the data say, where they must have a certain length: windows in native code, NumPy's answer where one is cut off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beside_python import alike, both, ending

PROGRAMS = {
    "read_into_rows": "out = np.zeros((len(at), 5))\nfor i in range(len(at)):\n    k = at[i]\n    out[i] = x[k - 2 : k + 3] * 0.5\nreturn out",
    "weighed": "s = 0.0\nfor k in at:\n    s += np.sum(x[k - 1 : k + 2] * w)\nreturn s",
    "added_to": "y = np.zeros_like(x)\nfor k in at:\n    y[k : k + 3] += w\nreturn y",
    "written": "y = x.copy()\nfor k in at:\n    y[k - 1 : k + 2] = w\nreturn y",
    "of_a_matrix": "m = np.outer(x, x)\ns = 0.0\nfor i in range(len(at) - 1):\n    a, b = at[i], at[i + 1]\n    s += (m[a : a + 3, b : b + 3] * w).sum()\n"
    "return s",
    "outside_a_loop": "k = at[0]\nreturn x[k : k + 3] * w + x[:3]",
    "between_two_numbers": "r = np.zeros(3)\nfor i in range(len(at) - 1):\n    lo, hi = at[i], at[i] + 3\n    r = r * 0.5 + x[lo:hi]\nreturn r",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_window_where_the_data_say_is_native_and_numpys_where_it_is_cut_off(name: str, tmp_path: Path) -> None:
    f, plain = both("x, at, w", PROGRAMS[name], tmp_path)
    rng, w = np.random.default_rng(5), np.array([0.25, 0.5, 0.25])
    for call in range(40):
        size = 50 if call < 20 else (50, 73, 31, 4, 3, 2)[call % 6]  # the versions with symbolic sizes too
        x, at = rng.random(size), rng.integers(2, max(size - 4, 3), 12)
        if call % 5 == 4:
            at[rng.integers(12)] = rng.choice([-1, -4, size - 2, size, size + 5, 0, 1, -size - 4, 2**62])
        assert alike(ending(f, x.copy(), at.copy(), w), ending(plain, x.copy(), at.copy(), w)), call
    assert f.stats().hits >= 25, f.explain()


OF_A_SIZE = {
    "added_to": "y = x.copy()\nfor k in at:\n    y[k : k + len(w)] += w\nreturn y",
    "products": "out = np.empty(len(x) - len(w) + 1)\nfor i in range(len(out)):\n    out[i] = x[i : i + len(w)] @ w\nreturn out",
    "of_what_is_padded": "p = np.pad(x, 2, mode='edge')\ns = np.zeros_like(x)\nfor d in range(5):\n    s += p[d : d + len(x)]\nreturn s",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OF_A_SIZE)
def test_a_window_as_long_as_an_argument_is_native_for_any_size(name: str, tmp_path: Path) -> None:
    f, plain = both("x, at, w", OF_A_SIZE[name], tmp_path)
    rng = np.random.default_rng(6)
    for call in range(24):
        x, w = rng.random(rng.integers(20, 60)), rng.random(rng.integers(2, 9))
        at = rng.integers(0, len(x) - len(w), 7)
        if call % 6 == 5:
            at[3] = len(x) - 1  # cut off
        assert alike(ending(f, x.copy(), at, w), ending(plain, x.copy(), at, w)), call
    assert f.stats().hits >= 20 and len(f.versions) <= 3, f.explain()
