"""Views against PyTorch: shapes, values, which memory they share, what they refuse, and writing through them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import SHAPES, Sample, array, check, kernel, strided, to_torch

from tierup.dialect.base import dtypes

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*(use of `x.T`|meshgrid)")]
LAST = 2**63 - 1


def x(*shape: int) -> np.ndarray:
    return array(shape, dtypes.f32)


def over_layouts(op: str, shape: tuple[int, ...], *rest: object) -> None:
    for variant in (x(*shape), *strided(x(*shape))):
        check(Sample(f"aten.{op}", (variant, *rest), 0.0))


@pytest.mark.parametrize("op", ["view", "reshape"])
@pytest.mark.parametrize(
    "shape, sizes",
    [
        ((2, 3), [6]), ((2, 3), [-1]), ((2, 3), [3, -1]), ((2, 3), [3, 2]), ((2, 3), [2, 3, 1]), ((), []), ((), [1]), ((), [-1]),
        ((1,), []),
        ((0, 3), [-1, 3]), ((0, 3), [0, 5]), ((0, 3), [-1, 0]), ((2, 3, 4), [2, 12]), ((2, 3, 4), [6, 4]), ((2, 3, 4), [2, -1, 2]),
        ((2, 3), [-1, -1]), ((2, 3), [4]), ((2, 3), [-1, 4]), ((2, 3), [-2, 3]), ((2, 3), [0, -1]), ((2, 1, 3), [2, 3]),
    ],
)  # fmt: skip
def test_view_and_reshape_agree_with_torch(op: str, shape: tuple[int, ...], sizes: list[int]) -> None:
    check(Sample(f"aten.{op}", (x(*shape), sizes), 0.0))


@pytest.mark.parametrize("sizes", [[6, 4], [2, 12], [24], [2, 3, 2, 2], [1, 2, 3, 4], [2, 3, 4]])
def test_strides_decide_what_is_a_view_as_in_torch(sizes: list[int]) -> None:
    for variant in (*strided(x(2, 3, 4)), x(4, 3, 2).transpose(2, 1, 0), x(2, 4, 3).swapaxes(1, 2), x(3, 2, 4).swapaxes(0, 1)):
        check(Sample("aten.reshape", (variant, sizes), 0.0))
        expected = True
        try:
            to_torch(variant).view(sizes)
        except RuntimeError:
            expected = False
        if expected:
            assert np.shares_memory(kernel("aten.view")(variant, sizes), variant)
        else:
            with pytest.raises(ValueError, match="not compatible with input tensor's size and stride"):
                kernel("aten.view")(variant, sizes)


@pytest.mark.parametrize("shape", SHAPES)
def test_flatten_agrees_with_torch(shape: tuple[int, ...]) -> None:
    over_layouts("flatten.using_ints", shape)
    for start, end in itertools.product((0, 1, -1, 2, -2), repeat=2):
        over_layouts("flatten.using_ints", shape, start, end)


@pytest.mark.parametrize("dim, sizes", [(0, [2, 3]), (0, [-1, 2]), (-1, [2, 2]), (0, [4, -1]), (0, []), (0, [4, 2]), (2, [1]), (1, [4, 1])])
def test_unflatten_agrees_with_torch(dim: int, sizes: list[int]) -> None:
    over_layouts("unflatten.int", (6, 4), dim, sizes)


@pytest.mark.parametrize("shape", [*SHAPES, (1, 1), (1, 2, 1)])
@pytest.mark.parametrize("op", ["squeeze", "t", "numpy_T", "atleast_1d", "atleast_2d"])
def test_views_without_operands_agree_with_torch(op: str, shape: tuple[int, ...]) -> None:
    over_layouts(op, shape)


@pytest.mark.parametrize("shape", [*SHAPES, (1, 2, 1)])
@pytest.mark.parametrize("op", ["squeeze.dim", "unsqueeze"])
def test_views_of_one_dim_agree_with_torch(op: str, shape: tuple[int, ...]) -> None:
    for dim in (0, 1, -1, -2, len(shape), -len(shape) - 1, len(shape) + 1):
        over_layouts(op, shape, dim)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (0, 3)])
@pytest.mark.parametrize("op", ["transpose.int", "movedim.int"])
def test_exchanged_dims_agree_with_torch(op: str, shape: tuple[int, ...]) -> None:
    for a, b in itertools.product((0, 1, -1, 2, -3), repeat=2):
        over_layouts(op, shape, a, b)


@pytest.mark.parametrize(
    "shape, dims",
    [((2, 3), [1, 0]), ((2, 3, 4), [-1, 0, 1]), ((), []), ((), [0]), ((2, 3), [0]), ((2, 3), [0, 0]), ((2, 3), [0, 2]), ((0, 3), [1, 0])],
)
def test_permute_agrees_with_torch(shape: tuple[int, ...], dims: list[int]) -> None:
    over_layouts("permute", shape, dims)


@pytest.mark.parametrize("op", ["expand", "broadcast_to"])
@pytest.mark.parametrize(
    "shape, sizes",
    [
        ((2, 1), [2, 3]), ((2, 1), [-1, 3]), ((2, 1), [-1, 2, 3]), ((2, 1), [4, 2, 3]), ((2, 1), [3]), ((2, 3), [2, 4]), ((2, 3), [2, 3]),
        ((1,), [0]), ((2,), [0]), ((), [2, 3]), ((), []), ((1,), [1, 1]), ((0, 1), [0, 4]), ((2, 1), [2, -1]), ((1, 1), [5, -1]),
    ],
)  # fmt: skip
def test_expand_agrees_with_torch(op: str, shape: tuple[int, ...], sizes: list[int]) -> None:
    over_layouts(op, shape, sizes)


def test_views_like_another_tensor_agree_with_torch() -> None:
    for a, b in (((2, 3), (3, 2)), ((2, 3), (6,)), ((2, 3), (4,)), ((2, 1), (2, 3)), ((3,), (2, 3)), ((), (2,))):
        for op in ("reshape_as", "expand_as"):
            check(Sample(f"aten.{op}", (x(*a), x(*b)), 0.0))
    for shapes in (((2, 1), (3,)), ((), (2, 3)), ((2,), (3,)), ((0, 1), (1, 4))):
        check(Sample("aten.broadcast_tensors", ([x(*s) for s in shapes],), 0.0))


def test_meshgrid_agrees_with_torch() -> None:
    for shapes in (((2,), (3,)), ((2,),), ((2,), ()), ((2,), (3,), (0,)), ((2, 2),)):
        tensors = [x(*s) for s in shapes]
        check(Sample("aten.meshgrid", (tensors,), 0.0))
        for indexing in ("ij", "xy", "zz"):
            check(Sample("aten.meshgrid.indexing", (tensors, indexing), 0.0))
    check(Sample("aten.meshgrid", ([x(2), array((3,), dtypes.i64)],)))


@pytest.mark.parametrize("shape", [(5,), (4, 5), (0, 3), (2, 3, 4), ()])
def test_select_agrees_with_torch(shape: tuple[int, ...]) -> None:
    for dim, index in itertools.product((0, -1, 1, 3), (0, -1, 3, 4, 5, -5, -6)):
        over_layouts("select.int", shape, dim, index)


@pytest.mark.parametrize("step", [1, 2, 3, 7, 0, -1])
def test_slice_agrees_with_torch(step: int) -> None:
    bounds = (None, 0, 1, 3, 4, 5, 6, 100, LAST, -1, -2, -5, -6, -100)
    for start, end in itertools.product(bounds, repeat=2):
        for shape in ((5,), (0,), (1,)):
            check(Sample("aten.slice.Tensor", (x(*shape), 0, start, end, step), 0.0))
    over_layouts("slice.Tensor", (3, 5), -1, 1, 4, step)
    over_layouts("slice.Tensor", (), 0, None, None, step)
    over_layouts("slice.Tensor", (3,), 1, None, None, step)


def test_narrow_agrees_with_torch() -> None:
    for start, length in itertools.product((0, 3, 5, 6, -2, -5, -6), (0, 1, 2, 5, 6, -1)):
        over_layouts("narrow", (5, 2), 0, start, length)
        over_layouts("narrow", (2, 5), -1, start, length)
    over_layouts("narrow", (), 0, 0, 0)
    check(Sample("aten.narrow.Tensor", (x(5), 0, np.array(2), 3), 0.0))


@pytest.mark.parametrize("op", ["chunk", "split.Tensor", "tensor_split.sections"])
def test_parts_agree_with_torch(op: str) -> None:
    for shape, number in itertools.product(((5,), (6, 2), (0,), (1,), ()), (1, 2, 3, 4, 5, 7, 0, -1)):
        for variant in (x(*shape), *strided(x(*shape))):
            if variant.ndim:
                check(Sample(f"aten.{op}", (variant, number, 0), 0.0, unknown=True))
        check(Sample(f"aten.{op}", (x(3, *shape), number, -1), 0.0, unknown=True))
    check(Sample(f"aten.{op}", (x(), 1, 0)))
    check(Sample(f"aten.{op}", (x(2), 1, 1)))


@pytest.mark.parametrize("op", ["split.sizes", "split_with_sizes"])
@pytest.mark.parametrize("sizes", [[2, 3], [5], [5, 0], [2, 2], [2, -1, 4], []])
def test_parts_of_given_sizes_agree_with_torch(op: str, sizes: list[int]) -> None:
    over_layouts(op, (5, 2), sizes, 0)
    over_layouts(op, (2, 5), sizes, -1)
    over_layouts(op, (), sizes, 0)


def test_unbind_agrees_with_torch() -> None:
    for shape, dim in itertools.product(((3,), (2, 3), (0, 2), (2, 0), ()), (0, -1, 2)):
        check(Sample("aten.unbind.int", (x(*shape), dim), 0.0, unknown=True))


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (2, 3, 4), (3,), (0, 2)])
def test_diagonal_agrees_with_torch(shape: tuple[int, ...]) -> None:
    over_layouts("diagonal", shape)
    for offset, dims in itertools.product((0, 1, -1, 2, -4, 5), ((0, 1), (1, 0), (-1, -2), (0, 0), (0, 2))):
        over_layouts("diagonal", shape, offset, *dims)


def test_reshape_alias_takes_only_the_strides_of_its_view() -> None:
    check(Sample("aten._reshape_alias", (x(2, 3), [3, 2], [2, 1]), 0.0))
    with pytest.raises(ValueError, match="strides"):
        kernel("aten._reshape_alias")(x(2, 3), [3, 2], [1, 3])


@pytest.mark.parametrize(
    "op, rest",
    [
        ("view", ([24],)), ("select.int", (1, 0)), ("slice.Tensor", (0, 0, 2, 2)), ("diagonal", (0, 0, 1)), ("permute", ([2, 0, 1],)),
        ("unsqueeze", (0,)), ("transpose.int", (0, 2)), ("narrow", (1, 1, 2)), ("expand", ([1, 2, 3, 4],)), ("flatten.using_ints", (0, 1)),
    ],
)  # fmt: skip
def test_what_is_written_through_a_view_is_seen_as_in_torch(op: str, rest: tuple) -> None:
    ours, theirs = x(2, 3, 4), to_torch(x(2, 3, 4).copy())
    kernel(f"aten.{op}")(ours, *rest)[...] = 7
    name, _, overload = op.partition(".")
    getattr(getattr(torch.ops.aten, name), overload or "default")(theirs, *rest).fill_(7)
    np.testing.assert_array_equal(ours, theirs.numpy())


def test_an_expanded_tensor_is_not_written_but_a_part_of_it_is() -> None:
    of = x(2, 1)
    with pytest.raises(ValueError, match="more than one element"):
        kernel("aten.add_.Scalar")(kernel("aten.expand")(of, [2, 3]), 1)
    kernel("aten.fill_.Scalar")(kernel("aten.expand")(of, [2, 3])[:, 1], 7)
    assert of.tolist() == [[7], [7]]
