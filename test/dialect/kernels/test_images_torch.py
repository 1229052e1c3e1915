"""Images resized, cut in patches, put together and sampled; windows that slide along a dim; what is summed over pairs of dims or points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import Sample, check  # noqa: E402 - PyTorch may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch

F16, F32, F64, U8, I64 = np.float16, np.float32, np.float64, np.uint8, np.int64
_random = np.random.default_rng(7)


def x(*shape: int, dtype: type = F32) -> np.ndarray:
    return np.asarray(_random.normal(size=shape) * 10, dtype)


RESIZED = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_resizing_agrees_with_torch(spatial: int) -> None:
    names = [f"_upsample_nearest_exact{spatial}d"] + ([f"upsample_nearest{spatial}d"] if spatial != 2 else [])
    cornered = [f"upsample_{RESIZED[spatial]}"] + (["upsample_bicubic2d"] if spatial == 2 else [])
    of = (2, 3, *(5, 4, 3)[:spatial])
    for sizes in ((7, 8, 9)[:spatial], (2, 1, 3)[:spatial], of[2:], (10, 8, 6)[:spatial]):
        for name in names:
            check(Sample(f"aten.{name}", (x(*of), list(sizes)), 0.0))
        for name, align in itertools.product(cornered, (False, True)):
            check(Sample(f"aten.{name}", (x(*of), list(sizes), align), ulp=64, terms=30))
    for scale in (2.0, 1.5, 0.6, 1.1, 1.0):
        for name in names:
            check(Sample(f"aten.{name}.vec", (x(*of), None, [scale] * spatial), 0.0, unknown=True))
        for name, align in itertools.product(cornered, (False, True)):
            check(Sample(f"aten.{name}.vec", (x(*of), None, align, [scale] * spatial), ulp=64, terms=30, unknown=True))
    for name, shape in itertools.product(names, ((0, 3, *of[2:]), (1, 0, *of[2:]), (1, 1, *[0] * spatial), of[1:], ())):
        check(Sample(f"aten.{name}", (x(*shape), [6] * spatial), 0.0))
    for name in cornered:
        check(Sample(f"aten.{name}", (x(1, 1, *of[2:]), [4] * (spatial + 1), False)))
        check(Sample(f"aten.{name}", (x(1, 1, *of[2:]), [0] * spatial, False)))
        check(Sample(f"aten.{name}", (np.ones((1, 1, *of[2:]), I64), [6] * spatial, False)))
        check(Sample(f"aten.{name}", (x(1, 1, *of[2:], dtype=F64), [6] * spatial, True), ulp=64, terms=30))
        check(Sample(f"aten.{name}", (np.full((1, 1, *of[2:]), np.nan, F32), [6] * spatial, True)))
    check(Sample(f"aten.{names[0]}", (np.ones((1, 1, *of[2:]), U8), [6] * spatial), 0.0))
    check(Sample(f"aten.{names[0]}", (x(1, 1, *of[2:], dtype=F16), [6] * spatial), 0.0))


def test_bytes_between_pixels_round_as_pytorch_does() -> None:
    def program(image: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.interpolate(image, size=[7, 9], mode="bilinear", align_corners=False)

    ours = from_torchscript(torch.jit.script(program))
    for dtype in (torch.uint8, torch.float32, torch.uint8, torch.float32):
        image = torch.arange(75).view(1, 3, 5, 5).remainder(13).mul(20).to(dtype)
        torch.testing.assert_close(ours(image), program(image))


def test_windows_that_slide_agree_with_torch() -> None:
    for shape, rest in itertools.product(((6,), (4, 5), (2, 3, 4), ()), ((0, 2, 1), (-1, 3, 2), (0, 0, 1), (1, 5, 3), (0, 7, 1), (0, 1, 0))):
        check(Sample("aten.unfold", (x(*shape), *rest), 0.0))
        check(Sample("aten.unfold_copy", (x(*shape), *rest), 0.0))
    check(Sample("aten.unfold", (x(5, 4).T, 1, 2, 2), 0.0))


def test_patches_agree_with_torch() -> None:
    for shape, size, spacing, padding, step in (
        ((2, 3, 6, 5), [2, 3], [1, 1], [0, 0], [1, 1]), ((2, 6, 5), [3, 2], [2, 1], [1, 2], [2, 3]), ((0, 1, 4, 4), [2, 2], [1, 1], [1, 1], [2, 2]),
        ((1, 1, 3, 3), [4, 4], [1, 1], [0, 0], [1, 1]), ((1, 1, 3, 3), [0, 1], [1, 1], [0, 0], [1, 1]), ((1, 1, 3, 3), [1, 1], [1, 1], [0, 0], [0, 1]),
    ):  # fmt: skip
        check(Sample("aten.im2col", (x(*shape), size, spacing, padding, step), 0.0))
    for shape, *rest in (
        ((2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1]), ((8, 9), [4, 4], [2, 2], [1, 1], [1, 1], [2, 2]),
        ((1, 9, 4), [6, 6], [3, 3], [2, 2], [0, 0], [1, 1]), ((1, 9, 5), [6, 6], [3, 3], [2, 2], [0, 0], [1, 1]), ((1, 8, 4), [6, 6], [3, 3], [2, 2], [0, 0], [1, 1]),
    ):  # fmt: skip
        check(Sample("aten.col2im", (x(*shape), *rest), terms=40))


@pytest.mark.parametrize("mode, padding, align", itertools.product((0, 1, 2), (0, 1, 2), (False, True)))
def test_sampling_agrees_with_torch(mode: int, padding: int, align: bool) -> None:
    for shape in ((2, 3, 5, 4), (1, 2, 1, 1)):
        grid = np.concatenate([_random.uniform(-1.7, 1.7, (shape[0], 3, 6, 2)), [[[[-1, -1], [1, 1], [0, 1], [-1, 0], [7, -9], [0.5, 0.25]]]] * shape[0]], 1)
        check(Sample("aten.grid_sampler", (x(*shape), grid.astype(F32), mode, padding, align), ulp=256, terms=60))
    if mode < 2:
        volumes = _random.uniform(-1.3, 1.3, (1, 2, 3, 2, 3)).astype(F32)
        check(Sample("aten.grid_sampler", (x(1, 2, 3, 4, 5), volumes, mode, padding, align), ulp=256, terms=60))
    check(Sample("aten.grid_sampler", (x(1, 2, 3, 4), x(1, 2, 2, 3), mode, padding, align)))
    check(Sample("aten.grid_sampler", (x(2, 2, 3, 4), x(1, 2, 2, 2), mode, padding, align)))


def test_grids_of_affine_maps_agree_with_torch() -> None:
    for theta, size, align in itertools.product((x(2, 2, 3), x(2, 3, 4)), ([2, 1, 3, 4], [2, 1, 1, 4], [2, 3, 2, 2, 3], [1, 1, 3, 4]), (False, True)):
        check(Sample("aten.affine_grid_generator", (theta, size, align), ulp=16, terms=30))


def test_sums_over_pairs_of_dims_agree_with_torch() -> None:
    for a, b, *dims in (
        ((2, 3), (3, 4), [1], [0]), ((2, 3, 4), (4, 3, 5), [1, 2], [1, 0]), ((2, 3), (2, 3), [0, 1], [0, 1]), ((2,), (3,), [], []), ((), (), [], []),
        ((2, 1), (3, 4), [1], [0]), ((2, 3), (4, 5), [1], [0]), ((2, 3), (3, 4), [1], [0, 1]), ((0, 3), (3, 4), [1], [0]), ((2, 0), (0, 4), [-1], [-2]),
    ):  # fmt: skip
        check(Sample("aten.tensordot", (x(*a), x(*b), *dims), ulp=32, terms=200))
    check(Sample("aten.tensordot", (np.ones((2, 3), I64), np.ones((3, 2), I64), [1], [0])))
    check(Sample("aten.tensordot", (x(2, 3), x(3, 2, dtype=F64), [1], [0])))


def test_areas_under_points_agree_with_torch() -> None:
    for op, shape in itertools.product(("trapezoid", "cumulative_trapezoid"), ((4,), (2, 3), (3, 1))):
        for dim in (0, -1):
            check(Sample(f"aten.{op}.dx", (x(*shape), 2, dim), terms=40, ulp=16))
            check(Sample(f"aten.{op}.x", (x(*shape), x(*shape), dim), terms=400, ulp=16))
            check(Sample(f"aten.{op}.x", (x(*shape), x(shape[dim]), dim), terms=400, ulp=16))
        check(Sample(f"aten.{op}.dx", (np.ones(shape, I64), 1, -1)))
        check(Sample(f"aten.{op}.dx", (np.ones(shape, bool), 1, -1)))


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_margins_between_classes_agree_with_torch(reduction: int) -> None:
    weight, target = np.abs(x(4)), np.array([3, 0, 1], I64)
    for p, margin, weights in itertools.product((1, 2, 3), (1, 0.5), (None, weight)):
        check(Sample("aten.multi_margin_loss", (x(3, 4), target, p, margin, weights, reduction), ulp=32, terms=100))
        check(Sample("aten.multi_margin_loss", (x(4), target[:1], p, margin, weights, reduction), ulp=32, terms=100))
    check(Sample("aten.multi_margin_loss", (x(3, 4), target[:2], 1, 1, None, reduction)))
    check(Sample("aten.multi_margin_loss", (x(3, 4), target + 2, 1, 1, None, reduction)))
    check(Sample("aten.multi_margin_loss", (x(3, 0), target, 1, 1, None, reduction)))
