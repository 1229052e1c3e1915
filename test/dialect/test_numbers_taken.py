"""What the analysis says takes every number does: the kernels of both flavours are asked, where it has asked the rules."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from native_samples import SAMPLES

from tierup.dialect import optable
from tierup.dialect.analysis.raising import takes_every_number
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Opaque, Str, Tensor, Value
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import REFUSALS, Kind, Promotion
from tierup.frontend.jit import jit

_NUMBERS = (*range(-9, 10), 127, 128, 255, 256, -129, -300)  # none that memory runs out for


def _known(operand: object) -> Value:
    if isinstance(operand, np.ndarray):
        return Tensor(dtypes.from_numpy(operand.dtype), operand.shape)
    if isinstance(operand, list):
        return List(tuple(map(_known, operand)))
    kinds = {bool: Bool, int: Int, float: Float, str: Str}
    return NoneValue() if operand is None else kinds[type(operand)](operand) if type(operand) in kinds else Opaque()


def _taking() -> list[tuple[str, tuple[object, ...], int, Promotion]]:
    """Samples, an operand of them that is an int, and whose rules: where any int is said to do."""
    found = []
    for name, operands, _ in SAMPLES:
        row = optable.table()[name]
        if row.kind in (Kind.POINTWISE, Kind.SCALAR) or row.raises or row.results == 0:
            continue  # the first two are not asked
        for i in (i for i, operand in enumerate(operands) if type(operand) is int):
            values = [Int() if j == i else _known(operand) for j, operand in enumerate(operands)]
            found += [(name, operands, i, p) for p in Promotion if takes_every_number(name, tuple(values), p)]
    return found


TAKING = _taking()


def test_some_ops_take_every_number_and_others_do_not() -> None:
    taken = {name for name, *_ in TAKING}
    assert {"aten.tril", "aten.diagonal", "aten.slice.Tensor", "aten.tensor.int"} <= taken
    assert not taken & {"aten.eye", "aten.sum.dim_IntList", "aten.select.int", "aten.unsqueeze", "aten.roll"}, taken


@pytest.mark.parametrize("promotion", list(Promotion), ids=lambda p: p.value)
def test_what_is_said_to_take_every_number_raises_for_none(promotion: Promotion) -> None:
    refused = []
    for name, operands, i, of in TAKING:
        row = optable.table()[name]
        kernel = kernels.resolve(row.numpy if promotion is Promotion.NUMPY and row.numpy else row.kernel)
        for number in _NUMBERS if of is promotion else ():
            try:
                with np.errstate(all="ignore"):
                    kernel(*copy.deepcopy(operands[:i]), number, *copy.deepcopy(operands[i + 1 :]))
            except REFUSALS as e:
                refused.append((name, i, number, repr(e)))
    assert refused == []


def test_numbers_for_tensors_are_never_refused() -> None:
    for value in (Int(), Float(), Bool()):
        assert takes_every_number("prim.NumToTensor.Scalar", (value,), Promotion.TORCH)


def test_an_unused_op_raises_for_a_number_that_only_the_run_knows() -> None:
    def function(x: np.ndarray, axis: int) -> np.ndarray:
        np.sum(x, axis=axis)
        return x * 2

    compiled = jit(function)
    for axis in (0, 1, 0, 1):
        np.testing.assert_array_equal(compiled(np.ones((2, 3)), axis), function(np.ones((2, 3)), axis))
    assert compiled.stats().hits, compiled.explain()
    with pytest.raises(np.exceptions.AxisError):
        compiled(np.ones((2, 3)), 5)
