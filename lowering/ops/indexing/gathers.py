"""index_select, gather, embedding, index.Tensor: dialect/optable/families (picking, scatters, indexing) as loops over the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.dtypes import Category
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.indexing import masks
from tierup.lowering.ops.indexing.positions import position
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.tensors import Tensor


def _gathered(
    x: Tensor, sizes: Sequence[tuple[Tensor, int]], operands: Sequence[tensors.Operand], where: Callable[[list[Scalar]], Sequence[Size]]
) -> Tensor:
    """A result whose axis k is as long as axis a of tensor t, for (t, a) = sizes[k]; `operands` are read at the loops given;
    `where`: (their elements) -> position in x, one index per axis."""
    result = tuple(t.sizes[a] for t, a in sizes)
    dynamic = [t.size(a) for t, a in sizes if t.sizes[a] is None]
    out = tensors.empty(result, dynamic, x.dtype)
    if 0 in x.sizes:  # nothing to read: the result is empty too, or a check has failed
        zero = tensors.filled(result, dynamic, constant(0, x.dtype))
        return Tensor(zero, x.dtype, result)
    rank = len(result)
    maps = [tensors.dims_map(rank, axes) for _, axes in operands]

    def body(elements: list[ir.Value]) -> ir.Value:
        return tensors.element(x, where([Scalar(v, t.dtype) for v, (t, _) in zip(elements, operands, strict=True)]))

    return Tensor(b.generic([t.value for t, _ in operands], maps, out, body), x.dtype, result)


def _index_select(c: Call) -> Tensor:
    x, index, dims = c.tensor(0), c.tensor(2), c.ints(1)
    if dims is None or not x.rank:
        raise NotHandled
    axis = dims[0] % x.rank
    if not index.rank:
        raise NotHandled
    size = x.size(axis)
    sizes = [(index, 0) if i == axis else (x, i) for i in range(x.rank)]

    def where(scalars: list[Scalar]) -> list[Scalar]:
        return [position(scalars[0], size, from_end=False) if i == axis else b.loop_index(i) for i in range(x.rank)]

    return _gathered(x, sizes, [(index, [axis])], where)


def _gather(c: Call) -> Tensor:
    x, index, dims = c.tensor(0), c.tensor(2), c.ints(1)
    if dims is None or not x.rank or index.rank != x.rank:
        raise NotHandled
    axis = dims[0] % x.rank
    sizes = [x.size(i) for i in range(x.rank)]

    def where(scalars: list[Scalar]) -> list[Scalar]:
        return [position(scalars[0], sizes[i], from_end=False) if i == axis else b.loop_index(i) for i in range(x.rank)]

    return _gathered(x, [(index, i) for i in range(x.rank)], [(index, range(x.rank))], where)


def _embedding(c: Call) -> Tensor:
    weight, index = c.tensor(0), c.tensor(1)
    size = weight.size(0)

    def where(scalars: list[Scalar]) -> list[Scalar]:
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
        sizes.append((x, k) if kind == "x" else _longest(tensors_used, k - rank))
    place = {axis: i for i, axis in enumerate(axes)}
    lengths = [x.size(i) for i in range(x.rank)]
    operands = []
    for index in tensors_used:
        loops = [place["index", rank - index.rank + k] for k in range(index.rank)]
        operands.append((_unit_axes_dropped(index), [loop for loop, size in zip(loops, index.sizes, strict=True) if size != 1]))

    def where(scalars: list[Scalar]) -> list[Scalar]:
        rest = list(scalars)
        return [
            position(rest.pop(0), lengths[i], from_end=True) if i < len(indices) and indices[i] is not None else b.loop_index(place["x", i])
            for i in range(x.rank)
        ]

    return _gathered(x, sizes, operands, where)


def _longest(indices: Sequence[Tensor], from_end: int) -> tuple[Tensor, int]:
    """The index tensor that gives a broadcast axis its size: one whose size there is not 1, if there is any."""
    candidates = [t for t in indices if t.rank >= -from_end]
    chosen = next((t for t in candidates if t.sizes[from_end] != 1), candidates[0])
    return chosen, chosen.rank + from_end


def _unit_axes_dropped(x: Tensor) -> Tensor:
    """The same elements without the axes of static size 1, which broadcast."""
    kept = [i for i, size in enumerate(x.sizes) if size != 1]
    if len(kept) == x.rank:
        return x
    return tensors.squeezed(x, kept)


LOWERINGS: dict[str, Callable[[Call], Tensor]] = {
    "aten.index_select": _index_select,
    "aten.gather": _gather,
    "aten.embedding": _embedding,
    "aten.index.Tensor": _index,
    "aten.index.Tensor_hacked_twin": _index,
    "aten.masked_select": masks.masked_select,
    "aten.nonzero": masks.nonzero,
}
