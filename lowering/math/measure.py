"""Errors in units in the last place, against a reference of more precision."""

from __future__ import annotations

import numpy as np


def ulps(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """|got - reference| in ulps of got's dtype at the reference, elementwise, as float64.

    `reference` is of a wider float dtype. An ulp is the spacing of the binade the reference lies in (Muller et al., "Handbook
    of Floating-Point Arithmetic", 2.3.2), never less than the spacing of denormals. A zero of the wrong sign, a NaN or an
    infinity that the rounded reference is not, or is and `got` is not, counts as infinite.
    """
    info = np.finfo(got.dtype)
    wide = np.asarray(reference)
    with np.errstate(all="ignore"):
        rounded = wide.astype(got.dtype)
        _, exponent = np.frexp(wide)
        exponent = np.maximum(exponent - 1, info.minexp)
        error = np.abs(got.astype(wide.dtype) - wide) / np.ldexp(np.ones((), wide.dtype), exponent - info.nmant)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(got) & np.isfinite(rounded)
    wrong_zero = (rounded == 0) & (got == 0) & (np.signbit(rounded) != np.signbit(got))
    return np.where(wrong_zero | ~(finite | same), np.inf, np.where(finite, error, 0.0)).astype(np.float64)
