"""Losses: formulas in ops of the table (dialect/losses), whose rules say what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect import optable
from tierup.dialect.ir.values import Bool, Float, Int, List, NoneValue, Tensor, Value
from tierup.dialect.losses import LOSSES
from tierup.dialect.losses.core import TENSOR, Loss, Ops
from tierup.dialect.optable.core import Infer, InferRule, Kind, Op, Tolerance
from tierup.dialect.optable.operands import Unknown, integer, is_none, number


def lifted(operand: Any) -> Value:
    """A Python number, None or a list of numbers as what is known of it."""
    if operand is None:
        return NoneValue()
    if isinstance(operand, bool):
        return Bool(operand)
    if isinstance(operand, int):
        return Int(operand)
    if isinstance(operand, float):
        return Float(operand)
    if isinstance(operand, (list, tuple)):
        return List(tuple(map(lifted, operand)))
    assert isinstance(operand, Value), operand
    return operand


class _Types(Ops[Value]):
    def __init__(self, ctx: Infer) -> None:
        self.ctx = ctx

    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> Value:
        row = optable.lookup(name)
        assert row is not None, name
        found = row.infer(self.ctx, [lifted(v) for v in operands])
        assert isinstance(found, Value), f"{name} gives one result"
        return found

    def known(self, x: Value) -> Tensor:
        return x if isinstance(x, Tensor) else Tensor()

    def unknown(self) -> Exception:
        return Unknown()

    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, Tensor)

    def equal(self, x: Value, i: int, y: Value, j: int, what: str) -> None:
        a, b = self.known(x).shape, self.known(y).shape
        assert a is not None and b is not None
        self.ctx.equal(a[i], b[j], what)


def operands_of(loss: Loss, values: Sequence[Value], tensors: Sequence[Any]) -> list[Any]:
    """A formula's operands: of `tensors` those that are not None, and the numbers that are known of `values`. Raises Unknown."""
    found = [None if is_none(v) else x for v, x in zip(values[: loss.tensors], tensors, strict=False)]
    return [*found, *map(number, values[loss.tensors :])]


def _rule(loss: Loss) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
        try:
            return loss.formula(_Types(ctx), *operands_of(loss, operands, operands))
        except Unknown:
            found = Tensor(None, _shape(loss, operands))
            return found if loss.results == 1 else (found, Tensor(None, ()))

    return infer


def _shape(loss: Loss, operands: Sequence[Value]) -> tuple[()] | None:
    """Rank 0, where nothing but that it is reduced is known."""
    try:
        return () if integer(operands[loss.operands.index("reduction")]) in (1, 2) else None
    except Unknown:
        return None


ROWS = tuple(
    Op(
        loss.name, Kind.REDUCTION, f"losses.{loss.name.removeprefix('aten.')}", _rule(loss), loss.results, native=False, raises=loss.raises,
        tolerance=Tolerance(4.0, 1.0), note="native as the ops that tierup-expand-losses makes of it",
    )
    for loss in LOSSES.values()
)  # fmt: skip
