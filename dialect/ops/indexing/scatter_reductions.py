"""aten.scatter_reduce: what an index sends to one element, summed, multiplied, averaged, or its largest or smallest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.values import Value
from tierup.dialect.ops.indexing.scatters import read_source, scatters, source_gradient, target
from tierup.dialect.optable.core import Infer, Kind, ShapeError, Tolerance
from tierup.dialect.optable.define import op
from tierup.dialect.optable.kernels.arrays import quiet
from tierup.dialect.optable.operands import dtype_of, or_unknown, text

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients
    from tierup.dialect.ops.gradients.emitter import Operand


@dataclass(frozen=True)
class Reduction:
    """`fold`: of NumPy's ufuncs, which combines two elements; `neutral`: what changes nothing, for elements of a dtype."""

    fold: str
    neutral: Callable[[DType], float]


def _least(dtype: DType) -> float:
    return -np.inf if dtype.is_float else dtype.range[0]


def _greatest(dtype: DType) -> float:
    return np.inf if dtype.is_float else dtype.range[1]


REDUCTIONS: dict[str, Reduction] = {
    "sum": Reduction("add", lambda dtype: 0),
    "mean": Reduction("add", lambda dtype: 0),  # and divided
    "prod": Reduction("multiply", lambda dtype: 1),
    "amax": Reduction("maximum", _least),
    "amin": Reduction("minimum", _greatest),
}
"""By the names that the op has for them."""


@or_unknown
def _check_reduction(x: Value, reduce: Value) -> None:
    name = text(reduce)
    if name not in REDUCTIONS:
        raise ShapeError(f"reduce argument must be either sum, prod, mean, amax or amin, got {name}.")
    if name == "mean" and dtype_of(x) is dtypes.bool_:
        raise TypeError("scatter_reduce(): mean is not implemented for bools")


def _reduced(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
    _check_reduction(operands[0], operands[4])
    return scatters("scatter_reduce")(ctx, operands[:4])


@op(
    "aten.scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
    infer=_reduced, kind=Kind.MOVEMENT, raises=True, tolerance=Tolerance(4.0, 1.0), on_device=False,
    note="negative indices are out of range",
)  # fmt: skip
def scatter_reduce(x: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool = True) -> np.ndarray:
    """x with, in the place of each element that is indexed, what `reduce` makes of all that is sent there, and of itself where it is
    included. ValueError for a reduction that there is not."""
    scatter_reduce.checked(x, dim, index, source, reduce, include_self)
    result = x.copy()
    whole, where = target(result, dim, index, source)
    if not index.size:
        return result
    of = REDUCTIONS[reduce]
    with quiet:
        if not include_self:
            whole[where] = of.neutral(dtypes.from_numpy(x.dtype) or dtypes.f64)
        getattr(np, of.fold).at(whole, where, read_source(source, index))
        if reduce == "mean":
            counts = np.full(whole.shape, int(include_self), np.int64)
            np.add.at(counts, where, 1)
            counts = np.maximum(counts, 1)
            whole[...] = whole / counts.astype(x.dtype) if x.dtype.kind not in "iub" else whole // counts.astype(x.dtype)
    return result


@scatter_reduce.vjp(reads=("self", "dim", "index", "src", "result"))
def _(g: Backward) -> Gradients:
    """As PyTorch's: those that are the largest or the smallest share the gradient alike, among them an element that is not included."""
    reduce, includes, where = g.text("reduce"), bool(g.constant("include_self")), g.operands[1:3]
    x, source, grad = g.operands[0], g.operands[3], g.grad

    def taken(value: ir.Value) -> ir.Value:
        return g.call("aten.gather", value, *where, False)

    def sent(values: ir.Value, to: ir.Value) -> ir.Value:
        return g.call("aten.scatter_add", to, *where, values)

    def is_equal(value: ir.Value, other: Operand) -> ir.Value:
        return g.cast_like(g.compare("eq", value, other), x)

    if reduce == "prod":
        raise g.no_gradient("of products it is PyTorch's, which refuses second derivatives where two factors are zero")
    if reduce in ("amax", "amin"):
        is_self, is_source = is_equal(x, g.results[0]), is_equal(source, taken(g.results[0]))
        grad = g.div(grad, sent(is_source, is_self))
        of_self, of_source = g.mul(is_self, grad), g.mul(is_source, taken(grad))
    else:
        if reduce == "mean":
            counts = sent(*(g.add(g.zeros_like(v), float(k)) for v, k in ((source, True), (x, includes))))
            grad = g.div(grad, g.add(counts, is_equal(counts, 0)))
        of_self, of_source = grad, source_gradient(g, where, grad)
    return of_self if includes else g.call("aten.scatter.value", of_self, *where, 0.0), None, None, of_source

