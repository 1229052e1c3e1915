"""Factories against PyTorch, and their rules against the kernels."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import Sample, array, check, kernel  # noqa: E402

from tierup.dialect import optable
from tierup.dialect.base import dtypes  # noqa: E402
from tierup.dialect.facts.dims import symbol  # noqa: E402
from tierup.dialect.facts.values import Float, Int, List, NoneValue, Tensor  # noqa: E402
from tierup.dialect.optable.core import Infer, ShapeError  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
CODES = [None, *(d.code for d in dtypes.OF_TORCH)]
SIZES = ([], [0], [3], [2, 3], [2, 0, 3], [-1], [2, -3])
INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("op", ["zeros", "ones"])
def test_zeros_and_ones(op: str) -> None:
    for size in SIZES:
        check(Sample(f"aten.{op}", (size,), 0.0))
    for code in CODES:
        check(Sample(f"aten.{op}", ([2], code), 0.0))


@pytest.mark.parametrize("value", [True, 2, -1, 300, 2.5, -2.5, 3e9, 1e39, INF, NAN, 2**40], ids=repr)
def test_full_takes_the_numbers_dtype_or_the_one_told(value: object) -> None:
    for code in CODES:
        check(Sample("aten.full", ([2, 1], value, code), 0.0))
        check(Sample("aten.full_like", (array((2,), dtypes.f16), value, code), 0.0))
        check(Sample("aten.new_full", (array((2,), dtypes.i16), [3], value, code), 0.0))
    check(Sample("aten.full", ([-1], value), 0.0))


@pytest.mark.parametrize("op", ["zeros_like", "ones_like", "new_zeros", "new_ones"])
def test_like_and_new_take_the_tensors_dtype(op: str) -> None:
    for dtype in dtypes.OF_TORCH:
        for code in CODES:
            size = () if op.endswith("like") else ([2, 0],)
            check(Sample(f"aten.{op}", (array((2, 3), dtype), *size, code), 0.0))
    check(Sample(f"aten.{op}", (array((), dtypes.f32), *size), 0.0))


def test_empty_is_zeros() -> None:
    assert kernel("aten.empty.memory_format")([2, 2], None).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert kernel("aten.empty_like")(array((3,), dtypes.i64)).tolist() == [0, 0, 0]
    assert kernel("aten.new_empty")(array((3,), dtypes.bf16), [2], dtypes.bool_.code).tolist() == [False, False]


RANGES = [
    (0, 5, 1), (2, 9, 3), (9, 2, -3), (0, 0, 1), (5, 2, 1), (0, 5, -1), (0, 5, 0), (0.0, 1.0, 0.3), (1, 2, 0.25), (-1.5, 2, 0.5),
    (0, INF, 1), (1.0, 0.0, -0.1), (0, 300, 1), (True, 4, 1),
]  # fmt: skip


@pytest.mark.parametrize("bounds", RANGES, ids=repr)
def test_arange(bounds: tuple) -> None:
    fractions = any(isinstance(b, float) and b % 1 for b in bounds)
    for code in CODES:
        if fractions and code is not None and not dtypes.BY_CODE[code].is_float:
            continue  # PyTorch and NumPy each have their own idea
        check(Sample("aten.arange.start_step", (*bounds, code), 1.0))
        if bounds[2] == 1:
            check(Sample("aten.arange.start", (*bounds[:2], code), 1.0))
        if bounds[0] == 0 and bounds[2] == 1:
            check(Sample("aten.arange", (bounds[1], code), 1.0))


def test_integer_arange_is_exact_where_floats_are_not() -> None:
    check(Sample("aten.arange.start", (2**60, 2**60 + 3), 0.0))


@pytest.mark.parametrize("bounds", [(0, 1), (0, 10), (-1.5, 2.5), (10, 0), (3, 3), (1e-3, 1e3)], ids=repr)
def test_linspace(bounds: tuple) -> None:
    for steps in (-1, 0, 1, 2, 5, 8):
        for code in (None, dtypes.f32.code, dtypes.f64.code, dtypes.i32.code, dtypes.bool_.code):
            check(Sample("aten.linspace", (*bounds, steps, code), 2.0))


def test_eye() -> None:
    for code in CODES:
        check(Sample("aten.eye", (3, code), 0.0))
        check(Sample("aten.eye.m", (2, 3, code), 0.0))
    for n, m in ((0, 2), (3, 0), (-1, 2), (2, -1)):
        check(Sample("aten.eye.m", (n, m), 0.0))


@pytest.mark.parametrize("kind, value", [("int", 3), ("float", 2.5), ("bool", True)])
def test_tensor_of_a_number(kind: str, value: object) -> None:
    for code in CODES:
        check(Sample(f"aten.tensor.{kind}", (value, code), 0.0))


@pytest.mark.parametrize("data", [[], [1, 2], [1.5, 2], [True, False], [True, 2], [[1, 2], [3, 4]], [[1.5], [2]], [[], []]], ids=repr)
def test_tensor_of_a_list_is_torch_tensor(data: list) -> None:
    expected = torch.tensor(data)
    found = kernel("aten.tensor")(data)
    assert (found.tolist(), found.shape, str(found.dtype)) == (expected.tolist(), tuple(expected.shape), str(expected.dtype).removeprefix("torch."))
    rule = optable.lookup("aten.tensor").infer
    from torch_oracle import abstract

    assert rule(Infer(), [abstract(data), NoneValue()]) == Tensor(dtypes.from_numpy(found.dtype), found.shape)


def test_ragged_lists_are_a_value_error() -> None:
    with pytest.raises(ValueError):
        kernel("aten.tensor")([[1, 2], [3]])
    with pytest.raises(ShapeError):
        optable.lookup("aten.tensor").infer(Infer(), [List((List((Int(1), Int(2))), List((Int(3),)))), NoneValue()])


@pytest.mark.parametrize("value", [True, 3, 2.5], ids=repr)
def test_scalar_tensor_is_float32_unless_told(value: object) -> None:
    for code in CODES:
        check(Sample("aten.scalar_tensor", (value, code), 0.0))


def test_number_to_tensor_keeps_a_floats_precision() -> None:
    for value in (True, 3, 0.1):
        expected = torch.ops.prim.NumToTensor.Scalar(value)
        found = kernel("prim.NumToTensor.Scalar")(value)
        assert (found.item(), str(found.dtype)) == (expected.item(), str(expected.dtype).removeprefix("torch."))


def test_a_literal_is_not_shared() -> None:
    constant = np.ones(3)
    assert not np.shares_memory(kernel("vtensor.literal")(constant), constant)


def test_symbolic_sizes_pass_through() -> None:
    s, none = symbol("s0"), NoneValue()
    ctx = Infer()
    assert optable.lookup("aten.zeros").infer(ctx, [List((Int(s), Int(3))), none]) == Tensor(dtypes.f32, (s, 3))
    assert optable.lookup("aten.arange").infer(ctx, [Int(s), none]) == Tensor(dtypes.i64, (s,))
    assert optable.lookup("aten.eye").infer(ctx, [Int(s), none]) == Tensor(dtypes.f32, (s, s))
    assert optable.lookup("aten.linspace").infer(ctx, [Float(0.0), Float(1.0), Int(s), none]) == Tensor(dtypes.f32, (s,))
    assert optable.lookup("aten.zeros").infer(ctx, [List(None), none]) == Tensor(dtypes.f32, None)
