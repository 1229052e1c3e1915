"""Pooling, adaptive pooling and resizing against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import Sample, array, check, strided  # noqa: E402
from torch_oracle import kernel as kernel_of  # noqa: E402

from tierup.dialect.base import dtypes  # noqa: E402
from tierup.dialect.ops.windows import adaptive, pooling

pytestmark = pytest.mark.torch
F32 = dtypes.f32

INPUTS = {1: (2, 3, 9), 2: (2, 3, 7, 8), 3: (1, 2, 5, 6, 4)}
MAX = [f"max_pool{n}d{suffix}" for n in (1, 2, 3) for suffix in ("", "_with_indices")]
AVG = [f"avg_pool{n}d" for n in (1, 2, 3)]
# kernel, stride, padding, dilation, ceil_mode
WINDOWS = (
    ([2], [], [0], [1], False), ([3], [2], [1], [1], False), ([3], [2], [1], [1], True), ([2], [3], [1], [1], True), ([2], [1], [0], [2], False),
    ([3], [1], [1], [2], True), ([1], [2], [0], [1], True), ([4], [3], [2], [1], True),
)  # fmt: skip


def _spatial(op: str) -> int:
    return int(op[op.index("pool") + 4])


@pytest.mark.parametrize("op", MAX)
def test_max_pooling(op: str) -> None:
    shape = INPUTS[_spatial(op)]
    for window in WINDOWS:
        for special in (False, True):
            x = array(shape, F32, special=special, seed=len(window[0]))
            check(Sample(f"aten.{op}", (x, *window), 0))
        check(Sample(f"aten.{op}", (x[0], *window), 0))
    for other in strided(x):
        check(Sample(f"aten.{op}", (other, [2], [2], [1], [1], False), 0))
    for dtype in dtypes.OF_TORCH:
        check(Sample(f"aten.{op}", (array(shape, dtype), [2], [1], [1], [1], False), 0))
    check(Sample(f"aten.{op}", (array((0, *shape[1:]), F32), [2], [1], [1], [1], False), 0))
    check(Sample(f"aten.{op}", (np.full(shape, -np.inf, np.float32), [2], [2], [1], [2], True), 0))
    check(Sample(f"aten.{op}", (array(shape, F32), [2] * _spatial(op), [1] * _spatial(op), [1] * _spatial(op), [1] * _spatial(op), False), 0))


def test_windows_of_different_sizes_along_different_dims() -> None:
    x = array((2, 3, 9, 8), F32, special=True)
    for window in (([3, 2], [2, 1], [1, 0], [1, 2], False), ([1, 4], [3, 2], [0, 2], [2, 1], True)):
        check(Sample("aten.max_pool2d_with_indices", (x, *window), 0))
        check(Sample("aten.avg_pool2d", (array((2, 3, 9, 8), F32), *window[:3], window[4], False, None)))


def test_gradients_of_maxima_go_to_where_they_stand() -> None:
    for shape, dtype in (((2, 3, 9, 8), F32), ((3, 7, 6), F32), ((2, 3, 9, 8), dtypes.f64), ((2, 3, 9, 8), dtypes.bf16), ((0, 3, 9, 8), F32)):
        x = array(shape, dtype)
        for window in (([3, 2], [2, 1], [1, 0], [1, 2], False), ([2, 2], [2, 2], [0, 0], [1, 1], True)):
            values, indices = kernel_of("aten.max_pool2d_with_indices")(x, *window)
            check(Sample("aten.max_pool2d_with_indices_backward", (array(values.shape, dtype, seed=1), x, *window, indices), 4.0))


@pytest.mark.filterwarnings("ignore:invalid value")  # infinities compared
@pytest.mark.parametrize("op", AVG)
def test_average_pooling(op: str) -> None:
    n = _spatial(op)
    x = array(INPUTS[n], F32)
    for kernel, stride, padding, _, ceil in WINDOWS:
        for include in (True, False):
            check(Sample(f"aten.{op}", (x, kernel, stride, padding, ceil, include)))
            for divisor in (3, -2, 0) if n > 1 else ():
                check(Sample(f"aten.{op}", (x[0], kernel, stride, padding, ceil, include, divisor)))
    for other in strided(x):
        check(Sample(f"aten.{op}", (other, [2], [2], [1], False, True)))
    for dtype in dtypes.OF_TORCH:
        if not (n == 3 and dtype.is_float and dtype.itemsize == 2):  # refused by PyTorch alone
            check(Sample(f"aten.{op}", (array(INPUTS[n], dtype), [2], [1], [1], False, True)))
    check(Sample(f"aten.{op}", (array(INPUTS[n], F32, special=True), [2], [1], [0], False, True)))
    check(Sample(f"aten.{op}", (array((0, *INPUTS[n][1:]), F32), [2], [1], [1], False, True)))
    check(Sample(f"aten.{op}", (np.full(INPUTS[n], -0.0, np.float32), [2], [1], [0], False, True)))


REFUSED = [
    ((2, 3, 6, 6), [2, 2, 2], [], [0]), ((2, 3, 6, 6), [], [], [0]), ((2, 3, 6, 6), [2], [1, 1, 1], [0]), ((2, 3, 6, 6), [2], [0], [0]),
    ((2, 3, 6, 6), [2], [2], [2]), ((2, 3, 6, 6), [2], [2], [-1]), ((2, 3, 6, 6), [7], [1], [0]), ((2, 3, 6, 6), [0], [1], [0]),
    ((1, 2, 3, 6, 6), [2], [2], [0]), ((2, 0, 6, 6), [2], [2], [0]), ((2, 3, 0, 6), [2], [2], [1]), ((2, 3, 6, 6), [2], [2], [1, 1, 1]),
]  # fmt: skip


@pytest.mark.parametrize("x, kernel, stride, padding", REFUSED, ids=str)
def test_windows_that_pytorch_refuses_are_refused(x: tuple, kernel: list, stride: list, padding: list) -> None:
    for op in ("max_pool2d", "max_pool2d_with_indices"):
        check(Sample(f"aten.{op}", (array(x, F32), kernel, stride, padding, [1], False)))
    check(Sample("aten.avg_pool2d", (array(x, F32), kernel, stride, padding, False, True, None)))


def test_a_dilation_of_zero_and_a_matrix_are_refused() -> None:
    check(Sample("aten.max_pool2d", (array((2, 3, 6, 6), F32), [2], [2], [0], [0], False)))
    check(Sample("aten.max_pool2d", (array((6, 6), F32), [2], [2], [0], [1], False)))
    check(Sample("aten.avg_pool1d", (array((6,), F32), [2], [2], [0], False, True)))


@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64, dtypes.f16, dtypes.bf16, dtypes.i64, dtypes.i32], ids=str)
def test_gradients_of_averages(dtype: dtypes.DType) -> None:
    for n in (2, 3):
        x = array(INPUTS[n], F32)
        for kernel, stride, padding, _, ceil in WINDOWS:
            for include, divisor in ((True, None), (False, None), (True, 3)):
                pooled = (pooling.avg_pool2d if n == 2 else pooling.avg_pool3d)(x, kernel, stride, padding, ceil, include, divisor)
                grad = array(pooled.shape, dtype, seed=7)
                for grad_, x_ in ((grad, x.astype(dtype.numpy)), (grad[0], x[0].astype(dtype.numpy))):
                    if n == 3 and dtype.is_float and dtype.itemsize == 2:
                        continue  # refused by PyTorch alone
                    stride_ = stride or kernel
                    check(Sample(f"aten.avg_pool{n}d_backward", (grad_, x_, kernel, stride_, padding, ceil, include, divisor), 16.0))


def test_a_gradient_of_another_shape_or_dtype_is_refused() -> None:
    x = array((2, 3, 6, 6), F32)
    check(Sample("aten.avg_pool2d_backward", (array((2, 3, 3, 3), dtypes.f64), x, [2], [2], [0], False, True, None)))
    with pytest.raises(TypeError, match="expected a gradient of the input's dtype"):
        adaptive._adaptive_avg_pool2d_backward(array((2, 3, 2, 2), dtypes.f64), x)
    check(Sample("aten.avg_pool2d_backward", (array((2, 3, 4, 3), F32), x, [2], [2], [0], False, True, None)))
    with pytest.raises(ValueError, match="has not the input's channels"):  # PyTorch does not look, and writes elsewhere
        adaptive._adaptive_avg_pool2d_backward(array((2, 4, 2, 2), F32), x)


@pytest.mark.parametrize("op", [f"adaptive_{kind}_pool{n}d" for kind in ("avg", "max") for n in (1, 2, 3)])
def test_adaptive_pooling(op: str) -> None:
    n = _spatial(op)
    x = array(INPUTS[n], F32)
    for sizes in ([1] * n, [2] * n, [4, 3, 2][:n], [11, 8, 4][:n], [0, 2, 2][:n], [-1, 2, 2][:n], [2] * (n + 1)):
        check(Sample(f"aten.{op}", (x, sizes), 8.0))
        check(Sample(f"aten.{op}", (x[0], sizes), 8.0))
    for special in (array(INPUTS[n], F32, special=True), np.full(INPUTS[n], -np.inf, np.float32)):
        if "max" in op:
            check(Sample(f"aten.{op}", (special, [3] * n), 0))
    for dtype in dtypes.OF_TORCH:
        if dtype.is_float or n != 1:
            check(Sample(f"aten.{op}", (array(INPUTS[n], dtype), [2] * n), 8.0))
    for other in strided(x):
        check(Sample(f"aten.{op}", (other, [3] * n), 8.0))
    whole = INPUTS[n]
    for shape in (whole[:0], whole[:n], whole[1:], whole, (2, *whole), (3, 2, *whole), (0, *whole[1:]), (2, 3, *(0,) * n)):
        for emptied in (shape, *((*shape[:i], 0, *shape[i + 1 :]) for i in range(len(shape)))):
            for size, dtype in ((1, F32), (2, F32), (2, dtypes.i64), (1, dtypes.bool_)):
                check(Sample(f"aten.{op}", (array(emptied, dtype), [size] * n), 8.0))


@pytest.mark.parametrize("n", [2, 3])
def test_gradients_of_adaptive_averages(n: int) -> None:
    for dtype in dtypes.FLOATS:
        x = array(INPUTS[n], dtype)
        check(Sample(f"aten._adaptive_avg_pool{n}d", (x, [3, 2, 3][:n]), 8.0))
        for sizes in ([1] * n, [3, 2, 3][:n], [9, 8, 7][:n]):
            check(Sample(f"aten._adaptive_avg_pool{n}d_backward", (array((*x.shape[:-n], *sizes), dtype, seed=5), x), 16.0))


def test_nearest_resizing() -> None:
    x = array((2, 3, 5, 7), F32, special=True)
    for sizes in ([5, 7], [10, 14], [3, 20], [1, 1], [8, 9], [0, 3], [4]):
        check(Sample("aten.upsample_nearest2d", (x, sizes, None, None), 0))
        check(Sample("aten.upsample_nearest2d.vec", (x, sizes, None), 0))
        if 0 not in sizes and len(sizes) == 2:
            grad = array((2, 3, *sizes), F32, seed=4)
            check(Sample("aten.upsample_nearest2d_backward", (grad, sizes, [2, 3, 5, 7], None, None), 16.0))
    for scales in ([2.0, 2.0], [1.5, 0.7], [3.0, 1.0]):
        sizes = [int(n * s) for n, s in zip((5, 7), scales, strict=True)]
        check(Sample("aten.upsample_nearest2d", (x, sizes, *scales), 0))
        check(Sample("aten.upsample_nearest2d.vec", (x, None, scales), 0, unknown=True))
    for dtype in dtypes.FLOATS:
        check(Sample("aten.upsample_nearest2d", (array((2, 3, 5, 7), dtype), [7, 9], None, None), 0))
    check(Sample("aten.upsample_nearest2d", (array((0, 3, 5, 7), F32), [7, 9], None, None), 0))
    check(Sample("aten.upsample_nearest2d", (array((3, 5, 7), F32), [7, 9], None, None), 0))
