"""Results that share memory share it in every tier: writing one of them is seen in the other, in the first call and in later ones."""

from __future__ import annotations

import numpy as np
import pytest

import tierup


def reshaped(x):
    v = x + 1
    return v, v.reshape(-1)


def of_a_branch(x):
    v = x + 1
    w = v if x.sum() > 0 else v * 2
    return v, w




@pytest.mark.parametrize("function", [reshaped, of_a_branch], ids=lambda f: f.__name__)
def test_a_write_to_a_result_is_seen_in_the_one_that_shares_its_memory(function) -> None:
    ours = tierup.jit(function)
    for n in (3, 3, 3, 4, 5, 5):
        first, second = ours(np.ones((n, 2)))
        second[...] = 7
        assert (first == 7).all()


def test_results_that_cannot_share_memory_stay_native() -> None:
    def apart(x):
        i = x.astype(np.int32)
        return i, i.astype(np.float64), x * 2, (x * 2).reshape(-1)

    ours = tierup.jit(apart)
    for _ in range(3):
        results = ours(np.ones((3, 2), np.float32))
    assert ours.stats().hits == 2 and not any(np.shares_memory(results[0], r) for r in results[1:])
