"""Views of arguments: offset, sizes and strides of a result that shares an argument's memory, as expressions over sizes.

`view_of` follows the chain of view ops from a value back to an argument. Strides count elements; of a strided argument
they are `stride_symbol`s. What it cannot say for all values of the symbols it does not guess: it raises `Unknown`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Bool, Int, List, NoneValue, Shape, Tensor
from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.speculation.exits import where_control_stayed


class Unknown(Exception):
    """No layout can be given for a value: the message says why."""


@dataclass(frozen=True)
class View:
    """Memory of argument `argument`: element i is at offset + sum(i * strides)."""

    argument: int
    offset: Dim
    sizes: Shape
    strides: tuple[Dim, ...]


def contiguous_strides(sizes: Sequence[Dim]) -> tuple[Dim, ...]:
    """C order: the last axis is dense."""
    strides: list[Dim] = []
    step: Dim = 1
    for size in reversed(sizes):
        strides.append(step)
        step = step * size
    return tuple(reversed(strides))


def view_of(value: ir.Value, roots: Mapping[ir.Value, View], inference: Inference) -> View | None:
    """How `value` lies in the memory of one of `roots` (arguments, or what is written back to them); None for a value of its own.

    Raises Unknown when it does share memory but the layout cannot be told.
    """
    value = where_control_stayed(value)
    if value in roots:
        return roots[value]
    op = maker(value)
    if op is None:
        return None  # an argument of a block within
    if op.name == "torch.prim.ListUnpack":
        return _part(op, ir.OpResult(value).result_number, roots, inference)
    handler, row = _VIEWS.get(torch_name(op)), row_of(op)
    if handler is None and (row is None or row.aliasing is not Aliasing.MAY_VIEW):
        return None
    base = view_of(op.operands[0], roots, inference)
    return None if base is None else (handler or _unknown)(_Context(op, base, value, inference))


@dataclass(frozen=True)
class _Context:
    op: ir.Operation
    base: View
    result: ir.Value
    inference: Inference

    def known(self, operand: int) -> Any:
        """An int, a dim, a list of them, or None for none."""
        return self._plain(self.inference.values.get(self.op.operands[operand]))  # None: put there by a check

    def _plain(self, value: object) -> object:
        if isinstance(value, NoneValue):
            return None
        if isinstance(value, Int) and value.value is not None:
            return value.value
        if isinstance(value, List) and value.items is not None:
            return [self._plain(item) for item in value.items]
        raise Unknown("where it starts is known at run time only")

    def number(self, operand: int, what: str) -> int:
        """An int. Raises Unknown, which says what only the run knows."""
        found = self.known(operand)
        if not isinstance(found, int):
            raise Unknown(f"{what} known at run time only")
        return found

    def axis(self, operand: int, extra: int = 0) -> int:
        return self.number(operand, "its axes are") % max(len(self.base.sizes) + extra, 1)

    @property
    def sizes(self) -> Shape:
        value = self.inference[self.result]
        if not isinstance(value, Tensor) or value.shape is None:
            raise Unknown("its sizes are not known")
        return value.shape


def _same(c: _Context) -> View:
    return c.base


def _unknown(c: _Context) -> View:
    raise Unknown(f"whether {torch_name(c.op)} copies is not known")


def _permuted(base: View, order: Sequence[int]) -> View:
    return replace(base, sizes=tuple(base.sizes[i] for i in order), strides=tuple(base.strides[i] for i in order))


def _transpose(c: _Context) -> View:
    order = list(range(len(c.base.sizes)))
    if order:
        a, b = c.axis(1), c.axis(2)
        order[a], order[b] = order[b], order[a]
    return _permuted(c.base, order)


def _reversed(c: _Context) -> View:
    return _permuted(c.base, range(len(c.base.sizes))[::-1])


def _permute(c: _Context) -> View:
    order = c.known(1)
    assert isinstance(order, list)
    return _permuted(c.base, [int(i) % len(c.base.sizes) for i in order])


def _moved(c: _Context) -> View:
    order = list(range(len(c.base.sizes)))
    if order:
        a, b = c.axis(1), c.axis(2)
        order.insert(b, order.pop(a))
    return _permuted(c.base, order)


def _select(c: _Context) -> View:
    return _selected(c.base, c.axis(1), c.number(2, "the index is"))


def _selected(base: View, axis: int, index: int) -> View:
    start = index if index >= 0 else base.sizes[axis] + index
    return View(base.argument, base.offset + start * base.strides[axis], _without(base.sizes, axis), _without(base.strides, axis))


def _without(items: tuple[Dim, ...], axis: int) -> tuple[Dim, ...]:
    return items[:axis] + items[axis + 1 :]


def _clamped(position: object, size: Dim, default: Dim) -> Dim:
    """A slice bound counted from the front and within the axis, as Python's and torch's slices have it."""
    if position is None:
        return default
    if isinstance(position, int):
        return dims.minimum(position, size) if position >= 0 else dims.maximum(size + position, 0)
    if isinstance(position, dims.Expr) and dims.at_least(position, 0):
        return dims.minimum(position, size)
    raise Unknown("a bound of the slice is known at run time only")


def _slice(c: _Context) -> View:
    axis, step = c.axis(1), c.number(4, "the step of the slice is")
    return _sliced(c.base, axis, _clamped(c.known(2), c.base.sizes[axis], 0), step, c.sizes[axis])


def _sliced(base: View, axis: int, start: Dim, step: int, size: Dim) -> View:
    sizes = (*base.sizes[:axis], size, *base.sizes[axis + 1 :])
    strides = (*base.strides[:axis], base.strides[axis] * step, *base.strides[axis + 1 :])
    return View(base.argument, base.offset + start * base.strides[axis], sizes, strides)


def _narrow(c: _Context) -> View:
    axis, start = c.axis(1), c.number(2, "where it starts is")
    return _sliced(c.base, axis, start if start >= 0 else c.base.sizes[axis] + start, 1, c.sizes[axis])


def _unsqueeze(c: _Context) -> View:
    axis = c.axis(1, extra=1)
    return replace(c.base, sizes=c.sizes, strides=(*c.base.strides[:axis], 0, *c.base.strides[axis:]))


def _squeeze(c: _Context) -> View:
    """All axes of size 1, or those named. A symbol is at least 2, so it is never squeezed."""
    named = range(len(c.base.sizes)) if len(c.op.operands) == 1 else c.known(1)
    axes = {int(a) % max(len(c.base.sizes), 1) for a in (named if isinstance(named, (list, range)) else [named])}
    kept = [i for i, size in enumerate(c.base.sizes) if not (i in axes and size == 1)]
    return _permuted(c.base, kept)


def _expand(c: _Context) -> View:
    extra = len(c.sizes) - len(c.base.sizes)
    strides: list[Dim] = [0] * extra
    for old, new, stride in zip(c.base.sizes, c.sizes[extra:], c.base.strides, strict=True):
        strides.append(0 if old == 1 and new != 1 else stride)
    return replace(c.base, sizes=c.sizes, strides=tuple(strides))


def _diagonal(c: _Context) -> View:
    offset, a, b = c.number(1, "which diagonal is"), c.axis(2), c.axis(3)
    kept = [i for i in range(len(c.base.sizes)) if i not in (a, b)]
    along = offset * c.base.strides[b] if offset >= 0 else -offset * c.base.strides[a]
    strides = (*(c.base.strides[i] for i in kept), c.base.strides[a] + c.base.strides[b])
    return View(c.base.argument, c.base.offset + along, c.sizes, strides)


def _unfold(c: _Context) -> View:
    axis, step = c.axis(1), c.number(3, "how far its windows are apart is")
    strides = [stride * step if i == axis else stride for i, stride in enumerate(c.base.strides)]
    return replace(c.base, sizes=c.sizes, strides=(*strides, c.base.strides[axis] if c.base.strides else 1))


def _reshape(c: _Context) -> View | None:
    """A view when the old axes can be split and merged where they lie, a copy when they can't."""
    if c.sizes == c.base.sizes:
        return c.base
    strides = reshaped_strides(c.base.sizes, c.base.strides, c.sizes)
    return None if strides is None else replace(c.base, sizes=c.sizes, strides=strides)


def _contiguous(c: _Context) -> View | None:
    dense = contiguous_strides(c.base.sizes)
    if any(size == 0 for size in c.base.sizes):
        return c.base
    for size, stride, wanted in zip(c.base.sizes, c.base.strides, dense, strict=True):
        if size != 1 and stride != wanted:
            _ensure_copied(stride - wanted)
            return None
    return c.base


def _converted(c: _Context) -> View | None:
    """The operand itself when there is nothing to convert and no copy is asked for."""
    row = row_of(c.op)
    assert row is not None
    before, after = c.inference[c.op.operands[0]], c.inference[c.result]
    asked = dict(zip(row.operands, map(c.inference.values.get, c.op.operands), strict=False))
    copy = asked.get("copy", Bool(False))
    if copy == Bool(True) or (isinstance(before, Tensor) and isinstance(after, Tensor) and before.dtype != after.dtype):
        return None
    if copy == Bool(False):
        return _contiguous(c) if asked.get("memory_format") == Int(0) else c.base  # contiguous_format
    raise Unknown("whether it is a copy is known at run time only")


def _ensure_copied(difference: Dim) -> None:
    """Raises Unknown where `difference`, of two strides, may be 0."""
    if not (dims.at_least(difference, 1) or dims.at_least(-1 * difference, 1)):
        raise Unknown("whether it is a view depends on sizes or strides known at run time only")


def reshaped_strides(old: Shape, old_strides: Sequence[Dim], new: Shape) -> tuple[Dim, ...] | None:
    """Strides that give the elements in the same order; None when only a copy has them. Raises Unknown when that depends."""
    if any(size == 0 for size in (*old, *new)) or tuple(old_strides) == contiguous_strides(old):
        return contiguous_strides(new)
    axes = [(size, stride) for size, stride in zip(old, old_strides, strict=True) if size != 1]
    strides: list[Dim] = [1] * len(new)
    pending = [i for i, size in enumerate(new) if size != 1]
    while axes or pending:
        if not axes or not pending:
            raise Unknown("whether it is a view depends on sizes known at run time only")
        size, stride = axes.pop()
        group, product = [pending.pop()], size
        made: Dim = new[group[0]]
        outer_size, outer_stride = size, stride
        while product != made:
            if dims.at_least(made - product, 1) and axes:  # the new axis needs more of the old ones: they must be dense
                next_size, next_stride = axes.pop()
                if next_stride != outer_stride * outer_size:
                    _ensure_copied(next_stride - outer_stride * outer_size)
                    return None
                outer_size, outer_stride, product = next_size, next_stride, product * next_size
            elif dims.at_least(product - made, 1) and pending:
                group.append(pending.pop())
                made = made * new[group[-1]]
            else:
                raise Unknown("whether it is a view depends on sizes known at run time only")
        for i in group:
            strides[i] = stride
            stride = stride * new[i]
    return tuple(strides)


def _part(op: ir.Operation, number: int, roots: Mapping[ir.Value, View], inference: Inference) -> View | None:
    """One of the results of unbind, split or chunk."""
    made = maker(op.operands[0])
    if made is None:
        return None
    name = torch_name(made)
    if name == "prim.ListConstruct":
        return view_of(made.operands[number], roots, inference)
    if name not in _PARTS:
        return None
    base = view_of(made.operands[0], roots, inference)
    if base is None:
        return None
    c = _Context(made, base, op.results[number], inference)
    axis = c.axis(_PARTS[name])
    if name == "aten.unbind.int":
        return _selected(base, axis, number)
    start: Dim = 0
    for earlier in list(op.results)[:number]:
        value = inference[earlier]
        if not isinstance(value, Tensor) or value.shape is None:
            raise Unknown("its sizes are not known")
        start = start + value.shape[axis]
    return _sliced(base, axis, start, 1, c.sizes[axis])


_PARTS = {"aten.unbind.int": 1, "aten.split.Tensor": 2, "aten.split_with_sizes": 2, "aten.split.sizes": 2, "aten.chunk": 2,
          "aten.tensor_split.sections": 2}  # fmt: skip

_VIEWS: dict[str, Callable[[_Context], View | None]] = {
    "aten.alias": _same,
    "aten.detach": _same,
    "tensor_static_info_cast": _same,
    "aten.transpose.int": _transpose,
    "aten.swapaxes": _transpose,
    "aten.swapdims": _transpose,
    "aten.t": _reversed,
    "aten.numpy_T": _reversed,
    "aten.permute": _permute,
    "aten.movedim.int": _moved,
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.narrow": _narrow,
    "aten.unsqueeze": _unsqueeze,
    "aten.squeeze": _squeeze,
    "aten.squeeze.dim": _squeeze,
    "aten.squeeze.dims": _squeeze,
    "aten.expand": _expand,
    "aten.expand_as": _expand,
    "aten.broadcast_to": _expand,
    "aten.diagonal": _diagonal,
    "aten.unfold": _unfold,
    "aten.contiguous": _contiguous,
    **dict.fromkeys(("aten.to.dtype", "aten.to.dtype_layout", "aten.to.device", "aten.to.prim_Device", "aten.to.other", "aten.type_as"),
                    _converted),
    "aten.view": _reshape,
    "aten.reshape": _reshape,
    "aten.view_as": _reshape,
    "aten.reshape_as": _reshape,
    "aten._unsafe_view": _reshape,
    "aten._reshape_alias": _reshape,
    "aten.flatten.using_ints": _reshape,
    "aten.ravel": _reshape,
    "aten.unflatten.int": _reshape,
}
