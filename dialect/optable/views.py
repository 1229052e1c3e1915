"""Views: the same memory under another shape. In gradients it is seen the other way round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tierup.dialect.ir.values import List, Shape, Tensor, Value
from tierup.dialect.kernels.axes import axis_of
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import EXACT, Aliasing, Infer, InferRule, Kind, Promotion, ShapeError, normalise_dim
from tierup.dialect.optable.define import op
from tierup.dialect.optable.operands import or_unknown
from tierup.dialect.optable.sizes import expanded, is_one, reshaped

if TYPE_CHECKING:
    from tierup.dialect.gradients.core import Backward, Gradients
    from tierup.dialect.mlir import ir


def _reshape(op: str) -> InferRule:
    """view and reshape: sizes may be known where the operand's are not."""

    @or_unknown
    def sized(ctx: Infer, x: Value, wanted: Value) -> Shape:
        sizes = read.sizes_or_none(wanted)
        if isinstance(x, Tensor) and x.shape is None:
            if any(s is None or s == -1 for s in sizes):
                raise read.Unknown
            return tuple(s for s in sizes if s is not None)
        return reshaped(ctx, op, read.product(read.shape(x)), sizes)

    def infer(ctx: Infer, operands: Sequence[Value]) -> Tensor:
        return Tensor(read.dtype_of(operands[0]), sized(ctx, operands[0], operands[1]))

    return infer


def resolve_sizes(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    """`sizes` for `count` elements, with the one -1 among them replaced. ValueError as torch's when they do not fit."""
    unknown = [i for i, s in enumerate(sizes) if s == -1]
    if len(unknown) > 1:
        raise ValueError("only one dimension can be inferred")
    for i, s in enumerate(sizes):
        if s < -1:
            raise ValueError(f"invalid shape dimension {s} at index {i} of shape {list(sizes)}")
    known = math.prod(s for s in sizes if s != -1)
    if unknown:
        if known == 0:
            if count == 0:
                raise ValueError(
                    f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the unspecified dimension size -1 "
                    "can be any value and is ambiguous"
                )
            raise ValueError(f"shape '{list(sizes)}' is invalid for input of size {count}")
        if count % known == 0:
            return tuple(count // known if s == -1 else s for s in sizes)
    elif known == count:
        return tuple(sizes)
    raise ValueError(f"shape '{list(sizes)}' is invalid for input of size {count}")


@op(
    "aten.view(Tensor(a) self, int[] size) -> Tensor(a)",
    kind=Kind.VIEW, infer=_reshape("view"), aliasing=Aliasing.VIEW, tolerance=EXACT,
    note="tier 0 raises ValueError where strides allow no view",
)  # fmt: skip
def view(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """ValueError where the strides allow no view of these sizes."""
    wanted = resolve_sizes(sizes, x.size)
    try:
        return np.reshape(x, wanted, copy=False)
    except ValueError:
        raise ValueError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        ) from None


@view.vjp()
def _reshape_gradient(g: Backward) -> Gradients:
    return g.call("aten.reshape", g.grad, g.operand_size("self"))


@op(
    "aten.reshape(Tensor(a) self, int[] shape) -> Tensor(a)",
    kind=Kind.VIEW, infer=_reshape("reshape"), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
)  # fmt: skip
def reshape(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """a view where strides allow one, else a copy."""
    return x.reshape(resolve_sizes(sizes, x.size))


@reshape.under_numpy(form="as_is")
def _(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """x.reshape(sizes)."""
    return x.reshape(tuple(sizes))


reshape.vjp()(_reshape_gradient)


@op(
    "aten._unsafe_view(Tensor self, int[] size) -> Tensor",
    kind=Kind.VIEW, infer=_reshape("view"), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
)  # fmt: skip
def reshape_(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """a view where strides allow one, else a copy."""
    return x.reshape(resolve_sizes(sizes, x.size))


reshape_.vjp()(_reshape_gradient)


@op(
    "aten._reshape_alias(Tensor(a) self, int[] size, int[] stride) -> Tensor(a)",
    kind=Kind.VIEW, infer=_reshape("view"), aliasing=Aliasing.VIEW, tolerance=EXACT,
    note="tier 0 raises ValueError where strides allow no view",
)  # fmt: skip
def reshape_alias(x: np.ndarray, sizes: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """a view of these sizes, whose strides (in elements) the caller has computed. ValueError where the
    view has others."""
    result = view(x, sizes)
    for size, stride, wanted in zip(result.shape, result.strides, strides, strict=True):
        if size > 1 and stride != wanted * x.itemsize:
            raise ValueError(f"_reshape_alias: strides {list(strides)} are not those of a view of sizes {list(sizes)}")
    return result


reshape_alias.vjp()(_reshape_gradient)


def _like_other(rule: Callable[[Infer, Shape, Shape], Shape]) -> InferRule:
    return read.of_first(lambda ctx, of, rest: rule(ctx, of, read.shape(rest[0])))


def _reshape_as(ctx: Infer, of: Shape, other: Shape) -> Shape:
    return reshaped(ctx, "reshape_as", read.product(of), other)


@op(
    "aten.reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kind=Kind.VIEW, infer=_like_other(_reshape_as), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT, looked_at=(1,),
)  # fmt: skip
def reshape_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return reshape(x, other.shape)


reshape_as.vjp()(_reshape_gradient)


def _flatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    first = normalise_dim(read.integer(read.given(rest, 0, 0)), len(of))
    last = normalise_dim(read.integer(read.given(rest, 1, -1)), len(of))
    if first > last:
        raise ShapeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*of[:first], read.product(of[first : last + 1]), *of[last + 1 :])


@op(
    "aten.flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_flatten), aliasing=Aliasing.MAY_VIEW, tolerance=EXACT,
)  # fmt: skip
def flatten(x: np.ndarray, start: int = 0, end: int = -1) -> np.ndarray:
    """dims start to end become one; rank 0 becomes rank 1. A view where strides allow one."""
    first, last = axis_of(start, x.ndim), axis_of(end, x.ndim)
    if first > last:
        raise ValueError("flatten() has invalid args: start_dim cannot come after end_dim")
    return x.reshape(*x.shape[:first], math.prod(x.shape[first : last + 1]), *x.shape[last + 1 :])


flatten.vjp()(_reshape_gradient)


def _unflatten(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of))
    wanted = read.sizes_or_none(rest[1])
    if not wanted:
        raise ShapeError("unflatten: sizes must be non-empty")
    if not of:
        raise IndexError("unflatten() cannot be applied to a 0-dim tensor")
    return (*of[:axis], *reshaped(ctx, "unflatten", of[axis], wanted), *of[axis + 1 :])


@op(
    "aten.unflatten.int(Tensor(a) self, int dim, int[] sizes) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_unflatten), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def unflatten(x: np.ndarray, dim: int, sizes: Sequence[int]) -> np.ndarray:
    """One dim becomes several; one size may be -1."""
    axis = axis_of(dim, x.ndim)
    if not sizes:
        raise ValueError("unflatten: sizes must be non-empty")
    if not x.ndim:
        raise IndexError("unflatten() cannot be applied to a 0-dim tensor")
    try:
        wanted = resolve_sizes(sizes, x.shape[axis])
    except ValueError:
        raise ValueError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {axis} ({x.shape[axis]}) in the input tensor"
        ) from None
    return np.reshape(x, (*x.shape[:axis], *wanted, *x.shape[axis + 1 :]), copy=False)


unflatten.vjp()(_reshape_gradient)


def _squeeze(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return tuple(d for d in of if not is_one(d))


@op("aten.squeeze(Tensor(a) self) -> Tensor(a)", kind=Kind.VIEW, infer=read.of_first(_squeeze), aliasing=Aliasing.VIEW, tolerance=EXACT)
def squeeze(x: np.ndarray) -> np.ndarray:
    """All dims of size 1 go."""
    return x.squeeze()


@squeeze.under_numpy(form="as_is")
def _(x: np.ndarray) -> np.ndarray:
    """Np.squeeze(x)."""
    return x.squeeze()


squeeze.vjp()(_reshape_gradient)


_ALL = slice(None)


def _at(x: np.ndarray, dim: int, index: int | slice) -> np.ndarray:
    """x[:, ..., index], a view even where NumPy would give a scalar."""
    axis = dim + x.ndim if dim < 0 else dim
    return x[(*(_ALL,) * axis, index, ...)]


def select(x: np.ndarray, dim: int, index: int) -> np.ndarray:
    """x[:, ..., index]. IndexError with NumPy's text: out of bounds, or too many indices."""
    return _at(x, dim, index)


def _squeeze_dim(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of))
    if not of:
        return of
    if is_one(of[axis]):
        return (*of[:axis], *of[axis + 1 :])
    if ctx.promotion is Promotion.NUMPY:
        raise ShapeError("cannot select an axis to squeeze out which has size not equal to one")
    return of


@op(
    "aten.squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_squeeze_dim), aliasing=Aliasing.VIEW, tolerance=EXACT,
    note="a dim that is not 1 stays; under NumPy's rules a ValueError",
)  # fmt: skip
def squeeze_dim(x: np.ndarray, dim: int) -> np.ndarray:
    """The dim goes if its size is 1."""
    axis = axis_of(dim, x.ndim)
    return x.squeeze(axis) if x.ndim and x.shape[axis] == 1 else x.view()


@squeeze_dim.under_numpy(form="of_known_rank")
def _(x: np.ndarray, dim: int) -> np.ndarray:
    """Np.squeeze(x, axis): ValueError for an axis whose size is not 1."""
    return x.squeeze(dim)


squeeze_dim.vjp()(_reshape_gradient)


def _unsqueeze(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    axis = normalise_dim(read.integer(rest[0]), len(of) + 1)
    return (*of[:axis], 1, *of[axis:])


@op(
    "aten.unsqueeze(Tensor(a) self, int dim) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_unsqueeze), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def unsqueeze(x: np.ndarray, dim: int) -> np.ndarray:
    """a dim of size 1, at `dim` of the result."""
    return x.reshape(*x.shape[: (axis := axis_of(dim, x.ndim + 1))], 1, *x.shape[axis:], copy=False)


@unsqueeze.under_numpy(form="as_is")
def _(x: np.ndarray, dim: int) -> np.ndarray:
    """Np.expand_dims(x, axis)."""
    return np.expand_dims(x, dim)


@unsqueeze.vjp(reads=("dim",))
def _(g: Backward) -> Gradients:
    return g.call("aten.squeeze.dim", g.grad, g.number("dim"))


def _at_least(rank: int, ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    return (*(1,) * (rank - len(of)), *of)


@op(
    "aten.atleast_1d(Tensor self) -> Tensor",
    kind=Kind.VIEW, infer=read.of_first(partial(_at_least, 1)), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def atleast_1d(x: np.ndarray) -> np.ndarray:
    return np.atleast_1d(x)


atleast_1d.vjp()(_reshape_gradient)


@op(
    "aten.atleast_2d(Tensor self) -> Tensor",
    kind=Kind.VIEW, infer=read.of_first(partial(_at_least, 2)), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def atleast_2d(x: np.ndarray) -> np.ndarray:
    """a vector becomes a row."""
    return np.atleast_2d(x)


atleast_2d.vjp()(_reshape_gradient)


def refuse_axes_of_rank_0(ctx: Infer, of: Shape, given: bool = True) -> None:
    """NumPy's functions take no axis of an array without any, where torch's take 0 and -1."""
    if given and not of and ctx.promotion is Promotion.NUMPY:
        raise IndexError("axis 0 is out of bounds for array of dimension 0")


def _transpose(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    a, b = (normalise_dim(read.integer(r), len(of)) for r in rest[:2])
    out = list(of)
    if of:
        out[a], out[b] = out[b], out[a]
    return tuple(out)


@op(
    "aten.transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_transpose), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def transpose(x: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    """Two dims change places."""
    a, b = axis_of(dim0, x.ndim), axis_of(dim1, x.ndim)
    return x.swapaxes(a, b) if x.ndim else x.view()


@transpose.under_numpy(form="of_known_rank")
def _(x: np.ndarray, dim0: int, dim1: int) -> np.ndarray:
    """Np.swapaxes(x, axis1, axis2)."""
    return x.swapaxes(dim0, dim1)


@transpose.vjp(reads=("dim0", "dim1"))
def _(g: Backward) -> Gradients:
    return g.call("aten.transpose.int", g.grad, g.number("dim0"), g.number("dim1"))


def _t(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    if len(of) > 2:
        raise ShapeError(f"t() expects a tensor with <= 2 dimensions, but self is {len(of)}D")
    return of[::-1]


@op("aten.t(Tensor(a) self) -> Tensor(a)", kind=Kind.VIEW, infer=read.of_first(_t), aliasing=Aliasing.VIEW, tolerance=EXACT)
def t(x: np.ndarray) -> np.ndarray:
    """a matrix's transpose; ranks 0 and 1 as they are."""
    if x.ndim > 2:
        raise ValueError(f"t() expects a tensor with <= 2 dimensions, but self is {x.ndim}D")
    return x.T


@t.vjp()
def _(g: Backward) -> Gradients:
    return g.call("aten.t", g.grad)


@op(
    "aten.numpy_T(Tensor(a) self) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(lambda ctx, of, rest: of[::-1]), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def numpy_T(x: np.ndarray) -> np.ndarray:
    """All dims in reverse order."""
    return x.T


@numpy_T.vjp()
def _(g: Backward) -> Gradients:
    return g.call("aten.numpy_T", g.grad)


def _permute(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    dims = read.integers(rest[0])
    if len(dims) != len(of):
        raise ShapeError(f"permute(): input.dim() = {len(of)} is not equal to len(dims) = {len(dims)}")
    axes = [normalise_dim(d, len(of)) for d in dims]
    if len(set(axes)) != len(axes):
        raise ShapeError("permute(): duplicate dims are not allowed.")
    return tuple(of[a] for a in axes)


@op(
    "aten.permute(Tensor(a) self, int[] dims) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_permute), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def permute(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """dim i of the result is dim dims[i] of x."""
    if len(dims) != x.ndim:
        raise ValueError(f"permute(): input.dim() = {x.ndim} is not equal to len(dims) = {len(dims)}")
    axes = [axis_of(d, x.ndim) for d in dims]
    if len(set(axes)) != len(axes):
        raise ValueError("permute(): duplicate dims are not allowed.")
    return x.transpose(axes)


@permute.under_numpy(form="of_known_rank")
def _(x: np.ndarray, dims: Sequence[int]) -> np.ndarray:
    """Np.transpose(x, axes)."""
    return x.transpose(tuple(dims))


@permute.vjp()
def _(g: Backward) -> Gradients:
    dims = g.ints("dims")
    if dims is None:
        raise g.no_gradient("its dims are not given")
    order = [d % max(len(dims), 1) for d in dims]
    return g.call("aten.permute", g.grad, [order.index(i) for i in range(len(order))] if order else g.value([]))


def _movedim(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    refuse_axes_of_rank_0(ctx, of)
    source, destination = (normalise_dim(read.integer(r), len(of)) for r in rest[:2])
    if not of:
        return of
    others = [d for i, d in enumerate(of) if i != source]
    return (*others[:destination], of[source], *others[destination:])


@op(
    "aten.movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_movedim), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def movedim(x: np.ndarray, source: int, destination: int) -> np.ndarray:
    """One dim goes elsewhere, the others keep their order."""
    a, b = axis_of(source, x.ndim), axis_of(destination, x.ndim)
    return np.moveaxis(x, a, b) if x.ndim else x.view()


@movedim.under_numpy(form="of_known_rank")
def _(x: np.ndarray, source: int, destination: int) -> np.ndarray:
    """Np.moveaxis(x, source, destination)."""
    return np.moveaxis(x, source, destination)


@movedim.vjp(reads=("source", "destination"))
def _(g: Backward) -> Gradients:
    return g.call("aten.movedim.int", g.grad, g.number("destination"), g.number("source"))


def _expand(ctx: Infer, of: Shape, rest: Sequence[Value]) -> Shape:
    wanted = read.sizes_or_none(rest[0])
    if ctx.promotion is Promotion.NUMPY and any(isinstance(w, int) and w < 0 for w in wanted):
        raise ShapeError("all elements of broadcast shape must be non-negative")
    return expanded(ctx, "expand", of, wanted)


@op(
    "aten.expand(Tensor(a) self, int[] size, *, bool implicit=False) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_expand), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def expand(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """dims of size 1 become any size, -1 keeps one, new dims come in front. Whoever writes is to ask
    whether an element shows more than once (`overlap.py`)."""
    new = len(sizes) - x.ndim
    if new < 0:
        raise ValueError(
            f"expand: the number of sizes provided ({len(sizes)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({x.ndim})"
        )
    wanted = list(sizes)
    for i, size in enumerate(sizes):
        if size == -1 and i < new:
            raise ValueError(f"The expanded size of the tensor (-1) isn't allowed in a leading, non-existing dimension {i}")
        old = x.shape[i - new] if i >= new else 1
        if size == -1:
            wanted[i] = old
        elif size < 0 or (size != old and old != 1):
            raise ValueError(
                f"The expanded size of the tensor ({size}) must match the existing size ({old}) at non-singleton dimension {i}.  "
                f"Target sizes: {list(sizes)}.  Tensor sizes: {list(x.shape)}"
            )
    if math.prod(wanted) == x.size:
        return np.reshape(x, wanted, copy=False)
    steps = [0] * new + [s if n == m else 0 for n, m, s in zip(x.shape, wanted[new:], x.strides, strict=True)]
    return np.lib.stride_tricks.as_strided(x, wanted, steps, writeable=x.flags.writeable)


@expand.under_numpy(form="locked")
def _(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """Np.broadcast_to(x, shape): read-only."""
    return np.broadcast_to(x, tuple(sizes))


@expand.vjp()
def _expand_gradient(g: Backward) -> Gradients:
    return g.sum_to(g.grad, "self")


def _expand_as(ctx: Infer, of: Shape, other: Shape) -> Shape:
    return expanded(ctx, "expand_as", of, other)


@op(
    "aten.expand_as(Tensor(a) self, Tensor other) -> Tensor(a)",
    kind=Kind.VIEW, infer=_like_other(_expand_as), aliasing=Aliasing.VIEW, tolerance=EXACT, looked_at=(1,),
)  # fmt: skip
def expand_as(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    return expand(x, other.shape)


expand_as.vjp()(_expand_gradient)


@op(
    "aten.broadcast_to(Tensor(a) self, int[] size) -> Tensor(a)",
    kind=Kind.VIEW, infer=read.of_first(_expand), aliasing=Aliasing.VIEW, tolerance=EXACT,
)  # fmt: skip
def broadcast_to(x: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    return expand(x, sizes)


@broadcast_to.under_numpy(form="locked")
def _(x: np.ndarray, sizes: Sequence[int], implicit: bool = False) -> np.ndarray:
    """Np.broadcast_to(x, shape): read-only."""
    return np.broadcast_to(x, tuple(sizes))


broadcast_to.vjp()(_expand_gradient)


def _broadcast_tensors(ctx: Infer, operands: Sequence[Value]) -> List:
    tensors = or_unknown(read.items)(operands[0])
    if tensors is None:
        return List(None, Tensor())
    common = ctx.broadcast([t.shape if isinstance(t, Tensor) else None for t in tensors])
    return List(tuple(Tensor(read.dtype_of(t), common) for t in tensors))


@op(
    "aten.broadcast_tensors(Tensor[] tensors) -> Tensor[]",
    kind=Kind.VIEW, infer=_broadcast_tensors, aliasing=Aliasing.VIEW, tolerance=EXACT, native=False,
)  # fmt: skip
def broadcast_tensors(tensors: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Each expanded to their common shape."""
    try:
        shape = np.broadcast_shapes(*(x.shape for x in tensors))
    except ValueError as e:
        raise ValueError(f"broadcast_tensors: {e}") from None
    return [expand(x, shape) for x in tensors]


def _like(g: Backward, gradient: ir.Value, tensor: ir.Value) -> ir.Value:
    if g.same_shape(gradient, tensor):
        return gradient
    return g.call("aten._grad_sum_to_size", gradient, g.size(tensor))


def _listed(g: Backward) -> Sequence[ir.Value | None]:
    """The gradients of the tensors of a list. Raises NoGradient when it is a value itself, as that of a list that grows is."""
    found = g.grads[0]
    if found is None or g.is_value(found):
        raise g.no_gradient("the list of its results is used as a whole: unpack it")
    return found


@broadcast_tensors.vjp()
def _(g: Backward) -> Gradients:
    return ([None if grad is None else _like(g, grad, tensor) for grad, tensor in zip(_listed(g), g.items("tensors"), strict=False)],)


@or_unknown
def _grid(tensors: Sequence[Value], mode: str | None) -> Shape:
    shapes = [read.shape(t) for t in tensors]
    if any(len(s) > 1 for s in shapes):
        raise ShapeError("torch.meshgrid: Expected 0D or 1D tensors in the tensor list")
    out = [read.product(s) for s in shapes]
    if mode is None:
        raise read.Unknown
    if mode == "xy" and len(out) > 1:
        out[:2] = out[1], out[0]
    return tuple(out)


def _meshgrid(ctx: Infer, operands: Sequence[Value]) -> List:
    tensors = or_unknown(read.items)(operands[0])
    mode = or_unknown(read.text)(operands[1]) if len(operands) > 1 else "ij"
    if mode not in (None, "ij", "xy"):
        raise ShapeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {mode}')
    if tensors is None:
        return List(None, Tensor())
    if not tensors:
        raise ShapeError("meshgrid expects a non-empty TensorList")
    known = {d for d in map(read.dtype_of, tensors) if d is not None}
    if len(known) > 1:
        raise TypeError("meshgrid expects all tensors to have the same dtype")
    grid = _grid(tensors, mode)
    return List(tuple(Tensor(read.dtype_of(t), grid) for t in tensors))


@op(
    "aten.meshgrid(Tensor[] tensors) -> Tensor[]", "aten.meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]",
    kind=Kind.VIEW, infer=_meshgrid, aliasing=Aliasing.VIEW, tolerance=EXACT, native=False,
)  # fmt: skip
def meshgrid(tensors: Sequence[np.ndarray], indexing: str = "ij") -> list[np.ndarray]:
    """Vectors and scalars of one dtype expanded along a dim each; "xy" exchanges the first two dims."""
    if not tensors:
        raise ValueError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy"):
        raise ValueError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    for x in tensors:
        if x.ndim > 1:
            raise ValueError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {x.ndim}D")
        if x.dtype != tensors[0].dtype:
            raise TypeError("meshgrid expects all tensors to have the same dtype")
    order = list(range(len(tensors)))
    if indexing == "xy" and len(tensors) > 1:
        order[:2] = [1, 0]
    shape = [tensors[i].size for i in order]
    rank = len(shape)
    return [expand(x.reshape([-1 if order[d] == i else 1 for d in range(rank)], copy=False), shape) for i, x in enumerate(tensors)]


def _meshed(g: Backward, indexing: str) -> Gradients:
    """Each tensor lies along one dim, and is repeated along the others; "xy" exchanges the first two dims."""
    tensors = g.items(0)
    along = list(range(len(tensors)))
    if indexing == "xy":
        along[:2] = along[:2][::-1]
    found: list[ir.Value | None] = []
    for i, grad in enumerate(_listed(g)):
        others = [d for d in range(len(tensors)) if d != along[i]]
        if grad is not None and others:
            grad = g.call("aten.sum.dim_IntList", grad, others, False, None)
        found.append(None if grad is None else g.call("aten.reshape", grad, g.size(tensors[i])))
    return (found,)


@meshgrid.vjp("meshgrid")
def _(g: Backward) -> Gradients:
    return _meshed(g, "ij")


@meshgrid.vjp("indexing")
def _(g: Backward) -> Gradients:
    return _meshed(g, g.text("indexing"))
