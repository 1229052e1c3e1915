"""A shape rule of which nothing of the operands is known says that it knows nothing: it is asked before anything is."""

from __future__ import annotations

import inspect

import pytest

from tierup.dialect import optable
from tierup.dialect.facts.values import List, Tensor, Value
from tierup.dialect.optable.core import Infer
from tierup.dialect.optable.formulas import FORMULAS
from tierup.dialect.optable.formulas.core import Formula
from tierup.dialect.optable.operands import lifted


@pytest.mark.parametrize("tensors", [List((Tensor(), Tensor())), List(None, Tensor())], ids=("two", "some"))
@pytest.mark.parametrize("formula", FORMULAS.values(), ids=lambda f: f.name)
def test_formulas_of_unknown_tensors_are_unknown_tensors(formula: Formula, tensors: List) -> None:
    operands: list[Value] = []
    for i, parameter in enumerate(list(inspect.signature(formula.compute).parameters.values())[1 : len(formula.operands) + 1]):
        if "Sequence[T]" in str(parameter.annotation):
            operands.append(tensors)
        elif "Sequence[int]" == str(parameter.annotation):
            operands.append(lifted([1]))
        elif i in formula.plain:
            operands.append(lifted(1 if parameter.default is parameter.empty else parameter.default))
        else:
            operands.append(Tensor())
    row = optable.lookup(formula.name)
    assert row is not None
    assert isinstance(row.infer(Infer(), operands), (Tensor, List, tuple))
