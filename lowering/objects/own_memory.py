"""Results that are memory of the call's own on some paths and an argument, or another result, on others: `x` after
`for _ in range(n): x = x * 2`.

The kernel computes the former; a check in it leaves the latter (here n = 0) to tier 0, which gives back the argument itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect import optable
from tierup.dialect.inference import dims
from tierup.dialect.inference.infer import Inference
from tierup.dialect.ir.values import Bool, Int
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.lowering import builders as b
from tierup.lowering import torch_ops as t
from tierup.lowering.views import View, view_of

_CASTS = ("torch.tensor_static_info_cast", "torch.derefine", "torch.prim.unchecked_cast")


def ensure_own(value: ir.Value, roots: Mapping[ir.Value, View], inference: Inference) -> bool:
    """Whether `value` shares no memory with an argument, once the checks hold that this puts into the function.

    Raises views.Unknown for a view whose layout cannot be told.
    """
    return _Arguments(inference, roots).ensure(value)


def ensure_apart(value: ir.Value, other: ir.Value, inference: Inference) -> bool:
    """Whether two results share no memory, once the checks hold that this puts into the function. One of them must be, or be a view of,
    what an op makes on all paths."""
    for one, base in ((value, _base(other)), (other, _base(value))):
        if _is_made(base):
            return _Apart(inference, base).ensure(one)
    return False


class _Paths:
    """Whether a value lies apart, and the checks that leave to tier 0 the paths on which it does not."""

    message: str

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

    def ensure(self, value: ir.Value) -> bool:
        value = where_control_stayed(value)
        if self.is_shared(value) or isinstance(value.owner, ir.Block):
            return False
        op, number = value.owner.operation, ir.OpResult(value).result_number
        if op.name == "torch.prim.If":
            return self._branch(op, number)
        if op.name == "torch.prim.Loop":
            return self._loop(op, number)
        row = optable.lookup(op.name)
        if _is_view(op, row):
            return self.ensure(op.operands[0])
        if row is None or row.kind is Kind.SCALAR:
            return False  # an item of a list
        return row.aliasing is Aliasing.FRESH or self.perhaps_view(value, op, row)

    def is_shared(self, value: ir.Value) -> bool:
        """Whether it is what the value should lie apart from."""
        raise NotImplementedError

    def perhaps_view(self, value: ir.Value, op: ir.Operation, row: Op) -> bool:
        """The answer for an op that gives a view or a copy."""
        return self.ensure(op.operands[0])

    def _branch(self, op: ir.Operation, number: int) -> bool:
        yes, no = (self.ensure(_yielded(region, number)) for region in op.regions)
        if yes != no:
            with op.location, ir.InsertionPoint(op):
                condition = op.operands[0]
                t.check(condition if yes else b.value("torch.aten.__not__", [condition], t.bool_type()), self.message)
        return yes or no

    def _loop(self, op: ir.Operation, number: int) -> bool:
        """A loop that runs at least once gives what its body yields."""
        if not self.ensure(_yielded(op.regions[0], 1 + number)):
            return False
        if self.ensure(op.operands[2 + number]):
            return True
        trip, condition = (self.inference.values.get(v) for v in list(op.operands)[:2])
        with op.location, ir.InsertionPoint(op):
            if not (isinstance(trip, Int) and trip.value is not None and dims.at_least(trip.value, 1)):
                t.check(b.value("torch.aten.ge.int", [op.operands[0], t.integer(1)], t.bool_type()), self.message)
            if condition != Bool(True):
                t.check(op.operands[1], self.message)
        return True


class _Arguments(_Paths):
    """Apart from the arguments."""

    message = "a result is an argument on this path"

    def __init__(self, inference: Inference, roots: Mapping[ir.Value, View]) -> None:
        super().__init__(inference)
        self._roots = roots

    def is_shared(self, value: ir.Value) -> bool:
        return value in self._roots

    def perhaps_view(self, value: ir.Value, op: ir.Operation, row: Op) -> bool:
        if row.aliasing is Aliasing.MAY_VIEW and view_of(op.operands[0], self._roots, self.inference) is None:
            return self.ensure(op.operands[0])
        return view_of(value, self._roots, self.inference) is None


class _Apart(_Paths):
    """Apart from what one op makes."""

    message = "two results share memory on this path"

    def __init__(self, inference: Inference, base: ir.Value) -> None:
        super().__init__(inference)
        self._base = base

    def is_shared(self, value: ir.Value) -> bool:
        return value == self._base


def _is_view(op: ir.Operation, row: Op | None) -> bool:
    return op.name in _CASTS or (row is not None and row.aliasing is Aliasing.VIEW)


def _base(value: ir.Value) -> ir.Value:
    """What a value is, or is a view of, or perhaps a copy of that."""
    value = where_control_stayed(value)
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        row = optable.lookup(op.name)
        if not _is_view(op, row) and (row is None or row.aliasing is not Aliasing.MAY_VIEW):
            break
        value = where_control_stayed(op.operands[0])
    return value


def _is_made(value: ir.Value) -> bool:
    """Whether an op makes the value afresh."""
    if isinstance(value.owner, ir.Block):
        return False
    row = optable.lookup(value.owner.operation.name)
    return row is not None and row.kind is not Kind.SCALAR and row.aliasing is Aliasing.FRESH


def _yielded(region: ir.Region, number: int) -> ir.Value:
    return list(region.blocks[0].operations)[-1].operation.operands[number]
