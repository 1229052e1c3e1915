"""Convolutions and their transposes against PyTorch."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import Sample, array, check, strided  # noqa: E402

from tierup.dialect.base import dtypes  # noqa: E402
from tierup.dialect.ops.windows import convolution  # noqa: E402

pytestmark = pytest.mark.torch
F32 = dtypes.f32

ONE, TWO, THREE = (2, 4, 7), (2, 4, 7, 6), (1, 2, 4, 5, 4)
WEIGHTS = {1: (6, 4, 3), 2: (6, 4, 3, 2), 3: (4, 2, 2, 3, 2)}


def operands(x: tuple[int, ...], weight: tuple[int, ...], bias: int | None = None, dtype: dtypes.DType = F32) -> tuple:
    return array(x, dtype, seed=1), array(weight, dtype, seed=2), None if bias is None else array((bias,), dtype, seed=3)


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolutions_of_all_dtypes(n: int, dtype: dtypes.DType) -> None:
    x, weight, bias = operands((ONE, TWO, THREE)[n - 1], WEIGHTS[n], WEIGHTS[n][0], dtype)
    for given in (bias, None):
        check(Sample(f"aten.conv{n}d", (x, weight, given, [1], [1], [1], 1), 8.0))
        check(Sample(f"aten.conv{n}d", (x[0], weight, given, [2], [0], [1], 1), 8.0))
    for other in strided(x):
        check(Sample(f"aten.conv{n}d", (other, weight, bias, [1], [0], [1], 1), 8.0))
    for other in strided(weight):
        check(Sample(f"aten.conv{n}d", (x, other, bias, [1], [0], [1], 1), 8.0))


@pytest.mark.parametrize("stride", [[1], [2, 3]], ids=str)
@pytest.mark.parametrize("padding", [[0], [2, 1]], ids=str)
@pytest.mark.parametrize("dilation", [[1], [2, 3]], ids=str)
def test_stride_padding_dilation_and_groups(stride: list[int], padding: list[int], dilation: list[int]) -> None:
    for weight, groups in (((6, 4, 3, 2), 1), ((6, 2, 3, 2), 2), ((8, 1, 3, 1), 4)):
        x, w, bias = operands((3, 4, 9, 8), weight, weight[0])
        check(Sample("aten.conv2d", (x, w, bias, stride, padding, dilation, groups), 8.0))
        check(Sample("aten.convolution", (x, w, bias, stride, padding, dilation, False, [0], groups), 8.0))
        w = array((4, weight[1], *weight[2:]), F32, seed=5)
        bias = array((weight[1] * groups,), F32, seed=4)
        for extra in ([0], [1, 0]):
            check(Sample("aten.conv_transpose2d.input", (x, w, bias, stride, padding, extra, groups, dilation), 8.0))
            check(Sample("aten.convolution", (x, w, bias, stride, padding, dilation, True, extra, groups), 8.0))
            check(Sample("aten.convolution", (x, w, None, stride, padding, dilation, False, extra, 1), 8.0))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_transposes_of_all_ranks(n: int) -> None:
    name = "conv_transpose1d" if n == 1 else f"conv_transpose{n}d.input"
    x, weight, _ = operands((ONE, TWO, THREE)[n - 1], (WEIGHTS[n][1], 3, *WEIGHTS[n][2:]))
    for given in (None, array((3,), F32, seed=3)):
        check(Sample(f"aten.{name}", (x, weight, given, [2], [1], [1], 1, [1]), 8.0))
        check(Sample(f"aten.{name}", (x[0], weight, given, [1], [0], [0], 1, [2]), 8.0))
    for dtype in (dtypes.f64, dtypes.i64, dtypes.bool_, *(() if n == 3 else (dtypes.f16,))):
        check(Sample(f"aten.{name}", (x.astype(dtype.numpy), weight.astype(dtype.numpy), None, [2], [0], [0], 1, [1]), 16.0))


@pytest.mark.parametrize("padding", ["same", "valid", "full"])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_padding_by_name(n: int, padding: str) -> None:
    x, weight, bias = operands((ONE, TWO, THREE)[n - 1], WEIGHTS[n], WEIGHTS[n][0])
    for stride, dilation in (([1], [1]), ([1], [2]), ([2], [1]), ([1] * n, [1] * n)):
        check(Sample(f"aten.conv{n}d.padding", (x, weight, bias, stride, padding, dilation, 1), 8.0))
    check(Sample(f"aten.conv{n}d.padding", (x[0], weight, None, [1], padding, [1], 1), 8.0))


def test_internal_convolution_is_the_convolution() -> None:
    x, w, bias = operands(TWO, (6, 4, 3, 2), 6)
    check(Sample("aten._convolution", (x, w, bias, [2, 1], [0, 1], [1, 1], False, [0, 0], 1, False, False, True, True), 8.0))


def test_an_empty_batch_gives_an_empty_result() -> None:
    for n, shape in enumerate((ONE, TWO, THREE), 1):
        x, w, bias = operands((0, *shape[1:]), WEIGHTS[n], WEIGHTS[n][0])
        check(Sample("aten.convolution", (x, w, bias, [1], [1], [1], False, [0], 1)))
        check(Sample("aten.convolution", (x, w.swapaxes(0, 1).copy(), bias, [2], [1], [1], True, [1], 1)))


def test_without_input_channels_the_result_is_the_bias() -> None:
    found = convolution.conv2d(np.ones((2, 0, 5, 5), np.float32), np.ones((3, 0, 2, 2), np.float32), np.arange(3, dtype=np.float32))
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(3.0).reshape(3, 1, 1), (2, 3, 4, 4)))


REFUSED = [
    ((2, 4, 6, 6), (6, 4, 3, 3), {"padding": [-1]}), ((2, 4, 6, 6), (6, 4, 3, 3), {"stride": [0]}), ((2, 4, 6, 6), (6, 4, 3, 3), {"dilation": [0, 1]}),
    ((2, 4, 6, 6), (6, 4, 3, 3), {"stride": [1, 1, 1]}), ((2, 4, 6, 6), (6, 4, 3, 3), {"padding": []}), ((2, 4, 6, 6), (6, 4, 3, 3), {"groups": 0}),
    ((2, 4, 6, 6), (6, 3, 3, 3), {}), ((2, 4, 6, 6), (6, 4, 3, 3), {"groups": 2}), ((2, 4, 6, 6), (5, 2, 3, 3), {"groups": 2}),
    ((2, 4, 6, 6), (6, 4, 7, 3), {}), ((2, 4, 6, 6), (6, 4, 3, 3), {"dilation": [3]}), ((2, 4, 0, 6), (6, 4, 3, 3), {"padding": [2]}),
    ((2, 4, 6, 6), (0, 4, 3, 3), {}), ((4, 6, 6), (6, 4, 3, 3), {}), ((1, 2, 4, 6, 6), (6, 4, 3, 3), {}), ((2, 4), (3, 4), {}),
    ((2, 4, 6, 6), (6, 4, 3, 3), {"bias": (5,)}), ((2, 4, 6, 6), (6, 4, 3, 3), {"bias": (6, 1)}), ((2, 4, 6, 6), (6, 4, 3, 3), {"bias": ()}),
    ((2, 4, 6, 6), (4, 6, 3, 3), {"transposed": True, "output_padding": [1]}), ((2, 4, 6, 6), (3, 6, 3, 3), {"transposed": True}),
    ((2, 4, 6, 6), (4, 6, 3, 3), {"transposed": True, "padding": [5]}), ((2, 4, 6, 6), (4, 6, 3, 3), {"transposed": True, "bias": (4,)}),
    ((2, 4, 6, 6), (4, 6, 3, 3), {"transposed": True, "output_padding": [-1]}), ((2, 4, 6, 6), (6, 4, 3, 3), {"output_padding": [-1]}),
]  # fmt: skip


@pytest.mark.parametrize("x, weight, settings", REFUSED, ids=str)
def test_what_pytorch_refuses_is_refused(x: tuple, weight: tuple, settings: dict) -> None:
    given = {"bias": None, "stride": [1], "padding": [0], "dilation": [1], "transposed": False, "output_padding": [0], "groups": 1} | settings
    bias = None if given["bias"] is None else array(given["bias"], F32)
    rest = tuple(given[k] for k in ("stride", "padding", "dilation", "transposed", "output_padding", "groups"))
    check(Sample("aten.convolution", (array(x, F32), array(weight, F32), bias, *rest)))


def test_operands_have_one_dtype() -> None:
    x, w, bias = operands(TWO, (6, 4, 3, 2), 6)
    f, d = np.float32, np.float64
    for a, b, c in ((f, f, f), (f, d, f), (d, f, f), (d, d, d), (f, f, d)):  # of f64 with a bias of f32 PyTorch makes f64
        check(Sample("aten.convolution", (x.astype(a), w.astype(b), bias.astype(c), [1], [0], [1], False, [0], 1), 8.0))


@pytest.mark.parametrize("shape, kernel, refused", [((1, 4), (6, 4), 2), ((4,), (6, 4, 3), 1), ((2, 4, 6), (6, 4), 1)])
def test_a_rank_that_an_op_does_not_have_is_refused(shape: tuple, kernel: tuple, refused: int) -> None:
    check(Sample(f"aten.conv{refused}d", (array(shape, F32), array(kernel, F32), None, [1], [0], [1], 1)))


def test_large_convolutions_are_computed_in_parts() -> None:
    """More elements of columns than are laid out at a time."""
    for transposed in (False, True):
        x, w, _ = operands((5, 16, 48, 48), (16, 16, 5, 5))
        check(Sample("aten.convolution", (x, w, None, [1], [2], [1], transposed, [0], 1), 64.0))
    few = operands((3, 2, 9, 9), (4, 2, 8, 8))  # fewer positions than places in the window
    for transposed in (False, True):
        check(Sample("aten.convolution", (few[0], few[1].swapaxes(0, 1).copy() if transposed else few[1], None, [2], [0], [1], transposed, [0], 1), 16.0))
