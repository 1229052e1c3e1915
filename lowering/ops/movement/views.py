"""Views of values that the kernel computes: dialect/optable/families/views.py as reshapes, slices and permutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.mlir import ir
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.tensors import Tensor


def _fitted(c: Call, values: Sequence[Size]) -> list[Size]:
    """Sizes as the result's type knows them, else as computed."""
    known = c.sizes()
    if len(known) != len(values):
        raise NotHandled
    return [k if k is not None else v for k, v in zip(known, values, strict=True)]


def _identity(c: Call) -> Tensor:
    return shape.cast(c.tensor(0), c.sizes())


def axis_of(c: Call, i: int, rank: int) -> int:
    """A constant axis, counted from the front."""
    found = c.known(i)
    if type(found) is not int:
        raise NotHandled
    return found % max(rank, 1)


def _permute(order_of: Callable[[Call, int], list[int]]) -> Lowering:
    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        return x if not x.rank else shape.cast(shape.permuted(x, order_of(c, x.rank)), c.sizes())

    return lower


def _swapped(c: Call, rank: int) -> list[int]:
    order = list(range(rank))
    i, j = axis_of(c, 1, rank), axis_of(c, 2, rank)
    order[i], order[j] = order[j], order[i]
    return order


def _listed(c: Call, rank: int) -> list[int]:
    return [d % rank for d in c.ints(1) or []]


def _moved(c: Call, rank: int) -> list[int]:
    source, target = axis_of(c, 1, rank), axis_of(c, 2, rank)
    order = [i for i in range(rank) if i != source]
    order.insert(target, source)
    return order


def _expand(c: Call) -> Tensor:
    """Sizes that stay are the operand's; others are listed."""
    x, listed = c.tensor(0), c.sizes_list(1)
    lead = len(listed) - x.rank
    values = [x.length(i - lead) if i >= lead and x.sizes[i - lead] != 1 else v for i, v in enumerate(listed)]
    fitted = _fitted(c, values)
    return shape.broadcast(x, c.sizes(), fitted)


def _expand_as(c: Call) -> Tensor:
    return shape.broadcast(c.tensor(0), c.sizes(), _fitted(c, c.tensor(1).lengths))


def _resolved(c: Call, x: Tensor, listed: Sequence[Size]) -> list[Size]:
    """Sizes with -1 worked out, where the result's type does not know them."""
    known = c.sizes()
    if len(known) != len(listed):
        raise NotHandled
    total: Size = 1
    for length in x.lengths:
        total = total * length
    values: list[Size] = []
    for i, (k, v) in enumerate(zip(known, listed, strict=True)):
        if k is not None:
            values.append(k)
        elif isinstance(v, int):
            rest: Size = 1
            for j, other in enumerate(listed):
                if j != i:
                    fixed = known[j]
                    rest = rest * (fixed if fixed is not None else other)
            values.append(total // rest)
        else:
            values.append(v)
    return values


def _reshape(c: Call) -> Tensor:
    x = c.tensor(0)
    if None not in c.sizes():
        return shape.reshaped(x, c.sizes(), [s for s in c.sizes() if s is not None])
    return shape.reshaped(x, c.sizes(), _resolved(c, x, c.sizes_list(1)))


def _reshape_as(c: Call) -> Tensor:
    return shape.reshaped(c.tensor(0), c.sizes(), _fitted(c, c.tensor(1).lengths))


def _flatten(c: Call) -> Tensor:
    x = c.tensor(0)
    first, last = axis_of(c, 1, x.rank), axis_of(c, 2, x.rank)
    if not x.rank:
        return shape.flattened(x)
    product: Size = 1
    for length in x.lengths[first : last + 1]:
        product = product * length
    return shape.reshaped(x, c.sizes(), _fitted(c, [*x.lengths[:first], product, *x.lengths[last + 1 :]]))


def _unflatten(c: Call) -> Tensor:
    x, listed = c.tensor(0), c.sizes_list(2)
    axis = axis_of(c, 1, x.rank)
    values = [*x.lengths[:axis], *listed, *x.lengths[axis + 1 :]]
    if None not in c.sizes():
        return shape.reshaped(x, c.sizes(), _fitted(c, values))
    return shape.reshaped(x, c.sizes(), _resolved(c, x, values))


def _unsqueeze(c: Call) -> Tensor:
    x = c.tensor(0)
    axis = axis_of(c, 1, x.rank + 1)
    return unsqueezed(x, axis)


def unsqueezed(x: Tensor, axis: int) -> Tensor:
    """x with an axis of size 1 put in."""
    if not x.rank:
        return tensors.expanded(x, (1,), [1], [])
    known = (*x.sizes[:axis], 1, *x.sizes[axis:])
    values = [*x.lengths[:axis], 1, *x.lengths[axis:]]
    groups = [[i] for i in range(x.rank + 1)]
    joined = axis if axis < x.rank else axis - 1  # the new axis shares a group with the one after it, or before
    groups[joined : joined + 2] = [[joined, joined + 1]]
    return tensors.expanded(x, known, values, groups)


def _squeeze(c: Call) -> Tensor:
    """Only axes of static size 1 go: a symbol is at least 2."""
    x = c.tensor(0)
    named = range(x.rank) if len(c.op.operands) == 1 else [d % max(x.rank, 1) for d in c.ints(1) or []]
    kept = [i for i, size in enumerate(x.sizes) if not (i in named and size == 1)]
    if len(kept) != len(c.sizes()):
        raise NotHandled
    return x if len(kept) == x.rank else tensors.squeezed(x, kept)


def _box(x: Tensor, axis: int, start: Size, length: Size, step: int, drop: bool = False) -> Tensor:
    offsets: list[Size] = [0] * x.rank
    lengths, steps = x.lengths, [1] * x.rank
    offsets[axis], lengths[axis], steps[axis] = start, length, step
    return shape.sliced(x, offsets, lengths, steps, [axis] if drop else [])


def _select(c: Call) -> Tensor:
    x, position = c.tensor(0), c.position(2)
    axis = axis_of(c, 1, x.rank)
    if position is None:
        raise NotHandled
    if x.sizes[axis] == 0:  # a check has failed, and there is nothing to read
        rest = [v for i, v in enumerate(x.lengths) if i != axis]
        dynamic = [v for v in rest if not isinstance(v, int)]
        zeros = tensors.filled(sizes.known(rest), dynamic, constant(0, x.dtype))
        return shape.cast(Tensor(zeros, x.dtype, sizes.known(rest)), c.sizes())
    return shape.cast(_box(x, axis, sizes.from_end(position, x.length(axis)), 1, 1, drop=True), c.sizes())


def slice_bounds(c: Call, x: Tensor, axis: int, start: int, end: int, step: int) -> tuple[Size, Size, int]:
    """First position, length and step of a slice along an axis; operands by position."""
    size, by = x.length(axis), c.known(step)
    if type(by) is not int or by < 1:
        raise NotHandled
    first, last = c.position(start), c.position(end)
    low = 0 if first is None else sizes.clamped(sizes.from_end(first, size), size)
    high = size if last is None else sizes.clamped(sizes.from_end(last, size), size)
    span = sizes.greatest(high - low, 0)
    return low, (span + (by - 1)) // by, by


def _slice(c: Call) -> Tensor:
    x = c.tensor(0)
    axis = axis_of(c, 1, x.rank)
    low, length, step = slice_bounds(c, x, axis, 2, 3, 4)
    return _sliced_as(c, x, axis, low, length, step)


def _sliced_as(c: Call, x: Tensor, axis: int, low: Size, length: Size, step: int) -> Tensor:
    return shape.cast(_box(x, axis, low, length, step), c.sizes())


def _narrow(c: Call) -> Tensor:
    x, start, length = c.tensor(0), c.position(2), c.position(3)
    axis = axis_of(c, 1, x.rank)
    if not isinstance(start, int) or not isinstance(length, int) or x.sizes[axis] is None:
        raise NotHandled  # one that does not fit could not be cut to fit
    return _sliced_as(c, x, axis, sizes.from_end(start, x.length(axis)), length, 1)


def _diagonal(c: Call) -> Tensor:
    x, offset = c.tensor(0), c.known(1)
    if type(offset) is not int:
        raise NotHandled
    return diagonal(c, x, offset, axis_of(c, 2, x.rank), axis_of(c, 3, x.rank))


def diagonal(c: Call, x: Tensor, offset: int, first: int, second: int) -> Tensor:
    """The elements whose positions along two axes differ by `offset`, along a new last axis."""
    rows, columns = x.length(first), x.length(second)
    room = columns - offset if offset >= 0 else columns
    height = rows if offset >= 0 else rows + offset
    length = sizes.greatest(sizes.least(height, room), 0)
    kept = [i for i in range(x.rank) if i not in (first, second)]
    known = c.sizes()
    lengths = _fitted(c, [*(x.length(i) for i in kept), length])
    if 0 in known:
        dynamic = [sizes.value(v) for v, k in zip(lengths, known, strict=True) if k is None]
        return Tensor(tensors.empty(known, dynamic, x.dtype), x.dtype, known)

    def body(at: list[ir.Value]) -> Scalar:
        positions: list[Size] = [0] * x.rank
        for position, axis in zip(at, kept, strict=False):
            positions[axis] = position
        positions[first] = at[-1] + max(-offset, 0)
        positions[second] = at[-1] + max(offset, 0)
        return tensors.element(x, positions)

    return tensors.made(known, lengths, x.dtype, body)


def _at_least(rank: int) -> Lowering:
    """Axes of size 1 in front until there are `rank`."""

    def lower(c: Call) -> Tensor:
        x = c.tensor(0)
        missing = max(rank - x.rank, 0)
        return shape.reshaped(x, (*[1] * missing, *x.sizes), [*[1] * missing, *x.lengths]) if missing else x

    return lower


LOWERINGS: dict[str, Lowering] = {
    **{name: _identity for name in ("aten.alias", "aten.detach", "aten.contiguous", "tensor_static_info_cast", "aten.lift_fresh_copy",
                                    "aten.lift_fresh", "prims.view_of")},
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
)
LOWERINGS |= {"aten." + "_copy.".join(name.split(".")) + ("" if "." in name else "_copy"): LOWERINGS[f"aten.{name}"] for name in _COPIES}
