"""Arrays by the memory they lie in, against np.may_share_memory."""

from __future__ import annotations

import numpy as np

from tierup.runtime.arguments.nearby import Nearby, lie_apart


def test_those_are_found_that_may_share_memory():
    rng = np.random.default_rng(3)
    bases = [np.zeros((4, 6)), np.zeros(30, np.float32), np.zeros((0, 3)), np.zeros(())]
    arrays = []
    for _ in range(60):
        base = bases[rng.integers(len(bases))]
        start, stop = sorted(rng.integers(0, 6, 2))
        arrays.append(base[..., start:stop:2].T if base.ndim else base)
    nearby = Nearby()
    for k, array in enumerate(arrays):
        nearby.add(array, k)
    found = [nearby.of(array) for array in arrays]
    assert found == [[k for k, other in enumerate(arrays) if np.may_share_memory(array, other)] for array in arrays]
    assert any(0 < len(near) < 30 for near in found) and [] in found


def test_new_arrays_lie_apart_or_not():
    rng = np.random.default_rng(5)
    bases = [np.zeros((4, 6)), np.zeros(30, np.float32), np.zeros((0, 3)), np.arange(12.0)[::-1]]
    said = set()
    for _ in range(200):
        arrays = []
        for _ in range(4):
            base = bases[rng.integers(len(bases))]
            start, stop = sorted(rng.integers(0, 6, 2))
            arrays.append(base[..., start:stop])
        new, old = arrays[:2], arrays[2:]
        shared = np.may_share_memory(*new) or any(np.may_share_memory(a, b) for a in new for b in old)
        assert lie_apart(new, old) is not shared
        said.add(shared)
    assert said == {True, False}
