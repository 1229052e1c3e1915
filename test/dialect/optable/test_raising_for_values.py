"""An op that may raise for what its tensors hold, all types and numbers being accepted, says so: else it is dropped where unused."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from pointwise_samples import OPS, values

from tierup.dialect import optable
from tierup.dialect.analysis.raising import Raising
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Bool, Float, Int, Tensor
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Infer, Kind, Op, Promotion

ROWS = [row for row in optable.table().values() if row.kind is Kind.POINTWISE and not row.writes]
DTYPES = (dtypes.bool_, dtypes.i8, dtypes.u8, dtypes.i64, dtypes.f32)
_SAMPLES = [values(dtype) for dtype in DTYPES]


def operands(row: Op) -> Iterator[tuple[Any, ...]]:
    """Tensors of each pair of dtypes with every combination of values; of rows without a declaration, tensors and numbers in any order."""
    pairs = [(x[:, None], y) for x, y in itertools.product(_SAMPLES, repeat=2)]
    if row.name in OPS:
        op = OPS[row.name]
        heads: list[tuple[Any, ...]] = [(x,) for x in _SAMPLES]
        if op.tensors > 1:
            heads = [(*pair, *pair[1:] * (op.tensors - 2)) for pair in pairs]
        yield from ((*head, *rest) for head in heads for rest in op.rest)
    else:
        yield from pairs
        yield from ((x, number) for x in _SAMPLES for number in (2, 0.5))
        yield from ((number, x) for x in _SAMPLES for number in (2, 0.5))


def attempt(kernel: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """What it gives, or the exception."""
    try:
        return kernel(*given)
    except Exception as e:  # noqa: BLE001 - operands of any kinds: some it cannot take at all
        return e


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
@pytest.mark.filterwarnings("ignore")
def test_a_pointwise_op_that_raises_for_values_says_so(row: Op) -> None:
    for kernel in (row.kernel, row.numpy):
        for given in operands(row) if kernel else ():
            with np.errstate(all="ignore"):
                ones = attempt(kernels.resolve(kernel), tuple(np.ones_like(v) if isinstance(v, np.ndarray) else v for v in given))
                if isinstance(ones, Exception) or not isinstance(error := attempt(kernels.resolve(kernel), given), Exception):
                    continue
            assert row.raises, f"{row.name} of {given} by {kernel} raises {error!r}"
            assert ones.dtype.kind != "f", f"what gives floats is taken not to raise, but {row.name} of {given} raises {error!r}"


ELEMENTS = (0, 1, -1, 300, 2**62, 0.5, 1e300, np.nan, np.inf, -np.inf)
ASKED = [row for row in optable.table().values() if row.kind is Kind.SCALAR and len(row.operands) == 1 and row.results == 1 and not row.acts]


@pytest.mark.parametrize("row", ASKED, ids=lambda row: row.name)
@pytest.mark.parametrize("promotion", Promotion)
@pytest.mark.filterwarnings("ignore")
def test_a_number_of_a_tensor_that_raises_for_its_element_may_raise(row: Op, promotion: Promotion) -> None:
    kernel = kernels.resolve((promotion is Promotion.NUMPY and row.numpy) or row.kernel)
    for dtype in (dtypes.bool_, dtypes.i8, dtypes.i64, dtypes.f16, dtypes.f32, dtypes.f64):
        with np.errstate(all="ignore"):
            if isinstance(attempt(kernel, (np.ones((), dtype.numpy),)), Exception):
                continue  # it takes no tensor, or none of this dtype
            errors = [attempt(kernel, (np.array(x).astype(dtype.numpy),)) for x in ELEMENTS]
        found = next((e for e in errors if isinstance(e, Exception)), None)
        if found is not None:
            assert _may_raise(row, dtype, promotion) is not False, f"{row.name} of {dtype.name} is taken not to raise, but raises {found!r}"


def _may_raise(row: Op, dtype: dtypes.DType, promotion: Promotion) -> bool | None:
    """What the analysis says; None for an op that takes a number, not a tensor."""
    ctx = Infer()
    ctx.promotion = promotion
    result = {Int: "!torch.int", Float: "!torch.float", Bool: "!torch.bool"}[type(row.infer(ctx, [Tensor(dtype, ())]))]
    attribute = '{tierup.promotion = "numpy"}' if promotion is Promotion.NUMPY else ""
    type_ = f"!torch.vtensor<[],{dtype.name}>"
    text = f"func.func @f(%x: {type_}) {{\n  %0 = torch.{row.name} %x {attribute} : {type_} -> {result}\n  return\n}}"
    with thread_context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError:
            return None
        function = module.body.operations[0].operation
        return Raising(function).may_raise(function.regions[0].blocks[0].operations[0].operation)
