"""Arrays of float16 and of ml_dtypes' bfloat16: every tier gives the dtypes that NumPy gives, which are not always the operands'."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tierup

X = np.array([[1.0, 2.0], [0.5, 4.0]])
V = np.array([1.0, 3.0])


def angles(x, v):
    return np.deg2rad(x), np.rad2deg(x), np.radians(x), np.degrees(v)


def products(x, v):
    return np.dot(x, x), np.dot(x, v), np.dot(v, x), np.dot(v, v), x.dot(x), x @ x, v @ x, np.inner(v, v)


def bounded(x, v):
    return np.clip(x, x, x), np.clip(x, v, None), np.clip(x, None, v), np.clip(x, 1.5, v), np.clip(x, 1.5, 3), x.clip(v, 2)


def norms(x, v):
    return np.linalg.norm(x), np.linalg.norm(v), np.linalg.norm(x, axis=0), np.linalg.norm(x, axis=1, keepdims=True)


def reduced(x, v):
    return np.sum(x), np.mean(x, axis=0), np.std(x), np.cumsum(v), np.max(x), np.ptp(v), np.trace(x)


def joined(x, v):
    return np.where(x > 2, x, 0.0), np.concatenate([v, v.astype(np.float32)]), x * np.float32(2), x * 1.0, x + 0, x**2, x / 2, x[0, 0] * 2


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("program", [angles, products, bounded, norms, reduced, joined])
def test_results_have_numpys_dtypes_in_every_tier(program, dtype):
    x, v = X.astype(dtype), V.astype(dtype)
    want = program(x, v)
    for options in ({"optimize": False}, {"num_profiled_runs": 0}):
        f = tierup.jit(program, **options)
        for _ in range(2):
            got = f(x, v)
            assert [np.asarray(g).dtype for g in got] == [np.asarray(w).dtype for w in want]
            for g, w in zip(got, want, strict=True):
                np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), rtol=0.01)
        if program in (angles, bounded):  # of others some or all are NumPy's own functions, in tier 0
            assert (f.stats().compiles > 0) == ("optimize" not in options)
