"""Elements move: shuffles, flips, differences, stacks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError, normalise_dim
from tierup.dialect.optable.formulas.core import INT, LIST, Ops, T, formula

_MOVEMENT = Kind.MOVEMENT


def _sizes(o: Ops[T], x: T) -> tuple[int, ...]:
    """Raises what is raised where sizes are not known; symbolic ones are not."""
    shape = o.known(x).shape
    if shape is None or not all(isinstance(n, int) for n in shape):
        raise o.unknown()
    return tuple(n for n in shape if isinstance(n, int))


@formula("pixel_shuffle(self; upscale_factor)", kind=_MOVEMENT)
def pixel_shuffle(o: Ops[T], x: T, factor: int) -> T:
    """... x (c r r) x h x w -> ... x c x (h r) x (w r)."""
    n = _at_least_3(o, x, "pixel_shuffle") - 3
    if factor <= 0:
        raise ShapeError(f"pixel_shuffle expects a positive upscale_factor, but got {factor}")
    _divides(o, x, n, factor**2, "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor")
    x = o.call("aten.unflatten.int", x, n, [-1, factor, factor])
    x = o.call("aten.permute", x, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    x = o.call("aten.flatten.using_ints", x, n + 3, n + 4)
    return o.call("aten.flatten.using_ints", x, n + 1, n + 2)


@formula("pixel_unshuffle(self; downscale_factor)", kind=_MOVEMENT)
def pixel_unshuffle(o: Ops[T], x: T, factor: int) -> T:
    """... x c x (h r) x (w r) -> ... x (c r r) x h x w."""
    n = _at_least_3(o, x, "pixel_unshuffle") - 3
    if factor <= 0:
        raise ShapeError(f"pixel_unshuffle expects a positive downscale_factor, but got {factor}")
    for dim in (n + 2, n + 1):
        _divides(o, x, dim, factor, "pixel_unshuffle expects height and width to be divisible by downscale_factor")
        x = o.call("aten.unflatten.int", x, dim, [-1, factor])
    x = o.call("aten.permute", x, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    return o.call("aten.flatten.using_ints", x, n, n + 2)


def _at_least_3(o: Ops[T], x: T, op: str) -> int:
    if o.rank(x) < 3:
        raise ShapeError(f"{op} expects input to have at least 3 dimensions, but got input with {o.rank(x)} dimension(s)")
    return o.rank(x)


def _divides(o: Ops[T], x: T, dim: int, by: int, what: str) -> None:
    size = (o.known(x).shape or ())[dim]
    if isinstance(size, int) and size % by:
        raise ShapeError(what)


@formula("channel_shuffle(self; groups)", "native_channel_shuffle(self; groups)", kind=_MOVEMENT)
def channel_shuffle(o: Ops[T], x: T, groups: int) -> T:
    _at_least_3(o, x, "channel_shuffle")
    what = "channel_shuffle: Number of channels must be divisible by groups, of which there are more than 0"
    if groups <= 0:
        raise ShapeError(what)
    _divides(o, x, 1, groups, what)
    parts = o.call("aten.unflatten.int", x, 1, [groups, -1])
    return o.call("aten.flatten.using_ints", o.call("aten.transpose.int", parts, 1, 2), 1, 2)


@formula("glu(self; dim)", kind=_MOVEMENT)
def glu(o: Ops[T], x: T, dim: int = -1) -> T:
    """The first half of a dim times the sigmoid of the second."""
    if o.rank(x) == 0:
        raise ShapeError("glu does not support 0-dimensional tensors")
    axis = normalise_dim(dim, o.rank(x))
    half = o.call("aten.floordiv.int", o.size(x, axis), 2, type_=INT)
    first, second = (o.call("aten.slice.Tensor", x, axis, *ends, 1) for ends in ((0, half), (half, None)))
    o.equal(first, axis, second, axis, f"Halving dimension must be even, which dimension {axis} is not")
    return o.mul(first, o.call("aten.sigmoid", second))


@formula("fliplr(self; )", kind=_MOVEMENT)
def fliplr(o: Ops[T], x: T) -> T:
    if o.rank(x) < 2:
        raise ShapeError("Input must be >= 2-d.")
    return o.call("aten.flip", x, [1])


@formula("flipud(self; )", kind=_MOVEMENT)
def flipud(o: Ops[T], x: T) -> T:
    if o.rank(x) < 1:
        raise ShapeError("Input must be >= 1-d.")
    return o.call("aten.flip", x, [0])


@formula("rot90(self; k, dims)", kind=_MOVEMENT)
def rot90(o: Ops[T], x: T, k: int = 1, dims: Sequence[int] = (0, 1)) -> T:
    rank = o.rank(x)
    if len(dims) != 2 or rank < 2:
        raise ShapeError("expected a tensor of rank 2 or more, and two rotation dims")
    a, b = (normalise_dim(d, rank) for d in dims)
    if a == b:
        raise ShapeError("expected rotation dims to be different")
    if k % 4 == 0:
        return o.call("aten.clone", x, None)
    if k % 4 == 2:
        return o.call("aten.flip", x, [a, b])
    return o.call("aten.transpose.int", o.call("aten.flip", x, [b if k % 4 == 1 else a]), a, b)


@formula("vstack(*tensors; )", kind=_MOVEMENT)
def vstack(o: Ops[T], tensors: Sequence[T]) -> T:
    return o.call("aten.cat", [o.call("aten.atleast_2d", x) for x in tensors], 0)


@formula("dstack(*tensors; )", kind=_MOVEMENT)
def dstack(o: Ops[T], tensors: Sequence[T]) -> T:
    return o.call("aten.cat", [_at_least_3d(o, x) for x in tensors], 2)


def _at_least_3d(o: Ops[T], x: T) -> T:
    for dim in {0: (0, 0, 0), 1: (0, 2), 2: (2,)}.get(o.rank(x), ()):
        x = o.call("aten.unsqueeze", x, dim)
    return x


@formula("diff(self, =n, =dim, prepend, append; )", kind=_MOVEMENT)
def diff(o: Ops[T], x: T, n: int = 1, dim: int = -1, prepend: T | None = None, append: T | None = None) -> T:
    """Differences of neighbours, n times; of bools whether they differ."""
    rank = o.rank(x)
    if rank == 0:
        raise ShapeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise ShapeError(f"order must be non-negative but got {n}")
    axis = normalise_dim(dim, rank)
    if n == 0:
        return o.call("aten.clone", x, None)
    parts = [v for v in (prepend, x, append) if v is not None]
    x = x if len(parts) == 1 else o.call("aten.cat", parts, axis)
    is_bool = o.known(x).dtype
    if is_bool is None:
        raise o.unknown()
    size = (o.known(x).shape or ())[axis]
    if not isinstance(size, int):
        raise o.unknown()
    for i in range(min(n, size)):
        later, sooner = o.call("aten.slice.Tensor", x, axis, 1, None, 1), o.call("aten.slice.Tensor", x, axis, 0, size - i - 1, 1)
        x = o.call("aten.logical_xor", later, sooner) if is_bool is dtypes.bool_ else o.sub(later, sooner)
    return x


@formula("narrow_copy(self; dim, start, length)", kind=_MOVEMENT)
def narrow_copy(o: Ops[T], x: T, dim: int, start: int, length: int) -> T:
    return o.call("aten.clone", o.call("aten.narrow", x, dim, start, length), 0)


@formula("take_along_dim(self, indices; dim)", kind=_MOVEMENT, raises=True)
def take_along_dim(o: Ops[T], x: T, index: T, dim: int | None = None) -> T:
    """gather, after all sizes but that of the dim are broadcast; without a dim, of what is flat."""
    if dim is None:
        return take_along_dim(o, o.call("aten.reshape", x, [-1]), o.call("aten.reshape", index, [-1]), 0)
    if o.rank(x) != o.rank(index):
        raise ShapeError("torch.take_along_dim(): input and indices should have the same number of dimensions")
    axis = normalise_dim(dim, o.rank(x))
    sizes = list(zip(_sizes(o, x), _sizes(o, index), strict=True))
    if any(1 not in pair and pair[0] != pair[1] for i, pair in enumerate(sizes) if i != axis):
        raise ShapeError("take_along_dim: the sizes of input and indices do not broadcast")
    common = [b if a == 1 else a for a, b in sizes]
    x = o.call("aten.expand", x, [-1 if i == axis else n for i, n in enumerate(common)], False)
    index = o.call("aten.expand", index, [-1 if i == axis else n for i, n in enumerate(common)], False)
    index = o.where(o.call("aten.lt.Scalar", index, 0), o.add(index, o.size(x, axis)), index)
    return o.call("aten.gather", x, axis, index, False)


@formula("broadcast_tensors(*tensors; )", results=LIST, is_row=False, is_gradient=False)
def broadcast_tensors(o: Ops[T], tensors: Sequence[T]) -> list[T]:
    return [o.call("aten.broadcast_to", x, _common(o, tensors)) for x in tensors]


def _common(o: Ops[T], tensors: Sequence[T]) -> list[Any]:
    """The sizes that tensors broadcast to: each of one that has it."""
    rank = max(map(o.rank, tensors), default=0)
    sizes: list[Any] = [1] * rank
    for x in tensors:
        shape = o.known(x).shape or ()
        for i, size in enumerate(shape, start=rank - len(shape)):
            if isinstance(size, int):
                sizes[i] = sizes[i] if size == 1 else size
            elif sizes[i] == 1:
                sizes[i] = o.size(x, i - rank + len(shape))
    return sizes


@formula("meshgrid(*tensors; )", "meshgrid.indexing(*tensors; indexing)", results=LIST, is_row=False, is_gradient=False)
def meshgrid(o: Ops[T], tensors: Sequence[T], indexing: str = "ij") -> list[T]:
    flat = [o.call("aten.reshape", x, [-1]) for x in tensors]
    sizes = [o.size(x, 0) for x in flat]
    places = list(range(len(flat)))
    if indexing == "xy" and len(flat) > 1:
        sizes[:2], places[:2] = [sizes[1], sizes[0]], [1, 0]
    found = []
    for x, place in zip(flat, places, strict=True):
        for _ in range(len(flat) - 1 - place):
            x = o.call("aten.unsqueeze", x, -1)
        found.append(o.call("aten.broadcast_to", x, sizes))
    return found


@formula("cartesian_prod(*tensors; )", kind=_MOVEMENT)
def cartesian_prod(o: Ops[T], tensors: Sequence[T]) -> T:
    """All combinations of the elements of vectors, one of each; of one vector itself."""
    if not tensors or any(o.rank(x) != 1 for x in tensors):
        raise ShapeError("Expect a 1D vector for each of the tensors of a product")
    if len(tensors) == 1:
        return o.call("aten.clone", tensors[0], None)
    return o.call("aten.flatten.using_ints", o.call("aten.stack", meshgrid(o, tensors), -1), 0, -2)


@formula("block_diag(*tensors; )", kind=_MOVEMENT)
def block_diag(o: Ops[T], tensors: Sequence[T]) -> T:
    """Matrices along the diagonal of one; vectors are rows, and numbers single elements."""
    if any(o.rank(x) > 2 for x in tensors):
        raise ShapeError("torch.block_diag: Input tensors must have 2 or fewer dimensions")
    parts = [o.call("aten.atleast_2d", x) for x in tensors]
    widths: list[Any] = [o.size(x, 1) for x in parts]

    def room(of: Sequence[Any]) -> Any:
        start: Any = 0
        return reduce(lambda a, b: o.call("aten.add.int", a, b, type_=INT), of, start)

    rows = [o.call("aten.constant_pad_nd", x, [room(widths[:i]), room(widths[i + 1 :])], 0) for i, x in enumerate(parts)]
    return o.call("aten.cat", rows, 0)


_POOLED = "(grad_output, self, =kernel_size, =stride, =padding, =dilation, =ceil_mode, indices)"


@formula(*(f"max_pool{n}d_with_indices_backward{_POOLED}" for n in (2, 3)), kind=_MOVEMENT, raises=True, looked_at=(1,))
def max_pool_backward(o: Ops[T], grad: T, x: T, kernel: Any, stride: Any, padding: Any, dilation: Any, ceil: Any, indices: T) -> T:
    """Each window's gradient goes to where its largest element stands in its image."""
    first = o.rank(x) - len(kernel)
    zeros = o.call("aten.zeros_like", x, None, None, None, None, None)
    zeros, where, values = (o.call("aten.flatten.using_ints", each, first, -1) for each in (zeros, indices, grad))
    return o.call("aten.reshape_as", o.call("aten.scatter_add", zeros, -1, where, values), x)
