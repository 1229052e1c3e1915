"""Matrix products under NumPy's rules: its promotion, its broadcasting, its exceptions."""

from __future__ import annotations

import numpy as np


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b: np.matmul."""
    return np.asarray(np.matmul(a, b))


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.dot(a, b), for operands of any rank: the last axis of a with the second to last of b."""
    return np.asarray(np.dot(a, b))


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """np.outer(a, b): operands of any rank are flattened."""
    return np.outer(a, b)
