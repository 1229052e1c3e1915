"""Linear algebra as torch.linalg has it, by LAPACK (dialect/ops/linear_algebra.py).

Where LAPACK leaves matrices column by column, PyTorch's results lie so in memory, and so do these. Eigenvectors and singular vectors are
not here: which of several it gives hangs on the library.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError, normalise_dim
from tierup.dialect.optable.formulas.core import Ops, T, formula

_KIND = Kind.PRODUCT


def _t(o: Ops[T], x: T) -> T:
    return o.call("aten.transpose.int", x, -2, -1)


def _by_columns(o: Ops[T], x: T) -> T:
    """The same, in memory of its own, column by column."""
    return _t(o, o.call("aten.contiguous", _t(o, x), 0))


def _matrices(o: Ops[T], op: str, x: T, square: bool = True) -> None:
    if o.rank(x) < 2:
        raise ShapeError(f"linalg.{op}: The input tensor A must have at least 2 dimensions.")
    if square:
        o.equal(x, o.rank(x) - 1, x, o.rank(x) - 2, f"linalg.{op}: A must be batches of square matrices")


@formula("linalg_inv(A; )", "inverse(self; )", kind=_KIND, raises=True)
def linalg_inv(o: Ops[T], x: T) -> T:
    """LinAlgError for a singular matrix."""
    _matrices(o, "inv", x)
    return _by_columns(o, o.call("tierup.linalg_inv", x))


@formula("linalg_solve(A, B; left)", kind=_KIND, raises=True)
def linalg_solve(o: Ops[T], a: T, b: T, left: bool = True) -> T:
    """X of A X = B, or of X A = B; B may be a batch of vectors. LinAlgError for a singular matrix."""
    _matrices(o, "solve", a)
    rank = o.rank(b)
    is_vector = rank == 1 or rank == o.rank(a) - 1 and _are_sizes(o, b, a)
    if is_vector:
        if not left:
            raise ShapeError("linalg.solve: Vector broadcasting of the left hand side is not supported for left=False.")
        found = o.call("aten.squeeze.dim", o.call("tierup.linalg_solve", a, o.call("aten.unsqueeze", b, -1)), -1)
        return found if o.rank(found) == 1 else _by_columns(o, found)
    if rank < 2:
        raise ShapeError("linalg.solve: The input tensor B must have at least 1 dimension.")
    if left:
        return _by_columns(o, o.call("tierup.linalg_solve", a, b))
    return o.call("aten.contiguous", _t(o, o.call("tierup.linalg_solve", _t(o, a), _t(o, b))), 0)


def _are_sizes(o: Ops[T], b: T, a: T) -> bool:
    """Whether the sizes of `b` are the first of those of `a`. Raises `unknown()` where that is not known."""
    found, wanted = o.known(b).shape or (), (o.known(a).shape or ())[:-1]
    if found == wanted:
        return True
    if not all(isinstance(n, int) for n in (*found, *wanted)):
        raise o.unknown()
    return False


# --- determinants: PyTorch's autograd has gradients of singular matrices, too ----------------------------------------------


@formula("linalg_det(A; )", "det(self; )", kind=_KIND, is_gradient=False)
def linalg_det(o: Ops[T], x: T) -> T:
    _matrices(o, "det", x)
    return o.call("tierup.linalg_det", x)


@formula("linalg_slogdet(A; )", "slogdet(self; )", kind=_KIND, results=2, is_gradient=False)
def linalg_slogdet(o: Ops[T], x: T) -> tuple[T, ...]:
    _matrices(o, "slogdet", x)
    return tuple(o.several("tierup.linalg_slogdet", 2, x))


@formula("logdet(self; )", kind=_KIND, is_gradient=False)
def logdet(o: Ops[T], x: T) -> T:
    """NaN for a negative determinant."""
    sign, logarithm = linalg_slogdet(o, x)
    return o.where(o.call("aten.lt.Scalar", sign, 0), math.nan, logarithm)


# --- symmetric matrices: PyTorch's gradients are of both halves, also of that which is not read ----------------------------


@formula("linalg_cholesky(self; upper)", "cholesky(self; upper)", kind=_KIND, raises=True, is_gradient=False)
def linalg_cholesky(o: Ops[T], x: T, upper: bool = False) -> T:
    """LinAlgError for a matrix that is not positive definite."""
    _matrices(o, "cholesky", x)
    return _by_columns(o, o.call(f"tierup.linalg_cholesky_{'up' if upper else 'lo'}", x))


@formula("linalg_eigvalsh(self; UPLO)", kind=_KIND, raises=True, is_gradient=False)
def linalg_eigvalsh(o: Ops[T], x: T, half: str = "L") -> T:
    _matrices(o, "eigvalsh", x)
    if half.upper() not in ("L", "U"):
        raise ShapeError(f"Expected UPLO argument to be 'L' or 'U', but got {half}")
    return o.call(f"tierup.linalg_eigvalsh_{'lo' if half.upper() == 'L' else 'up'}", x)


# --- singular values -------------------------------------------------------------------------------------------------------


@formula("linalg_svdvals(A; driver)", kind=_KIND, raises=True)
def linalg_svdvals(o: Ops[T], x: T, driver: str | None = None) -> T:
    """Whichever of LAPACK's routines is asked for."""
    _matrices(o, "svdvals", x, square=False)
    return o.call("tierup.linalg_svd", x)


@formula("linalg_matrix_norm.str_ord(self; ord, dim, keepdim, dtype)", kind=_KIND, raises=True)
def linalg_matrix_norm_named(
    o: Ops[T], x: T, order: str = "fro", dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: int | None = None
) -> T:
    """The sum of singular values (nuc), or the root of the sum of all squares (fro)."""
    if order == "fro":
        return o.call("aten.linalg_vector_norm", x, 2, list(dim), keepdim, dtype)
    if order != "nuc":
        raise ShapeError(f"linalg.matrix_norm: Order {order} not supported.")
    x, dims = _last(o, x, dim, dtype)
    return _kept(o, o.call("aten.sum.dim_IntList", linalg_svdvals(o, x), [-1], False, None), dims, keepdim)


@formula("linalg_matrix_norm(self; ord, dim, keepdim, dtype)", kind=_KIND, raises=True)
def linalg_matrix_norm(
    o: Ops[T], x: T, order: float, dim: Sequence[int] = (-2, -1), keepdim: bool = False, dtype: int | None = None
) -> T:
    """The largest singular value (2), sum of a column (1) or of a row (inf); the least for the negative of these."""
    if abs(order) not in (1, 2, math.inf):
        raise ShapeError(f"linalg.matrix_norm: Order {order} not supported.")
    x, dims = _last(o, x, dim, dtype)
    if abs(order) == 2:
        each = linalg_svdvals(o, x)
    else:
        each = o.call("aten.sum.dim_IntList", o.call("aten.abs", x), [-2 if abs(order) == 1 else -1], False, None)
    return _kept(o, o.call("aten.amax" if order > 0 else "aten.amin", each, [-1], False), dims, keepdim)


def _last(o: Ops[T], x: T, dim: Sequence[int], dtype: int | None) -> tuple[T, list[int]]:
    """A tensor with two dims behind all others, in a dtype if one is asked for, and which dims these were."""
    if o.is_float(x) is False:
        raise ShapeError("linalg.matrix_norm: Expected a floating point or complex tensor as input.")
    dims = [normalise_dim(d, o.rank(x)) for d in dim]
    if len(dims) != 2 or dims[0] == dims[1]:
        raise ShapeError("linalg.matrix_norm: dim must be a 2-tuple of two dims.")
    x = x if dtype is None else o.call("aten.to.dtype", x, dtype, False, False, None)
    return o.call("aten.permute", x, [*(i for i in range(o.rank(x)) if i not in dims), *dims]), dims


def _kept(o: Ops[T], x: T, dims: list[int], keepdim: bool) -> T:
    for d in sorted(dims) if keepdim else ():
        x = o.call("aten.unsqueeze", x, d)
    return x


_COUNTS = "it counts"


@formula("linalg_matrix_rank.atol_rtol_float(self; atol, rtol, hermitian)", kind=_KIND, raises=True, no_gradient=_COUNTS)
def linalg_matrix_rank(o: Ops[T], x: T, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> T:
    """How many singular values are above a bound."""
    _matrices(o, "matrix_rank", x, square=hermitian)
    values = o.call("aten.abs", linalg_eigvalsh(o, x)) if hermitian else linalg_svdvals(o, x)
    above = o.call("aten.gt.Tensor", values, _bound(o, x, values, atol, rtol))
    return o.call("aten.sum.dim_IntList", above, [-1], False, None)


@formula("linalg_pinv.atol_rtol_float(self; atol, rtol, hermitian)", kind=_KIND, raises=True, is_gradient=False)
def linalg_pinv(o: Ops[T], x: T, atol: float | None = None, rtol: float | None = None, hermitian: bool = False) -> T:
    """The pseudo-inverse: singular values up to a bound count as 0. `hermitian`: the lower half stands for both."""
    _matrices(o, "pinv", x, square=hermitian)
    if hermitian:
        x = o.add(o.call("aten.tril", x, 0), _t(o, o.call("aten.tril", x, -1)))
    u, s, vt = o.several("tierup.linalg_svd_s", 3, x)
    inverse = o.where(o.call("aten.gt.Tensor", s, _bound(o, x, s, atol, rtol)), o.call("aten.reciprocal", s), 0.0)
    return o.call("aten.matmul", o.mul(_t(o, vt), o.call("aten.unsqueeze", inverse, -2)), _t(o, u))


def _bound(o: Ops[T], x: T, values: T, atol: float | None, rtol: float | None) -> T:
    """What singular values have to be above: the larger of atol, and of rtol times the largest."""
    sizes, dtype = (o.known(x).shape or ())[-2:], o.known(x).dtype
    known = [n for n in sizes if isinstance(n, int)]
    if dtype is None or len(known) < 2:
        raise o.unknown()
    if 0 in known:  # there are none
        return o.call("aten.sum.dim_IntList", values, [-1], True, None)
    epsilon = {dtypes.f32: 2.0**-23, dtypes.f64: 2.0**-52}.get(dtype, 0.0)
    factor = rtol if rtol is not None else 0.0 if atol is not None and atol > 0 else epsilon * max(known)
    return o.call("aten.clamp_min", o.mul(o.call("aten.amax", values, [-1], True), factor), atol or 0.0)


@formula("linalg_qr(A; mode)", kind=_KIND, results=2, is_gradient=False)
def linalg_qr(o: Ops[T], x: T, mode: str = "reduced") -> tuple[T, ...]:
    """The signs are those of Householder's reflections, which all of LAPACK's libraries make alike."""
    if mode not in ("reduced", "complete", "r"):
        raise ShapeError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'")
    _matrices(o, "qr", x, square=False)
    (rows, columns), dtype = (o.known(x).shape or ())[-2:], o.known(x).dtype
    if dtype is None or not isinstance(rows, int) or not isinstance(columns, int):
        raise o.unknown()
    wide = o.call("aten.to.dtype", x, dtypes.f64.code, False, False, None) if dtype is dtypes.f32 else x  # NumPy has no other routine
    factors, tau = o.several("tierup.linalg_qr_r_raw", 2, wide)
    r = factors if mode == "complete" else o.call("aten.slice.Tensor", factors, -2, 0, min(rows, columns), 1)
    r = _by_columns(o, o.call("aten.to.dtype", o.call("aten.triu", r, 0), dtype.code, False, False, None))
    if mode == "r":
        return o.call("aten.new_zeros", x, [0], None, None, None, None), r
    q = o.call(f"tierup.linalg_qr_{mode}", factors, tau)
    return _by_columns(o, o.call("aten.to.dtype", q, dtype.code, False, False, None)), r
