"""Tensors under construction: builtin tensors with the DType their bits mean, and the loops that make one from another.

What reductions, normalisations and indexing are written with. The sizes of one that is made are its `lengths`: ints, and values of type
index where only the run knows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes as s
from tierup.lowering.building.arith import Number, Scalar, constant
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops.pointwise.context import Known, builtin_tensor, builtin_type, tensor_type

Sizes = tuple["int | None", ...]


@dataclass(frozen=True)
class Tensor:
    """A builtin tensor value; its sizes as its type says them, None for those of the run."""

    value: ir.Value
    dtype: DType
    sizes: Sizes

    @property
    def rank(self) -> int:
        """How many axes it has."""
        return len(self.sizes)

    def size(self, axis: int) -> Scalar:
        """A size as index."""
        return s.value(self.length(axis))

    def length(self, axis: int) -> Size:
        """A size, as an int when it is known."""
        known = self.sizes[axis]
        return known if known is not None else b.dim(self.value, axis)

    @property
    def lengths(self) -> list[Size]:
        """All sizes: ints where they are known, else values of type index."""
        return [self.length(i) for i in range(self.rank)]

    def holding(self, value: ir.Value) -> Tensor:
        """A value of the same type as a tensor."""
        return Tensor(value, self.dtype, self.sizes)

    def cast(self, dtype: DType) -> Tensor:
        """The same elements in a dtype."""
        return self if self.dtype is dtype else mapped(self, dtype)

    def with_sizes(self, sizes: Sizes) -> Tensor:
        """The same tensor, with sizes that are known in one of the two types and not in the other."""
        if self.sizes == sizes:
            return self
        return Tensor(b.value("tensor.cast", [self.value], builtin_type(Known(self.dtype, sizes))), self.dtype, sizes)


def of_torch(value: ir.Value) -> Tensor:
    """A torch tensor value. Raises NotHandled when rank or dtype is not known."""
    known = tensor_type(value.type)
    return Tensor(builtin_tensor(value), known.dtype, known.sizes)


def empty(lengths: Sequence[Size], dtype: DType) -> Tensor:
    """A tensor of no certain elements."""
    known = s.known(lengths)
    dynamic = [v for v in lengths if not isinstance(v, int)]
    return Tensor(b.value("tensor.empty", dynamic, builtin_type(Known(dtype, known))), dtype, known)


def made(lengths: Sequence[Size], dtype: DType, body: Callable[[list[Scalar]], Scalar]) -> Tensor:
    """A tensor whose elements are computed from their positions (index values)."""
    return pointwise(lengths, [], dtype, lambda: body([b.loop_index(i) for i in range(len(lengths))]))


def element(x: Tensor, at: Sequence[Size]) -> Scalar:
    """One element, at positions within its sizes."""
    type_ = ir.ShapedType(x.value.type).element_type
    return Scalar(b.value("tensor.extract", [x.value, *map(s.value, at)], type_), x.dtype)


def filled(lengths: Sequence[Size], number: Scalar) -> Tensor:
    """A tensor of one number."""
    return pointwise(lengths, [], number.dtype, lambda: number)


def zeros(lengths: Sequence[Size], dtype: DType) -> Tensor:
    """A tensor of zeros."""
    return filled(lengths, constant(0, dtype))


def read(x: Tensor, lengths: Sequence[Size], map_: ir.AffineMap) -> Tensor:
    """A tensor whose elements are those of x that a map of its positions names."""
    out = empty(lengths, x.dtype)
    return out.holding(b.generic([x.value], [map_], out.value, lambda v: v[0]))


def dims_map(rank: int, axes: Sequence[int]) -> ir.AffineMap:
    """Reads axis k at loop `axes[k]` of `rank` loops."""
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(a) for a in axes])


def kept_axes(rank: int, axes: Sequence[int]) -> list[int]:
    """The axes that a reduction over `axes` keeps."""
    return [i for i in range(rank) if i not in axes]


Operand = tuple[Tensor, Sequence[int]]  # a tensor, and the loop that each of its axes follows


def looped(
    inputs: Sequence[tuple[Tensor, ir.AffineMap]],
    outs: Sequence[Tensor],
    written: ir.AffineMap,
    iterators: Sequence[str],
    body: Callable[[list[Scalar], list[Scalar]], Sequence[Scalar]],
) -> list[Tensor]:
    """A loop nest that reads each input at its map, and `outs` at one: `body` is given their elements, in their own dtypes, and gives the
    new ones of `outs`, in any dtype."""

    def run(elements: list[ir.Value], so_far: list[ir.Value]) -> list[ir.Value]:
        given = [Scalar(v, t.dtype) for v, (t, _) in zip(elements, inputs, strict=True)]
        before = [Scalar(v, out.dtype) for v, out in zip(so_far, outs, strict=True)]
        return [v.cast(out.dtype) for v, out in zip(body(given, before), outs, strict=True)]

    maps = [*(map_ for _, map_ in inputs), *[written] * len(outs)]
    made = b.loops([t.value for t, _ in inputs], maps, [out.value for out in outs], iterators, run)
    return [out.holding(v) for out, v in zip(outs, made, strict=True)]


def pointwise(lengths: Sequence[Size], operands: Sequence[Operand], dtype: DType, body: Callable[..., Scalar]) -> Tensor:
    """A tensor of these sizes, from elements of operands in their own dtypes. `body` may give any dtype."""
    out, rank = empty(lengths, dtype), len(lengths)
    inputs = [(t, dims_map(rank, axes)) for t, axes in operands]
    return looped(inputs, [out], ir.AffineMap.get_identity(rank), ["parallel"] * rank, lambda elements, _: [body(*elements)])[0]


def mapped(x: Tensor, dtype: DType, body: Callable[[Scalar], Scalar] = lambda v: v) -> Tensor:
    """A tensor of what `body` makes of each element of x."""
    return pointwise(x.lengths, [whole(x)], dtype, body)


def whole(x: Tensor) -> Operand:
    """A tensor that is read at the very position that is written."""
    return x, range(x.rank)


def broadcasting(x: Tensor, loops: Sequence[int]) -> Operand:
    """A tensor whose axes follow these loops, but those of size 1, along which it is repeated."""
    kept = [i for i, size in enumerate(x.sizes) if size != 1]
    return squeezed(x, kept), [loops[i] for i in kept]


def reduce(
    x: Tensor, axes: Sequence[int], start: Sequence[tuple[Number, DType]], body: Callable[[Scalar, list[Scalar]], list[Scalar]]
) -> list[Tensor]:
    """Reduce `axes` away. `start`: the first value and dtype of each accumulator; `body`: (element, accumulators) -> accumulators."""
    kept = kept_axes(x.rank, axes)
    lengths = [x.length(i) for i in kept]
    outs = [filled(lengths, constant(number, dtype)) for number, dtype in start]
    iterators = ["parallel" if i in kept else "reduction" for i in range(x.rank)]
    inputs = [(x, ir.AffineMap.get_identity(x.rank))]
    return looped(inputs, outs, dims_map(x.rank, kept), iterators, lambda elements, before: body(elements[0], before))


def with_kept_dims(x: Tensor, like: Tensor, axes: Sequence[int]) -> Tensor:
    """A reduced tensor with its reduced axes back, of size 1."""
    if not like.rank:
        return x
    groups: list[list[int]] = []
    for i in range(like.rank):
        if not groups or (i not in axes and any(j not in axes for j in groups[-1])):
            groups.append([i])
        else:
            groups[-1].append(i)
    return expanded(x, [1 if i in axes else like.length(i) for i in range(like.rank)], groups if x.rank else [])


def expanded(x: Tensor, lengths: Sequence[Size], groups: Sequence[Sequence[int]]) -> Tensor:
    """Axis k of x becomes the axes groups[k]."""
    known, unknown = s.known(lengths), ir.ShapedType.get_dynamic_size()
    dynamic = [v for v in lengths if not isinstance(v, int)]
    static = ir.DenseI64ArrayAttr.get([unknown if size is None else size for size in known])
    type_ = builtin_type(Known(x.dtype, known))
    made = b.value("tensor.expand_shape", [x.value, *dynamic], type_, reassociation=b.groups(groups), static_output_shape=static)
    return Tensor(made, x.dtype, known)


def collapsed(x: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """The axes groups[k] of x become axis k."""
    known = tuple(None if any(x.sizes[i] is None for i in group) else math.prod(x.sizes[i] or 0 for i in group) for group in groups)
    made = b.value("tensor.collapse_shape", [x.value], builtin_type(Known(x.dtype, known)), reassociation=b.groups(groups))
    return Tensor(made, x.dtype, known)


def squeezed(x: Tensor, kept: Sequence[int]) -> Tensor:
    """x without axes of size 1: only `kept` stay."""
    if len(kept) == x.rank:
        return x
    groups: list[list[int]] = [[] for _ in kept]
    for i in range(x.rank):
        after = [k for k, axis in enumerate(kept) if axis >= i]
        if groups:
            groups[after[0] if after else -1].append(i)
    return collapsed(x, groups)


def count(x: Tensor, axes: Sequence[int]) -> int | Scalar:
    """How many elements one result is reduced from: an int, or an i64."""
    total = s.product([x.length(a) for a in axes])
    return total if isinstance(total, int) else total.cast(dtypes.i64)


def assert_(condition: ir.Value, message: str) -> None:
    """cf.assert: an error site (see asserts_to_status)."""
    b.op("cf.assert", [condition], msg=ir.StringAttr.get(message))
