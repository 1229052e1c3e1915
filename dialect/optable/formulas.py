"""Ops made of other ops of the table (dialect/formulas), whose rules say what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect import optable
from tierup.dialect.formulas import FORMULAS
from tierup.dialect.formulas.core import LIST, TENSOR, Formula, Ops
from tierup.dialect.ir.values import List, Tensor, Value
from tierup.dialect.optable.core import Infer, InferRule, Op, Tolerance
from tierup.dialect.optable.operands import Unknown, integer, is_none, items, lifted, plain


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


def operands_of(formula: Formula, values: Sequence[Value], tensors: Sequence[Any]) -> list[Any]:
    """A formula's operands: of `tensors` those that are not None, and what is known of the others of `values`. Raises Unknown."""
    pairs = enumerate(zip(values, tensors, strict=True))
    return [plain(v) if i in formula.plain else None if is_none(v) else x for i, (v, x) in pairs]


def _tensors(values: Sequence[Value]) -> list[Any]:
    """Lists as lists of their items."""
    return [list(items(v)) if isinstance(v, List) else v for v in values]


def _rule(formula: Formula) -> InferRule:
    def infer(ctx: Infer, operands: Sequence[Value]) -> Value | tuple[Value, ...]:
        try:
            found = formula.compute(_Types(ctx), *operands_of(formula, operands, _tensors(operands)))
            return List(tuple(found)) if isinstance(found, list) else found
        except Unknown:
            if formula.results == LIST:
                return List(None, Tensor())
            rest = tuple(Tensor() for _ in range(formula.results - 1))
            return (Tensor(None, _shape(formula, operands)), *rest) if rest else Tensor(None, _shape(formula, operands))

    return infer


def _shape(formula: Formula, operands: Sequence[Value]) -> tuple[()] | None:
    """Rank 0, where nothing but that it is reduced is known."""
    try:
        return () if "reduction" in formula.operands and integer(operands[formula.operands.index("reduction")]) in (1, 2) else None
    except Unknown:
        return None


def _row(formula: Formula) -> Op:
    kernel = f"formulas.{formula.name.removeprefix('aten.').replace('.', '_')}"
    return Op(
        formula.name, formula.kind, kernel, _rule(formula), max(formula.results, 1), native=False, raises=formula.raises,
        tolerance=Tolerance(4.0, 1.0), looked_at=formula.looked_at, note="native as the ops that tierup-expand-formulas makes of it",
    )  # fmt: skip


ROWS = tuple(_row(formula) for formula in FORMULAS.values() if formula.is_row)
