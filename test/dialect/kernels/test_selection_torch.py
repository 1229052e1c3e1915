"""where, prelu, fill, pow with a base, casts and copies against PyTorch, and their rules against the kernels."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pointwise_samples import OPS, values  # noqa: E402
from torch_oracle import Sample, array, check, kernel, strided  # noqa: E402

from tierup.dialect import optable
from tierup.dialect.base import dtypes  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
torch.set_num_threads(1)  # tiny arrays: threads only wait for each other
_FAMILIES = ("pointwise.arithmetic", "pointwise.division", "pointwise.elementary", "pointwise.activations", "pointwise.selection", "pointwise.comparison")
NAMED_HERE = {
    "aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar", "aten.prelu", "aten.fill.Tensor", "aten.pow.Scalar",
    "tierup.cbrt", "tierup.gcd", "tierup.lcm", "tierup.radians", "tierup.degrees",  # NumPy's: test/frontend
}  # fmt: skip
NUMBERS = (True, 2, -1, 300, 1.5, float("nan"), 1e39)


def test_every_row_of_these_families_is_compared_with_torch() -> None:
    assert {row.name for family in _FAMILIES for row in optable.rows_of(family)} == set(OPS) | NAMED_HERE


def test_where_gives_the_common_dtype_and_broadcasts() -> None:
    condition = np.array([[True, False, True]])
    for a, b in itertools.product(dtypes.OF_TORCH, repeat=2):
        check(Sample("aten.where.self", (condition, array((2, 1), a), array((3,), b)), 0.0))
        check(Sample("aten.where.self", (condition, array((2, 1), a), array((), b)), 0.0))
    check(Sample("aten.where.self", (np.array(True), array((), dtypes.f32), array((), dtypes.i64)), 0.0))
    check(Sample("aten.where.self", (np.zeros((0, 1), np.bool_), array((3,), dtypes.f32), array((1,), dtypes.f32)), 0.0))
    check(Sample("aten.where.self", (condition.astype(np.int32), array((3,), dtypes.f32), array((3,), dtypes.f32)), 0.0))
    check(Sample("aten.where.self", (np.ones(2, np.bool_), array((3,), dtypes.f32), array((3,), dtypes.f32)), 0.0))


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
def test_where_with_numbers(number: object) -> None:
    condition = np.array([[True, False, True]])
    for dtype in dtypes.OF_TORCH:
        check(Sample("aten.where.ScalarOther", (condition, array((2, 1), dtype), number), 0.0))
        check(Sample("aten.where.ScalarSelf", (condition, number, array((2, 1), dtype)), 0.0))
    for other in NUMBERS:
        check(Sample("aten.where.Scalar", (condition, number, other), 0.0))


def test_prelu_weighs_channels() -> None:
    for shape, channels in (((2, 3), 3), ((2, 3, 4), 3), ((2, 3), 1), ((5,), 1), ((), 1), ((2, 3), 2), ((3,), 3), ((), 3)):
        for dtype in (dtypes.f32, dtypes.bf16, dtypes.f64, dtypes.i32):
            check(Sample("aten.prelu", (array(shape, dtype, special=True), array((channels,), dtype)), 1.0))
    check(Sample("aten.prelu", (array((2, 3), dtypes.f32), array((), dtypes.f32)), 1.0))
    check(Sample("aten.prelu", (array((2, 3), dtypes.f32), array((1, 3), dtypes.f32)), 1.0))
    check(Sample("aten.prelu", (array((2, 3), dtypes.f32), array((3,), dtypes.f64)), 1.0))


def test_fill_takes_a_rank_0_tensor() -> None:
    for a, b in itertools.product(dtypes.OF_TORCH, repeat=2):
        check(Sample("aten.fill.Tensor", (array((2, 3), a), array((), b)), 0.0))
    check(Sample("aten.fill.Tensor", (array((2, 3), dtypes.f32), array((2,), dtypes.f32)), 0.0))


@pytest.mark.parametrize("base", [True, 1, 2, -1, -2, 0, 0.5, 2.5], ids=repr)
def test_pow_of_a_number(base: object) -> None:
    for dtype in dtypes.OF_TORCH:
        exponent = array((2, 3), dtype) if dtype.is_float else np.arange(3).astype(dtype.numpy)
        check(Sample("aten.pow.Scalar", (base, exponent)))


def test_integer_powers_with_negative_exponents() -> None:
    x, y = np.array([[0], [1], [-1], [2], [-3]], np.int32), np.array([-2, -1, 0, 1, 2, 3], np.int32)
    check(Sample("aten.pow.Tensor_Tensor", (x[1:], y), 0.0))
    check(Sample("aten.pow.Scalar", (-1, y), 0.0))


@pytest.mark.parametrize("name", ["aten.floor_divide", "aten.remainder.Tensor", "aten.fmod.Tensor"])
def test_integer_division_by_zero_raises(name: str) -> None:
    one, zero = np.array([1, 2], np.int32), np.array([1, 0], np.int32)
    check(Sample(name, (one, zero)))
    check(Sample(name, (np.zeros(0, np.int32), np.zeros((), np.int32))))  # no element meets the zero
    assert optable.lookup(name).raises


@pytest.mark.parametrize("name", ["aten.floor_divide", "aten.remainder.Tensor"])
def test_least_integer_by_minus_one_wraps(name: str) -> None:
    """PyTorch traps here on x86."""
    least = np.iinfo(np.int64).min
    expected = least if name == "aten.floor_divide" else 0
    assert kernel(name)(np.array([least]), np.array([-1])).tolist() == [expected]


def _in_range(x: np.ndarray, target: dtypes.DType) -> np.ndarray:
    """Values whose conversion is defined."""
    if x.dtype.kind in "fV" and not target.is_float and target.name != "bool":
        wide = x.astype(np.float64)
        info = np.iinfo(target.numpy)
        return x[np.isfinite(wide) & (wide > info.min - 0.5) & (wide < float(info.max))]
    return x


@pytest.mark.parametrize("op", ["to.dtype", "_to_copy", "to.other", "type_as"])
def test_conversions_between_all_dtypes(op: str) -> None:
    for a, b in itertools.product(dtypes.OF_TORCH, repeat=2):
        x = _in_range(values(a), b)
        other = np.zeros(1, b.numpy) if op in ("to.other", "type_as") else b.code
        check(Sample(f"aten.{op}", (x, other), 0.0))


def test_floats_below_zero_become_the_unsigned_remainder() -> None:
    for source in dtypes.FLOATS:
        check(Sample("aten.to.dtype", (np.array([-1.5, 300.0, -200.0]).astype(source.numpy), dtypes.u8.code), 0.0))


def test_conversions_keep_or_copy_memory() -> None:
    f32, f64 = dtypes.f32.code, dtypes.f64.code
    for x in (array((2, 3), dtypes.f32), *strided(array((2, 3), dtypes.f32))):
        for copy in (False, True):
            for code in (f32, f64):
                check(Sample("aten.to.dtype", (x, code, False, copy, None), 0.0))
                check(Sample("aten.to.dtype_layout", (x, code, None, None, None, False, copy, None), 0.0))
        check(Sample("aten.to.dtype_layout", (x, None, None, None, None, False, False, None), 0.0))
        for op in ("aten.clone", "aten.contiguous", "aten.detach", "aten.alias", "aten.lift_fresh_copy"):
            check(Sample(op, (x,), 0.0))
    for rank_0 in ("aten.contiguous", "aten.clone"):
        check(Sample(rank_0, (array((), dtypes.f32),), 0.0))


def test_contiguous_is_contiguous() -> None:
    for x in strided(array((2, 3, 4), dtypes.f32)):
        assert kernel("aten.contiguous")(x).flags.c_contiguous
        assert kernel("aten.clone")(x, 0).flags.c_contiguous


def test_copy_broadcasts_and_converts() -> None:
    for a, b in itertools.product(dtypes.OF_TORCH, repeat=2):
        check(Sample("aten.copy", (array((2, 3), a), np.abs(array((3,), b))), 0.0))
    for source in ((), (1,), (2, 1), (2, 3), (3, 2), (1, 2, 3)):
        check(Sample("aten.copy", (array((2, 3), dtypes.f32), array(source, dtypes.f32)), 0.0))


def test_unsupported_dtype_number_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="12"):
        kernel("aten.to.dtype")(array((2,), dtypes.f32), 12)
