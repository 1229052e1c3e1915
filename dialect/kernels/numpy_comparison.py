"""Comparisons, truth and bits under NumPy's promotion: NumPy's own functions. Either operand may be a Python number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.kernels.numpy_pointwise import as_array

eq, ne, lt = as_array(np.equal), as_array(np.not_equal), as_array(np.less)
le, gt, ge = as_array(np.less_equal), as_array(np.greater), as_array(np.greater_equal)
logical_and, logical_or = as_array(np.logical_and), as_array(np.logical_or)
logical_xor, logical_not = as_array(np.logical_xor), as_array(np.logical_not)
bitwise_and, bitwise_or = as_array(np.bitwise_and), as_array(np.bitwise_or)
bitwise_xor, bitwise_not = as_array(np.bitwise_xor), as_array(np.invert)
left_shift, right_shift = as_array(np.left_shift), as_array(np.right_shift)
isnan, isinf, isfinite = as_array(np.isnan), as_array(np.isinf), as_array(np.isfinite)
isposinf, isneginf, signbit = as_array(np.isposinf), as_array(np.isneginf), as_array(np.signbit)


def isclose(x: Any, y: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> np.ndarray:
    """np.isclose."""
    return np.asarray(np.isclose(x, y, rtol, atol, equal_nan))
