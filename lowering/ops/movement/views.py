"""Views of values that the kernel computes: dialect/ops/movement/views.py as reshapes, slices and permutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.mlir import ir
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import INDEX, SIGNED_INDEX, Scalar, maximum, of, select
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.tensors import Tensor


def _permute(order_of: Callable[[Call, int], list[int]]) -> Lowering:
    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        return shape.permuted(x, order_of(c, x.rank)) if x.rank else x

    return lower


def _swapped(c: Call, rank: int) -> list[int]:
    order = list(range(rank))
    i, j = c.axis(1, rank), c.axis(2, rank)
    order[i], order[j] = order[j], order[i]
    return order


def _listed(c: Call, rank: int) -> list[int]:
    return [d % rank for d in c.ints(1) or []]


def _moved(c: Call, rank: int) -> list[int]:
    source, target = c.axis(1, rank), c.axis(2, rank)
    order = [i for i in range(rank) if i != source]
    order.insert(target, source)
    return order


def _expand(c: Call) -> Tensor:
    """Sizes that stay are the operand's; others are listed."""
    x, listed = c.tensor(0), c.sizes_list(1)
    lead = len(listed) - x.rank
    values = [x.length(i - lead) if i >= lead and x.sizes[i - lead] != 1 else v for i, v in enumerate(listed)]
    return shape.broadcast(x, c.fitted(values))


def _expand_as(c: Call) -> Tensor:
    return shape.broadcast(c.tensor(0), c.fitted(c.tensor(1).lengths))


def _resolved(c: Call, x: Tensor, listed: Sequence[Size]) -> Tensor:
    """x in the sizes listed, with -1 worked out, where the result's type does not know them."""
    given, total = c.fitted(listed), sizes.product(x.lengths)
    open_ = [known is None and isinstance(v, int) for known, v in zip(c.sizes(), given, strict=True)]
    return shape.reshaped(x, [total // sizes.product(given[:i] + given[i + 1 :]) if open_[i] else v for i, v in enumerate(given)])


def _reshape(c: Call) -> Tensor:
    x, known = c.tensor(0), [size for size in c.sizes() if size is not None]
    return shape.reshaped(x, known) if len(known) == len(c.sizes()) else _resolved(c, x, c.sizes_list(1))


def _reshape_as(c: Call) -> Tensor:
    return shape.reshaped(c.tensor(0), c.fitted(c.tensor(1).lengths))


def _flatten(c: Call) -> Tensor:
    x = c.tensor(0)
    first, last = c.axis(1, x.rank), c.axis(2, x.rank)
    if not x.rank:
        return shape.flattened(x)
    together = sizes.product(x.lengths[first : last + 1])
    return shape.reshaped(x, c.fitted([*x.lengths[:first], together, *x.lengths[last + 1 :]]))


def _unflatten(c: Call) -> Tensor:
    x = c.tensor(0)
    axis = c.axis(1, x.rank)
    return _resolved(c, x, [*x.lengths[:axis], *c.sizes_list(2), *x.lengths[axis + 1 :]])


def _unsqueeze(c: Call) -> Tensor:
    x = c.tensor(0)
    return shape.unsqueezed(x, c.axis(1, x.rank + 1))


def _squeeze(c: Call) -> Tensor:
    """Only axes of static size 1 go: a symbol is at least 2."""
    x = c.tensor(0)
    named = range(x.rank) if len(c.op.operands) == 1 else [d % max(x.rank, 1) for d in c.ints(1) or []]
    kept = [i for i, size in enumerate(x.sizes) if not (i in named and size == 1)]
    if len(kept) != len(c.sizes()):
        raise NotHandled
    return tensors.squeezed(x, kept)


def _select(c: Call) -> Tensor:
    x = c.tensor(0)
    axis = c.axis(1, x.rank)
    place = c.place(2, x.length(axis))
    if x.sizes[axis] == 0:  # a check has failed, and there is nothing to read
        return tensors.zeros([*x.lengths[:axis], *x.lengths[axis + 1 :]], x.dtype)
    return shape.sliced(x, *shape.along(x, axis, place, 1), drop=[axis])


def slice_bounds(c: Call, x: Tensor, axis: int, start: int, end: int, step: int) -> tuple[Size, Size, int]:
    """First position, length and step of a slice along an axis; operands by position."""
    size, by = x.length(axis), c.integer(step)
    if by < 1:
        raise NotHandled
    first, last = c.position(start), c.position(end)
    low = 0 if first is None else sizes.clamped(sizes.from_end(first, size), size)
    high = size if last is None else sizes.clamped(sizes.from_end(last, size), size)
    span = sizes.greatest(high - low, 0)
    return low, (span + (by - 1)) // by, by


def _slice(c: Call) -> Tensor:
    x = c.tensor(0)
    axis = c.axis(1, x.rank)
    return shape.sliced(x, *shape.along(x, axis, *slice_bounds(c, x, axis, 2, 3, 4)))


def _narrow(c: Call) -> Tensor:
    x, start, length = c.tensor(0), c.position(2), c.position(3)
    axis = c.axis(1, x.rank)
    if not isinstance(start, int) or not isinstance(length, int) or x.sizes[axis] is None:
        raise NotHandled  # one that does not fit could not be cut to fit
    return shape.sliced(x, *shape.along(x, axis, sizes.from_end(start, x.length(axis)), length))


def _unfold(c: Call) -> Tensor:
    x, size, step = c.tensor(0), c.integer(2), c.integer(3)
    if not x.rank:
        raise NotHandled
    axis = c.axis(1, x.rank)
    known = x.sizes[axis]
    windows: Size = 0 if known is None else (known - size) // step + 1
    if known is None:
        length = of(x.size(axis), SIGNED_INDEX)
        tensors.assert_(length >= size, f"maximum size for tensor at dimension {axis} is less than {size}")
        windows = select(length >= size, of(maximum(length, size) - size, INDEX) // step + 1, 0)
    lengths = c.fitted([*x.lengths[:axis], windows, *x.lengths[axis + 1 :], size])

    def body(at: list[ir.Value]) -> Scalar:
        return tensors.element(x, [p * step + at[-1] if i == axis else p for i, p in enumerate(at[:-1])])

    return tensors.made(lengths, x.dtype, body)


def _diagonal(c: Call) -> Tensor:
    x = c.tensor(0)
    return diagonal(c, x, c.integer(1), c.axis(2, x.rank), c.axis(3, x.rank))


def diagonal(c: Call, x: Tensor, offset: int, first: int, second: int) -> Tensor:
    """The elements whose positions along two axes differ by `offset`, along a new last axis."""
    rows, columns = x.length(first), x.length(second)
    room = columns - offset if offset >= 0 else columns
    height = rows if offset >= 0 else rows + offset
    length = sizes.greatest(sizes.least(height, room), 0)
    kept = [i for i in range(x.rank) if i not in (first, second)]
    lengths = c.fitted([*(x.length(i) for i in kept), length])
    if 0 in lengths:
        return tensors.empty(lengths, x.dtype)

    def body(at: list[ir.Value]) -> Scalar:
        positions: list[Size] = [0] * x.rank
        for position, axis in zip(at, kept, strict=False):
            positions[axis] = position
        positions[first] = at[-1] + max(-offset, 0)
        positions[second] = at[-1] + max(offset, 0)
        return tensors.element(x, positions)

    return tensors.made(lengths, x.dtype, body)


def _at_least(rank: int) -> Lowering:
    """Axes of size 1 in front until there are `rank`."""

    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        missing = max(rank - x.rank, 0)
        return shape.reshaped(x, [*[1] * missing, *x.lengths]) if missing else x

    return lower


LOWERINGS: dict[str, Lowering] = {
    **{name: (lambda c: c.tensor(0)) for name in ("aten.alias", "aten.detach", "aten.contiguous", "tensor_static_info_cast",
                                                  "aten.lift_fresh_copy", "aten.lift_fresh", "prims.view_of")},
    **{name: _permute(_swapped) for name in ("aten.transpose.int", "aten.swapaxes", "aten.swapdims")},
    **{name: _permute(lambda c, rank: list(range(rank))[::-1]) for name in ("aten.t", "aten.numpy_T")},
    "aten.permute": _permute(_listed),
    "aten.movedim.int": _permute(_moved),
    **{name: _expand for name in ("aten.expand", "aten.broadcast_to")},
    "aten.expand_as": _expand_as,
    **{name: _reshape for name in ("aten.view", "aten.reshape", "aten._unsafe_view", "aten._reshape_alias")},
    **{name: _reshape_as for name in ("aten.view_as", "aten.reshape_as")},
    "aten.flatten.using_ints": _flatten,
    "aten.unflatten.int": _unflatten,
    "aten.unsqueeze": _unsqueeze,
    **{name: _squeeze for name in ("aten.squeeze", "aten.squeeze.dim", "aten.squeeze.dims")},
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.narrow": _narrow,
    "aten.diagonal": _diagonal,
    "aten.unfold": _unfold,
    "aten.atleast_1d": _at_least(1),
    "aten.atleast_2d": _at_least(2),
}

# The functional twins that copy: the same values.
_COPIES = (
    "expand",
    "permute",
    "select.int",
    "slice.Tensor",
    "squeeze",
    "squeeze.dim",
    "transpose.int",
    "unsqueeze",
    "view",
    "t",
    "diagonal",
    "unfold",
)
LOWERINGS |= {"aten." + "_copy.".join(name.split(".")) + ("" if "." in name else "_copy"): LOWERINGS[f"aten.{name}"] for name in _COPIES}
