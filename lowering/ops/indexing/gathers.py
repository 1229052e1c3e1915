"""index_select, gather, embedding, index.Tensor: dialect/ops (picking, scatters, indexing) as loops over the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.base.dtypes import Category
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.indexing import masks
from tierup.lowering.ops.indexing.positions import position
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.tensors import Tensor


def _gathered(
    x: Tensor, sizes: Sequence[tuple[Tensor, int]], operands: Sequence[tensors.Operand], where: Callable[[Sequence[Scalar]], Sequence[Size]]
) -> Tensor:
    """A result whose axis k is as long as axis a of tensor t, for (t, a) = sizes[k]; `operands` are read at the loops given;
    `where`: (their elements) -> position in x, one index per axis."""
    lengths = [t.length(a) for t, a in sizes]
    if 0 in x.sizes:  # nothing to read: the result is empty too, or a check has failed
        return tensors.zeros(lengths, x.dtype)
    return tensors.pointwise(lengths, operands, x.dtype, lambda *elements: tensors.element(x, where(elements)))


def _along(each: bool) -> Callable[[Call], Tensor]:
    """Positions along one axis: one for `each` element of the result, or for all at one place of that axis."""

    def lower(c: Call) -> Tensor:
        x, index, dims = c.tensor(0), c.tensor(2), c.ints(1)
        if dims is None or not x.rank or index.rank != (x.rank if each else 1):
            raise NotHandled
        axis = dims[0] % x.rank
        size = x.size(axis)
        sizes = [(index, i if each else 0) if each or i == axis else (x, i) for i in range(x.rank)]

        def where(scalars: Sequence[Scalar]) -> list[Scalar]:
            return [position(scalars[0], size, from_end=False) if i == axis else b.loop_index(i) for i in range(x.rank)]

        return _gathered(x, sizes, [(index, range(x.rank) if each else [axis])], where)

    return lower


def _embedding(c: Call) -> Tensor:
    weight, index = c.tensor(0), c.tensor(1)
    size = weight.size(0)

    def where(scalars: Sequence[Scalar]) -> list[Scalar]:
        return [position(scalars[0], size, from_end=False), b.loop_index(index.rank)]

    return _gathered(weight, [*((index, i) for i in range(index.rank)), (weight, 1)], [(index, range(index.rank))], where)


def listed(c: Call, i: int) -> list[Tensor | None]:
    """The optional index tensors of index.Tensor and index_put. Raises NotHandled for masks: see masks.py."""
    found = masks.entries(c, i)
    if any(index is not None and (masks.is_mask(index) or index.dtype.category is not Category.INT) for index in found):
        raise NotHandled
    return found


def index_axes(x: Tensor, indices: Sequence[Tensor | None]) -> tuple[list[tuple[str, int]], int]:
    """Axes of an indexed result, as ("index", k) for axis k of the broadcast indices or ("x", axis), and the broadcast rank.
    Indices side by side put their axes where they stand; separated ones put them in front (NumPy's and torch's rule)."""
    used = [i for i, index in enumerate(indices) if index is not None]
    rank = max((index.rank for index in indices if index is not None), default=0)
    rest = [i for i in range(x.rank) if i not in used]
    together = bool(used) and used == list(range(used[0], used[-1] + 1))
    front = [i for i in rest if together and i < used[0]]
    axes = [("x", i) for i in front] + [("index", k) for k in range(rank)] + [("x", i) for i in rest if i not in front]
    return axes, rank


def _index(c: Call) -> Tensor:
    x, mask = c.tensor(0), masks.only_mask(masks.entries(c, 1))
    if mask is not None:
        return masks.read(c, x, *mask)
    indices = listed(c, 1)
    axes, rank = index_axes(x, indices)
    tensors_used = [index for index in indices if index is not None]
    sizes: list[tuple[Tensor, int]] = []
    for kind, k in axes:
        sizes.append((x, k) if kind == "x" else longest(tensors_used, k - rank))
    place = {axis: i for i, axis in enumerate(axes)}
    lengths = [x.size(i) for i in range(x.rank)]
    operands = []
    for index in tensors_used:
        loops = [place["index", rank - index.rank + k] for k in range(index.rank)]
        operands.append(tensors.broadcasting(index, loops))

    def where(scalars: Sequence[Scalar]) -> list[Scalar]:
        rest = list(scalars)
        return [
            position(rest.pop(0), lengths[i], from_end=True) if i < len(indices) and indices[i] is not None else b.loop_index(place["x", i])
            for i in range(x.rank)
        ]

    return _gathered(x, sizes, operands, where)


def longest(indices: Sequence[Tensor], from_end: int) -> tuple[Tensor, int]:
    """The index tensor that gives a broadcast axis its size: one whose size there is not 1, if there is any."""
    candidates = [t for t in indices if t.rank >= -from_end]
    chosen = next((t for t in candidates if t.sizes[from_end] != 1), candidates[0])
    return chosen, chosen.rank + from_end


LOWERINGS: dict[str, Callable[[Call], Tensor]] = {
    "aten.index_select": _along(each=False),
    "aten.gather": _along(each=True),
    "aten.embedding": _embedding,
    "aten.index.Tensor": _index,
    "aten.index.Tensor_hacked_twin": _index,
    "aten.masked_select": masks.masked_select,
    "aten.nonzero": masks.nonzero,
}
