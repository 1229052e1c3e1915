"""`tierup.ops`: array functions that NumPy lacks, for use with and without `tierup.jit`.

Each is one torch op with torch's semantics and dtypes. Called on arrays it runs tier 0's kernel; in a decorated function it is
the op itself, so that decorating changes nothing. Arrays in, arrays out (rank 0 included).

Free of MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from tierup.frontend.window_ops import adaptive_avg_pool1d as adaptive_avg_pool1d
from tierup.frontend.window_ops import adaptive_avg_pool2d as adaptive_avg_pool2d
from tierup.frontend.window_ops import adaptive_avg_pool3d as adaptive_avg_pool3d
from tierup.frontend.window_ops import avg_pool1d as avg_pool1d
from tierup.frontend.window_ops import avg_pool2d as avg_pool2d
from tierup.frontend.window_ops import avg_pool3d as avg_pool3d
from tierup.frontend.window_ops import conv1d as conv1d
from tierup.frontend.window_ops import conv2d as conv2d
from tierup.frontend.window_ops import conv3d as conv3d
from tierup.frontend.window_ops import conv_transpose1d as conv_transpose1d
from tierup.frontend.window_ops import conv_transpose2d as conv_transpose2d
from tierup.frontend.window_ops import conv_transpose3d as conv_transpose3d
from tierup.frontend.window_ops import kernel_of
from tierup.frontend.window_ops import max_pool1d as max_pool1d
from tierup.frontend.window_ops import max_pool2d as max_pool2d
from tierup.frontend.window_ops import max_pool3d as max_pool3d
from tierup.frontend.window_ops import upsample_nearest2d as upsample_nearest2d


def relu(x: ArrayLike) -> np.ndarray:
    """max(x, 0); NaN stays."""
    return kernel_of("aten.relu")(np.asarray(x))


def leaky_relu(x: ArrayLike, negative_slope: float = 0.01) -> np.ndarray:
    """x where x > 0, else negative_slope * x. Floats only."""
    return kernel_of("aten.leaky_relu")(np.asarray(x), negative_slope)


def gelu(x: ArrayLike, approximate: str = "none") -> np.ndarray:
    """x * Phi(x), Phi the normal distribution function; `approximate="tanh"` is Hendrycks and Gimpel's tanh form. Floats only."""
    return kernel_of("aten.gelu")(np.asarray(x), approximate)


def silu(x: ArrayLike) -> np.ndarray:
    """x * sigmoid(x). Floats only."""
    return kernel_of("aten.silu")(np.asarray(x))


def sigmoid(x: ArrayLike) -> np.ndarray:
    """1 / (1 + exp(-x)), without overflow; float32 for ints."""
    return kernel_of("aten.sigmoid")(np.asarray(x))


def softplus(x: ArrayLike, beta: float = 1.0, threshold: float = 20.0) -> np.ndarray:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x > threshold. Floats only."""
    return kernel_of("aten.softplus")(np.asarray(x), beta, threshold)


def erf(x: ArrayLike) -> np.ndarray:
    """The error function; float32 for ints."""
    return kernel_of("aten.erf")(np.asarray(x))


def softmax(x: ArrayLike, axis: int = -1) -> np.ndarray:
    """exp(x - max) / sum(exp(x - max)) along the axis. Floats only."""
    return kernel_of("aten.softmax.int")(np.asarray(x), axis, None)


def log_softmax(x: ArrayLike, axis: int = -1) -> np.ndarray:
    """log(softmax(x)) along the axis, without overflow. Floats only."""
    return kernel_of("aten.log_softmax.int")(np.asarray(x), axis, None)


def logsumexp(x: ArrayLike, axis: int = -1, keepdims: bool = False) -> np.ndarray:
    """log(sum(exp(x))) along the axis, without overflow."""
    return kernel_of("aten.logsumexp")(np.asarray(x), [axis], keepdims)


def layer_norm(
    x: ArrayLike, shape: Sequence[int] | None = None, weight: np.ndarray | None = None, bias: np.ndarray | None = None, eps: float = 1e-5
) -> np.ndarray:
    """(x - mean) / sqrt(var + eps) * weight + bias over the last axes, whose sizes are `shape` (the last axis alone without it)."""
    array = np.asarray(x)
    sizes = [array.shape[-1]] if shape is None else list(shape)
    return kernel_of("aten.layer_norm")(array, sizes, weight, bias, eps, False)


def linear(x: ArrayLike, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """x @ weight.T + bias; weight is (out, in). One dtype for all."""
    return kernel_of("aten.linear")(np.asarray(x), weight, bias)


def embedding(weight: np.ndarray, indices: ArrayLike) -> np.ndarray:
    """Rows of `weight` (n, d) by integer indices of any shape. IndexError for an index out of range; no negative ones."""
    return kernel_of("aten.embedding")(weight, np.asarray(indices), -1, False, False)
