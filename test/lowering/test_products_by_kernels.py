"""Matrix products by kernels of our own, and cut into parts for threads."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import IS_EXHAUSTIVE

import tierup
from tierup.lowering.base import llvm

needs_wide_vectors = pytest.mark.skipif(not llvm.has_avx512(""), reason="the kernels are for CPUs with 32 registers of 64 bytes")
BOUND = {"float32": 1e-3, "float64": 1e-10}


def transposed(x, w):
    return x @ w.T


def plain(x, w):
    return x @ w


def arguments(function, m, k, n, dtype="float32"):
    random = np.random.default_rng(m + k + n)
    return random.standard_normal((m, k)).astype(dtype), random.standard_normal((n, k) if function is transposed else (k, n)).astype(dtype)


def agrees(got, x, y):
    """Within the bound of NumPy's product in float64."""
    want = x.astype(float) @ y.astype(float)
    assert (got.dtype, got.shape) == (x.dtype, want.shape)
    np.testing.assert_allclose(got, want, BOUND[x.dtype.name], BOUND[x.dtype.name])


def called(f):
    """What the last version calls for its products, in the order of the text."""
    return re.findall(r"call @(product_\w+?_[0-9]+x[0-9]+\w*|scipy_cblas_\w+)\(", f.plan(stage="buffers"))


@needs_wide_vectors
@pytest.mark.parametrize(("function", "shape", "kind"), [
    (transposed, (32, 512, 300), "product_f32_transposed"), (transposed, (4, 256, 300), "product_f32_dots_4x6_whole"),
    (transposed, (3, 170, 140), "product_f32_dots"), (plain, (32, 300, 400), "product_f32_packed"), (plain, (7, 100, 150), "product_f32_direct"),
    (plain, (8, 20, 30), "scipy_cblas_sgemm"), (plain, (64, 64, 64), "scipy_cblas_sgemm"), (transposed, (300, 40, 30), "scipy_cblas_sgemm"),
    (transposed, (1, 300, 200), "scipy_cblas_sgemv"),
])  # fmt: skip
def test_a_product_of_few_rows_is_a_kernels(function, shape, kind):
    f = tierup.jit(function, threads=1, weigh=False)
    x, w = arguments(function, *shape)
    for _ in range(3):
        got = f(x, w)
    assert f.stats().hits
    [name] = called(f)
    assert name.startswith(kind)
    agrees(got, x, w.T if function is transposed else w)


@needs_wide_vectors
def test_a_number_of_rows_that_the_run_counts_decides_who_computes():
    f = tierup.jit(transposed, fusion_strategy=[("dynamic", 1)], weigh=False)
    for m in (20, 30, 7, 8, 256, 257, 2):
        x, w = arguments(transposed, m, 100, 60, "float64")
        agrees(f(x, w), x, w.T)
    assert len(f.versions) == 1 and f.stats().misses == 0
    assert [name.partition("_")[0] for name in called(f)] == ["product", "scipy"]


def laid_out(array, how):
    """The same elements in rows, in columns, or apart and backwards."""
    if how == "rows":
        return array
    if how == "columns":
        return np.asfortranarray(array)
    wide = np.zeros((2 * array.shape[0], 3 * array.shape[1]), array.dtype)
    wide[::-2, ::3] = array
    return wide[::-2, ::3]


LAYOUTS = st.sampled_from(["rows", "columns", "apart"])


@settings(max_examples=300 if IS_EXHAUSTIVE else 15)
@given(st.integers(2, 40), st.integers(0, 300), st.integers(2, 200), st.sampled_from(sorted(BOUND)), LAYOUTS, LAYOUTS)
def test_products_of_any_sizes_and_layouts_are_numpys_within_their_bound(m, k, n, dtype, left, right):
    f = tierup.jit(plain, weigh=False)
    x, w = (laid_out(v, how) for v, how in zip(arguments(plain, m, k, n, dtype), (left, right), strict=True))
    for _ in range(2):
        got = f(x, w)
    agrees(got, x, w)


def test_infinities_and_nans_stay_in_their_rows_and_columns():
    f = tierup.jit(transposed, weigh=False)
    for m, k, n in ((20, 40, 130), (3, 137, 250)):
        x, w = arguments(transposed, m, k, n)
        x[1, 2], w[4, 5], x[2, k - 1] = np.nan, np.inf, -np.inf
        for _ in range(3):
            got = f(x, w)
        np.testing.assert_allclose(got, x @ w.T, 1e-3, 1e-3)


@pytest.mark.parametrize("shape", [(150, 640, 600), (600, 640, 150), (400, 500, 400)])
def test_products_that_threads_share_are_numpys_within_their_bound(shape):
    for function in (transposed, plain):
        f = tierup.jit(function, threads=2, weigh=False)
        x, w = arguments(function, *shape)
        for _ in range(3):
            got = f(x, w)
        assert "tierup.parts" in f.plan(stage="buffers")
        agrees(got, x, w.T if function is transposed else w)
