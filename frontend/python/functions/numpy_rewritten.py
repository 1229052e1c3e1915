"""Functions of NumPy's, written as programs can follow: NumPy's own are in C, or choose by what only the run knows.

They are Python that programs translate, as what NumPy writes in Python is. Where an argument asks for more, an exception whose message is
an f-string hands the call to NumPy (frontend/python/syntax/statements.py).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.frontend.python.functions.numpy_rewritten_choosing import OF_CHOOSING
from tierup.frontend.python.functions.numpy_rewritten_grids import OF_GRIDS
from tierup.frontend.python.functions.numpy_rewritten_sorted import OF_SORTED

_LINALG: Any = np.linalg._linalg  # private: what NumPy's own code calls
_NOT_GIVEN: Any = np._NoValue  # private


def convolve(a: Any, v: Any, mode: Any = "full") -> Any:
    """The longer one correlated with the other in reverse."""
    a, v = np.array(a, copy=None, ndmin=1), np.array(v, copy=None, ndmin=1)
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if len(v) == 0:
        raise ValueError("v cannot be empty")
    return np.correlate(v, a[::-1], mode) if len(v) > len(a) else np.correlate(a, v[::-1], mode)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Of vectors of three; those of two, which NumPy deprecates, are NumPy's."""
    if axis is not None:
        axisa, axisb, axisc = axis, axis, axis
    a, b = np.asarray(a), np.asarray(b)
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(f"vectors of {a.shape[-1]} and {b.shape[-1]}")
    dtype = np.promote_types(a.dtype, b.dtype)
    a, b = a.astype(dtype), b.astype(dtype)
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    return np.moveaxis(np.stack([a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0], axis=-1), -1, axisc)


def assert_stacked_square(*arrays: Any) -> None:
    """Of numpy.linalg, which finds a vector by the exception of taking its shape apart."""
    for a in arrays:
        if a.ndim < 2:
            raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
        if a.shape[-2] != a.shape[-1]:
            raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")


def is_empty_2d(arr: Any) -> bool:
    """Of numpy.linalg."""
    return bool(arr.size == 0 and (arr.ndim < 2 or arr.shape[-2] == 0 or arr.shape[-1] == 0))


def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Where there is something to solve for; without equations or right-hand sides it is NumPy's."""
    a, b = np.asarray(a), np.asarray(b)
    is_vector = b.ndim == 1
    if is_vector:
        b = b[:, np.newaxis]
    _LINALG._assert_2d(a, b)
    m, n, others = a.shape[0], a.shape[1], b.shape[1]
    if m != b.shape[0]:
        raise np.linalg.LinAlgError("Incompatible dimensions")
    t, dtype = _LINALG._commonType(a, b)
    if m == 0 or others == 0:
        raise ValueError(f"{a.shape}")
    if rcond is None:
        rcond = np.finfo(t).eps * max(n, m)
    x, residuals, rank, s = _LINALG._umath_linalg.lstsq(a, b, rcond)
    residuals = residuals[: others if rank == n and m > n else 0]
    return (x[:, 0] if is_vector else x).astype(dtype), residuals.astype(dtype), rank, s.astype(dtype)


def matrix_power(a: Any, n: int) -> Any:
    """By squares, multiplied in NumPy's order."""
    a = np.asanyarray(a)
    assert_stacked_square(a)
    try:
        n = operator.index(n)
    except TypeError as e:
        raise TypeError("exponent must be an integer") from e
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
    if n < 0:
        a, n = np.linalg.inv(a), -n
    return np.matmul(np.matmul(a, a), a) if n == 3 else power_of(None, a, n)


def power_of(so_far: Any, square: Any, n: int) -> Any:
    """so_far * square**n, for n > 0."""
    if n % 2 == 1:
        so_far = square if so_far is None else np.matmul(so_far, square)
    return so_far if n == 1 else power_of(so_far, np.matmul(square, square), n // 2)


def diag(v: Any, k: int = 0) -> Any:
    """A matrix with these elements on a diagonal, or a diagonal of a matrix."""
    v = np.asanyarray(v)
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = len(v) + abs(k)
    made = np.zeros((n, n), v.dtype)
    at = np.arange(len(v))
    made[at + max(-k, 0), at + max(k, 0)] = v
    return made


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    """The covariances over the deviations of both, between -1 and 1."""
    c, n = np.cov(x, y, rowvar, dtype=dtype), 0
    for part in (x,) if y is None else (x, y):
        n += 1 if np.ndim(part) < 2 else np.shape(part)[0 if rowvar else 1]
    if np.ndim(x) < 2 and y is None:
        return c / c
    if n < 2:
        raise ValueError(f"{c}")
    c = c.reshape((n, n))
    deviations = np.sqrt(np.diagonal(c))
    return np.clip(c / deviations[:, None] / deviations[None, :], -1, 1)


def isreal(x: Any) -> Any:
    """Of what is not complex, all."""
    return np.zeros_like(_real(x)) == 0


def _real(x: Any) -> Any:
    """An array of no complex numbers, which NumPy's own function is for."""
    x = np.asanyarray(x)
    if x.dtype.kind == "c":
        raise ValueError(f"{x}")
    return x


def diagflat(v: Any, k: int = 0) -> Any:
    """A matrix with all elements on a diagonal."""
    return np.diag(np.asarray(v).ravel(), k)


def min_int(low: Any, high: Any) -> Any:
    """Of np.tri: the dtype of the numbers of its rows and columns, which its result does not show."""
    return np.int64


def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers of each element, each the one before times it."""
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    columns = len(x) if N is None else operator.index(N)
    if columns < 0:
        raise ValueError("negative dimensions are not allowed")
    powers = np.cumprod(np.where(np.arange(columns) == 0, 1, x.astype(np.promote_types(x.dtype, int))[:, None]), axis=1)
    return powers if increasing else np.flip(powers, 1).copy()


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    """A view whose axes are turned by as many quarters."""
    first, second = axes
    m = np.asanyarray(m)
    if not (-m.ndim <= first < m.ndim and -m.ndim <= second < m.ndim) or first % m.ndim == second % m.ndim:
        raise ValueError(f"{axes}")
    k %= 4
    if k % 2 == 0:
        return np.flip(np.flip(m, first), second) if k else m[:]
    return np.swapaxes(np.flip(m, second), first, second) if k == 1 else np.flip(np.swapaxes(m, first, second), second)


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """The differences of neighbours, and what stands before and behind them."""
    ary = np.asanyarray(ary).ravel()
    differences = ary[1:] - ary[:-1]
    if to_end is None and to_begin is None:
        return differences
    before, behind = (ary[:0] if x is None else np.asanyarray(x).ravel() for x in (to_begin, to_end))
    if not np.can_cast(before.dtype, ary.dtype, "same_kind"):
        raise TypeError("dtype of `to_begin` must be compatible with input `ary` under the `same_kind` rule.")
    if not np.can_cast(behind.dtype, ary.dtype, "same_kind"):
        raise TypeError("dtype of `to_end` must be compatible with input `ary` under the `same_kind` rule.")
    return np.concatenate((before.astype(ary.dtype), differences, behind.astype(ary.dtype)))


def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """Write a number to the main diagonal of a matrix."""
    if a.ndim != 2 or np.ndim(val) != 0 or wrap:
        raise ValueError(f"{a.shape}")
    at = np.arange(min(a.shape[0], a.shape[1]))
    a[at, at] = val


def kron(a: Any, b: Any) -> Any:
    """Each element of one times all of the other."""
    a, b = np.asanyarray(a), np.asanyarray(b)
    if a.ndim == 0 or b.ndim == 0:
        return np.multiply(a, b)
    rank = max(a.ndim, b.ndim)
    outer, inner = (1,) * (rank - a.ndim) + a.shape, (1,) * (rank - b.ndim) + b.shape
    left: tuple[Any, ...] = ()
    right: tuple[Any, ...] = ()
    for n, m in zip(outer, inner):  # noqa: B905 - as many
        left, right = (*left, n, 1), (*right, 1, m)
    return (a.reshape(left) * b.reshape(right)).reshape(tuple([n * m for n, m in zip(outer, inner)]))  # noqa: B905


def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """Each vector along an axis of its own, repeated along the others."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    rank = len(xi)
    flat = [np.asanyarray(x).reshape(-1) for x in xi]
    axes = list(range(rank))
    if indexing == "xy" and rank > 1:
        axes[0], axes[1] = 1, 0
    grids = [x.reshape((1,) * axis + (-1,) + (1,) * (rank - axis - 1)) for x, axis in zip(flat, axes)]  # noqa: B905
    if sparse and copy:
        return tuple([g.copy() for g in grids])
    if sparse or not copy:
        raise ValueError(f"{copy}")
    shape = [0] * rank
    for x, axis in zip(flat, axes):  # noqa: B905
        shape[axis] = len(x)
    return tuple([np.broadcast_to(g, shape).copy() for g in grids])


def monotonicity(x: Any) -> int:
    """1 where a vector never falls, -1 where it never rises, else 0."""
    x = np.asarray(x)
    if x.ndim != 1 or x.dtype.kind not in "biuf":
        raise ValueError(f"{x.shape}")
    a, b = x[:-1], x[1:]
    if np.all(a <= b):
        return 1
    if np.all(a >= b):
        return -1
    if np.any(x != x):  # noqa: PLR0124 - NaN, beside which NumPy goes by what comes first
        raise ValueError(f"{x}")
    return 0


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds. Python numbers count as these for the dtype, and are then cast as int64 and float64."""
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    choices = [c if type(c) in (int, float) else np.asarray(c) for c in [*choicelist, default]]
    dtype = np.result_type(*choices)
    result = np.asarray(choices[-1]).astype(dtype, copy=False)
    for condition, choice in reversed(list(zip(condlist, [np.asarray(c) for c in choices[:-1]]))):  # noqa: B905
        if np.asarray(condition).dtype.type is not np.bool or not np.can_cast(choice.dtype, dtype, "same_kind"):
            raise TypeError(f"{condition}")
        result = np.where(condition, choice.astype(dtype, copy=False), result)
    return result


def sum_where(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NOT_GIVEN, initial: Any = _NOT_GIVEN,
    where: Any = _NOT_GIVEN,
) -> Any:  # fmt: skip
    """The sum of the elements where a mask holds."""
    a, where = np.asarray(a), np.asarray(where)
    if out is not None or dtype is not None or initial is not _NOT_GIVEN or where.dtype != np.bool_ or where.shape != a.shape:
        raise ValueError(f"{where}")
    return np.sum(np.where(where, a, a.dtype.type(0)), axis=axis, keepdims=False if keepdims is _NOT_GIVEN else keepdims)


def mean_where(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NOT_GIVEN, *, where: Any = _NOT_GIVEN) -> Any:
    """The mean of the elements where a mask holds."""
    a = np.asarray(a)
    if out is not None or dtype is not None or a.dtype == np.float16:
        raise ValueError(f"{where}")
    a = a if a.dtype.kind == "f" else a.astype(np.float64)
    kept = False if keepdims is _NOT_GIVEN else keepdims
    total, count = sum_where(a, axis, where=where, keepdims=kept), np.sum(where, axis=axis, keepdims=kept)
    return (total / count).astype(a.dtype)[()]


def _extreme_where(extreme: Callable[..., Any]) -> Callable[..., Any]:
    def found(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NOT_GIVEN, initial: Any = _NOT_GIVEN, where: Any = _NOT_GIVEN
    ) -> Any:
        """The extreme of `initial` and the elements where a mask holds."""
        a, where = np.asarray(a), np.asarray(where)
        fits = type(initial) is float and a.dtype.kind == "f" or type(initial) is int and a.dtype.kind in "if"
        if out is not None or where.dtype != np.bool_ or where.shape != a.shape or not fits:
            raise ValueError(f"{where}")
        kept = False if keepdims is _NOT_GIVEN else keepdims
        return extreme(np.where(where, a, initial), axis=axis, keepdims=kept, initial=initial)

    return found


def modf(x: Any, /) -> Any:
    """What is behind the point and what is before it, both with the sign of x."""
    x = np.asarray(x)
    if x.dtype.kind != "f":
        raise ValueError(f"{x}")
    whole = np.trunc(x)
    return np.copysign(np.where(np.isinf(x), x.dtype.type(0), x - whole), x)[()], whole[()]


def bitwise_count(x: Any, /) -> Any:
    """How many bits of the absolute value are set: summed in pairs, in fours, and so on."""
    x = np.asarray(x)
    if x.dtype.kind not in "biu":
        raise ValueError(f"{x}")
    size = 8 * x.dtype.itemsize
    of = np.dtype(f"u{x.dtype.itemsize}").type
    n = (np.abs(x) if x.dtype.kind == "i" else x).astype(of)
    for bits in (1, 2, 4, 8, 16, 32):
        if bits < size:
            low = ~of(0) // of(2**bits + 1)
            n = (n & low) + ((n >> of(bits)) & low)
    return n.astype(np.uint8)[()]


def _insist(condition: bool) -> None:
    """Where it does not hold the call is NumPy's, whose exception says what is wrong."""
    if not condition:
        raise ValueError(f"{condition}")


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products of vectors along an axis."""
    x1, x2 = _real(x1), _real(x2)
    _insist(x1.ndim > 0 and x2.ndim > 0)
    x1, x2 = np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)
    _insist(x1.shape[-1] == x2.shape[-1])
    return np.matmul(x1[..., None, :], x2[..., None])[..., 0, 0][()]


def matvec(x1: Any, x2: Any, /) -> Any:
    """The products of matrices and vectors."""
    x1, x2 = _real(x1), _real(x2)
    _insist(x1.ndim > 1 and x2.ndim > 0 and x1.shape[-1] == x2.shape[-1])
    return np.matmul(x1, x2[..., None])[..., 0]


def vecmat(x1: Any, x2: Any, /) -> Any:
    """The products of vectors and matrices."""
    x1, x2 = _real(x1), _real(x2)
    _insist(x1.ndim > 0 and x2.ndim > 1 and x1.shape[-1] == x2.shape[-2])
    return np.matmul(x1[..., None, :], x2)[..., 0, :]


def _in_turn(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduced(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        array = np.asarray(array)
        if out is not None or type(axis) is not int or array.ndim == 0 or array.dtype.kind == "c":
            raise ValueError(f"{axis}")
        if array.shape[axis] == 0:
            raise ValueError(f"{array}")
        found = ufunc.reduceat(array, np.zeros(1, np.int64), axis, dtype)
        return found if keepdims else np.squeeze(found, axis)[()]

    return reduced


def _reduced_without_nans(reduce: Callable[..., Any], least: float) -> Callable[..., Any]:
    """`least`: the infinity that no element is beyond."""

    def reduced(array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if out is not None:
            raise ValueError(f"{axis}")
        array = np.asarray(array)
        if not issubclass(array.dtype.type, np.inexact):
            return reduce(array, axis=axis, keepdims=keepdims)
        # not the infinity, for which LLVM makes a branch where it could make vectors; and NaNs are told in two ways: an array of where they
        # are would be kept from here to there
        bound = array.dtype.type(np.copysign(np.finfo(array.dtype).max, least))
        found = reduce(np.where(np.isnan(array), bound, array), axis=axis, keepdims=keepdims)
        if np.any(np.abs(found) >= abs(bound)):  # of NaNs and infinities alone perhaps
            exactly = reduce(np.where(array != array, array.dtype.type(least), array), axis=axis, keepdims=keepdims)
            found = np.where(np.all(array != array, axis=axis, keepdims=keepdims), array.dtype.type(np.nan), exactly)
        return found[()]

    return reduced


REWRITTEN: dict[Any, Callable[..., Any]] = {
    **OF_SORTED, **OF_GRIDS, **OF_CHOOSING,
    _LINALG._assert_stacked_square: assert_stacked_square, _LINALG._is_empty_2d: is_empty_2d, np.linalg.lstsq: lstsq,
    np.linalg.matrix_power: matrix_power,
    np._core.multiarray._monotonicity: monotonicity,  # type: ignore[attr-defined]  # private
    np.lib._twodim_base_impl._min_int: min_int,  # type: ignore[attr-defined]  # private
    np.convolve: convolve, np.cross: cross, np.diag: diag, np.fill_diagonal: fill_diagonal, np.kron: kron, np.meshgrid: meshgrid,
    np.select: select, np.corrcoef: corrcoef, np.isreal: isreal, np.diagflat: diagflat, np.vander: vander, np.rot90: rot90,
    np.ediff1d: ediff1d, np.sum: sum_where, np.mean: mean_where, np.max: _extreme_where(np.max), np.min: _extreme_where(np.min),
    np.modf: modf, np.vecdot: vecdot, np.matvec: matvec, np.vecmat: vecmat,
    **{of.reduce: _in_turn(of) for of in (np.subtract, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor)},
    np.bitwise_count: bitwise_count,
    np.fmax.reduce: _reduced_without_nans(np.max, -np.inf), np.fmin.reduce: _reduced_without_nans(np.min, np.inf),
}  # fmt: skip
