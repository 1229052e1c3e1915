"""How eager PyTorch, and NumPy, would lay out what a program computes: the order of the dims in memory, for results that leave the program.

Native code computes row-major values. A result whose dims lie otherwise in eager mode (`relu(x.t())` is laid out as `x.t()` is) is computed
permuted, into memory that the caller describes with the strides of that order. Layouts are followed from the arguments: views have
their operand's memory, elementwise ops the order that ATen's TensorIterator takes, copies that of a dense operand, products and
reductions are row-major. Where nothing is known (other ops on permuted tensors, arguments with any strides), results are row-major.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.memory_order import compared, elementwise_order
from tierup.dialect.facts.values import Int, Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Layout, Op
from tierup.dialect.optable.rows import row_of
from tierup.lowering.analysis.views import Unknown, View, contiguous_strides, view_of
from tierup.lowering.base.abi import dense_strides

_PRESERVING = frozenset(
    f"torch.aten.{n}"
    for n in ("clone", "flip", "to.dtype", "_to_copy", "copy", "relu6", "dropout", "zeros_like", "ones_like", "full_like", "empty_like")
)
_WRITE = "torch.aten.copy"  # what stands for the write of an in-place op
_ROW_MAJOR = (Kind.PRODUCT, Kind.REDUCTION, Kind.SCAN, Kind.FACTORY)


def order_in_memory(value: ir.Value, arguments: Mapping[ir.Value, View], inference: Inference) -> tuple[int, ...] | None:
    """The dims of a fresh tensor from the outermost to the innermost, as eager mode has them; None where nothing is known of them."""
    found = _Layouts(arguments, inference).of(value)
    if found is None:
        return None
    if found.strides == contiguous_strides(found.sizes):
        return row_major(len(found.sizes))
    order = _order(found)
    return None if order is None or not _is_dense(found, order) else order


def row_major(rank: int) -> tuple[int, ...]:
    """The dims as they are counted."""
    return tuple(range(rank))


def is_written_unknown(value: ir.Value, arguments: Mapping[ir.Value, View], inference: Inference) -> bool:
    """Whether a tensor is (a view of) what an op has written in place, which lies as before, and nothing says how that is."""
    layouts, written = _Layouts(arguments, inference), value
    while not isinstance(written.owner, ir.Block) and (row := row_of(written.owner.operation)) is not None and row.kind is Kind.VIEW:
        written = written.owner.operation.operands[0]
    return not isinstance(written.owner, ir.Block) and written.owner.operation.name == _WRITE and layouts.of(written) is None


class _Layouts:
    def __init__(self, arguments: Mapping[ir.Value, View], inference: Inference) -> None:
        self._roots = dict(arguments)
        self._unknown: set[ir.Value] = set()
        self._inference = inference

    def of(self, value: ir.Value) -> View | None:
        """A tensor's sizes and strides; the ops that it is made of are looked at in their order, not by recursion."""
        pending = [value]
        while pending:
            at = pending[-1]
            owner = at.owner
            if at in self._roots or at in self._unknown:
                pending.pop()
            elif isinstance(owner, ir.Block) or len(owner.operation.regions):
                self._unknown.add(at)
            else:
                operands = [v for v in owner.operation.operands if torch_types.is_tensor(v.type)]
                missing = [v for v in operands if v not in self._roots and v not in self._unknown]
                pending += missing
                if not missing:
                    found = self._made(at, owner.operation, operands)
                    if found is None:
                        self._unknown.add(at)
                    else:
                        self._roots[at] = found
        return self._roots.get(value)

    def _made(self, value: ir.Value, op: ir.Operation, operands: list[ir.Value]) -> View | None:
        """Of an op's result, whose operands are looked at."""
        inferred = self._inference.values.get(value)
        row = row_of(op)
        if row is None or not isinstance(inferred, Tensor) or inferred.shape is None:
            return None
        sizes, known = tuple(inferred.shape), [self._roots.get(v) for v in operands]
        if row.kind is Kind.VIEW:
            try:
                return view_of(value, self._roots, self._inference)
            except Unknown:
                return None
        if row.layout is Layout.COLUMNS:
            return View(-1, 0, sizes, dense_strides(sizes, tuple(reversed(range(len(sizes))))))
        is_preserving = op.name in _PRESERVING or row.puts
        known = known[:1] if is_preserving else known
        views = [v for v in known if v is not None]
        is_contiguous = len(views) == len(known) and all(v.strides == contiguous_strides(v.sizes) for v in views)
        in_rows = row.layout is Layout.ROWS or self._is_asked_for_rows(op, row) or (row.kind in _ROW_MAJOR and not is_preserving)
        if is_contiguous or in_rows:
            return View(-1, 0, sizes, contiguous_strides(sizes))
        if len(views) < len(known):
            return None
        if is_preserving:
            order = _order(views[0])
            return views[0] if order is not None and views[0].sizes == sizes and _is_dense(views[0], order) else None
        return _elementwise(sizes, views) if row.kind is Kind.POINTWISE and row.aliasing is Aliasing.FRESH else None

    def _is_asked_for_rows(self, op: ir.Operation, row: Op) -> bool:
        """Whether an op is told to give a row-major tensor: its memory format is contiguous_format."""
        at = row.operands.index("memory_format") if "memory_format" in row.operands else len(op.operands)
        return at < len(op.operands) and self._inference.values.get(op.operands[at]) == Int(0)


def _elementwise(sizes: tuple[Dim, ...], operands: Sequence[View]) -> View | None:
    if all(v.sizes == sizes and v.strides == operands[0].strides for v in operands):
        order = _order(operands[0])
        if order is not None and _is_dense(operands[0], order):
            return View(-1, 0, sizes, operands[0].strides)
    order = elementwise_order(sizes, [(v.sizes, v.strides) for v in operands])
    return None if order is None else View(-1, 0, sizes, dense_strides(sizes, order))


def _order(view: View) -> tuple[int, ...] | None:
    """The dims by falling strides, those of one element where they stand; None where that hangs on what symbols are."""
    order: list[int] = []
    for d, stride in enumerate(view.strides):
        at = len(order)
        while at and view.sizes[d] != 1 and view.sizes[order[at - 1]] != 1:
            by = compared(view.strides[order[at - 1]], stride)
            if by is None:
                return None
            if by >= 0:
                break
            at -= 1
        order.insert(at, d)
    return tuple(order)


def _is_dense(view: View, order: Sequence[int]) -> bool:
    dense = dense_strides(view.sizes, order)
    return all(n == 1 or s == t for n, s, t in zip(view.sizes, view.strides, dense, strict=True))
