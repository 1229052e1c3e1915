"""A loop over a list or dict that changes meanwhile goes on with the items that are there by then, or is Python's RuntimeError."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beside_python import alike, both, ending

BODIES = {
    "a list grows": "out = [4.0]\nfor v in out:\n    if v > 0.5:\n        out.append(v / 2)\nreturn out",
    "a list of arrays grows": "l = [x, x * 2]\nfor v in l:\n    if len(l) < 5:\n        l.append(v + 1)\nreturn l",
    "a list shrinks": "l = [1, 2, 3, 4]\nfor v in l:\n    if v == 2:\n        l.pop()\n    x = x + v\nreturn l, x",
    "an item is written": "l = [1, 2, 3]\ns = 0\nfor i, v in enumerate(l):\n    l[2] = 10\n    s += v\nreturn s, l",
    "it grows in a comprehension": "l = [1, 2]\nreturn [l.append(v) or v for v in l if len(l) < 6], l",
    "it grows before the loop over its zip": "l = [1, 2]\nz = zip(l, [5, 6, 7])\nl.append(3)\ns = 0\nfor a, b in z:\n    s += a * b\nreturn s",
    "it grows before a comprehension over its enumerate": "l = [1, 2]\ne = enumerate(l)\nl.append(4)\nreturn [i * v for i, v in e]",
    "it grows in a loop from behind": "l = [1, 2, 3]\nfor v in reversed(l):\n    l.append(v)\nreturn l",
    "it grows and the loop is left": "l = [1, 2, 3]\nfor v in l:\n    if v == 2:\n        l.append(9)\n        break\nreturn l",
    "a dict gets a key": "d = {'a': 1}\nfor k in d:\n    d['b'] = 2\nreturn d",
    "a dict gets a key in a loop over its items": "d = {'a': 1}\nfor k, v in d.items():\n    d['z'] = 2\nreturn d",
    "a value is written": "d = {'a': 1, 'c': 2}\nfor k, v in d.items():\n    d[k] = v * 2\nreturn d, x * d['c']",
    "a later value is written": "d = {'a': 1, 'c': 2}\ns = 0\nfor v in d.values():\n    d['c'] = 10\n    s += v\nreturn s * x",
    "a copy of the keys": "d = {'a': x, 'b': x * 2}\nfor k in list(d):\n    d[k + '2'] = d[k] + 1\nreturn d",
    "it grows behind the loop": "l = [x]\nfor i in range(3):\n    l.append(l[-1] * 2)\nfor v in l:\n    x = x + v\nl.append(x)\nreturn l",
}  # fmt: skip
NATIVE = ("a value is written", "a later value is written", "it grows behind the loop")


@pytest.mark.parametrize("name", BODIES)
def test_what_changes_while_it_is_iterated_is_met_as_in_python(name: str, tmp_path: Path) -> None:
    jitted, plainly = both("x", BODIES[name], tmp_path)
    for _ in range(4):
        assert alike(ending(jitted, np.ones(3)), ending(plainly, np.ones(3)))
    assert name not in NATIVE or jitted.stats().hits >= 2, jitted.explain()
