"""Operands to try pointwise ops on: one declaration per op of what follows its tensors, one generator for all.

A declaration says how many leading operands are tensors, and lists the other operands' variants. Values hold everything
that surprises: NaN, infinities, -0.0, denormals, extremes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType

SHAPES = (((), ()), ((), (3,)), ((0,), (1,)), ((1,), (5,)), ((2, 1), (3,)), ((2, 3), (2, 3)), ((4, 1, 3), (2, 1)))


@dataclass(frozen=True)
class Operands:
    """`tensors` leading tensors, then one of `rest`."""

    tensors: int
    rest: tuple[tuple, ...] = ((),)
    nonzero: bool = False  # integers: no zero divisor in operand 1
    small: bool = False  # integers: 0 to 6 in operand 1, an exponent or a shift
    plain: bool = False  # floats: no NaN, no infinities, no extremes. PyTorch's gelu gives NaN for +inf, its lerp and round.decimals differ there
    moderate: bool = False  # floats: no extremes. PyTorch fuses a multiply with an add, and its fmod fails for denormal divisors


UNARY, BINARY = Operands(1), Operands(2)
NUMBERS = ((2,), (-3,), (1.5,), (0.1,), (True,))
WITH_NUMBER = Operands(1, NUMBERS)
OPS: dict[str, Operands] = {
    **{f"aten.{n}": UNARY for n in (
        "exp exp2 expm1 special_expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt rsqrt "
        "reciprocal erf erfc sigmoid deg2rad rad2deg square neg abs absolute sign sgn floor ceil trunc fix round frac relu relu6 selu silu mish "
        "log_sigmoid hardsigmoid hardswish isnan isinf isfinite isposinf isneginf signbit logical_not bitwise_not"
    ).split()},
    **{f"aten.{n}.Tensor": BINARY for n in "mul div copysign xlogy eq ne lt le gt ge bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__".split()},
    **{f"aten.{n}": BINARY for n in "atan2 hypot maximum minimum fmax fmin logaddexp logaddexp2 heaviside logical_and logical_or logical_xor".split()},
    **{f"aten.{n}.Scalar": WITH_NUMBER for n in "mul div eq ne lt le gt ge floor_divide bitwise_and bitwise_or bitwise_xor __and__ __or__ __xor__".split()},
    **{f"aten.{n}.Scalar": Operands(1, NUMBERS, moderate=True) for n in ("remainder", "fmod")},
    **{f"aten.{n}.Tensor": Operands(2, ((1,), (2,), (-1.5,), (0.1,), (True,)), moderate=True) for n in ("add", "sub")},
    **{f"aten.{n}.Scalar": Operands(1, ((2, 1), (0.1, 2), (-1, 3), (True, 1), (2, 1.5)), moderate=True) for n in ("add", "sub", "rsub")},
    **{f"aten.{n}": Operands(2, nonzero=True, moderate=True) for n in ("floor_divide", "remainder.Tensor", "fmod.Tensor")},
    "aten.div.Tensor_mode": Operands(2, ((None,), ("floor",), ("trunc",), ("up",)), nonzero=True),
    "aten.div.Scalar_mode": Operands(1, ((2, None), (3, "floor"), (-3, "trunc"), (1.5, "floor"))),
    "aten.pow.Tensor_Tensor": Operands(2, small=True),
    "aten.pow.Tensor_Scalar": Operands(1, ((0,), (1,), (2,), (3,), (5,), (-1,), (-2,), (0.5,), (-0.5,), (2.5,), (True,))),
    **{f"aten.{n}": Operands(2, small=True) for n in ("bitwise_left_shift.Tensor", "bitwise_right_shift.Tensor")},
    **{f"aten.{n}.Scalar": Operands(1, ((0,), (2,), (True,), (1.5,))) for n in ("__lshift__", "__rshift__")},
    "aten.clamp": Operands(1, ((-1, 2), (0.5, None), (None, 3), (2, 1), (None, None), (float("nan"), 1.0), (1, 300), (-1.5, 2))),
    "aten.clamp_min": Operands(1, ((1,), (0.5,), (True,))),
    "aten.clamp_max": Operands(1, ((1,), (0.5,), (True,))),
    "aten.clamp_min.Tensor": BINARY,
    "aten.clamp_max.Tensor": BINARY,
    "aten.clamp.Tensor": Operands(3),
    "aten.lerp.Tensor": Operands(3, plain=True),
    "aten.lerp.Scalar": Operands(2, ((0.25,), (0.75,), (2,)), plain=True),
    "aten.addcmul": Operands(3, ((1,), (2.5,), (-3,)), moderate=True),
    "aten.addcdiv": Operands(3, ((1,), (2.5,)), moderate=True),
    "aten.nan_to_num": Operands(1, ((None, None, None), (1.5, 2.5, -2.5))),
    "aten.isclose": Operands(2, ((1e-5, 1e-8, False), (0.5, 1.0, True), (-1.0, 0.0, False))),
    "aten.logit": Operands(1, ((None,), (0.1,))),
    "aten.round.decimals": Operands(1, ((0,), (1,), (-1,)), plain=True),
    "aten.leaky_relu": Operands(1, ((0.01,), (2,))),
    "aten.elu": Operands(1, ((1, 1, 1), (0.5, 2.0, 1.5))),
    "aten.celu": Operands(1, ((1.0,), (2,), (0.0,))),
    "aten.gelu": Operands(1, (("none",), ("tanh",), ("exact",)), plain=True),
    "aten.softplus": Operands(1, ((1, 20), (2.5, 3))),
    "aten.hardtanh": Operands(1, ((-1, 1), (-1.5, 2.5), (0, 6))),
    "aten.hardshrink": Operands(1, ((0.5,), (1,))),
    "aten.softshrink": Operands(1, ((0.5,), (1,), (-1.0,))),
    "aten.threshold": Operands(1, ((1, 2), (0.5, -1.5))),
    "aten.fill.Scalar": Operands(1, ((2,), (2.5,), (True,), (300,), (-1,), (float("nan"),))),
}  # fmt: skip

_FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -0.25, 2.5, -3.5, 0.1, 1e-3, -7.0, 20.5, 88.0, -90.0, 1e4, np.nan, np.inf, -np.inf)


def values(dtype: DType, plain: bool = False, moderate: bool = False) -> np.ndarray:
    """All that is worth trying of one element type, as a vector."""
    if dtype.name == "bool":
        return np.array([True, False, True])
    if not dtype.is_float:
        info = np.iinfo(dtype.numpy)
        low = [] if info.min == 0 else [info.min, info.min + 1, -100, -8, -2, -1]
        return np.array([*low, 0, 1, 2, 3, 7, 10, 100, info.max - 1, info.max], dtype.numpy)
    numbers = [v for v in _FLOATS if not plain or np.isfinite(v)]
    with np.errstate(over="ignore"):
        found = np.array(numbers, np.float64).astype(dtype.numpy)
    if plain or moderate:
        return found
    wide = np.float32 if dtype.name == "bf16" else dtype.numpy
    extremes = np.array([np.finfo(wide).max, np.finfo(wide).tiny, np.finfo(wide).tiny / 4], wide).astype(dtype.numpy)
    return np.concatenate([found, extremes, -extremes])


def _operand(op: Operands, position: int, dtype: DType) -> np.ndarray:
    x = values(dtype, op.plain, op.moderate)
    if position == 1 and not dtype.is_float and dtype.name != "bool":
        if op.small:
            return np.arange(7).astype(dtype.numpy)
        if op.nonzero:
            return x[(x != 0) & (x != (x - x - 1 if dtype.signed else 0))]  # -1 too: the least integer by it traps in PyTorch
    return x


def full_range(name: str, kinds: tuple[DType, ...]) -> Iterator[tuple]:
    """Operands of these dtypes with every combination of values, and every variant of the rest."""
    op = OPS[name]
    tensors = []
    for position, dtype in enumerate(kinds):
        x = _operand(op, position, dtype)
        if position == 2:
            x = x[::2]
        tensors.append(x.reshape((-1,) + (1,) * (len(kinds) - 1 - position)))
    for rest in op.rest:
        yield (*tensors, *rest)


def shapes(name: str, dtype: DType) -> Iterator[tuple]:
    """Rank 0, broadcast, empty, size 1, transposed and strided operands of one dtype."""
    op = OPS[name]
    for pair in SHAPES:
        sizes = (*pair, pair[0])[: op.tensors]
        tensors = tuple(_cycled(_operand(op, i, dtype), shape) for i, shape in enumerate(sizes))
        yield (*tensors, *op.rest[0])
    x = tuple(_cycled(_operand(op, i, dtype), (4, 6))[::2, ::-1].T for i in range(op.tensors))
    yield (*x, *op.rest[0])


def _cycled(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    return np.resize(x[1:], shape) if 0 not in shape else np.zeros(shape, x.dtype)


def dtype_pairs(tensors: int) -> Iterator[tuple[DType, ...]]:
    """Every dtype alone, every pair; for three tensors, pairs with the second one repeated."""
    for kinds in itertools.product(dtypes.OF_TORCH, repeat=min(tensors, 2)):
        yield (*kinds, *kinds[-1:])[:tensors] if tensors == 3 else kinds
