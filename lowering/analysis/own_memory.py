"""Results that are memory of the call's own on some paths and an argument, or another result, on others: `x` after
`for _ in range(n): x = x * 2`.

The kernel computes the former; a check in it leaves the latter (here n = 0) to tier 0, which gives back the argument itself.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from tierup.dialect.analysis.showing import reached, sources
from tierup.dialect.facts import dims
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Bool, Int
from tierup.dialect.ir.by_answers import answer
from tierup.dialect.ir.structure import CASTS, handed_over
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.lowering.analysis.views import View, view_of
from tierup.lowering.building import torch_ops as t

_IF, _LOOP = "torch.prim.If", "torch.prim.Loop"


def ensure_own(value: ir.Value, roots: Mapping[ir.Value, View], inference: Inference) -> bool:
    """Whether `value` shares no memory with an argument, once the checks hold that this puts into the function.

    Raises views.Unknown for a view whose layout cannot be told.
    """
    return _Arguments(inference, roots).ensure(value)


def ensure_apart(value: ir.Value, other: ir.Value, inference: Inference) -> bool:
    """Whether two results share no memory, once the checks hold that this puts into the function. Both come of one branch or loop, or one
    of them is, or is a view of, what an op makes on all paths."""
    one, two = _base(value), _base(other)
    if isinstance(one.owner, ir.Block) or isinstance(two.owner, ir.Block) or one == two:
        return _is_earlier(one, two) or _is_earlier(two, one)
    op, numbers = one.owner.operation, [ir.OpResult(v).result_number for v in (one, two)]
    if op == two.owner.operation and op.name in (_IF, _LOOP):

        def apart(region: ir.Region, first: int = 0) -> bool:
            this, that = (handed_over(region.blocks[0])[first + number] for number in numbers)
            return ensure_apart(this, that, inference)

        if op.name == _IF:
            return _leave_arm(op, apart(op.regions[0]), apart(op.regions[1]), _Apart.message)
        this, that = (op.operands[2 + number] for number in numbers)
        return apart(op.regions[0], 1) and (ensure_apart(this, that, inference) or _leave_no_round(op, inference, _Apart.message))
    for base, rest in ((two, one), (one, two)):
        if is_made(base):
            return _Apart(inference, base).ensure(rest)
    return False


def _leave_arm(op: ir.Operation, yes: bool, no: bool, message: str) -> bool:
    """Leave to tier 0 the arm of a branch that is not as it should be; whether one is."""
    if yes != no:
        with op.location, ir.InsertionPoint(op):
            condition = op.operands[0]
            t.check(condition if yes else ~t.Number(condition), message)
    return yes or no


def _leave_no_round(op: ir.Operation, inference: Inference, message: str) -> bool:
    """Leave to tier 0 a loop that runs no round: one that does gives what its body yields."""
    trip, condition = (inference.values.get(v) for v in list(op.operands)[:2])
    with op.location, ir.InsertionPoint(op):
        if not (isinstance(trip, Int) and trip.value is not None and dims.at_least(trip.value, 1)):
            t.check(t.Number(op.operands[0]) >= 1, message)
        if condition != Bool(True):
            t.check(op.operands[1], message)
    return True


class Paths:
    """Whether a value is as it should be, apart from others or writable, and the checks that leave other paths to tier 0."""

    message: str

    def __init__(self, inference: Inference) -> None:
        self.inference = inference

        self._known: dict[ir.Value, bool] = Notes()  # values whose checks are in the function

    def ensure(self, value: ir.Value) -> bool:
        """Whether a value is as it should be once checks leave some paths to tier 0; inserts these checks."""
        return answer(value, self._known, self._steps)

    def _steps(self, value: ir.Value) -> Generator[ir.Value, bool, bool]:
        value = where_control_stayed(value)
        if self.is_shared(value):
            return False
        if self.is_settled(value):
            return True
        if isinstance(value.owner, ir.Block):
            return self.is_argument_apart(value)
        op, number = value.owner.operation, ir.OpResult(value).result_number
        if op.name == _IF:
            yes = yield handed_over(op.regions[0].blocks[0])[number]
            no = yield handed_over(op.regions[1].blocks[0])[number]
            return _leave_arm(op, yes, no, self.message)
        if op.name == _LOOP:
            if not (yield handed_over(op.regions[0].blocks[0])[1 + number]):
                return False
            return (yield op.operands[2 + number]) or _leave_no_round(op, self.inference, self.message)
        row = row_of(op)
        if is_view(op, row):
            return (yield op.operands[0])
        if row is None or row.kind is Kind.SCALAR:
            return False  # an item of a list
        if row.aliasing is Aliasing.FRESH:
            return True
        known = self.perhaps_view(value, op, row)
        return (yield op.operands[0]) if known is None else known

    def is_shared(self, value: ir.Value) -> bool:
        """Whether it is what the value should lie apart from, or should not be."""
        raise NotImplementedError

    def is_settled(self, value: ir.Value) -> bool:
        """Whether it is as it should be on all paths, whatever the rest says of it."""
        return False

    def is_argument_apart(self, value: ir.Value) -> bool:
        """The answer for an argument of a block."""
        return False

    def is_always_made(self, value: ir.Value) -> bool:
        """Whether an argument of a block is in every round what an op makes afresh, and never what it should lie apart from."""
        return all(not self.is_shared(v) and (is_made(v) or any(True for _ in sources(v))) for v in reached([value]))

    def perhaps_view(self, value: ir.Value, op: ir.Operation, row: Op) -> bool | None:
        """The answer for an op that gives a view or a copy; None: that of its operand."""
        return None


class _Arguments(Paths):
    """Apart from the arguments."""

    message = "a result is an argument on this path"

    def __init__(self, inference: Inference, roots: Mapping[ir.Value, View]) -> None:
        super().__init__(inference)
        self._roots = roots

    def is_shared(self, value: ir.Value) -> bool:
        return value in self._roots

    def is_argument_apart(self, value: ir.Value) -> bool:
        return self.is_always_made(value)

    def perhaps_view(self, value: ir.Value, op: ir.Operation, row: Op) -> bool | None:
        if row.aliasing is Aliasing.MAY_VIEW and view_of(op.operands[0], self._roots, self.inference) is None:
            return None
        return view_of(value, self._roots, self.inference) is None


class _Apart(Paths):
    """Apart from what one op makes."""

    message = "two results share memory on this path"

    def __init__(self, inference: Inference, base: ir.Value) -> None:
        super().__init__(inference)
        self._base = base

    def is_shared(self, value: ir.Value) -> bool:
        return bool(value == self._base)

    def is_argument_apart(self, value: ir.Value) -> bool:
        return _is_earlier(value, self._base) or self.is_always_made(value)


def _is_earlier(value: ir.Value, base: ir.Value) -> bool:
    """Whether a value is what a round of a loop began with, and `base` what an op makes in that round."""
    if not isinstance(value.owner, ir.Block) or not is_made(base) or value.owner.owner.name != _LOOP:
        return False
    at = base.owner.operation
    while at.name != "func.func" and at.block != value.owner:
        at = at.parent.operation
    return bool(at.name != "func.func")


def is_view(op: ir.Operation, row: Op | None) -> bool:
    """Whether an op's result is a view of its operand, or the operand itself, in every run."""
    return op.name in CASTS or (row is not None and row.aliasing is Aliasing.VIEW)


def _base(value: ir.Value) -> ir.Value:
    """What a value is, or is a view of, or perhaps a copy of that."""
    value = where_control_stayed(value)
    while not isinstance(value.owner, ir.Block):
        op = value.owner.operation
        row = row_of(op)
        if not is_view(op, row) and (row is None or row.aliasing is not Aliasing.MAY_VIEW):
            break
        value = where_control_stayed(op.operands[0])
    return value


def is_made(value: ir.Value) -> bool:
    """Whether an op makes the value afresh: it is no view, and no item of a list."""
    if isinstance(value.owner, ir.Block):
        return False
    row = row_of(value.owner.operation)
    return row is not None and row.kind is not Kind.SCALAR and row.aliasing is Aliasing.FRESH
