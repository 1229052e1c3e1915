"""Calls of everything in NumPy's index (numpy_examples.txt), and their arguments: in a call `x` is DATA["x"]. Below a pattern
with `@` stand the names for it, below an object its own calls."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

_MATRIX = np.array([[4.0, 1.0, 0.5, 0.2], [1.0, 3.0, 0.3, 0.1], [0.5, 0.3, 2.0, 0.4], [0.2, 0.1, 0.4, 1.0]])
DATA: dict[str, Any] = {
    "x": np.array([0.3, 0.7, 0.1, 0.9, 0.5, 0.2]), "y": np.array([0.6, 0.2, 0.8, 0.4, 0.15, 0.75]),
    "t": np.array([0.1, 0.2, 0.4, 0.5, 0.8, 0.9]), "a": np.arange(12.0).reshape(3, 4) / 16 + 0.1, "m": _MATRIX,
    "v": np.array([0.5, 0.25, 0.125, 1.0]), "u": np.array([0.1, 0.2, 0.3]), "w": np.array([0.2, 0.9, 0.4]),
    "s": np.stack([_MATRIX, _MATRIX * 2]),
    "i": np.array([3, 1, 0, 2, 5, 1]), "j": np.array([2, 3, 1, 4, 1, 6]), "k": np.array([0, 2, 1]), "g": np.array([[2], [0], [1]]),
    "b": np.array([True, False, True, True, False, True]), "d": np.array([False, True, True, False, False, True]),
    "h": np.array([0.25, float("nan"), 0.5, 1.5, float("nan"), 0.75]), "q": np.array([200, 7, 15], np.uint8),
    "z": np.array([1 + 2j, 0.5 - 1j, 3j]), "n": 3, "r": 0.5,
}  # fmt: skip

_OWNERS = {"x": "ndarray", "a": "ndarray", "k": "ndarray", "np.random.default_rng(7)": "np.random.Generator"}
_NAME = re.compile(r"\w+(\.(reduce|accumulate|outer|reduceat|at)\b)?")


def examples() -> Iterator[tuple[str, str]]:
    """Each example: the name that it is of, such as `np.fft.fft` or `ndarray.sum`, and the call."""
    text = (pkgutil.get_data(__name__, "numpy_examples.txt") or b"").decode()
    for of, said in re.findall(r"^(\S.*)\n((?: +.*\n)+)", text, re.MULTILINE):
        owner, at, _ = of.partition("@")
        owner = owner.removesuffix(".")
        for part in said.split() if at else re.split(r";\s+", " ".join(said.split())):
            found = _NAME.match(part)
            assert found is not None, part
            yield f"{_OWNERS.get(owner, owner)}.{part if at else found[0]}", of.replace("@", part) if at else f"{owner}.{part}"
    for name in np.__all__:
        ufunc = getattr(np, name)
        if isinstance(ufunc, np.ufunc) and ufunc.signature is None and any(t.startswith("d" * ufunc.nin + "-") for t in ufunc.types):
            yield f"np.{name}", f"np.{name}({'x' if ufunc.nin == 1 else 'x, y'})"
