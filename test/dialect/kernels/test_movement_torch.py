"""Movement against PyTorch: joining, repeating, padding, triangles, diagonals, writing into a copy, sorting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import SHAPES, Sample, array, check, kernel, strided

from tierup.dialect.base import dtypes

pytestmark = pytest.mark.torch


def x(*shape: int, seed: int = 0) -> np.ndarray:
    return array(shape, dtypes.f32, seed=seed)


def over_layouts(op: str, shape: tuple[int, ...], *rest: object) -> None:
    for variant in (x(*shape), *strided(x(*shape))):
        check(Sample(f"aten.{op}", (variant, *rest), 0.0))


JOINED = (
    ((2, 3), (2, 3)), ((2, 3),), ((2, 3), (4, 3)), ((2, 3), (2, 1)), ((0,), (2, 3)), ((0,), (0,)), ((0, 3), (2, 3)), ((2, 3), (2,)),
    ((), (2,)),
    ((), ()), ((2,), (3,)), ((2,), (2,), (2,)), ((2, 3, 4), (2, 3, 4)), (),
)  # fmt: skip


@pytest.mark.parametrize("op", ["cat", "stack"])
def test_joining_along_a_dim_agrees_with_torch(op: str) -> None:
    for shapes, dim in itertools.product(JOINED, (0, 1, -1, -2, 3)):
        if op == "cat" and not shapes and dim:
            continue
        check(Sample(f"aten.{op}", ([x(*s, seed=i) for i, s in enumerate(shapes)], dim), 0.0))


@pytest.mark.parametrize("op", ["hstack", "column_stack"])
def test_joining_columns_agrees_with_torch(op: str) -> None:
    for shapes in JOINED:
        check(Sample(f"aten.{op}", ([x(*s, seed=i) for i, s in enumerate(shapes)],), 0.0))


@pytest.mark.parametrize("a, b", list(itertools.combinations_with_replacement(dtypes.OF_TORCH, 2)), ids=str)
def test_joined_tensors_promote_as_in_torch(a: dtypes.DType, b: dtypes.DType) -> None:
    for op in ("cat", "stack"):
        check(Sample(f"aten.{op}", ([array((2,), a), array((2,), b)], 0), 0.0))
    check(Sample("aten.stack", ([array((), a), array((), b)], 0), 0.0))


@pytest.mark.parametrize("op", ["repeat", "tile"])
def test_repeating_agrees_with_torch(op: str) -> None:
    for shape, times in itertools.product(((), (2,), (2, 3), (0, 2)), ([], [2], [0], [-1], [1, 1], [2, 1, 2], [1, 3])):
        over_layouts(op, shape, times)


def test_interleaving_agrees_with_torch() -> None:
    for shape, times, dim in itertools.product(((), (3,), (2, 3), (0, 2)), (0, 1, 2, -1), (None, 0, -1, 1)):
        if len(shape) < 2 and dim == 1 and times < 0 or not shape and times < 0:
            continue  # two errors at once
        over_layouts("repeat_interleave.self_int", shape, times, dim)
    over_layouts("repeat_interleave.self_int", (3,), 2, 0, 5)
    over_layouts("repeat_interleave.self_int", (3,), 2, 0, 6)
    for repeats in ([1, 0, 2], [], [1, -1]):
        for dtype in (dtypes.i64, dtypes.i32, dtypes.i16, dtypes.f32):
            check(Sample("aten.repeat_interleave.Tensor", (np.array(repeats, dtype.numpy),), 0.0, unknown=True))


def test_roll_and_flip_agree_with_torch() -> None:
    for shape in ((), (5,), (2, 3), (0, 3)):
        for shifts, dims in (
            ([1], []),
            ([1], [0]),
            ([-7], [-1]),
            ([1, 2], [0, 1]),
            ([1, 2], [0, 0]),
            ([1, 2], []),
            ([1], [0, 1]),
            ([1], [2]),
            ([], []),
        ):
            if shape != (0, 3):
                over_layouts("roll", shape, shifts, dims)
        for dims in ([0], [-1], [0, 1], [], [0, 0], [2], [0, -1]):
            over_layouts("flip", shape, dims)


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
def test_constant_padding_agrees_with_torch(dtype: dtypes.DType) -> None:
    for pad, value in itertools.product(
        ([1, 2], [0, 0], [], [1, 0, 0, 2], [-1, 1], [-1, -1], [-2, -1], [-2, -2], [-4, 5], [1], [1] * 6), (0, 5, 2.5)
    ):
        check(Sample("aten.constant_pad_nd", (array((2, 3), dtype), pad, value), 0.0))
    for value in (300, -1, -300, 1e6, 1e300, float("nan"), float("inf"), True, 2**40):
        check(Sample("aten.constant_pad_nd", (array((2, 3), dtype), [1, 1], value), 0.0))


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular", "foo"])
def test_padding_modes_agree_with_torch(mode: str) -> None:
    for shape, pad in (
        ((2, 3), [1, 2]), ((2, 3), [3, 0]), ((2, 3), [2, 3]), ((3,), [1, 1]), ((2, 3, 4), [1, 1, 1, 1]), ((2, 3, 4), [1, 1]),
        ((2, 3, 4, 5), [1, 1]),
        ((1, 2, 3, 4), [1, 1, 1, 0]), ((2, 3), [0, 0]), ((2, 4), [2, -1]), ((2, 4), [-1, 2]), ((2, 3, 4), [-1, 0, 2, -1]),
        *(() if mode == "circular" else (((2, 3, 1), [1, -1]), ((2, 2), [-2, 4]), ((2, 3), [2, -4]))),  # PyTorch's circular reads past the end
    ):  # fmt: skip
        check(Sample("aten.pad", (x(*shape), pad, mode), 0.0))
    check(Sample("aten.pad", (x(2, 3), [1, 1], mode, 2.5), 0.0))


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
@pytest.mark.parametrize("op", ["tril", "triu"])
def test_triangles_agree_with_torch(op: str, dtype: dtypes.DType) -> None:
    for shape, diagonal in itertools.product(((2, 3), (3, 2), (2, 2, 3), (2, 0), (3,)), (0, 1, -1, 5)):
        for variant in (array(shape, dtype), *strided(array(shape, dtype))):
            check(Sample(f"aten.{op}", (variant, diagonal), 0.0))


def test_diagonals_made_and_taken_agree_with_torch() -> None:
    for shape, offset in itertools.product(((), (2,), (2, 3), (0,), (3, 2), (2, 2, 2)), (0, 1, -2)):
        over_layouts("diag", shape, offset)
        for dims in ((-2, -1), (0, 2), (1, 0), (0, 0), (0, 5)):
            if not shape and dims == (0, 0):
                continue  # two errors at once
            over_layouts("diag_embed", shape, offset, *dims)


def test_writing_into_a_copy_agrees_with_torch() -> None:
    for source in ((2,), (3,), (1,), ()):
        check(Sample("aten.slice_scatter", (x(5), x(*source), 0, 1, 3, 1), 0.0))
        check(Sample("aten.select_scatter", (x(2, 3), x(*source), 0, 1), 0.0))
        check(Sample("aten.select_scatter", (x(2, 3), x(*source), 0, 5), 0.0))
        check(Sample("aten.diagonal_scatter", (x(2, 3), x(*source), 0, 0, 1), 0.0))
    for a, b in itertools.product((dtypes.f32, dtypes.i32, dtypes.bool_, dtypes.bf16), repeat=2):
        check(Sample("aten.slice_scatter", (array((5,), a), array((2,), b), 0, 1, 3, 1), 0.0))
    check(Sample("aten.slice_scatter", (x(4, 5), x(4, 3), -1, 0, None, 2), 0.0))


@pytest.mark.parametrize(
    "op, rest",
    [
        ("expand_copy", ([2, 3, 4],)), ("permute_copy", ([2, 0, 1],)), ("select_copy.int", (1, 0)), ("select_copy.int", (1, 7)),
        ("slice_copy.Tensor", (0, 0, 1, 1)), ("squeeze_copy", ()), ("squeeze_copy.dim", (0,)), ("transpose_copy.int", (0, 1)),
        ("unsqueeze_copy", (0,)), ("view_copy", ([24],)), ("diagonal_copy", (0, 0, 1)),
    ],
)  # fmt: skip
def test_copies_of_views_agree_with_torch(op: str, rest: tuple) -> None:
    check(Sample(f"aten.{op}", (x(2, 3, 4), *rest), 0.0))


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_agrees_with_torch(dtype: dtypes.DType, descending: bool) -> None:
    for shape, special in itertools.product(SHAPES, (False, True)):
        values = array(shape, dtype, special=special)
        expected = torch.sort(_torch(values), dim=-1, descending=descending, stable=True)
        actual = kernel("aten.sort")(values, -1, descending)
        for a, b in zip(actual, expected, strict=True):
            wanted = b.double().numpy() if b.is_floating_point() else b.numpy()
            np.testing.assert_array_equal(a.astype(wanted.dtype), wanted)
        np.testing.assert_array_equal(kernel("aten.argsort")(values, -1, descending), actual[1])
    for dim in (0, -2, 3):
        check(Sample("aten.argsort", (np.arange(6.0).reshape(2, 3) % 4, dim, descending), 0.0))


def _torch(values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.float32) if values.dtype == dtypes.bf16.numpy else values.copy())


@pytest.mark.parametrize("largest", [False, True])
def test_topk_agrees_with_torch(largest: bool) -> None:
    distinct = np.random.default_rng(0).permutation(24).reshape(4, 6).astype(np.float32)
    distinct[1, 2] = np.nan
    for k, dim in itertools.product((0, 1, 3, 4, 6, 7, -1), (0, -1, 2)):
        check(Sample("aten.topk", (distinct, k, dim, largest, True), 0.0))
    check(Sample("aten.topk", (np.ones((), np.float32), 1, 0, largest, True), 0.0))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_topk_of_many_takes_the_first_of_equal_ones(dtype: type) -> None:
    """As a stable sort has them. PyTorch's own topk takes any of them."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, (3, 40, 2)).astype(dtype)
    if dtype is np.float32:
        x[rng.random(x.shape) < 0.3] = np.nan
    for k, largest in itertools.product((1, 3, 9, 10, 11), (False, True)):
        values, positions = kernel("aten.topk")(x, k, 1, largest, True)
        wanted = torch.sort(torch.from_numpy(x), stable=True, dim=1, descending=largest)
        np.testing.assert_array_equal(values, wanted.values[:, :k].numpy())
        np.testing.assert_array_equal(positions, wanted.indices[:, :k].numpy())
        assert values.flags.c_contiguous and positions.flags.c_contiguous
