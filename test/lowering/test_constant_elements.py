"""Ufuncs of constant arrays, which MLIR and LLVM compute while they compile: what they fold to is what NumPy gives."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import tierup
from test.sampling import drawn

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 3.0)
_VALUES = {
    "float64": _FLOATS,
    "float32": _FLOATS,
    "int64": (0, 1, -1, 3, 64, -(2**63), 2**63 - 1),
    "int32": (0, 1, -1, 3, 32, -(2**31), 2**31 - 1),
    "uint8": (0, 1, 3, 8, 255),
}
_ZEROS = ("fmax", "fmin", "maximum", "minimum")  # which of two zeros NumPy gives hangs on where they lie
_NOT_NATIVE = ("bitwise_count", "ldexp", "nextafter", "spacing")
_OF_FLOATS = ("power", "reciprocal")  # of whole numbers in tier 0


def _ufuncs() -> list[tuple[str, str]]:
    """Elementwise ufuncs of one or two operands of a dtype, with one result."""
    found = {u.__name__: u for u in vars(np).values() if isinstance(u, np.ufunc) and u.signature is None and u.nin <= 2 and u.nout == 1}
    return [
        (name, dtype)
        for name, u in sorted(found.items())
        for dtype in _VALUES
        if name not in _NOT_NATIVE
        and (name not in _OF_FLOATS or dtype in ("float64", "float32"))
        and any(t.startswith(np.dtype(dtype).char * u.nin + "->") for t in u.types)
    ]


@pytest.mark.parametrize(("name", "dtype"), drawn("ufuncs of constants", _ufuncs(), 32))
def test_a_ufunc_of_constants_is_numpys(name: str, dtype: str) -> None:
    u: np.ufunc = getattr(np, name)
    cases = list(itertools.product(_VALUES[dtype], repeat=u.nin))

    def unary(n: int) -> list[np.ndarray]:
        return [u(np.full(n, a, dtype)) for (a,) in cases]

    def binary(n: int) -> list[np.ndarray]:
        return [u(np.full(n, a, dtype), np.full(n, b, dtype)) for a, b in cases]

    plain = unary if u.nin == 1 else binary
    f = tierup.jit(plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(2)
        for _ in range(3):
            found = f(2)
    assert f.stats().hits == 2, f.explain()
    for case, got, wanted in zip(cases, found, expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_allclose(got, wanted, rtol=4 * np.finfo(got.dtype).eps if got.dtype.kind == "f" else 0, atol=0, err_msg=str(case))
        if got.dtype.kind == "f" and name not in _ZEROS:
            assert np.array_equal(np.signbit(got[got == 0]), np.signbit(wanted[wanted == 0])), case
