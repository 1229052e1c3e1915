"""Results that are memory of the call's own on some paths and an argument on others: `x` after `for _ in range(n): x = x * 2`.

The kernel computes the former; a check in it leaves the latter (here n = 0) to tier 0, which gives back the argument itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect import optable
from tierup.dialect.inference import dims
from tierup.dialect.inference.infer import Inference
from tierup.dialect.ir.values import Bool, Int
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.lowering import builders as b
from tierup.lowering import torch_ops as t
from tierup.lowering.views import View, view_of

_CASTS = ("torch.tensor_static_info_cast", "torch.derefine", "torch.prim.unchecked_cast")
_MESSAGE = "a result is an argument on this path"


def ensure_own(value: ir.Value, roots: Mapping[ir.Value, View], inference: Inference) -> bool:
    """Whether `value` shares no memory with an argument, once the checks hold that this puts into the function.

    Raises views.Unknown for a view whose layout cannot be told.
    """
    value = where_control_stayed(value)
    owner = value.owner
    if value in roots or isinstance(owner, ir.Block):
        return False
    op, number = owner.operation, ir.OpResult(value).result_number
    if op.name == "torch.prim.If":
        return _of_branch(op, number, roots, inference)
    if op.name == "torch.prim.Loop":
        return _of_loop(op, number, roots, inference)
    row = optable.lookup(op.name)
    if op.name in _CASTS or (row is not None and row.aliasing is Aliasing.VIEW):
        return ensure_own(op.operands[0], roots, inference)
    if row is None or row.kind is Kind.SCALAR:
        return False  # an item of a list
    if row.aliasing is Aliasing.MAY_VIEW and view_of(op.operands[0], roots, inference) is None:
        return ensure_own(op.operands[0], roots, inference)
    return row.aliasing is Aliasing.FRESH or view_of(value, roots, inference) is None


def _yielded(region: ir.Region, number: int) -> ir.Value:
    return list(region.blocks[0].operations)[-1].operation.operands[number]


def _of_branch(op: ir.Operation, number: int, roots: Mapping[ir.Value, View], inference: Inference) -> bool:
    yes, no = (ensure_own(_yielded(region, number), roots, inference) for region in op.regions)
    if yes != no:
        with op.location, ir.InsertionPoint(op):
            condition = op.operands[0]
            t.check(condition if yes else b.value("torch.aten.__not__", [condition], t.bool_type()), _MESSAGE)
    return yes or no


def _of_loop(op: ir.Operation, number: int, roots: Mapping[ir.Value, View], inference: Inference) -> bool:
    """A loop that runs at least once gives what its body yields."""
    if not ensure_own(_yielded(op.regions[0], 1 + number), roots, inference):
        return False
    if ensure_own(op.operands[2 + number], roots, inference):
        return True
    trip, condition = (inference.values.get(v) for v in list(op.operands)[:2])
    with op.location, ir.InsertionPoint(op):
        if not (isinstance(trip, Int) and trip.value is not None and dims.at_least(trip.value, 1)):
            t.check(b.value("torch.aten.ge.int", [op.operands[0], t.integer(1)], t.bool_type()), _MESSAGE)
        if condition != Bool(True):
            t.check(op.operands[1], _MESSAGE)
    return True
