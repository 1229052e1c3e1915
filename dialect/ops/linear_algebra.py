"""Linear algebra by LAPACK, of float32 and float64: each op is a function of stacks of matrices that NumPy's numpy.linalg is made of, and
calls the same routines. What these report as an error (a singular matrix) is NumPy's LinAlgError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim, minimum
from tierup.dialect.facts.values import Shape, Tensor, Value
from tierup.dialect.ops.products import is_vector
from tierup.dialect.optable.core import EXACT, NO_RULE, Infer, Kind, ShapeError, Tolerance
from tierup.dialect.optable.define import DefinedOp, define, op
from tierup.dialect.optable.operands import dtype_of, or_unknown, shape

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients

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


def _op(
    schema: str, gufunc: str, shapes: Shapes, error: str = "", results: int = 1, ints: tuple[int, ...] = (), **fields: Any
) -> DefinedOp[Any]:
    """The op of a generalised ufunc; `shapes`: of its results; `error`: of its LinAlgError; `ints`: the results that are int32; `fields`:
    of `Op`."""
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
        schema, tier0, kind=Kind.OTHER, infer=infer, results=results, tolerance=BOUND, raises=bool(error), on_device=False, **fields
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
linalg_svd_f = _op(f"tierup.linalg_svd_f{_THREE}", "svd_f", _svd(True), _NO_SVD, 3, no_gradient=NO_RULE)
linalg_qr_r_raw = _op(
    f"tierup.linalg_qr_r_raw{_TWO}", "qr_r_raw", lambda ctx, a: [shape(a), _singular(ctx, a)], results=2, no_gradient=NO_RULE
)
linalg_qr_reduced = _op("tierup.linalg_qr_reduced(Tensor a, Tensor tau) -> Tensor", "qr_reduced", _q(False), no_gradient=NO_RULE)
linalg_qr_complete = _op("tierup.linalg_qr_complete(Tensor a, Tensor tau) -> Tensor", "qr_complete", _q(True), no_gradient=NO_RULE)
linalg_lstsq = _op(
    "tierup.linalg_lstsq(Tensor a, Tensor b, Tensor rcond) -> (Tensor x, Tensor residuals, Tensor rank, Tensor s)",
    "lstsq", _least_squares, "SVD did not converge in Linear Least Squares", 4, ints=(2,), no_gradient=NO_RULE,
)  # fmt: skip


def _as_known(ctx: Infer, operands: Sequence[Value]) -> Value:
    return operands[0]


@op("tierup.linalg_as_pinv(Tensor self, Tensor a) -> Tensor", kind=Kind.OTHER, infer=_as_known, tolerance=EXACT, on_device=False)
def linalg_as_pinv(x: np.ndarray, a: np.ndarray) -> np.ndarray:
    """`x`, the pseudo-inverse of `a` by whatever steps, whose gradient is none of theirs but its own."""
    return x.copy()


# --- gradients: of what is read of the matrix, of cholesky and eigh one half ----------------------------------------------


def _t(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.transpose.int", x, -2, -1)


def _product(g: Backward, *factors: ir.Value) -> ir.Value:
    first, *rest = factors
    for factor in rest:
        first = g.call("aten.matmul", first, factor)
    return first


def _columns(g: Backward, x: ir.Value) -> ir.Value:
    """Numbers of each matrix for its columns: x[..., None, :]."""
    return g.call("aten.unsqueeze", x, -2)


def _half(g: Backward, x: ir.Value, upper: bool) -> ir.Value:
    """The gradient of one half, which stands for both, where x is that of a symmetric matrix."""
    both = g.call("aten.add.Tensor", x, _t(g, x), 1)
    name, behind = ("aten.triu", 1) if upper else ("aten.tril", -1)
    return g.call("aten.add.Tensor", g.call(name, both, behind), _diagonal(g, x), 1)


def _diagonal(g: Backward, x: ir.Value) -> ir.Value:
    return g.call("aten.tril", g.call("aten.triu", x, 0), 0)


@linalg_solve.vjp(reads=("a", "result"))
def _(g: Backward) -> Gradients:
    vector = is_vector(g, 1)
    widened = [g.choose(vector, partial(g.call, "aten.unsqueeze", v, -1), partial(_as_it_is, v)) for v in (g.grad, g.results[0])]
    right = g.call("tierup.linalg_solve", _t(g, g.operands[0]), widened[0])
    of_b = g.choose(vector, lambda: g.call("aten.squeeze.dim", right, -1), lambda: right)
    return g.sum_to(g.call("aten.neg", _product(g, right, _t(g, widened[1]))), "a"), g.sum_to(of_b, "b")


def _as_it_is(value: ir.Value) -> ir.Value:
    return value


@linalg_inv.vjp(reads=("result",))
@linalg_inv_or_nan.vjp(reads=("result",))
def _(g: Backward) -> Gradients:
    y = _t(g, g.results[0])
    return (g.call("aten.neg", _product(g, y, g.grad, y)),)


def _of_each_inverse(g: Backward, factor: ir.Value) -> ir.Value:
    inverse = _t(g, g.call("tierup.linalg_inv", g.operands[0]))
    return g.mul(inverse, _spread(g, factor))


def _spread(g: Backward, factor: ir.Value) -> ir.Value:
    """A number of each matrix for all of it: x[..., None, None]."""
    return g.call("aten.unsqueeze", g.call("aten.unsqueeze", factor, -1), -1)


@linalg_det.vjp(reads=("a", "result"))
def _(g: Backward) -> Gradients:
    """Of a regular matrix; of a singular one LinAlgError."""
    return (_of_each_inverse(g, g.mul(g.grad, g.results[0])),)


@linalg_slogdet.vjp(reads=("a",))
def _(g: Backward) -> Gradients:
    grad = g.grad_of(1)
    return (None if grad is None else _of_each_inverse(g, grad),)


def _of_cholesky(g: Backward, factor: ir.Value, grad: ir.Value) -> ir.Value:
    """I. Murray, Differentiation of the Cholesky decomposition (2016), (9), for the half that is read."""
    product, inverse = g.call("aten.tril", _product(g, _t(g, factor), grad), 0), g.call("tierup.linalg_inv", factor)
    inner = g.call("aten.sub.Tensor", product, g.mul(_diagonal(g, product), 0.5), 1)
    return _half(g, _product(g, _t(g, inverse), inner, inverse), False)


linalg_cholesky_lo.vjp(reads=("result",))(lambda g: (_of_cholesky(g, g.results[0], g.grad),))

linalg_cholesky_up.vjp(reads=("result",))(lambda g: (_t(g, _of_cholesky(g, _t(g, g.results[0]), _t(g, g.grad))),))


def _of_values(upper: bool) -> Callable[[Backward], Gradients]:
    def rule(g: Backward) -> Gradients:
        name = "tierup.linalg_eigh_up" if upper else "tierup.linalg_eigh_lo"
        _, v = g.several(name, g.operands[0], types=["!torch.vtensor"] * 2)
        return (_half(g, _product(g, g.mul(v, _columns(g, g.grad)), _t(g, v)), upper),)

    return rule


linalg_eigvalsh_lo.vjp(reads=("a",))(_of_values(False))
linalg_eigvalsh_up.vjp(reads=("a",))(_of_values(True))


def _of_vectors(upper: bool) -> Callable[[Backward], Gradients]:
    """M. Giles, An extended collection of matrix derivative results (2008), 3.1; not for eigenvalues that are equal."""

    def rule(g: Backward) -> Gradients:
        w, v = g.results[0], g.results[1]
        of_values, of_vectors = g.grad_of(0), g.grad_of(1)
        found = None if of_values is None else _product(g, g.mul(v, _columns(g, of_values)), _t(g, v))
        if of_vectors is not None:
            ones = _diagonal(g, g.call("aten.ones_like", v, None, None, None, None, None))
            apart = g.call("aten.sub.Tensor", _columns(g, w), g.call("aten.unsqueeze", w, -1), 1)
            inner = g.call("aten.div.Tensor", _product(g, _t(g, v), of_vectors), g.call("aten.add.Tensor", apart, ones, 1))
            inner = g.call("aten.sub.Tensor", inner, _diagonal(g, inner), 1)
            turned = _product(g, v, inner, _t(g, v))
            found = turned if found is None else g.call("aten.add.Tensor", found, turned, 1)
        return (None if found is None else _half(g, found, upper),)

    return rule


linalg_eigh_lo.vjp(reads=("result0", "result1"))(_of_vectors(False))
linalg_eigh_up.vjp(reads=("result0", "result1"))(_of_vectors(True))


@linalg_svd.vjp(reads=("a",))
def _(g: Backward) -> Gradients:
    u, _, vt = g.several("tierup.linalg_svd_s", g.operands[0], types=["!torch.vtensor"] * 3)
    return (_product(g, g.mul(u, _columns(g, g.grad)), vt),)


@linalg_svd_s.vjp(reads=("result0", "result1", "result2"))
def _(g: Backward) -> Gradients:
    """J. Townsend, Differentiating the singular value decomposition (2016); not for singular values that are equal or 0."""
    (u, s, vt), (of_u, of_s, of_vt) = (g.results[k] for k in range(3)), (g.grad_of(k) for k in range(3))
    rows, columns = g.call("aten.unsqueeze", s, -1), _columns(g, s)
    parts: list[ir.Value] = [] if of_s is None else [_product(g, g.mul(u, _columns(g, of_s)), vt)]
    for left, grad, scaled in ((u, of_u, columns), (_t(g, vt), None if of_vt is None else _t(g, of_vt), rows)):
        if grad is None:
            continue
        inside = _product(g, _t(g, left), grad)
        ones = _diagonal(g, g.call("aten.ones_like", inside, None, None, None, None, None))
        apart = g.call("aten.add.Tensor", g.call("aten.sub.Tensor", g.mul(columns, columns), g.mul(rows, rows), 1), ones, 1)
        turned = g.call("aten.div.Tensor", g.call("aten.sub.Tensor", inside, _t(g, inside), 1), apart)
        parts.append(_product(g, u, g.mul(turned, scaled), vt))
        outside = g.call("aten.div.Tensor", g.call("aten.sub.Tensor", grad, _product(g, left, inside), 1), columns)
        parts.append(_product(g, outside, vt) if scaled is columns else _product(g, u, _t(g, outside)))
    found = None
    for part in parts:
        found = part if found is None else g.call("aten.add.Tensor", found, part, 1)
    return (found,)


@linalg_as_pinv.vjp(reads=("a", "result"))
def _(g: Backward) -> Gradients:
    """Where the rank stays what it is."""
    a, y = g.operands[1], g.results[0]
    wide = g.call("aten.lt.int", g.size_of(a, -2), g.size_of(a, -1), type_="!torch.bool")
    return None, g.choose(wide, lambda: _t(g, _of_pinv(g, *(_t(g, v) for v in (a, y, g.grad)))), lambda: _of_pinv(g, a, y, g.grad))


def _of_pinv(g: Backward, a: ir.Value, y: ir.Value, grad: ir.Value) -> ir.Value:
    """G. Golub and V. Pereyra, The differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate (1973),
    (4.12), transposed; no product is larger than `a` where that has no more columns than rows."""
    inner = _product(g, y, _t(g, grad))
    outer = _product(g, inner, y)
    beside = g.call("aten.sub.Tensor", _t(g, grad), _product(g, a, inner), 1)
    below = g.call("aten.sub.Tensor", inner, _product(g, outer, a), 1)
    outside = g.call("aten.add.Tensor", _product(g, beside, _product(g, y, _t(g, y))), _product(g, _t(g, y), below), 1)
    return g.call("aten.sub.Tensor", outside, _t(g, outer), 1)
