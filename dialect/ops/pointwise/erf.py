"""erf and erfc over float64 arrays.

The rational approximations and the splitting of exp(-x*x) are those of Sun's fdlibm, s_erf.c (Copyright 1993 by Sun
Microsystems, Inc.; freely usable with this notice kept): error below 1 ulp. float32 callers compute here and round.
"""

from __future__ import annotations

import numpy as np

from tierup.dialect.optable.kernels import overlap

# Coefficients, highest power first, as np.polyval takes them.
_PP = (
    -2.37630166566501626084e-05, -5.77027029648944159157e-03, -2.84817495755985104766e-02,
    -3.25042107247001499370e-01, 1.28379167095512558561e-01,
)  # fmt: skip
_QQ = (
    -3.96022827877536812320e-06, 1.32494738004321644526e-04, 5.08130628187576562776e-03,
    6.50222499887672944485e-02, 3.97917223959155352819e-01, 1.0,
)  # fmt: skip
_PA = (
    -2.16637559486879084300e-03, 3.54783043256182359371e-02, -1.10894694282396677476e-01, 3.18346619901161753674e-01,
    -3.72207876035701323847e-01, 4.14856118683748331666e-01, -2.36211856075265944077e-03,
)  # fmt: skip
_QA = (
    1.19844998467991074170e-02, 1.36370839120290507362e-02, 1.26171219808761642112e-01, 7.18286544141962662868e-02,
    5.40397917702171048937e-01, 1.06420880400844228286e-01, 1.0,
)  # fmt: skip
_RA = (
    -9.81432934416914548592e00, -8.12874355063065934246e01, -1.84605092906711035994e02, -1.62396669462573470355e02,
    -6.23753324503260060396e01, -1.05586262253232909814e01, -6.93858572707181764372e-01, -9.86494403484714822705e-03,
)  # fmt: skip
_SA = (
    -6.04244152148580987438e-02, 6.57024977031928170135e00, 1.08635005541779435134e02, 4.29008140027567833386e02,
    6.45387271733267880336e02, 4.34565877475229228821e02, 1.37657754143519042600e02, 1.96512716674392571292e01, 1.0,
)  # fmt: skip
_RB = (
    -4.83519191608651397019e02, -1.02509513161107724954e03, -6.37566443368389627722e02, -1.60636384855821916062e02,
    -1.77579549177547519889e01, -7.99283237680523006574e-01, -9.86494292470009928597e-03,
)  # fmt: skip
_SB = (
    -2.24409524465858183362e01, 4.74528541206955367215e02, 2.55305040643316442583e03, 3.19985821950859553908e03,
    1.53672958608443695994e03, 3.25792512996573918826e02, 3.03380607434824582924e01, 1.0,
)  # fmt: skip
_ERX = 8.45062911510467529297e-01  # erf(1) to 24 bits
_SMALL, _MIDDLE, _LARGE = 0.84375, 1.25, 1 / 0.35
_HIGH_WORD = np.uint64(0xFFFFFFFF00000000)


def _poly(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    total = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        total *= x
        total += c
    return total


def _tail(a: np.ndarray) -> np.ndarray:
    """erfc(a) for 1.25 <= a <= 28: exp(-a*a) * rational(1/a^2) / a, with a*a split so that its rounding does not count."""
    s = 1.0 / (a * a)
    with_r, with_s = np.empty_like(a), np.empty_like(a)
    near = a < _LARGE
    for where, r, q in ((near, _RA, _SA), (~near, _RB, _SB)):
        if where.any():
            with_r[where] = _poly(r, s[where])
            with_s[where] = _poly(q, s[where])
    z = (a.view(np.uint64) & _HIGH_WORD).view(np.float64)
    made: np.ndarray = np.exp(-z * z - 0.5625) * np.exp((z - a) * (z + a) + with_r / with_s) / a
    return made


def erf64(x: np.ndarray) -> np.ndarray:
    """The error function 2/sqrt(pi) * integral of exp(-t*t) from 0 to x. float64 of any shape, at most 2 ulp."""
    flat = np.ascontiguousarray(x, np.float64).reshape(-1)
    a = np.abs(flat)
    out = flat + np.sign(flat)  # NaN stays NaN; the rest is overwritten
    small = a < _SMALL
    if small.any():
        v = flat[small]
        square = v * v
        out[small] = v + v * (_poly(_PP, square) / _poly(_QQ, square))
    middle = (a >= _SMALL) & (a < _MIDDLE)
    if middle.any():
        s = a[middle] - 1.0
        out[middle] = np.copysign(_ERX + _poly(_PA, s) / _poly(_QA, s), flat[middle])
    large = (a >= _MIDDLE) & (a < 6.0)
    if large.any():
        out[large] = np.copysign(1.0 - _tail(a[large]), flat[large])
    beyond = a >= 6.0
    out[beyond] = np.copysign(1.0, flat[beyond])
    return _laid_out_as(x, out)


def erfc64(x: np.ndarray) -> np.ndarray:
    """1 - erf(x) without cancellation for positive x. float64 of any shape, at most 3 ulp where the result is normal."""
    flat = np.ascontiguousarray(x, np.float64).reshape(-1)
    a = np.abs(flat)
    out = flat + 0.0  # NaN stays NaN; the rest is overwritten
    small = a < _SMALL
    if small.any():
        v = flat[small]
        square = v * v
        correction = v * (_poly(_PP, square) / _poly(_QQ, square))
        out[small] = np.where(v < 0.25, 1.0 - (v + correction), 0.5 - (correction + (v - 0.5)))
    middle = (a >= _SMALL) & (a < _MIDDLE)
    if middle.any():
        s = a[middle] - 1.0
        ratio = _poly(_PA, s) / _poly(_QA, s)
        out[middle] = np.where(flat[middle] >= 0, (1.0 - _ERX) - ratio, 1.0 + (_ERX + ratio))
    large = (a >= _MIDDLE) & (a < 28.0)
    if large.any():
        tail = _tail(a[large])
        out[large] = np.where(flat[large] > 0, tail, 2.0 - tail)
    beyond = a >= 28.0
    out[beyond] = np.where(flat[beyond] > 0, 0.0, 2.0)
    return _laid_out_as(x, out)


def _laid_out_as(x: np.ndarray, elements: np.ndarray) -> np.ndarray:
    """Elements in row-major order as an array that lies in memory in the order that x does."""
    result = overlap.empty_like(x, np.dtype(np.float64))
    result[...] = elements.reshape(x.shape)
    return result


def erf(x: np.ndarray) -> np.ndarray:
    """erf in x's own dtype, float32 or float64."""
    return erf64(np.asarray(x)).astype(x.dtype, copy=False)


def erfc(x: np.ndarray) -> np.ndarray:
    """erfc in x's own dtype, float32 or float64."""
    return erfc64(np.asarray(x)).astype(x.dtype, copy=False)
