"""Linear algebra by LAPACK, of float32 and float64: each op is a function of stacks of matrices that NumPy's numpy.linalg is made of, and
calls the same routines. What these report as an error (a singular matrix) is NumPy's LinAlgError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim, minimum
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.optable.core import Infer, Kind, ShapeError, Tolerance
from tierup.dialect.optable.define import DefinedOp, define
from tierup.dialect.optable.operands import dtype_of, or_unknown, shape

BOUND = Tolerance(64.0, 16.0)  # times the condition of the matrix: LAPACK of another build sums in another order
_GUFUNCS: Any = np.linalg._umath_linalg  # private, as what NumPy's own Python calls


def _refuse(message: str, error: str, flag: int) -> None:
    raise np.linalg.LinAlgError(message)


def _of_numpy(name: str, error: str, *stacks: np.ndarray) -> Any:
    """What a generalised ufunc of numpy.linalg gives in the dtype of its operands. LinAlgError with `error`, where it has one."""
    gufunc = getattr(_GUFUNCS, name)
    signature = next((form for form in gufunc.types if form[0] == stacks[0].dtype.char in "fd"), None)
    if signature is None:
        raise TypeError(f"array type {stacks[0].dtype.name} is unsupported in linalg")
    if not error:
        with np.errstate(all="ignore"):
            return gufunc(*stacks, signature=signature)
    with np.errstate(all="ignore", call=partial(_refuse, error), invalid="call"):
        return gufunc(*stacks, signature=signature)


def _stack(op: str, x: Value) -> tuple[Shape, Dim, Dim]:
    """(the sizes of a stack, rows, columns). ShapeError for less than a matrix."""
    sizes = shape(x)
    if len(sizes) < 2:
        raise ShapeError(f"{op}: {len(sizes)}-dimensional array given. Array must be at least two-dimensional")
    return sizes[:-2], sizes[-2], sizes[-1]


def _square(ctx: Infer, op: str, x: Value) -> tuple[Shape, Dim]:
    stack, rows, columns = _stack(op, x)
    return stack, ctx.equal(rows, columns, f"{op}: Last 2 dimensions of the array must be square")


def _solved(ctx: Infer, a: Value, b: Value) -> Shape:
    stack, n = _square(ctx, "solve", a)
    sizes, what = shape(b), "solve: the right-hand side does not have as many rows"
    if not sizes:
        raise ShapeError("solve: the right-hand side has no dimensions")
    if len(sizes) == 1:
        return (*stack, ctx.equal(n, sizes[0], what))
    batch = ctx.broadcast([stack, sizes[:-2]], "solve: stacks do not broadcast:")
    assert batch is not None  # both ranks are known
    return (*batch, ctx.equal(n, sizes[-2], what), sizes[-1])


Shapes = Callable[..., "Shape | list[Shape]"]  # of the results


def _op(schema: str, gufunc: str, shapes: Shapes, error: str = "", results: int = 1, ints: tuple[int, ...] = ()) -> DefinedOp[Any]:
    """The op of a generalised ufunc; `shapes`: of its results; `error`: of its LinAlgError; `ints`: the results that are int32."""
    name, sized = schema.partition("(")[0], or_unknown(shapes)
    forms: list[str] = getattr(getattr(_GUFUNCS, gufunc, None), "types", [])  # another NumPy may lack it
    takes = {d for d in (dtypes.f32, dtypes.f64) if any(form[0] == d.numpy.char for form in forms)}

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor | tuple[Tensor, ...]:
        found = {d for d in map(dtype_of, operands) if d is not None}
        if len(found) > 1 or not found <= takes:
            wanted, given = (sorted(d.name for d in of) for of in (takes, found))
            raise TypeError(f"{name}: expected {' or '.join(wanted)}, but got {', '.join(given)}")
        dtype = found.pop() if found else None
        known: Any = sized(ctx, *operands)
        if results == 1:
            return Tensor(dtype, known)
        return tuple(Tensor(dtypes.i32 if i in ints else dtype, known[i] if known else None) for i in range(results))

    def tier0(*stacks: np.ndarray) -> Any:
        vector = gufunc == "solve" and stacks[1].ndim == 1
        if gufunc == "qr_r_raw":  # writes its operand
            factors = stacks[0].copy()
            return factors, _of_numpy(gufunc, error, factors)
        found = _of_numpy("solve1" if vector else gufunc, error, *stacks)
        return np.asarray(found) if results == 1 else tuple(map(np.asarray, found))

    return define(
        schema, tier0, kind=Kind.OTHER, infer=infer, results=results, tolerance=BOUND, raises=bool(error), on_device=False,
        no_gradient="none is written",
    )  # fmt: skip


def _same(ctx: Infer, a: Value) -> Shape:
    stack, n = _square(ctx, "linalg", a)
    return (*stack, n, n)


def _of_each(ctx: Infer, a: Value) -> Shape:
    return _square(ctx, "linalg", a)[0]


def _eigenvalues(ctx: Infer, a: Value) -> Shape:
    stack, n = _square(ctx, "linalg", a)
    return (*stack, n)


def _singular(ctx: Infer, a: Value) -> Shape:
    stack, m, n = _stack("svd", a)
    return (*stack, minimum(m, n))


def _svd(full: bool) -> Shapes:
    def shapes(ctx: Infer, a: Value) -> list[Shape]:
        stack, m, n = _stack("svd", a)
        k = minimum(m, n)
        return [(*stack, m, m if full else k), (*stack, k), (*stack, n if full else k, n)]

    return shapes


def _q(full: bool) -> Shapes:
    def shapes(ctx: Infer, a: Value, tau: Value) -> Shape:
        stack, m, n = _stack("qr", a)
        return (*stack, m, m if full else minimum(m, n))

    return shapes


def _least_squares(ctx: Infer, a: Value, b: Value, rcond: Value) -> list[Shape]:
    (stack, m, n), (others, rows, right) = _stack("lstsq", a), _stack("lstsq", b)
    ctx.equal(m, rows, "lstsq: Incompatible dimensions")
    batch = ctx.broadcast([stack, others, shape(rcond)], "lstsq: stacks do not broadcast:") or ()
    return [(*batch, n, right), (*batch, right), batch, (*batch, minimum(m, n))]


_ONE, _TWO, _THREE = "(Tensor a) -> Tensor", "(Tensor a) -> (Tensor, Tensor)", "(Tensor a) -> (Tensor, Tensor, Tensor)"
_SINGULAR, _NOT_POSITIVE = "Singular matrix", "Matrix is not positive definite"
_NO_EIGENVALUES, _NO_SVD = "Eigenvalues did not converge", "SVD did not converge"

linalg_solve = _op("tierup.linalg_solve(Tensor a, Tensor b) -> Tensor", "solve", _solved, _SINGULAR)
linalg_inv = _op(f"tierup.linalg_inv{_ONE}", "inv", _same, _SINGULAR)
linalg_inv_or_nan = _op(f"tierup.linalg_inv_or_nan{_ONE}", "inv", _same)  # NaN for a singular matrix
linalg_det = _op(f"tierup.linalg_det{_ONE}", "det", _of_each)
linalg_slogdet = _op(f"tierup.linalg_slogdet{_TWO}", "slogdet", lambda ctx, a: [_of_each(ctx, a)] * 2, results=2)
linalg_cholesky_lo = _op(f"tierup.linalg_cholesky_lo{_ONE}", "cholesky_lo", _same, _NOT_POSITIVE)
linalg_cholesky_up = _op(f"tierup.linalg_cholesky_up{_ONE}", "cholesky_up", _same, _NOT_POSITIVE)
linalg_eigvalsh_lo = _op(f"tierup.linalg_eigvalsh_lo{_ONE}", "eigvalsh_lo", _eigenvalues, _NO_EIGENVALUES)
linalg_eigvalsh_up = _op(f"tierup.linalg_eigvalsh_up{_ONE}", "eigvalsh_up", _eigenvalues, _NO_EIGENVALUES)
_both: Shapes = lambda ctx, a: [_eigenvalues(ctx, a), _same(ctx, a)]
linalg_eigh_lo = _op(f"tierup.linalg_eigh_lo{_TWO}", "eigh_lo", _both, _NO_EIGENVALUES, 2)
linalg_eigh_up = _op(f"tierup.linalg_eigh_up{_TWO}", "eigh_up", _both, _NO_EIGENVALUES, 2)
linalg_svd = _op(f"tierup.linalg_svd{_ONE}", "svd", _singular, _NO_SVD)  # the singular values alone
linalg_svd_s = _op(f"tierup.linalg_svd_s{_THREE}", "svd_s", _svd(False), _NO_SVD, 3)
linalg_svd_f = _op(f"tierup.linalg_svd_f{_THREE}", "svd_f", _svd(True), _NO_SVD, 3)
linalg_qr_r_raw = _op(f"tierup.linalg_qr_r_raw{_TWO}", "qr_r_raw", lambda ctx, a: [shape(a), _singular(ctx, a)], results=2)
linalg_qr_reduced = _op("tierup.linalg_qr_reduced(Tensor a, Tensor tau) -> Tensor", "qr_reduced", _q(False))
linalg_qr_complete = _op("tierup.linalg_qr_complete(Tensor a, Tensor tau) -> Tensor", "qr_complete", _q(True))
linalg_lstsq = _op(
    "tierup.linalg_lstsq(Tensor a, Tensor b, Tensor rcond) -> (Tensor x, Tensor residuals, Tensor rank, Tensor s)",
    "lstsq", _least_squares, "SVD did not converge in Linear Least Squares", 4, ints=(2,),
)  # fmt: skip
