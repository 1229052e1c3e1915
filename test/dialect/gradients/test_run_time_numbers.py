"""Numbers that only the run knows, among the operands of ops: the gradient is that of the number written down, or an error says so."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gradient_cases import CASES
from gradient_harness import Case, array, captures_read, differentiated, program, runner

from tierup.dialect import optable
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.passes.core import PassFailure


def with_arguments(given: Case) -> tuple[str, list[Any]]:
    """The case's program with its numbers as arguments behind the arrays, and what they are."""
    module = parse_module(program(given))
    func = module.body.operations[0].operation
    block = func.regions[0].blocks[0]
    values: list[Any] = []
    for view in list(block.operations):
        op = view.operation
        if op.name in ("torch.constant.float", "torch.constant.int", "torch.constant.bool"):
            argument = block.add_argument(op.results[0].type, op.location)
            op.results[0].replace_all_uses_with(argument)
            attribute = op.attributes["value"]
            kinds: dict[str, Any] = {"float": ir.FloatAttr, "int": ir.IntegerAttr, "bool": ir.BoolAttr}
            values.append(kinds[op.name.rpartition(".")[2]](attribute).value)
            op.erase()
    with module.context:
        results = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results
        func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], results))
    return str(module), values


ONE_PER_OP = {given.op: given for given in CASES if any(type(v) in (int, float, bool) for v in given.operands) and not given.numpy}


@pytest.mark.parametrize("given", ONE_PER_OP.values(), ids=str)
def test_the_gradient_is_that_of_the_number_written_down(given: Case) -> None:
    wrt = [i for i, a in enumerate(given.arrays) if a.dtype.kind == "f"]
    text, numbers = with_arguments(given)
    cotangent = array(*runner(program(given))(*given.arrays)[0].shape, low=-1, high=1.5, seed=2)
    try:
        backward = differentiated(text, wrt)
    except PassFailure as e:
        row = optable.lookup(given.op)
        assert row is not None and row.kind is not Kind.POINTWISE
        assert re.search("has no gradient: its operand '[a-z_]+' is not a (list of )?constant", str(e))
        return
    found = runner(backward)(*given.arrays, *numbers, cotangent)
    for got, want in zip(found, runner(differentiated(program(given), wrt))(*given.arrays, cotangent), strict=True):
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_a_rule_names_the_numbers_that_it_captures(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ONE_PER_OP.values():
        row = optable.lookup(given.op)
        if row is not None and row.kind is Kind.POINTWISE:
            captures, read = captures_read(given, monkeypatch, with_arguments(given)[0])
            assert read <= captures, f"{given} reads {read - captures}, which its rule does not name"
