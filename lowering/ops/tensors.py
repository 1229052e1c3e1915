"""Tensors under construction: builtin tensors with the DType their bits mean, and the loops that make one from another.

What reductions, normalisations and indexing are written with. Sizes are ints, or None where known at run time only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tierup.dialect import dtypes
from tierup.dialect.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Number, Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.building.sizes import value as size_value
from tierup.lowering.ops.pointwise.context import Known, builtin_tensor, builtin_type, tensor_type

Sizes = tuple["int | None", ...]


@dataclass(frozen=True)
class Tensor:
    """A builtin tensor value."""

    value: ir.Value
    dtype: DType
    sizes: Sizes

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def size(self, axis: int) -> Scalar:
        """A size as index."""
        known = self.sizes[axis]
        return b.index(known) if known is not None else b.dim(self.value, axis)

    def length(self, axis: int) -> Size:
        """A size, as an int when it is known."""
        known = self.sizes[axis]
        return known if known is not None else b.dim(self.value, axis)

    @property
    def lengths(self) -> list[Size]:
        return [self.length(i) for i in range(self.rank)]

    def to_torch(self, type_: ir.Type) -> ir.Value:
        return b.value("torch_c.from_builtin_tensor", [self.value], type_)


def of_torch(value: ir.Value) -> Tensor:
    """A torch tensor value. Raises NotHandled when rank or dtype is not known."""
    known = tensor_type(value.type)
    return Tensor(builtin_tensor(value), known.dtype, known.sizes)


def empty(sizes: Sizes, dynamic: Sequence[ir.Value], dtype: DType) -> ir.Value:
    """tensor.empty; `dynamic`: the sizes that are None, in order."""
    return b.value("tensor.empty", list(dynamic), builtin_type(Known(dtype, sizes)))


def made(sizes: Sizes, values: Sequence[Size], dtype: DType, body: Callable[[list[Scalar]], Scalar]) -> Tensor:
    """A tensor whose elements are computed from their positions (index values). `values`: its sizes again, those that are None in
    `sizes` as values."""
    rank = len(sizes)
    dynamic = [size_value(v) for v, size in zip(values, sizes, strict=True) if size is None]

    def run(_: list[ir.Value], __: list[ir.Value]) -> list[ir.Value]:
        return [body([b.loop_index(i) for i in range(rank)]).cast(dtype)]

    out = b.loops([], [ir.AffineMap.get_identity(rank)], [empty(sizes, dynamic, dtype)], ["parallel"] * rank, run)[0]
    return Tensor(out, dtype, sizes)


def element(x: Tensor, at: Sequence[Size]) -> Scalar:
    """One element, at positions within its sizes."""
    type_ = ir.ShapedType(x.value.type).element_type
    return Scalar(b.value("tensor.extract", [x.value, *map(size_value, at)], type_), x.dtype)


def filled(sizes: Sizes, dynamic: Sequence[ir.Value], number: Scalar) -> ir.Value:
    """A tensor of one number."""
    out = empty(sizes, dynamic, number.dtype)
    rank = len(sizes)
    return b.loops([], [ir.AffineMap.get_identity(rank)], [out], ["parallel"] * rank, lambda _, __: [number])[0]


def dims_map(rank: int, axes: Sequence[int]) -> ir.AffineMap:
    """Reads axis k at loop `axes[k]` of `rank` loops."""
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(a) for a in axes])


def kept_axes(rank: int, axes: Sequence[int]) -> list[int]:
    """The axes that a reduction over `axes` keeps."""
    return [i for i in range(rank) if i not in axes]


Operand = tuple[Tensor, Sequence[int]]  # a tensor, and the loop that each of its axes follows


def pointwise(like: Tensor, operands: Sequence[Operand], dtype: DType, body: Callable[..., Scalar]) -> Tensor:
    """A tensor of the sizes of `like`, from elements of operands in their own dtypes. `body` may give any dtype."""
    rank = like.rank
    dynamic = [like.size(i) for i, size in enumerate(like.sizes) if size is None]
    maps = [dims_map(rank, axes) for _, axes in operands]

    def run(elements: list[ir.Value]) -> ir.Value:
        return body(*(Scalar(v, t.dtype) for v, (t, _) in zip(elements, operands, strict=True))).cast(dtype)

    made = b.generic([t.value for t, _ in operands], maps, empty(like.sizes, dynamic, dtype), run)
    return Tensor(made, dtype, like.sizes)


def reduce(
    x: Tensor,
    axes: Sequence[int],
    start: Sequence[tuple[Number, DType]],
    body: Callable[..., list[Scalar]],
    extra: Sequence[Operand] = (),
) -> list[Tensor]:
    """Reduce `axes` away. `start`: the first value and dtype of each accumulator; `body`: (element, accumulators) -> accumulators,
    preceded by the elements of `extra`, if any."""
    kept = kept_axes(x.rank, axes)
    sizes = tuple(x.sizes[i] for i in kept)
    dynamic = [x.size(i) for i in kept if x.sizes[i] is None]
    outs = [filled(sizes, dynamic, constant(number, dtype)) for number, dtype in start]
    operands = [*extra, (x, range(x.rank))]
    maps = [dims_map(x.rank, a) for _, a in operands] + [dims_map(x.rank, kept)] * len(outs)

    def run(elements: list[ir.Value], accumulators: list[ir.Value]) -> list[ir.Value]:
        scalars = [Scalar(v, t.dtype) for v, (t, _) in zip(elements, operands, strict=True)]
        before = [Scalar(v, dtype) for v, (_, dtype) in zip(accumulators, start, strict=True)]
        return [after.cast(dtype) for after, (_, dtype) in zip(body(*scalars, before), start, strict=True)]

    iterators = ["parallel" if i in kept else "reduction" for i in range(x.rank)]
    made = b.loops([t.value for t, _ in operands], maps, outs, iterators, run)
    return [Tensor(v, dtype, sizes) for v, (_, dtype) in zip(made, start, strict=True)]


def with_kept_dims(x: Tensor, like: Tensor, axes: Sequence[int]) -> Tensor:
    """A reduced tensor with its reduced axes back, of size 1."""
    if not like.rank:
        return x
    sizes = tuple(1 if i in axes else size for i, size in enumerate(like.sizes))
    groups: list[list[int]] = []
    for i in range(like.rank):
        if not groups or (i not in axes and any(j not in axes for j in groups[-1])):
            groups.append([i])
        else:
            groups[-1].append(i)
    if not x.rank:
        groups = []
    return expanded(x, sizes, [1 if i in axes else like.length(i) for i in range(like.rank)], groups)


def expanded(x: Tensor, sizes: Sizes, values: Sequence[Size], groups: Sequence[Sequence[int]]) -> Tensor:
    """Axis k of x becomes the axes groups[k]. `values`: the sizes again, with values for those that are None."""
    dynamic, unknown = [size_value(v) for v, size in zip(values, sizes, strict=True) if size is None], ir.ShapedType.get_dynamic_size()
    static = ir.DenseI64ArrayAttr.get([unknown if size is None else size for size in sizes])
    type_ = builtin_type(Known(x.dtype, sizes))
    made = b.value("tensor.expand_shape", [x.value, *dynamic], type_, reassociation=b.groups(groups), static_output_shape=static)
    return Tensor(made, x.dtype, sizes)


def collapsed(x: Tensor, sizes: Sizes, groups: Sequence[Sequence[int]]) -> Tensor:
    """The axes groups[k] of x become axis k."""
    made = b.value("tensor.collapse_shape", [x.value], builtin_type(Known(x.dtype, sizes)), reassociation=b.groups(groups))
    return Tensor(made, x.dtype, sizes)


def squeezed(x: Tensor, kept: Sequence[int]) -> Tensor:
    """x without axes of size 1: only `kept` stay."""
    groups: list[list[int]] = [[] for _ in kept]
    for i in range(x.rank):
        after = [k for k, axis in enumerate(kept) if axis >= i]
        if groups:
            groups[after[0] if after else -1].append(i)
    return collapsed(x, tuple(x.sizes[i] for i in kept), groups)


def count(x: Tensor, axes: Sequence[int]) -> int | Scalar:
    """How many elements one result is reduced from: an int, or an i64."""
    if all(x.sizes[a] is not None for a in axes):
        return math.prod(x.sizes[a] or 0 for a in axes)
    total: Scalar | None = None
    for axis in axes:
        one = x.size(axis).cast(dtypes.i64)
        total = one if total is None else total * one
    assert total is not None
    return total


def widened(dtype: DType) -> DType:
    """The dtype that sums are kept in: f32 for the halves."""
    return dtypes.f32 if dtype in (dtypes.f16, dtypes.bf16) else dtype


def assert_(condition: ir.Value, message: str) -> None:
    """cf.assert: an error site (see asserts_to_status)."""
    b.op("cf.assert", [condition], msg=ir.StringAttr.get(message))
