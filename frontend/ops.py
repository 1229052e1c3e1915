"""`tierup.ops`: array functions that NumPy lacks, for use with and without `tierup.jit`.

Each is one torch op with torch's semantics and dtypes. Called on arrays it runs tier 0's kernel; in a decorated function it is
the op itself, so that decorating changes nothing. Arrays in, arrays out (rank 0 included).

Free of MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tierup.frontend import window_ops
from tierup.frontend.op_calls import Operand, array, ints, run
from tierup.frontend.window_ops import *  # noqa: F403 - all of it is part of this

__all__ = [
    "embedding", "erf", "gelu", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsumexp", "relu", "sigmoid", "silu", "softmax",
    "softplus",
]  # fmt: skip
__all__ += window_ops.__all__


def relu(x: ArrayLike) -> np.ndarray:
    """max(x, 0); NaN stays."""
    return run("aten.relu", array(x))


def leaky_relu(x: ArrayLike, negative_slope: float = 0.01) -> np.ndarray:
    """x where x > 0, else negative_slope * x. Floats only."""
    return run("aten.leaky_relu", array(x), Operand("float", negative_slope))


def gelu(x: ArrayLike, approximate: str = "none") -> np.ndarray:
    """x * Phi(x), Phi the normal distribution function; `approximate="tanh"` is Hendrycks and Gimpel's tanh form. Floats only."""
    return run("aten.gelu", array(x), Operand("word", approximate, "`approximate`"))


def silu(x: ArrayLike) -> np.ndarray:
    """x * sigmoid(x). Floats only."""
    return run("aten.silu", array(x))


def sigmoid(x: ArrayLike) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow; float32 for ints."""
    return run("aten.sigmoid", array(x))


def softplus(x: ArrayLike, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Floats only."""
    return run("aten.softplus", array(x), Operand("float", beta), Operand("float", threshold))


def erf(x: ArrayLike) -> np.ndarray:
    """The error function; float32 for ints."""
    return run("aten.erf", array(x))


def softmax(x: ArrayLike, axis: int = -1) -> np.ndarray:
    """exp(x - max) / sum(exp(x - max)) along the axis. Floats only."""
    return run("aten.softmax.int", array(x), Operand("int", axis, "an axis"), None)


def log_softmax(x: ArrayLike, axis: int = -1) -> np.ndarray:
    """log(softmax(x)) along the axis, without overflow. Floats only."""
    return run("aten.log_softmax.int", array(x), Operand("int", axis, "an axis"), None)


def logsumexp(x: ArrayLike, axis: int = -1, keepdims: bool = False) -> np.ndarray:
    """log(sum(exp(x))) along the axis, without overflow."""
    rank = None if not isinstance(keepdims, (bool, int)) else 0 if keepdims else -1
    return run("aten.logsumexp", array(x), ints(axis, "an axis"), Operand("bool", keepdims), rank=rank)


def layer_norm(
    x: ArrayLike, shape: Sequence[int] | None = None, weight: np.ndarray | None = None, bias: np.ndarray | None = None, eps: float = 1e-5
) -> np.ndarray:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose sizes are `shape` (the last axis alone without it)."""
    sizes = Operand("sizes", x) if shape is None else ints(shape, "a shape")
    return run("aten.layer_norm", array(x), sizes, array(weight), array(bias), Operand("float", eps), False)


def linear(x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """x @ weight.T + bias; weight is (out, in). One dtype for all."""
    return run("aten.linear", array(x), array(weight), array(bias))


def embedding(weight: np.ndarray, indices: ArrayLike) -> np.ndarray:
    """Rows of `weight` (n, d) by integer indices of any shape. IndexError for an index out of range; no negative ones."""
    return run("aten.embedding", array(weight), array(indices), -1, False, False, rank=1, like=1)
