"""An iterator that something keeps has what is left of it, as Python's has; what is used where it stands is native."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beside_python import alike, both, ending

KEPT = {
    "a zip, twice": "z = zip([1.0, 2.0], x)\nreturn list(z), list(z)",
    "an enumerate, in two loops": "e = enumerate(x)\ns = 0.0\nfor i, v in e:\n    s += v * i\nfor i, v in e:\n    s += 100\nreturn s",
    "iter, left early": "it = iter(x)\ns = 0.0\nfor v in it:\n    s += v\n    if s > 2:\n        break\nfor v in it:\n    s += v * 10\nreturn s",
    "reversed": "r = reversed(x)\nreturn [v * 2 for v in r], [v for v in r]",
    "in a loop in its own": "z = zip(x, x)\ns = 0.0\nfor a, b in z:\n    for c, d in z:\n        s += a * c\nreturn s",
    "in another one": "z = enumerate(x)\nreturn [(a, b) for a, b in zip(z, z)]",
    "in a loop that runs again": "it = iter([1.0, 2.0, 3.0])\ns = 0.0\nfor i in range(len(x)):\n    for v in it:\n        s += v * x[i]\nreturn s",
    "in a tuple": "t = (zip(x, x), 1)\nreturn [a for a, b in t[0]], len(list(t[0]))",
    "in a dict": "d = {'z': iter([1.0, 2.0])}\nd['y'] = enumerate(x)\nreturn list(d['z']), list(d['z']), list(d['y']), list(d['y'])",
    "in a list": "l = []\nl.append(iter([1, 2]))\nl.extend([iter(x)])\nreturn list(l[0]), list(l[0]), list(l[1]), list(l[1])",
    "in a list that a comprehension makes": "l = [iter([v, v]) for v in (1, 2)]\nreturn list(l[1]), list(l[1]), x",
    "a generator with a test": "g = (v for v in x if v > 1)\nreturn next(g), list(g)",
    "the next of a generator with a test": "return next((v for v in x if v > 2), -1.0), next(v * 2 for v in x), next((v for v in x if v > 99), None)",
    "a generator of two loops, in a zip": "return [a for a, b in zip((v * w for v in x for w in x), (1, 2))], max((v for v in x if v > 1), key=abs)",
    "a strict zip that is left early": "s = 0.0\nfor a, b in zip((1.0, 2.0, 3.0), (x, x), strict=True):\n    s = s + a * b\n    if a > 1:\n        break\nreturn s",
    "a strict zip of several lengths": "return [a for a, b in zip((1, 2, 3), (x, x), strict=True)]",
    "its length": "return len(zip(x, x))",
    "in reverse": "return list(reversed(enumerate(x)))",
    "the length of a map": "return len(map(abs, x)) + 1",
    "an item of it": "return zip(x, x)[0]",
    "by :=": "return list(z := zip(x, x)), list(z)",
    "as a default": "g = lambda z=iter([1.0, 2.0]): sum(z)\nreturn g(), g(), x",
    "of a string": "return list(iter('abc')), next(iter('abc')), x",
    "of bytes": "return list(iter(b'abc')), x",
    "of None": "return list(iter(None)), x",
    "of a NumPy scalar": "return list(iter(np.float64(2.0))), x",
    "given to a function": "def g(z):\n    return sum([a for a in z]), sum([a for a in z])\nreturn g(iter([1.0, 2.0])), x",
}  # fmt: skip
USED_AT_ONCE = {
    "all of them": "s = 0.0\nfor i, (a, b) in enumerate(zip(x, reversed(x))):\n    s += a * b * i\nreturn s",
    "a range is no iterator": "r = range(len(x))\ns = 0.0\nfor i in r:\n    s += x[i]\nfor i in r:\n    s += x[i] * i\nreturn s",
    "nor is a view of a dict": "v = {'a': 1.0, 'b': 2.0}.values()\nreturn [w for w in v], [w * x for w in v]",
    "taken apart": "(a, b), (c, d) = zip([1.0, 2.0], [x, x * 2])\nreturn a * b + c * d",
    "made a list of": "z = list(zip([1.0, 2.0], [x, x * 2]))\nreturn z[0], [a * b for a, b in z], [b for a, b in z]",
}  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_an_iterator_that_is_kept_has_what_is_left_of_it(name: str, tmp_path: Path) -> None:
    check(KEPT[name], tmp_path)


@pytest.mark.parametrize("name", USED_AT_ONCE)
def test_what_is_iterated_where_it_stands_is_native(name: str, tmp_path: Path) -> None:
    jitted = check(USED_AT_ONCE[name], tmp_path)
    assert jitted.stats().hits >= 2 and "Python at" not in jitted.explain(), jitted.explain()


def check(body: str, folder: Path) -> object:
    jitted, plainly = both("x", body, folder)
    for _ in range(5):
        assert alike(ending(jitted, np.arange(1.0, 5.0)), ending(plainly, np.arange(1.0, 5.0)))
    return jitted
