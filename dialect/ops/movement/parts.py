"""Views of parts: selections, slices, diagonals. And the ops that put one in: a tensor of which a part is replaced is what writes become
where programs are values."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.facts.dims import Dim, at_least
from tierup.dialect.facts.values import Int, Shape, Tensor, Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, KEPT_COMPLEX, Aliasing, Infer, InferRule, Kind, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import DefinedOp, op
from tierup.dialect.optable.kernels.arrays import cast
from tierup.dialect.optable.kernels.overlap import same_strides
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import diagonal_length, slice_length

if TYPE_CHECKING:
    from tierup.dialect.mlir import ir
    from tierup.dialect.ops.gradients.core import Backward, Gradients
    from tierup.dialect.ops.gradients.emitter import Operand

_view = partial(op, kind=Kind.VIEW, aliasing=Aliasing.VIEW, tolerance=EXACT)


def at(x: np.ndarray, dim: int, index: int | slice) -> np.ndarray:
    """x[:, ..., index]: a view even where NumPy would give a scalar."""
    axis = dim + x.ndim if dim < 0 else dim
    return x[(*(slice(None),) * axis, index, ...)]


def _axis(op: str, of: Shape, dim: Value) -> int:
    if not of:
        raise IndexError(f"{op}() cannot be applied to a 0-dim tensor.")
    return normalise_dim(read.integer(dim), len(of))


def _select(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = _axis("select", of, rest[0])
    index, size = or_unknown(read.size)(rest[1]), of[axis]
    if isinstance(index, int) and isinstance(size, int) and not -size <= index < size:
        raise IndexError(f"select(): index {index} out of range for a dim of size {size} at dimension {axis}")
    return (*of[:axis], *of[axis + 1 :])


@_view("aten.select.int(Tensor(a) self, int dim, int index) -> Tensor(a)", infer=read.of_first(_select), raises=True)
def select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """One index along dim, which goes. Negative ones count from the end; IndexError out of range."""
    if not (-x.ndim <= dim < x.ndim and -x.shape[dim] <= index < x.shape[dim]):
        select.checked(x, dim, index)  # says what is wrong
    return at(x, dim, index)


@select.under_numpy(form="as_is")
def _(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """IndexError with NumPy's text: out of bounds, or too many indices."""
    return at(x, dim, index)


select.vjp(reads=("dim", "index"))(lambda g: g.call("aten.select_scatter", g.zeros("self"), g.grad, *g.operands[1:3]))


def resized(of: Shape, axis: int, size: Dim) -> Shape:
    """A shape with another size along one axis."""
    return (*of[:axis], size, *of[axis + 1 :])


@or_unknown
def _length(size: Dim, start: Value, end: Value, step: int | None) -> Dim:
    if step is None:
        raise read.Unknown
    window = _window(size, start, end) if step == 1 else None
    return window if window is not None else slice_length(size, read.optional(read.size, start), read.optional(read.size, end), step)


def _window(size: Dim, start: Value, end: Value) -> Dim | None:
    """The length of x[i:i+m] in a loop over numbers i at which it fits; None where that is not known."""
    a, b = (v.counter if isinstance(v, Int) else None for v in (start, end))
    if a is None or b is None or a.loop != b.loop:
        return None
    length = b.offset - a.offset
    fits = at_least(a.offset, 0) and at_least(length, 0) and at_least(size - a.rounds + 1 - b.offset, 0)
    return length if fits else None


def _slice(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = _axis("slice", of, read.given(rest, 0, 0))
    step = or_unknown(read.integer)(read.given(rest, 3, 1))
    if step is not None and (step == 0 or step < 0 and ctx.promotion is Promotion.TORCH):
        raise ShapeError("slice step must be positive")
    length = _length(of[axis], read.given(rest, 1), read.given(rest, 2), step)
    return resized(of, axis, ctx.part(of[axis], rest[1:]) if length is None else length)


@_view(
    "aten.slice.Tensor(Tensor(a) self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor(a)",
    infer=read.of_first(_slice), note="the step is positive; under NumPy's rules it may be negative",
)  # fmt: skip
def slice_(x: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> np.ndarray:
    """Start to end in steps of at least 1; bounds count from the end when negative, and are clamped."""
    if not x.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = normalise_dim(dim, x.ndim)
    if step <= 0:
        raise ValueError("slice step must be positive")
    return at(x, axis, slice(start, end, step))


@slice_.under_numpy(form="slice_")
def _(x: np.ndarray, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> np.ndarray:
    """The step may be negative, None meaning the end that it starts from."""
    return at(x, dim, slice(start, end, step))


def _slice_backwards(g: Backward, step: int) -> ir.Value:
    """NumPy's x[start:end:-step] goes forwards in x turned around, where what is at i is at -1 - i."""
    dim = g.number("dim")
    bounds = [g.minus(-1, g.number(which)) if g.given(which) else None for which in ("start", "end")]
    return g.call("aten.flip", g.call("aten.slice_scatter", g.zeros("self"), g.grad, dim, *bounds, step), [dim])


@slice_.vjp(reads=("dim", "start", "end", "step"))
def _(g: Backward) -> Gradients:
    step = g.constant("step") if g.numpy else 1
    if step < 0:
        return _slice_backwards(g, -int(step))
    return g.call("aten.slice_scatter", g.zeros("self"), g.grad, *g.operands[1:5])


def _narrow(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if not of:
        raise ShapeError("narrow() cannot be applied to a 0-dim tensor.")
    length = or_unknown(read.size)(rest[2])
    if isinstance(length, int) and length < 0:
        raise ShapeError("narrow(): length must be non-negative.")
    axis = normalise_dim(read.integer(rest[0]), len(of))
    size = of[axis]
    start = or_unknown(read.integer)(rest[1]) if not isinstance(rest[1], Tensor) else None
    if isinstance(size, int) and start is not None:
        if not -size <= start <= size:
            raise IndexError(f"start out of range (expected to be in range of [{-size}, {size}], but got {start})")
        first = start + size if start < 0 else start
        if isinstance(length, int) and first + length > size:
            raise ShapeError(f"start ({first}) + length ({length}) exceeds dimension size ({size}).")
    return resized(of, axis, ctx.fresh() if length is None else length)


@_view("aten.narrow(Tensor(a) self, int dim, int start, int length) -> Tensor(a)", infer=read.of_first(_narrow))
def narrow(x: np.ndarray, dim: int, start: int, length: int) -> np.ndarray:
    """`length` elements from start, all of which must exist."""
    narrow.checked(x, dim, start, length)
    first = start + x.shape[dim] if start < 0 else start
    return at(x, dim, slice(first, first + length))


def _between(g: Backward, start: Operand) -> Gradients:
    """The part from `start`, which may be negative and then counts from the end."""
    dim, length = g.number("dim"), g.number("length")
    if not (isinstance(start, int) and start >= 0):
        back = g.call("prim.max.int", g.call("prim.min.int", start, 0, type_="!torch.int"), -1, type_="!torch.int")  # -1 or 0
        start = g.minus(start, g.times(g.size_of(g.like("self"), dim), back))
    return g.call("aten.slice_scatter", g.zeros("self"), g.grad, dim, start, g.plus(start, length), 1)


narrow.vjp(reads=("dim", "start", "length"))(lambda g: _between(g, g.number("start")))


@_view(
    "aten.narrow.Tensor(Tensor(a) self, int dim, Tensor start, int length) -> Tensor(a)",
    infer=read.of_first(_narrow), native=False, raises=True,
)  # fmt: skip
def narrow_tensor(x: np.ndarray, dim: int, start: np.ndarray, length: int) -> np.ndarray:
    """Start is a rank-0 integer tensor."""
    if start.ndim or start.dtype.kind not in "iu":
        raise ValueError("start must be an 0-dim integral Tensor.")
    return narrow(x, dim, int(start), length)


narrow_tensor.vjp(reads=("dim", "start", "length"))(lambda g: _between(g, g.call("aten.Int.Tensor", g.operands[2], type_="!torch.int")))


def _diagonal(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    a, b = (normalise_dim(read.integer(read.given(rest, i, i - 1)), len(of)) for i in (1, 2))
    if a == b:
        raise ShapeError(f"diagonal dimensions cannot be identical {a}, {b}")
    length = diagonal_length(of[a], of[b], read.integer(read.given(rest, 0, 0)))
    return (*(d for i, d in enumerate(of) if i not in (a, b)), length)


@_view("aten.diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", infer=read.of_first(_diagonal))
def diagonal(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """Of dims 1 and 2, as the last dim; written through like every view."""
    diagonal.checked(x, offset, dim1, dim2)
    result = np.diagonal(x, offset, dim1, dim2)
    if x.flags.writeable:
        result.flags.writeable = True  # NumPy's diagonal is read-only out of caution for old code
    return result


@diagonal.under_numpy(form="locked")
def _(x: np.ndarray, offset: int = 0, dim1: int = 0, dim2: int = 1) -> np.ndarray:
    """Read-only."""
    return np.diagonal(x, offset, dim1, dim2)


@diagonal.vjp(reads=("offset", "dim1", "dim2"))
def _(g: Backward) -> Gradients:
    return g.call("aten.diagonal_scatter", g.zeros("self"), g.grad, *(g.number(which) for which in ("offset", "dim1", "dim2")))


select.copied_as("aten.select_copy.int(Tensor self, int dim, int index) -> Tensor")
slice_.copied_as("aten.slice_copy.Tensor(Tensor self, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor")
diagonal.copied_as("aten.diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor")


# --- a part put in -----------------------------------------------------------------------------------------------------


def _infer_put(view: DefinedOp[Any]) -> InferRule:
    """`src` has the shape of the part that it replaces."""

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        x, source, *rest = operands
        part = view.infer(ctx, [x, *rest])
        assert isinstance(part, Tensor)
        if part.shape is not None and isinstance(source, Tensor) and source.shape is not None:
            if len(part.shape) != len(source.shape):
                raise ShapeError("expected src to have a size equal to the slice of self")
            for a, b in zip(part.shape, source.shape, strict=True):
                ctx.equal(a, b, "expected src to have a size equal to the slice of self")
        return read.whole(x)

    return infer


def _put(to: DefinedOp[Any], view: DefinedOp[Any], x: np.ndarray, source: np.ndarray, *where: Any) -> np.ndarray:
    """A copy of x, laid out as x is, in which the part that `view` shows is `source`."""
    to.checked(x, source, *where)
    result = same_strides(x)
    np.copyto(result, x)
    view(result, *where)[...] = cast(source, x.dtype)
    return result


def _put_gradients(g: Backward, view: str, where: Sequence[Operand]) -> Gradients:
    """The gradient without the part, and the part."""
    return g.call(g.rule.op, g.grad, g.zeros("src"), *where), g.cast_to(g.call(view, g.grad, *where), "src")


@op(
    "aten.slice_scatter(Tensor self, Tensor src, int dim=0, int? start=None, int? end=None, int step=1) -> Tensor",
    kind=Kind.MOVEMENT, infer=_infer_put(slice_), puts=True, tolerance=EXACT, **KEPT_COMPLEX,
)  # fmt: skip
def slice_scatter(x: np.ndarray, source: np.ndarray, *where: int | None) -> np.ndarray:
    return _put(slice_scatter, slice_, x, source, *where)


slice_scatter.vjp(reads=("dim", "start", "end", "step"))(lambda g: _put_gradients(g, "aten.slice.Tensor", g.operands[2:6]))


@op(
    "aten.select_scatter(Tensor self, Tensor src, int dim, int index) -> Tensor",
    kind=Kind.MOVEMENT, infer=_infer_put(select), puts=True, tolerance=EXACT, **KEPT_COMPLEX, raises=True,
)  # fmt: skip
def select_scatter(x: np.ndarray, source: np.ndarray, dim: int, index: int) -> np.ndarray:
    return _put(select_scatter, select, x, source, dim, index)


select_scatter.vjp(reads=("dim", "index"))(lambda g: _put_gradients(g, "aten.select.int", g.operands[2:4]))


@op(
    "aten.diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor",
    kind=Kind.MOVEMENT, infer=_infer_put(diagonal), puts=True, tolerance=EXACT, **KEPT_COMPLEX,
)  # fmt: skip
def diagonal_scatter(x: np.ndarray, source: np.ndarray, *where: int) -> np.ndarray:
    return _put(diagonal_scatter, diagonal, x, source, *where)


@diagonal_scatter.vjp(reads=("offset", "dim1", "dim2"))
def _(g: Backward) -> Gradients:
    return _put_gradients(g, "aten.diagonal_copy", [g.number(which) for which in ("offset", "dim1", "dim2")])
