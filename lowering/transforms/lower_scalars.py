"""tierup-lower-scalars: numbers of the program, and numbers that are read off tensors, become arith on i64, f64 and i1.

    %2 = torch.aten.floordiv.int %0, %1
    %3 = torch.aten.size.int %x, %dim
becomes
    arith.divsi and a correction, on i64
    tensor.dim
"""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect import dtypes
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t
from tierup.lowering.building.arith import Scalar, constant
from tierup.lowering.ops import scalars, tensors
from tierup.lowering.ops.pointwise.context import NotHandled, load_casts, parameter

_KINDS = {
    "!torch.int": (dtypes.i64, "torch_c.from_i64"),
    "!torch.float": (dtypes.f64, "torch_c.from_f64"),
    "!torch.bool": (dtypes.bool_, "torch_c.from_i1"),
}
_NATURAL = {bool: dtypes.bool_, int: dtypes.i64, float: dtypes.f64}


@register
@dataclass(frozen=True)
class LowerScalars(Pass):
    """Lower ops on numbers, and reads of tensors' sizes and single elements."""

    name = "tierup-lower-scalars"

    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in b.walk_unfused(function):
            name = torch_name(op)
            lower = _lowering(name)
            if lower is None or str(op.results[0].type) not in _KINDS:
                continue
            try:
                with op.location, ir.InsertionPoint(op):
                    dtype, cast = _KINDS[str(op.results[0].type)]
                    made = lower(op).cast(dtype)
                    replacement = b.value(cast, [made], op.results[0].type)
            except NotHandled:
                b.discard_before(op)
                continue
            op.results[0].replace_all_uses_with(replacement)
            op.erase()


def _lowering(name: str) -> Callable[[ir.Operation], Scalar] | None:
    if name in scalars.FORMULAS:
        return lambda op: scalars.FORMULAS[name](*(_number(v) for v in op.operands))
    if name in scalars.ITEMS:
        return _item
    return _OTHERS.get(name)


def _number(value: ir.Value) -> Scalar:
    """An operand as i64, f64 or i1."""
    found = parameter(value)
    if isinstance(found, Scalar):
        return found
    if type(found) not in _NATURAL:
        raise NotHandled
    return constant(found, _NATURAL[type(found)])


def _item(op: ir.Operation) -> Scalar:
    x = tensors.of_torch(op.operands[0])
    if 0 in x.sizes:
        raise NotHandled
    return tensors.element(x, [b.index(0)] * x.rank)


def _size(op: ir.Operation) -> Scalar:
    x, axis = tensors.of_torch(op.operands[0]), t.known_int(op.operands[1])
    if axis is None or not x.rank:
        raise NotHandled
    return _length_of(x, axis % x.rank)


def _length_of(x: tensors.Tensor, axis: int) -> Scalar:
    size = x.sizes[axis]
    return constant(size, dtypes.i64) if size is not None else x.size(axis).cast(dtypes.i64)


def _numel(op: ir.Operation) -> Scalar:
    x = tensors.of_torch(op.operands[0])
    found = tensors.count(x, range(x.rank))
    return constant(found, dtypes.i64) if isinstance(found, int) else found


def _rank(op: ir.Operation) -> Scalar:
    return constant(tensors.of_torch(op.operands[0]).rank, dtypes.i64)


def _length(op: ir.Operation) -> Scalar:
    x = tensors.of_torch(op.operands[0])
    if not x.rank:
        raise NotHandled
    return _length_of(x, 0)


_OTHERS = {"aten.size.int": _size, "aten.numel": _numel, "aten.dim": _rank, "aten.len.Tensor": _length}
