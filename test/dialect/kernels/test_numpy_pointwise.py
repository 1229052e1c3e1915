"""NumPy's flavour of pointwise ops, casts and factories against the NumPy expression that a user writes: value bit for bit,
dtype, exception; and the rule against all three."""

from __future__ import annotations

import itertools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pointwise_samples import values

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Bool, Float, Int, NoneValue, Str, Tensor
from tierup.dialect.ops.pointwise import division
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Infer, Promotion, ShapeError

NUMBERS = (True, 2, -3, 300, 0, 2.5, 0.1)
WRITTEN: dict[str, Callable[..., Any]] = {
    "aten.add.Tensor": operator.add, "aten.sub.Tensor": operator.sub, "aten.mul.Tensor": operator.mul, "aten.div.Tensor": operator.truediv,
    "aten.floor_divide": operator.floordiv, "aten.remainder.Tensor": operator.mod, "aten.fmod.Tensor": np.fmod, "aten.pow.Tensor_Tensor": operator.pow,
    "aten.maximum": np.maximum, "aten.minimum": np.minimum, "aten.fmax": np.fmax, "aten.fmin": np.fmin, "aten.atan2": np.arctan2, "aten.hypot": np.hypot,
    "aten.copysign.Tensor": np.copysign, "aten.heaviside": np.heaviside, "aten.logaddexp": np.logaddexp, "aten.logaddexp2": np.logaddexp2,
    "aten.eq.Tensor": operator.eq, "aten.ne.Tensor": operator.ne, "aten.lt.Tensor": operator.lt, "aten.le.Tensor": operator.le,
    "aten.gt.Tensor": operator.gt, "aten.ge.Tensor": operator.ge, "aten.logical_and": np.logical_and, "aten.logical_or": np.logical_or,
    "aten.logical_xor": np.logical_xor, "aten.bitwise_and.Tensor": operator.and_, "aten.bitwise_or.Tensor": operator.or_,
    "aten.bitwise_xor.Tensor": operator.xor, "aten.bitwise_left_shift.Tensor": operator.lshift, "aten.bitwise_right_shift.Tensor": operator.rshift,
    "aten.isclose": np.isclose, "tierup.gcd": np.gcd, "tierup.lcm": np.lcm,
}  # fmt: skip
SCALAR: dict[str, Callable[..., Any]] = {
    "aten.add.Scalar": operator.add, "aten.sub.Scalar": operator.sub, "aten.rsub.Scalar": lambda x, n: n - x, "aten.mul.Scalar": operator.mul,
    "aten.div.Scalar": operator.truediv, "aten.floor_divide.Scalar": operator.floordiv, "aten.remainder.Scalar": operator.mod,
    "aten.fmod.Scalar": np.fmod, "aten.pow.Tensor_Scalar": operator.pow, "aten.clamp_min": np.maximum, "aten.clamp_max": np.minimum,
    "aten.eq.Scalar": operator.eq, "aten.ne.Scalar": operator.ne, "aten.lt.Scalar": operator.lt, "aten.le.Scalar": operator.le,
    "aten.gt.Scalar": operator.gt, "aten.ge.Scalar": operator.ge, "aten.bitwise_and.Scalar": operator.and_, "aten.__and__.Scalar": operator.and_,
    "aten.__lshift__.Scalar": operator.lshift, "aten.__rshift__.Scalar": operator.rshift,
}  # fmt: skip
UNARY: dict[str, Callable[..., Any]] = {
    **{f"aten.{n}": getattr(np, n) for n in (
        "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sqrt square reciprocal deg2rad rad2deg sign floor ceil trunc round "
        "isnan isinf isfinite isposinf isneginf signbit logical_not nan_to_num"
    ).split()},
    **{f"aten.{n}": getattr(np, f"arc{n[1:]}") for n in "asin acos atan asinh acosh atanh".split()},
    "aten.neg": operator.neg, "aten.abs": abs, "tierup.cbrt": np.cbrt, "aten.bitwise_not": operator.invert,
}  # fmt: skip


def abstract(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Tensor(dtypes.from_numpy(value.dtype), value.shape)
    return NoneValue() if value is None else {bool: Bool, int: Int, float: Float, str: Str}[type(value)](value)


def attempt(function: Callable[..., Any], *operands: Any) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*operands), None
        except (TypeError, ValueError, OverflowError, ZeroDivisionError, ShapeError) as e:
            return None, e


def check(op: str, written: Callable[[], Any], *operands: Any) -> None:
    row = optable.lookup(op)
    assert row is not None and row.numpy is not None, op
    expected, failure = attempt(written)
    actual, raised = attempt(kernels.resolve(row.numpy), *operands)
    what = f"{op}({', '.join(str(abstract(o)) for o in operands)})"
    assert type(raised) is type(failure), f"{what}: {raised!r}, NumPy: {failure!r}"
    ctx = Infer()
    ctx.promotion = Promotion.NUMPY
    inferred, refused = attempt(row.infer, ctx, [abstract(o) for o in operands])
    if failure is not None:
        assert refused is not None, f"{what}: NumPy raises {failure!r}, the rule gives {inferred}"
        return
    assert refused is None, f"{what}: the rule raises {refused!r}"
    expected = np.asarray(expected)
    assert isinstance(actual, np.ndarray), what
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), what
    assert actual.astype(actual.dtype).tobytes() == expected.astype(expected.dtype).tobytes(), what
    if dtypes.from_numpy(expected.dtype) is not None:
        assert inferred == abstract(expected), f"{what}: inferred {inferred}"


@pytest.mark.parametrize("op", WRITTEN)
def test_two_arrays(op: str) -> None:
    for a, b in itertools.product(dtypes.ALL, repeat=2):
        x, y = values(a), values(b)
        if "pow" in op and not (a.is_float or b.is_float):
            y = np.arange(7).astype(b.numpy)
        check(op, lambda: WRITTEN[op](x[:, None], y), x[:, None], y)  # noqa: B023 - called at once
        check(op, lambda: WRITTEN[op](x[:1].reshape(()), y[:1]), x[:1].reshape(()), y[:1])  # noqa: B023


@pytest.mark.parametrize("op", SCALAR)
def test_an_array_and_a_number(op: str) -> None:
    for dtype, number in itertools.product(dtypes.ALL, NUMBERS):
        x = values(dtype)
        check(op, lambda: SCALAR[op](x, number), x, number)  # noqa: B023


@pytest.mark.parametrize("op", [op for op in WRITTEN if op not in ("aten.isclose",)])
def test_a_number_may_stand_on_the_left(op: str) -> None:
    for dtype, number in itertools.product(dtypes.ALL, (2, 2.5)):
        x = values(dtype)
        if dtype.category is dtypes.Category.INT:
            x = np.abs(x) % 7
        check(op, lambda: WRITTEN[op](number, x), number, x)  # noqa: B023


@pytest.mark.parametrize("op", UNARY)
def test_one_array(op: str) -> None:
    for dtype in dtypes.ALL:
        for x in (values(dtype), values(dtype)[:1].reshape(()), np.zeros((0, 2), dtype.numpy)):
            check(op, lambda: UNARY[op](x), x)  # noqa: B023


def test_where_keeps_numbers_weak() -> None:
    condition = np.array([True, False])
    for dtype, number in itertools.product(dtypes.ALL, NUMBERS):
        x = np.ones(2, dtype.numpy)
        check("aten.where.ScalarOther", lambda: np.where(condition, x, number), condition, x, number)  # noqa: B023
        check("aten.where.ScalarSelf", lambda: np.where(condition, number, x), condition, number, x)  # noqa: B023
    for a, b in itertools.product(dtypes.ALL, repeat=2):
        x, y = np.ones(2, a.numpy), np.zeros((3, 1), b.numpy)
        check("aten.where.self", lambda: np.where(condition, x, y), condition, x, y)  # noqa: B023
    check("aten.where.Scalar", lambda: np.where(condition, 1, 2.5), condition, 1, 2.5)


def test_clip() -> None:
    for dtype in dtypes.ALL:
        x = values(dtype)
        for low, high in ((-1, 2), (0.5, None), (None, 3), (2, 1), (1, 300)):
            check("aten.clamp", lambda: np.clip(x, low, high), x, low, high)  # noqa: B023
        check("aten.clamp.Tensor", lambda: np.clip(x, x[:1], x[-1:]), x, x[:1], x[-1:])  # noqa: B023


@pytest.mark.parametrize("mode", [None, "floor", "trunc"])
def test_rounded_division(mode: str | None) -> None:
    x, y = np.array([7, -7, 5], np.int32), np.array([2, 2, -3], np.int32)
    written = {None: lambda: x / y, "floor": lambda: x // y, "trunc": lambda: np.trunc(x / y)}[mode]
    check("aten.div.Tensor_mode", written, x, y, mode)


def test_integer_division_by_zero_is_zero_with_numpys_warning() -> None:
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert division.floor_divide.numpy_tier0(np.array([1]), np.array([0])).tolist() == [0]


def test_astype() -> None:
    for a, b in itertools.product(dtypes.ALL, repeat=2):
        x = np.abs(np.arange(4)).astype(a.numpy)
        check("aten.to.dtype", lambda: x.astype(b.numpy), x, b.code)  # noqa: B023
        check("aten._to_copy", lambda: x.astype(b.numpy), x, b.code)  # noqa: B023
        check("aten.type_as", lambda: x.astype(b.numpy), x, np.zeros(1, b.numpy))  # noqa: B023


def test_assignment_broadcasts_as_numpy_does() -> None:
    def assigned(x: np.ndarray, source: Any) -> np.ndarray:
        out = x.copy()
        out[...] = source
        return out

    x = np.zeros((2, 3), np.float32)
    for shape in ((), (3,), (2, 1), (1, 1, 2, 3), (2,), (2, 2, 3)):
        source = np.arange(np.prod(shape, dtype=int), dtype=np.int64).reshape(shape)
        check("aten.copy", lambda: assigned(x, source), x, source)  # noqa: B023


CODES = (None, dtypes.f32.code, dtypes.i64.code, dtypes.bf16.code)


def numpy_dtype(code: int | None, default: Any = None) -> Any:
    return default if code is None else dtypes.BY_CODE[code].numpy


@pytest.mark.parametrize("code", CODES)
def test_ranges_and_grids(code: int | None) -> None:
    told = numpy_dtype(code)
    for start, end, step in ((0, 5, 1), (0.0, 1.0, 0.3), (5, 0, -2), (5, 0, 1), (0, 5, 0), (1, 2, 0.25)):
        if isinstance(step, float) and code == dtypes.i64.code:
            continue
        check("aten.arange.start_step", lambda: np.arange(start, end, step, told), start, end, step, code)  # noqa: B023
    check("aten.arange", lambda: np.arange(7, dtype=told), 7, code)
    check("aten.arange.start", lambda: np.arange(2, 7.5, dtype=told), 2, 7.5, code)
    for steps in (0, 1, 5, -1):
        check("aten.linspace", lambda: np.linspace(-1, 2.5, steps, dtype=told), -1, 2.5, steps, code)  # noqa: B023
    check("aten.eye", lambda: np.eye(3, dtype=numpy_dtype(code, np.float64)), 3, code)
    check("aten.eye.m", lambda: np.eye(2, 3, dtype=numpy_dtype(code, np.float64)), 2, 3, code)
    for value in (True, 3, 2.5):
        check("aten.scalar_tensor", lambda: np.array(value, told), value, code)  # noqa: B023


def test_filling_refuses_what_numpy_refuses() -> None:
    for dtype, value in itertools.product(dtypes.ALL, (True, 2, -1, 300, 2.5)):
        x = np.zeros((2, 3), dtype.numpy)
        check("aten.full_like", lambda: np.full_like(x, value), x, value)  # noqa: B023
        check("aten.fill.Scalar", lambda: np.full_like(x, value), x, value)  # noqa: B023


def test_floats_are_float64_unless_told() -> None:
    def dtype(op: str, *operands: object) -> np.dtype:
        row = optable.lookup(op)
        assert row is not None and row.numpy is not None
        return kernels.resolve(row.numpy)(*operands).dtype

    assert dtype("aten.zeros", [2], None) == dtype("aten.ones", [2], None) == np.float64
    assert dtype("aten.full", [2], 1.0, None) == np.float64
    assert dtype("aten.full", [2], 1, None) == np.int64
    assert dtype("aten.tensor", [1, 2.5]) == np.float64
