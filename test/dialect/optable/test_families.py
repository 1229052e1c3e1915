"""Each row of these families names kernels that exist and an op that the torch dialect has, with as many operands."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from tierup.dialect import ops as families
from tierup.dialect import optable
from tierup.dialect.mlir import ir, register_torch_dialect
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Op
from tierup.dialect.optable.written import COPIES

ROWS = list(optable.table().values())


def test_no_op_has_two_rows() -> None:
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_kernels_exist_and_take_the_same_operands_in_both_flavours(row: Op) -> None:
    kernel = kernels.resolve(row.kernel)
    if row.numpy is not None and row.numpy_function is not None:
        flavour = inspect.signature(kernels.resolve(row.numpy))
        assert [p.name for p in flavour.parameters.values()] == [p.name for p in inspect.signature(kernel).parameters.values()]
    elif row.numpy is not None:
        assert callable(kernels.resolve(row.numpy))


def test_kernels_that_are_named_in_full_exist() -> None:
    """Rules name them, so that no module of kernels is loaded for a rule."""
    places = re.compile(r'"([a-z_.]+:[a-z_0-9]+(?:\.numpy_tier0|\.tier0|\.copied|_))"')
    found = [name for file in Path(families.__path__[0]).rglob("*.py") for name in places.findall(file.read_text())]
    assert len(found) > 5
    for name in [*found, *COPIES.values()]:
        assert callable(kernels.resolve(name)), name


def test_the_torch_dialect_has_every_op_but_those_that_torch_mlir_has_not() -> None:
    with ir.Context() as context, ir.Location.unknown():
        register_torch_dialect(context)
        names = ("pointwise.arithmetic", "pointwise.division", "pointwise.elementary", "pointwise.activations", "pointwise.selection", "pointwise.comparison", "pointwise.casts", "scalars.factories", "scalars.numbers", "scalars.comparisons")
        missing = [row.name for family in names for row in optable.rows_of(family) if not context.is_registered_operation(f"torch.{row.name}")]
    assert sorted(n for n in missing if n.startswith("aten.")) == ["aten.__or__.Scalar", "aten.__xor__.Scalar", "aten.__xor__.Tensor", "aten.bitwise_or.Scalar", "aten.bitwise_xor.Scalar", "aten.ceil.int", "aten.erfc", "aten.floor.float", "aten.floor.int", "aten.hypot", "aten.pow.float", "aten.pow.float_int", "aten.pow.int", "aten.sqrt.float"]  # a `torch.operator` of that name
