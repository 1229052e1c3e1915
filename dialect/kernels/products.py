"""Tier-0 kernels of matrix products, with torch's semantics: no promotion between matrices, float16 and bfloat16 summed in
float32, bools refused.

Common errors: TypeError for operands of different dtypes or of bools, ValueError for shapes that cannot be multiplied.
"""

from __future__ import annotations

import numpy as np

from tierup.dialect.kernels.axes import name_of, quiet, rounded, widened
from tierup.dialect.kernels.casts import cast
from tierup.dialect.kernels.promotion import common_dtype

Number = int | float


def one_dtype(op: str, *arrays: np.ndarray) -> None:
    """torch's TypeError unless all have one dtype, which is not bool."""
    first = arrays[0].dtype
    for array in arrays:
        if array.dtype != first:
            raise TypeError(f"{op}: expected operands of the same dtype, but got: {name_of(first)} != {name_of(array.dtype)}")
    if first == np.bool_:
        raise TypeError(f"{op}: not implemented for 'Bool'")


def _ranks(op: str, *expected: tuple[np.ndarray, int]) -> None:
    for array, rank in expected:
        if array.ndim != rank:
            raise ValueError(f"{op}: expected a tensor of rank {rank}, but got one of rank {array.ndim}")


def _inner(op: str, a: np.ndarray, b: np.ndarray) -> None:
    """The dims that are summed over: a's last and b's second to last (or only) one."""
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        shapes = " and ".join("x".join(map(str, x.shape)) for x in (a, b))
        raise ValueError(f"{op}: mat1 and mat2 shapes cannot be multiplied ({shapes})")


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, in float32 for the halves."""
    with quiet:
        return np.asarray(np.matmul(widened(a), widened(b)))


def mm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """aten.mm: (n, k) x (k, m) -> (n, m)."""
    _ranks("mm", (a, 2), (b, 2))
    _inner("mm", a, b)
    one_dtype("mm", a, b)
    return rounded(_product(a, b), a.dtype)


def bmm(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """aten.bmm: (b, n, k) x (b, k, m) -> (b, n, m); batches do not broadcast."""
    _batches("bmm", a, b)
    return rounded(_product(a, b), a.dtype)


def _batches(op: str, a: np.ndarray, b: np.ndarray) -> None:
    _ranks(op, (a, 3), (b, 3))
    if b.shape[0] != a.shape[0] or b.shape[1] != a.shape[2]:
        raise ValueError(
            f"{op}: Expected size for first two dimensions of batch2 tensor to be: [{a.shape[0]}, {a.shape[2]}] "
            f"but got: [{b.shape[0]}, {b.shape[1]}]."
        )
    one_dtype(op, a, b)


def matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """aten.matmul: vectors, matrices and batches of them, which broadcast."""
    if not a.ndim or not b.ndim:
        raise ValueError(f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D")
    _inner("matmul", a, b)
    one_dtype("matmul", a, b)
    return rounded(_product(a, b), a.dtype)


def mv(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """aten.mv: (n, k) x (k) -> (n)."""
    _ranks("mv", (a, 2), (x, 1))
    _inner("mv", a, x)
    one_dtype("mv", a, x)
    return rounded(_product(a, x), a.dtype)


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """aten.dot: of two vectors of one length."""
    if a.ndim != 1 or b.ndim != 1:
        raise ValueError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    _inner("dot", a, b)
    one_dtype("dot", a, b)
    return rounded(_product(a, b), a.dtype)


def outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """aten.outer: (n), (m) -> (n, m), in their common dtype."""
    for name, x in (("self", a), ("vec2", b)):
        if x.ndim != 1:
            raise ValueError(f"outer: Expected 1-D argument {name}, but got {x.ndim}-D")
    dtype = common_dtype(a, b)
    with quiet:
        return cast(np.multiply.outer(widened(cast(a, dtype)), widened(cast(b, dtype))), dtype)


# --- with something added ----------------------------------------------------------------------------------------------


def _added(op: str, x: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Number, alpha: Number) -> np.ndarray:
    """beta * x + alpha * (a @ b), rounded once. x is not read when beta is 0, nor a @ b when alpha is 0 (as in BLAS), so that
    their NaNs do not show. For integers alpha and beta are truncated to integers."""
    one_dtype(op, x, a, b)
    shape = (*a.shape[:-1], *b.shape[-1:]) if b.ndim > 1 else a.shape[:-1]
    try:
        start = np.broadcast_to(x, shape)
    except ValueError:
        raise ValueError(f"{op}: input of shape {list(x.shape)} cannot be expanded to {list(shape)}") from None
    if x.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)
    compute = np.dtype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x.dtype
    with quiet:
        scale_x, scale_product = np.asarray([beta, alpha]).astype(compute)
        result = _product(a, b) * scale_product if alpha != 0 else np.zeros(shape, compute)
        if beta != 0:
            result += start * scale_x if beta != 1 else start
        return rounded(result, x.dtype)


def addmm(x: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Number = 1, alpha: Number = 1) -> np.ndarray:
    """aten.addmm: beta * x + alpha * (a @ b); x broadcasts to (n, m)."""
    _ranks("addmm", (a, 2), (b, 2))
    _inner("addmm", a, b)
    return _added("addmm", x, a, b, beta, alpha)


def baddbmm(x: np.ndarray, a: np.ndarray, b: np.ndarray, beta: Number = 1, alpha: Number = 1) -> np.ndarray:
    """aten.baddbmm: beta * x + alpha * (a @ b) over batches; x broadcasts to (b, n, m)."""
    _batches("baddbmm", a, b)
    return _added("baddbmm", x, a, b, beta, alpha)


def linear(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """aten.linear: x @ weight.T + bias, rounded once. x (*, in), weight (out, in) or (in), bias broadcasting to the result;
    a weight of rank 1 takes a bias of rank 0 only, and none when x is a matrix."""
    if not x.ndim or not weight.ndim:
        raise ValueError(f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {weight.ndim}D")
    if weight.ndim > 2:
        raise ValueError(f"linear: weight must have at most 2 dimensions, but has {weight.ndim}")
    _inner("linear", x, weight.T)
    one_dtype("linear", x, weight, *(() if bias is None else (bias,)))
    if bias is None:
        return rounded(_product(x, weight.T), x.dtype)
    if weight.ndim == 1 and (x.ndim == 2 or x.ndim > 2 and bias.ndim):
        raise ValueError("linear: a weight of rank 1 takes no bias: mat2 must be a matrix, got 1-D tensor")
    return _added("linear", bias, x, weight.T, 1, 1)
