"""Softmax and the norms against PyTorch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import SHAPES, Sample, array, check, strided

from tierup.dialect.base import dtypes

pytestmark = pytest.mark.torch
F = dtypes.FLOATS


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
@pytest.mark.parametrize("op", ["softmax.int", "log_softmax.int", "_safe_softmax"])
def test_softmax_agrees_with_torch(op: str, dtype: dtypes.DType) -> None:
    for shape, special in itertools.product(SHAPES, (False, True)):
        x = array(shape, dtype, special=special)
        if not x.size and not dtype.is_float:
            continue  # refused here, not by PyTorch, which then has nothing to do
        for dim in {0, -1, x.ndim}:
            for variant in (x, *(strided(x) if x.ndim == 2 else ())):
                check(Sample(f"aten.{op}", (variant, dim), 8.0))
    for asked in (None, *dtypes.OF_TORCH):
        check(Sample(f"aten.{op}", (array((2, 3), dtype), 1, asked.code if asked else None), 8.0))


@pytest.mark.parametrize("op", ["_softmax", "_log_softmax"])
def test_internal_softmax_refuses_half_to_float(op: str) -> None:
    for half_to_float, dtype in itertools.product((False, True), (dtypes.f16, dtypes.f32)):
        check(Sample(f"aten.{op}", (array((2, 3), dtype), -1, half_to_float)))


@pytest.mark.parametrize("row", [[1e4, 0, -1e4], [-np.inf, -np.inf], [np.inf, 0], [-np.inf, 0], [np.nan, 0], [88.0, 89.0, 1e-30]])
@pytest.mark.parametrize("op", ["softmax.int", "log_softmax.int", "_safe_softmax"])
def test_softmax_of_extremes(op: str, row: list[float]) -> None:
    for dtype in (dtypes.f32, dtypes.f64):
        check(Sample(f"aten.{op}", (np.array(row, dtype.numpy), 0)))


@pytest.mark.parametrize("op", ["layer_norm", "native_layer_norm", "rms_norm"])
def test_layer_norm_agrees_with_torch(op: str) -> None:
    for dtype, (shape, normal) in itertools.product(
        (*F, dtypes.i64),
        (((4, 6), [6]), ((2, 3, 4), [3, 4]), ((2, 3, 4), [4]), ((5,), [5]), ((0, 3), [3]), ((2, 3), [2]), ((2, 3), []), ((), [1])),
    ):
        for parameter in (None, dtype, dtypes.f32, dtypes.f64):
            w = None if parameter is None else array(tuple(normal), parameter, seed=1)
            b = None if parameter is None else array(tuple(normal), parameter, seed=2)
            x = array(shape, dtype)
            if op == "rms_norm":
                if parameter in (None, dtype):
                    check(Sample("aten.rms_norm", (x, normal, w, 1e-5), 8.0))
                continue
            for weight, bias in ((w, b), (w, None)):
                extra = (1e-5, True) if op == "layer_norm" else (1e-5,)
                if parameter is dtypes.f64 and dtype is dtypes.f32 and not x.size:
                    continue
                check(Sample(f"aten.{op}", (x, normal, weight, bias, *extra), 16.0))
    check(Sample(f"aten.{op}", (array((2, 3), dtypes.f32), [3], array((2,), dtypes.f32), *((None, 1e-5) if op != "rms_norm" else (1e-5,)))))


def test_rms_norm_without_eps_takes_the_epsilon_of_its_dtype() -> None:
    for dtype in F:
        x = (array((2, 8), dtype).astype(np.float64) * 1e-4).astype(dtype.numpy)
        check(Sample("aten.rms_norm", (x, [8]), 8.0))


def test_layer_norm_of_large_offsets_does_not_cancel() -> None:
    x = (1e4 + np.arange(64).reshape(4, 16)).astype(np.float32)
    check(Sample("aten.layer_norm", (x, [16], None, None, 1e-5, True), 64.0))


def test_group_norm_agrees_with_torch() -> None:
    for dtype, shape, groups in itertools.product((*F, dtypes.i64), ((2, 4, 3), (2, 4), (3, 6, 2, 2), (0, 4, 2), (4,)), (1, 2, 3)):
        x = array(shape, dtype)
        channels = shape[1] if len(shape) > 1 else 1
        for parameter in (None, dtype):
            w = None if parameter is None else array((channels,), parameter, seed=1)
            if not x.size and not dtype.is_float:
                continue
            check(Sample("aten.group_norm", (x, groups, w, w, 1e-5, True), 512.0))
            if len(shape) > 1 and channels % groups == 0 and x.size and dtype.is_float:
                hxw = int(np.prod(shape[2:]))
                check(Sample("aten.native_group_norm", (x, w, w, shape[0], channels, hxw, groups, 1e-5), 512.0))
    check(Sample("aten.group_norm", (array((2, 4, 3), dtypes.f32), 2, array((3,), dtypes.f32))))


def test_batch_norm_agrees_with_torch() -> None:
    for dtype, shape in itertools.product((dtypes.f32, dtypes.f64), ((4, 3), (2, 3, 5), (2, 3, 2, 2))):
        x = array(shape, dtype)
        w, b, m = (array((3,), dtype, seed=s) for s in (1, 2, 3))
        v = np.abs(array((3,), dtype, seed=4)) + dtype.numpy.type(0.5)
        for weight, bias in ((w, b), (None, None)):
            for statistics, training in (((m, v), False), ((None, None), True)):
                operands = (x, weight, bias, *statistics, training, 0.1, 1e-5)
                check(Sample("aten.batch_norm", (*operands, True), 32.0))
                check(Sample("aten.native_batch_norm", operands, 32.0))
        check(Sample("aten.batch_norm", (x, w, b, None, None, False, 0.1, 1e-5, True)))
        check(Sample("aten.batch_norm", (x, w[:2].copy(), b, m, v, False, 0.1, 1e-5, True)))
    for dtype in (dtypes.f16, dtypes.bf16):
        one = np.ones(3, np.float32)
        check(Sample("aten.batch_norm", (array((4, 3), dtype), one, one, one, one, False, 0.1, 1e-5, True), 8.0))
