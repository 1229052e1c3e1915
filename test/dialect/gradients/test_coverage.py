"""Every op of the op table has a gradient, or a reason why it has none."""

from __future__ import annotations

import pytest

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Float, Int, NoneValue, Tensor
from tierup.dialect.ops import gradients
from tierup.dialect.ops.pointwise.elementary import erf
from tierup.dialect.optable.core import NO_RULE, Promotion
from tierup.dialect.optable.operands import Unknown
from tierup.dialect.passes.autodiff.differentiability import Gradient, gradient_of


def test_every_op_has_a_gradient_or_a_reason_why_not() -> None:
    """A new op needs a rule in dialect/ops/gradients, or a word of why it has none (`no_gradient`)."""
    assert not {name for name, row in optable.table().items() if gradient_of(row) is None}


def test_an_op_without_rule_and_reason_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    row = optable.lookup("aten.argsort")
    assert row is not None and gradient_of(row) is Gradient.NONE
    monkeypatch.setattr(row, "no_gradient", "")
    assert gradient_of(row) is None


def test_no_op_that_gives_floats_of_floats_is_said_to_have_no_gradient_but_what_ends_one() -> None:
    """Its gradient would be zero, and nobody told."""
    x, number, nothing = Tensor(dtypes.f64, (3,)), Float(0.5), NoneValue()
    calls = [[x] * n for n in range(1, 5)] + [[x, number], [x, x, Int(1)], [x, x, x, nothing, nothing], [Tensor(dtypes.i64, (3,)), x, Int(0)]]
    found = set()
    for op, row in optable.table().items():
        if row.differentiable or row.writes or row.asks or gradient_of(row) is not Gradient.NONE:
            continue
        for operands in calls:
            try:
                answers = [answer for promotion in Promotion if (answer := row.answer(operands, promotion)) is not None]
            except Unknown:
                continue
            if any(isinstance(v, Tensor) and v.dtype is dtypes.f64 for values, _ in answers for v in values):
                found.add(op)
    assert {op for op in found if optable.table()[op].why_no_gradient not in _ENDS_ONE} == set()


_ENDS_ONE = ("stopped by wish", "truth values", "bits of integers", "made of numbers and sizes; of a tensor only sizes and dtype are read", "complex numbers have none yet")


def test_what_has_a_reason_has_no_rule_and_no_result_that_requires_a_gradient() -> None:
    for op, row in optable.table().items():
        assert row.differentiable or gradients.lookup(op) is None, f"{op} has a rule, but its row says that it has no gradient"
        if row.no_gradient == NO_RULE:
            continue
        takes_none = op == "aten.where.Scalar"  # of its operands a mask alone is a tensor
        assert takes_none or not (row.no_gradient and row.differentiable), f"{op} says why it has no gradient, and that a result requires one"


def test_an_op_that_writes_computes_what_an_op_with_a_gradient_does() -> None:
    for row in optable.table().values():
        if row.writes:
            assert row.functional is not None
            functional = optable.lookup(row.functional)
            assert functional is not None and gradient_of(functional) is not None, row.name


def test_every_rule_is_of_an_op_of_the_table_and_names_its_operands() -> None:
    assert set(gradients.table()) <= set(optable.table())
    with pytest.raises(ValueError, match="reads 'other'"):
        erf.vjp(reads=("other",))(lambda g: None)
