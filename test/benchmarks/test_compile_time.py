"""The graphs whose compile time is measured are what their names say, and compile."""

from __future__ import annotations

import pytest

from benchmarks import compile_time
from tierup.dialect.language.text import parse_module


@pytest.mark.parametrize("graph", compile_time.GRAPHS)
def test_a_graph_has_as_many_ops_as_asked_for_and_reaches_llvm(graph: str) -> None:
    text, _ = compile_time.GRAPHS[graph](12)
    module = parse_module(text)
    body = module.body.operations[0].operation.regions[0].blocks[0].operations
    assert sum(view.operation.name.startswith("torch.aten.") for view in body) == 12
    row = compile_time.measure(graph, 12)
    assert row.seconds > 0
    assert row.llvm > 0


def test_power_is_the_exponent_of_growth() -> None:
    rows = [compile_time.Row("", n, n**1.5, 0.0) for n in (100, 400)]
    assert compile_time.power(*rows) == pytest.approx(1.5)
