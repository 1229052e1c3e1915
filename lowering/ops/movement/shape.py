"""Reshapes, slices and casts of builtin tensors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import sizes as s
from tierup.lowering.building.sizes import Size
from tierup.lowering.ops import tensors
from tierup.lowering.ops.pointwise.context import Known, builtin_type
from tierup.lowering.ops.tensors import Tensor, collapsed, expanded


def flattened(x: Tensor) -> Tensor:
    """As a vector, in row-major order."""
    if x.rank == 1:
        return x
    return collapsed(x, [range(x.rank)]) if x.rank else expanded(x, [1], [])


def reshaped(x: Tensor, lengths: Sequence[Size]) -> Tensor:
    """The elements of x in row-major order, with other sizes of the same product."""
    if 0 in lengths or 0 in x.sizes:
        return tensors.empty(lengths, x.dtype)
    if not lengths:
        return collapsed(x.with_sizes((1,) * x.rank), []) if x.rank else x
    known = [v for v in lengths if isinstance(v, int)]
    vector = flattened(x).with_sizes((prod(known) if len(known) == len(lengths) else None,))
    return vector if len(lengths) == 1 else expanded(vector, lengths, [range(len(lengths))])


def unsqueezed(x: Tensor, axis: int) -> Tensor:
    """x with an axis of size 1 put in."""
    lengths = [*x.lengths[:axis], 1, *x.lengths[axis:]]
    groups = [[i] for i in range(x.rank + 1)]
    joined = axis if axis < x.rank else axis - 1  # the new axis shares a group with the one after it, or before
    groups[joined : joined + 2] = [[joined, joined + 1]]
    return expanded(x, lengths, groups if x.rank else [])


def along(x: Tensor, axis: int, start: Size, length: Size, step: int = 1) -> tuple[list[Size], list[Size], list[int]]:
    """Offsets, lengths and steps of the box that is whole along all axes of x but one."""
    offsets: list[Size] = [0] * x.rank
    lengths, steps = x.lengths, [1] * x.rank
    offsets[axis], lengths[axis], steps[axis] = start, length, step
    return offsets, lengths, steps


def _boxed(
    name: str, operands: Sequence[Tensor], type_: ir.Type, offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int] | None
) -> ir.Value:
    """An op on a box of a tensor, the last operand; without `steps` of all elements in it."""
    dynamic = ir.ShapedType.get_dynamic_size()
    starts, extents = ([v if isinstance(v, int) else dynamic for v in sizes] for sizes in (offsets, lengths))
    segments = [*[1] * len(operands), starts.count(dynamic), extents.count(dynamic), 0]
    return b.value(
        name, [*(t.value for t in operands), *(v for v in (*offsets, *lengths) if not isinstance(v, int))], type_,
        static_offsets=ir.DenseI64ArrayAttr.get(starts), static_sizes=ir.DenseI64ArrayAttr.get(extents),
        static_strides=ir.DenseI64ArrayAttr.get(list(steps or [1] * len(lengths))), operandSegmentSizes=ir.DenseI32ArrayAttr.get(segments),
    )  # fmt: skip


def sliced(
    x: Tensor, offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int] | None = None, drop: Sequence[int] = ()
) -> Tensor:
    """A box of x, every `steps`-th element along each axis; the axes in `drop`, of length 1, are left out."""
    kept = [v for i, v in enumerate(lengths) if i not in drop]
    if 0 in lengths:  # an offset may then stand at the end, which MLIR refuses
        return tensors.empty(kept, x.dtype)
    known = s.known(kept)
    return Tensor(_boxed("tensor.extract_slice", [x], builtin_type(Known(x.dtype, known)), offsets, lengths, steps), x.dtype, known)


def inserted(source: Tensor, into: Tensor, offsets: Sequence[Size], lengths: Sequence[Size], steps: Sequence[int] | None = None) -> Tensor:
    """`into` with a box replaced by `source`, which may lack axes where the box has length 1."""
    if 0 in lengths:
        return into
    return into.holding(_boxed("tensor.insert_slice", [source, into], into.value.type, offsets, lengths, steps))


def permuted(x: Tensor, order: Sequence[int]) -> Tensor:
    """Axis k of the result is axis order[k] of x."""
    return tensors.read(x, [x.length(i) for i in order], tensors.dims_map(x.rank, [list(order).index(i) for i in range(x.rank)]))


def broadcast(x: Tensor, lengths: Sequence[Size]) -> Tensor:
    """x repeated along axes of size 1, and along new ones in front."""
    return tensors.read(x, lengths, b.broadcast_map(x.sizes, len(lengths)))
