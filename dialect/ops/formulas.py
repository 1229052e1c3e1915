"""Ops made of other ops of the table (dialect/optable/formulas), whose rules say what they give, and whose tier 0 computes it.

ValueError for sizes that do not fit and numbers out of range, TypeError for dtypes, IndexError for a class out of range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.facts.values import List, Tensor, Value
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Infer, InferRule, ShapeError, Tolerance
from tierup.dialect.optable.define import DefinedOp, Kernel
from tierup.dialect.optable.formulas import FORMULAS
from tierup.dialect.optable.formulas.core import LIST, TENSOR, Formula, Ops
from tierup.dialect.optable.kernels.arrays import quiet
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

    def several(self, name: str, count: int, *operands: Any) -> Sequence[Value]:
        row = optable.lookup(name)
        assert row is not None, name
        found = row.infer(self.ctx, [lifted(v) for v in operands])
        assert isinstance(found, tuple), f"{name} gives several results"
        return found

    def known(self, x: Value) -> Tensor:
        return x if isinstance(x, Tensor) else Tensor()

    def unknown(self) -> Exception:
        return Unknown()

    def _is_tensor(self, x: Any) -> bool:
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


class _Arrays(Ops[Any]):
    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> Any:
        row = optable.lookup(name)
        assert row is not None, name
        return kernels.resolve(row.kernel)(*operands)

    def several(self, name: str, count: int, *operands: Any) -> Sequence[Any]:
        found: Sequence[Any] = self.call(name, *operands)
        return found

    def known(self, x: Any) -> Tensor:
        found = lifted(x)
        assert isinstance(found, Tensor)
        return found

    def unknown(self) -> Exception:
        return AssertionError("all is known of an array")

    def _is_tensor(self, x: Any) -> bool:
        return isinstance(x, np.ndarray)

    def equal(self, x: Any, i: int, y: Any, j: int, what: str) -> None:
        if x.shape[i] != y.shape[j]:
            raise ShapeError(what)

    def check(self, condition: Any, message: str) -> None:
        if not condition.all():
            raise ValueError(message)


_ARRAYS = _Arrays()


def _tier0(formula: Formula) -> Kernel:
    def tier0(*operands: Any) -> Any:
        try:
            with quiet:
                found = formula.compute(_ARRAYS, *operands)
        except ShapeError as e:
            raise ValueError(str(e)) from None
        if isinstance(found, np.ndarray) and any(isinstance(x, np.ndarray) and np.may_share_memory(found, x) for x in operands):
            return found.copy()  # views of views that came to be one of the operand: what a formula gives is new
        return found

    return tier0


def _op(formula: Formula) -> DefinedOp[Any]:
    made: DefinedOp[Any] = DefinedOp(
        formula.name, formula.kind, f"formulas:{_name(formula)}.tier0", _rule(formula), max(formula.results, 1), native=False,
        raises=formula.raises, tolerance=Tolerance(4.0, 1.0), operands=formula.operands, looked_at=formula.looked_at,
        differentiable=not formula.no_gradient, no_gradient=formula.no_gradient,
        note="native as the ops that tierup-expand-formulas makes of it",
    )  # fmt: skip
    made.tier0, made.overloads = _tier0(formula), (made,)
    return made


def _name(formula: Formula) -> str:
    return formula.name.removeprefix("aten.").replace(".", "_")


globals().update({_name(formula): _op(formula) for formula in FORMULAS.values() if formula.is_row})
