"""np.fmod, % and // of floats are NumPy's to the bit: of every magnitude, near multiples of the divisor, of zeros, infinities and NaNs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tierup

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng(5)
EDGES = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 2.2e-308, 1.7e308, -1.7e308, 0.1, 3.0, 1e16, 2.0**53, 1e300, 1e-300]


def divided(x: Array, y: Array) -> tuple[Array, Array, Array]:
    return np.fmod(x, y), x % y, x // y


def by_numbers(x: Array, y: Array) -> tuple[Array, Array, Array]:
    return x % 0.1, x % 0.25, np.sin(x % 6.28)  # by a power of two, and beside another function, LLVM's


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("program", [divided, by_numbers])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_remainders_have_numpys_bits(dtype: type, program: Any) -> None:
    bits = np.dtype(f"u{np.dtype(dtype).itemsize}")
    edges = np.array(EDGES).astype(dtype)
    drawn = RNG.integers(0, np.iinfo(bits).max, (2, 5000), bits, endpoint=True).view(dtype)
    divisors = (RNG.random(5000) * 10 - 5).astype(dtype)
    multiples = (divisors * RNG.integers(-1000, 1000, 5000)).astype(dtype)
    x = np.concatenate([np.repeat(edges, edges.size), drawn[0], multiples, np.nextafter(multiples, dtype(0))])
    y = np.concatenate([np.tile(edges, edges.size), drawn[1], divisors, divisors])
    f = tierup.jit(program)
    for _ in range(3):
        found = f(x, y)
    assert f.stats().hits >= 1
    for ours, numpys in zip(found, program(x, y), strict=True):
        assert ours.dtype == numpys.dtype
        if program is by_numbers and ours is found[2]:
            np.testing.assert_allclose(ours, numpys, rtol=2e-3 if dtype is np.float16 else 1e-6, atol=1e-7)
        else:
            same = (ours.view(bits) == numpys.view(bits)) | (np.isnan(ours) & np.isnan(numpys))
            assert same.all(), (x[~same][:5], y[~same][:5], ours[~same][:5], numpys[~same][:5])
