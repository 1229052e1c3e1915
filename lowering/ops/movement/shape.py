"""Reshapes, slices and casts of builtin tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.sizes import Size
from tierup.lowering.building.sizes import value as size_value
from tierup.lowering.ops import tensors
from tierup.lowering.ops.pointwise.context import Known, builtin_type
from tierup.lowering.ops.tensors import Sizes, Tensor, collapsed, expanded


def cast(x: Tensor, sizes: Sizes) -> Tensor:
    """The same tensor, with sizes that are known in one of the two types and not in the other."""
    if x.sizes == sizes:
        return x
    return Tensor(b.value("tensor.cast", [x.value], builtin_type(Known(x.dtype, sizes))), x.dtype, sizes)


def flattened(x: Tensor) -> Tensor:
    """As a vector, in row-major order."""
    if x.rank == 1:
        return x
    if x.rank == 0:
        return expanded(x, (1,), [1], [])
    count = math.prod(s for s in x.sizes if s is not None) if None not in x.sizes else None
    return collapsed(x, (count,), [range(x.rank)])


def reshaped(x: Tensor, sizes: Sizes, values: Sequence[Size]) -> Tensor:
    """The elements of x in row-major order in new sizes. `values`: the sizes again, with values for those that are None."""
    if 0 in sizes or 0 in x.sizes:
        dynamic = [size_value(v) for v, size in zip(values, sizes, strict=True) if size is None]
        return Tensor(tensors.empty(sizes, dynamic, x.dtype), x.dtype, sizes)
    if not sizes:
        return x if x.rank == 0 else collapsed(cast(x, (1,) * x.rank), (), [])
    vector = flattened(x)
    count = math.prod(s for s in sizes if s is not None) if None not in sizes else None
    vector = cast(vector, (count,))
    return vector if len(sizes) == 1 else expanded(vector, sizes, values, [range(len(sizes))])


def _offsets(offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int]) -> tuple[list[ir.Value], dict[str, ir.Attribute]]:
    dynamic = ir.ShapedType.get_dynamic_size()
    operands = [v for v in (*offsets, *lengths) if not isinstance(v, int)]
    attributes: dict[str, ir.Attribute] = {
        "static_offsets": ir.DenseI64ArrayAttr.get([v if isinstance(v, int) else dynamic for v in offsets]),
        "static_sizes": ir.DenseI64ArrayAttr.get([v if isinstance(v, int) else dynamic for v in lengths]),
        "static_strides": ir.DenseI64ArrayAttr.get(list(steps)),
    }
    counts = [sum(not isinstance(v, int) for v in offsets), sum(not isinstance(v, int) for v in lengths), 0]
    return operands, attributes | {"counts": ir.DenseI32ArrayAttr.get(counts)}


def sliced(x: Tensor, offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int], drop: Sequence[int] = ()) -> Tensor:
    """A box of x, every `steps`-th element along each axis; the axes in `drop`, of length 1, are left out."""
    sizes = tuple((v if isinstance(v, int) else None) for i, v in enumerate(lengths) if i not in drop)
    if 0 in lengths:  # an offset may then stand at the end, which MLIR refuses
        dynamic = [v for i, v in enumerate(lengths) if i not in drop and not isinstance(v, int)]
        return Tensor(tensors.empty(sizes, dynamic, x.dtype), x.dtype, sizes)
    operands, attributes = _offsets(offsets, lengths, steps)
    segments = [1, *ir.DenseI32ArrayAttr(attributes.pop("counts"))]
    made = b.value(
        "tensor.extract_slice",
        [x.value, *operands],
        builtin_type(Known(x.dtype, sizes)),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get(segments),
        **attributes,
    )
    return Tensor(made, x.dtype, sizes)


def inserted(source: Tensor, into: Tensor, offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int]) -> Tensor:
    """`into` with a box replaced by `source`, which may lack axes where the box has length 1."""
    if 0 in lengths:
        return into
    operands, attributes = _offsets(offsets, lengths, steps)
    segments = [1, 1, *ir.DenseI32ArrayAttr(attributes.pop("counts"))]
    made = b.value(
        "tensor.insert_slice",
        [source.value, into.value, *operands],
        into.value.type,
        operandSegmentSizes=ir.DenseI32ArrayAttr.get(segments),
        **attributes,
    )
    return Tensor(made, into.dtype, into.sizes)


def permuted(x: Tensor, order: Sequence[int]) -> Tensor:
    """Axis k of the result is axis order[k] of x."""
    sizes = tuple(x.sizes[i] for i in order)
    dynamic = [x.size(i) for i in order if x.sizes[i] is None]
    axes = [list(order).index(i) for i in range(x.rank)]
    return Tensor(
        b.generic([x.value], [tensors.dims_map(x.rank, axes)], tensors.empty(sizes, dynamic, x.dtype), lambda v: v[0]), x.dtype, sizes
    )


def broadcast(x: Tensor, sizes: Sizes, values: Sequence[Size]) -> Tensor:
    """x repeated along axes of size 1, and along new ones in front."""
    dynamic = [size_value(v) for v, size in zip(values, sizes, strict=True) if size is None]
    read = b.broadcast_map([-1 if s is None else s for s in x.sizes], len(sizes))
    return Tensor(b.generic([x.value], [read], tensors.empty(sizes, dynamic, x.dtype), lambda v: v[0]), x.dtype, sizes)
