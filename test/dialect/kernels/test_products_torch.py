"""Matrix products against PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import Sample, array, check, strided  # noqa: E402

from tierup.dialect.base import dtypes  # noqa: E402

pytestmark = pytest.mark.torch

PAIRS = (
    ((2, 3), (3, 4)), ((1, 1), (1, 1)), ((0, 3), (3, 4)), ((2, 0), (0, 4)), ((2, 3), (2, 4)), ((2, 3), (3,)), ((3,), (3, 4)),
    ((3,), (3,)), ((0,), (0,)), ((3,), (4,)), ((2, 2, 3), (2, 3, 4)), ((2, 2, 3), (1, 3, 4)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (3,)),
    ((3,), (2, 3, 4)), ((5, 1, 2, 3), (2, 3, 4)), ((2, 2, 3), (3, 3, 4)), ((0, 2, 3), (0, 3, 4)), ((), (3,)), ((2, 2), ()),
)  # fmt: skip


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
@pytest.mark.parametrize("op", ["mm", "bmm", "matmul", "mv", "dot", "outer"])
def test_products_agree_with_torch(op: str, dtype: dtypes.DType) -> None:
    for a, b in PAIRS:
        x, y = array(a, dtype, seed=1), array(b, dtype, seed=2)
        if op == "mv" and not a or dtype is dtypes.bool_ and not x.size:
            continue  # an IndexError for a matrix of rank 0; bools refused only when there are some
        check(Sample(f"aten.{op}", (x, y)))
        for other in strided(x):
            check(Sample(f"aten.{op}", (other, y)))
        for other in strided(y):
            check(Sample(f"aten.{op}", (x, other)))


@pytest.mark.parametrize("op", ["mm", "matmul", "dot", "mv", "linear", "outer"])
def test_only_outer_promotes(op: str) -> None:
    shapes = {"dot": ((3,), (3,)), "mv": ((2, 3), (3,)), "outer": ((2,), (3,))}.get(op, ((3, 3), (3, 3)))
    for a, b in itertools.product((dtypes.f32, dtypes.f64, dtypes.f16, dtypes.bf16, dtypes.i64, dtypes.u8, dtypes.bool_), repeat=2):
        check(Sample(f"aten.{op}", (array(shapes[0], a), array(shapes[1], b, seed=3))))


@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64, dtypes.f16, dtypes.bf16, dtypes.i32, dtypes.u8, dtypes.bool_], ids=str)
@pytest.mark.parametrize("op", ["addmm", "baddbmm"])
def test_products_with_something_added_agree_with_torch(op: str, dtype: dtypes.DType) -> None:
    a, b = {"addmm": ((2, 3), (3, 4)), "baddbmm": ((2, 2, 3), (2, 3, 4))}[op]
    x, y = array(a, dtype, seed=1), array(b, dtype, seed=2)
    for start in ((4,), (2,), (1,), (), (2, 4), (2, 1), (2, 2, 4), (3,)):
        for beta, alpha in ((1, 1), (0, 1), (2, 0), (0.5, 1.5), (0, 0)):
            if op == "baddbmm" and dtype in (dtypes.f16, dtypes.bf16) and (beta, alpha) == (0.5, 1.5):
                continue  # PyTorch rounds alpha's product to half before adding
            check(Sample(f"aten.{op}", (array(start, dtype, seed=4), x, y, beta, alpha), 8.0))
    check(Sample(f"aten.{op}", (array((4,), dtypes.i64), x, y)))
    check(Sample(f"aten.{op}", (array((4,), dtype), y, x)))


def test_nan_in_what_is_multiplied_by_zero_does_not_show() -> None:
    x, nan = np.ones((2, 3), np.float32), np.full((2, 2), np.nan, np.float32)
    check(Sample("aten.addmm", (nan, x, x.T, 0, 1)))
    check(Sample("aten.addmm", (np.ones((2, 2), np.float32), np.full((2, 3), np.nan, np.float32), x.T, 1, 0)))


@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64, dtypes.bf16, dtypes.i64], ids=str)
def test_linear_agrees_with_torch(dtype: dtypes.DType) -> None:
    for x, weight in itertools.product(((2, 3), (3,), (5, 2, 3), (0, 3), (), (2, 4)), ((4, 3), (3,), (1, 3), (2, 4, 3), ())):
        for bias in (None, (4,), (1,), (3,), (2, 4), ()):
            operands = (array(x, dtype, seed=1), array(weight, dtype, seed=2), None if bias is None else array(bias, dtype, seed=3))
            check(Sample("aten.linear", operands, 8.0))
    check(Sample("aten.linear", (array((2, 3), dtype), array((4, 3), dtype), array((4,), dtypes.f16))))


def test_half_products_are_summed_in_float32() -> None:
    x = np.full((2, 2000), 0.1, np.float16)
    check(Sample("aten.mm", (x, x.T.copy()), 1.0))
    check(Sample("aten.dot", (x[0], x[1])))
