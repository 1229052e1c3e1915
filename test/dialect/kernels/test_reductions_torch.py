"""Reductions against PyTorch: every row over dtypes, ranks, empty dims, NaN, layouts, and wrong operands."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sampling import drawn  # noqa: E402
from torch_oracle import SHAPES, Sample, array, check, strided  # noqa: E402

from tierup.dialect.base import dtypes  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*degrees of freedom")]

WHOLE = ("sum", "prod", "mean", "any", "all", "max", "min", "var", "std", "var_mean", "norm.Scalar")
ONE_DIM = ("prod.dim_int", "any.dim", "all.dim", "max.dim", "min.dim", "argmax", "argmin", "cumsum", "cumprod", "count_nonzero")
DIM_LIST = (
    "sum.dim_IntList", "mean.dim", "amax", "amin", "any.dims", "count_nonzero.dim_IntList", "var.dim", "std.dim", "var_mean.dim",
    "logsumexp", "linalg_vector_norm",
)  # fmt: skip


def _ulp(dtype: dtypes.DType) -> float:
    return 8.0 if dtype.is_float else 0.0


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
@pytest.mark.parametrize("op", WHOLE)
def test_reducing_all_elements_agrees_with_torch(op: str, dtype: dtypes.DType) -> None:
    for shape, special in itertools.product(SHAPES, (False, True)):
        if special and op == "var_mean":
            continue  # the mean of infinities is infinite here, NaN by PyTorch's recurrence
        x = array(shape, dtype, special=special)
        for variant in (x, *(strided(x) if x.ndim == 2 else ())):
            check(Sample(f"aten.{op}", (variant,), _ulp(dtype)))


@pytest.mark.parametrize(("op", "dtype"), drawn("one dim", list(itertools.product(ONE_DIM, dtypes.OF_TORCH)), 3, kind=lambda pair: pair[0]), ids=str)
def test_reducing_one_dim_agrees_with_torch(op: str, dtype: dtypes.DType) -> None:
    for shape, special in itertools.product(SHAPES, (False, True)):
        x = array(shape, dtype, special=special)
        for dim in {0, -1, x.ndim // 2, x.ndim}:
            for variant in (x, *(strided(x) if x.ndim == 2 else ())):
                check(Sample(f"aten.{op}", (variant, dim), _ulp(dtype)))
        if op not in ("cumsum", "cumprod", "count_nonzero"):
            check(Sample(f"aten.{op}", (x, -1, True), _ulp(dtype)))


@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64, dtypes.bf16, dtypes.i32, dtypes.u8, dtypes.bool_], ids=str)
@pytest.mark.parametrize("op", DIM_LIST)
def test_reducing_several_dims_agrees_with_torch(op: str, dtype: dtypes.DType) -> None:
    for shape, special in itertools.product(((), (5,), (2, 3), (0, 3), (2, 3, 4)), (False, True)):
        x = array(shape, dtype, special=special)
        rank = x.ndim
        for i, dims in enumerate(([], [0], [0, rank - 1], [-1, 0], [0, 0], [rank + 1])):
            if op == "logsumexp" and not dims or op == "var_mean.dim" and special:
                continue
            if x.size == 0 and len(dims) != len({d % max(rank, 1) for d in dims}):
                continue  # two errors at once: which comes first is nobody's promise
            keepdim = bool(i % 2)
            operands: tuple = (x, dims, keepdim)
            if op == "linalg_vector_norm":
                operands = (x, 2, dims, keepdim)
            elif op in ("var.dim", "std.dim", "var_mean.dim"):
                operands = (x, dims, False, keepdim)
            elif op == "count_nonzero.dim_IntList":
                operands = (x, dims)
            check(Sample(f"aten.{op}", operands, 8.0 if op == "logsumexp" else _ulp(dtype)))


@pytest.mark.parametrize("op", ["sum.dim_IntList", "mean.dim", "any.dims", "var.dim"])
def test_dims_none_means_all(op: str) -> None:
    check(Sample(f"aten.{op}", (array((2, 3), dtypes.f32), None)))


@pytest.mark.parametrize("op", ["argmax", "argmin", "aminmax"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_no_dim_means_the_flattened_tensor(op: str, keepdim: bool) -> None:
    for shape, dtype in itertools.product(SHAPES, (dtypes.f32, dtypes.bf16, dtypes.i32, dtypes.bool_)):
        for special in (False, True):
            check(Sample(f"aten.{op}", (array(shape, dtype, special=special), None, keepdim), 0.0))


@pytest.mark.parametrize("op", ["sum", "prod", "mean"])
@pytest.mark.parametrize("asked", dtypes.OF_TORCH, ids=str)
def test_a_dtype_argument_converts_before_reducing(op: str, asked: dtypes.DType) -> None:
    for dtype in (dtypes.f32, dtypes.i32, dtypes.bool_, dtypes.u8, dtypes.f16):
        check(Sample(f"aten.{op}", (np.abs(array((3, 4), dtype)), asked.code), 8.0))
    if op == "sum":
        check(Sample("aten.cumsum", (array((3, 4), dtypes.i32), 1, asked.code), 8.0))  # bool: refused


@pytest.mark.parametrize("correction", [None, 0, 1, 2, 3, 5, 1.5])
@pytest.mark.parametrize("op", ["var", "std", "var_mean"])
def test_correction_is_subtracted_from_the_count(op: str, correction: float | None) -> None:
    for shape, dims in (((3,), None), ((3, 2), [0]), ((2, 3, 4), [-1, 0]), ((0,), [0]), ((), None), ((1,), [0])):
        for dtype in (dtypes.f32, dtypes.f64, dtypes.bf16):
            for keepdim in (False, True):
                check(Sample(f"aten.{op}.correction", (array(shape, dtype), dims, correction, keepdim), 8.0))


@pytest.mark.parametrize("ord", [0, 1, 2, 3, 2.5, -1, -2.0, float("inf"), float("-inf"), 0.5])
def test_vector_norms_of_every_order_agree_with_torch(ord: float) -> None:
    for shape, dims in (((4,), None), ((3, 4), [1]), ((2, 3, 4), [0, 2]), ((0,), [0]), ((0, 3), [1]), ((), None)):
        for dtype in (dtypes.f32, dtypes.f64, dtypes.f16):
            x = np.asarray(array(shape, dtype) + dtype.numpy.type(3))
            check(Sample("aten.linalg_vector_norm", (x, ord, dims, True), 16.0))
            if dims is not None:
                check(Sample("aten.norm.ScalarOpt_dim", (x, ord, dims, False), 16.0))
    check(Sample("aten.frobenius_norm.dim", (array((3, 4), dtypes.f32), [0, 1], False), 16.0))
    for dtype in dtypes.OF_TORCH:
        check(Sample("aten.linalg_vector_norm", (array((4,), dtypes.f32), 2, None, False, dtype.code), 16.0))


def test_logsumexp_neither_overflows_nor_turns_infinities_into_nan() -> None:
    for row in ([1e4, 1e4], [-1e4, -1e4], [np.inf, 1.0], [-np.inf, -np.inf], [-np.inf, 2.0], [np.nan, 1.0], [np.inf, -np.inf]):
        for dtype in (dtypes.f32, dtypes.f64):
            check(Sample("aten.logsumexp", (np.array(row, dtype.numpy), [0], False)))


def test_trace_takes_matrices_only() -> None:
    for dtype in (dtypes.f32, dtypes.i32, dtypes.f64):
        for shape in ((2, 3), (3, 3), (0, 2), (3,), (2, 2, 2)):
            check(Sample("aten.trace", (array(shape, dtype),), 4.0))


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
def test_logarithms_of_running_sums_agree_with_torch(dtype: dtypes.DType) -> None:
    """Of floats alone; infinities and NaN as they come."""
    for shape, dim in (((3, 4), 0), ((3, 4), -1), ((0,), 0), ((), 0), ((2, 0, 3), 1), ((2, 3), 2)):
        for special in (False, True):
            check(Sample("aten.logcumsumexp", (array(shape, dtype, special=special), dim), 8.0))
    check(Sample("aten.logcumsumexp", (np.array([1000.0, 1000.0, -1000.0], np.float32), 0), 8.0))


def test_half_sums_are_kept_in_float32() -> None:
    x = np.full(4096, 100.0, np.float16)
    check(Sample("aten.sum", (x,)))
    check(Sample("aten.mean", (x,)))
    check(Sample("aten.cumsum", (x, 0)))


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
def test_undoing_a_broadcast_agrees_with_torch(dtype: dtypes.DType) -> None:
    sizes: dict[tuple[int, ...], list[list[int]]] = {
        (): [[]], (1,): [[], [1]], (5,): [[], [1], [5]], (2, 3): [[], [3], [1], [2, 1], [1, 3], [1, 1], [2, 3]],
        (0, 3): [[], [3], [0, 3], [0, 1], [1, 3]], (2, 1, 4): [[1, 1], [2, 1, 1], [1, 4], [4], [1]],
    }  # fmt: skip
    for shape, wanted in sizes.items():
        for size in (None, *wanted):
            check(Sample("aten._grad_sum_to_size", (array(shape, dtype), size), _ulp(dtype)))
