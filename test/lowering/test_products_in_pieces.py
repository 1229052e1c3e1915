"""Matrix products that are cut: into pieces for which BLAS has quicker loops, and into parts for threads."""

from __future__ import annotations

import numpy as np
import pytest

import tierup
from tierup.lowering.base import llvm

TRANSPOSED = [(32, 512, 300), (8, 1024, 200), (3, 700, 900), (64, 200, 64), (150, 64, 40), (1, 1024, 300), (40, 40, 3000)]
PLAIN = [(8, 1024, 200), (3, 700, 900), (24, 300, 400), (2, 1100, 1100), (1, 900, 1200), (30, 0, 40), (30, 2000, 0)]


def transposed(x, w):
    return x @ w.T + 1


def plain(x, w):
    return x @ w


def arguments(function, m, k, n, dtype):
    random = np.random.default_rng(m + k + n)
    return random.standard_normal((m, k)).astype(dtype), random.standard_normal((n, k) if function is transposed else (k, n)).astype(dtype)


CASES = [(f, s) for f, shapes in ((transposed, TRANSPOSED), (plain, PLAIN)) for s in shapes]


@pytest.mark.parametrize("threads", [1, 2])
def test_products_of_any_size_are_numpys_within_their_bound(threads):
    """One function a kind of product: the first sizes have versions of their own, the others one for all sizes."""
    for function in (transposed, plain):
        f = tierup.jit(function, threads=threads, weigh=False)
        for dtype in ("float32", "float64"):
            for made, shape in CASES:
                if made is function:
                    x, w = arguments(function, *shape, dtype)
                    for _ in range(2):
                        got = f(x, w)
                    want = function(x, w)
                    assert (got.dtype, got.shape) == (want.dtype, want.shape)
                    np.testing.assert_allclose(got, want, 1e-3 if dtype == "float32" else 1e-10, 1e-3 if dtype == "float32" else 1e-10)
        assert any("s0" in line or "dynamic" in line for line in f.explain().splitlines()), f.explain()


def calls_in_a_loop(f):
    """Whether the last version calls BLAS in a loop."""
    lines = f.plan(stage="buffers").splitlines()
    at = next(i for i, line in enumerate(lines) if "func.call @scipy_cblas" in line or "call @scipy_cblas" in line and "private" not in line)
    return any("scf.for" in line for line in lines[:at])


@pytest.mark.skipif(not llvm.has_avx512(""), reason="BLAS has its loops for small products on CPUs with AVX-512")
@pytest.mark.parametrize(("function", "shape", "cut"), [
    (transposed, (32, 1024, 1024), True), (transposed, (48, 512, 1024), False), (transposed, (4, 20, 3000), False),
    (plain, (4, 1024, 1024), True), (plain, (8, 1024, 1024), False), (plain, (32, 512, 2048), False), (plain, (8, 100, 100), False),
])  # fmt: skip
def test_a_product_of_few_rows_is_done_in_pieces(function, shape, cut):
    f = tierup.jit(function, threads=1, weigh=False)
    x, w = arguments(function, *shape, "float32")
    for _ in range(3):
        got = f(x, w)
    assert f.stats().hits
    assert calls_in_a_loop(f) == cut
    np.testing.assert_allclose(got, function(x, w), 1e-3, 1e-3)
