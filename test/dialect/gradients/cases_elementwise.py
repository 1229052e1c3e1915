"""Cases of elementwise ops: functions of one tensor, of several, activations, bounds and masks; and their kinks."""

from __future__ import annotations

import numpy as np
from gradient_harness import Case, array, case
from gradient_operands import COLUMN, EMPTY, INTS, LETTERS, MASK, POINT, POSITIVE, ROW, X, Y, binary, unary

NAN, INFINITE = np.nan, np.inf

FUNCTIONS: list[Case] = [
    *(c for op in ("exp2", "expm1", "special_expm1", "erf", "erfc", "tan", "sinh", "cosh", "atan", "asinh", "square", "frac", "deg2rad", "rad2deg")
      for c in unary(f"aten.{op}", low=-1.3, high=1.4)),
    *(c for op in ("log2", "log10", "reciprocal", "lgamma") for c in unary(f"aten.{op}", low=0.3, high=3)),
    *unary("tierup.radians"), *unary("tierup.degrees"),
    *(c for op in ("asin", "acos", "atanh", "erfinv") for c in unary(f"aten.{op}", low=-0.8, high=0.9)),
    *(c for op in ("abs", "absolute") for c in unary(f"aten.{op}")),
    *unary("aten.log1p", low=-0.7), *unary("aten.acosh", low=1.2, high=3),
    *unary("aten.logit", None, low=0.1, high=0.9), *unary("aten.logit", 0.2, low=0.05, high=0.97),
]  # fmt: skip

FLAT: list[Case] = [
    *(c for op in ("floor", "ceil", "trunc", "fix", "round", "sign", "sgn") for c in unary(f"aten.{op}")),
    case("aten.round.decimals", X, 1), case("aten.zero", X), case("aten.fill.Scalar", X, 2.5), case("aten.heaviside", X, Y), case("tierup.cbrt", X), case("tierup.cbrt", POSITIVE),
    case("aten.floor_divide", X, POSITIVE), case("aten.floor_divide", X, INTS + 7), case("aten.floor_divide.Scalar", X, 0.7),
]  # fmt: skip

PAIRS: list[Case] = [
    *binary("aten.atan2"), *binary("aten.hypot", ints=None), *binary("aten.logaddexp", ints=None), *binary("aten.logaddexp2", ints=None),
    *binary("aten.xlogy.Tensor", right=(0.3, 3), ints=(INTS, INTS + 3)),
    *binary("aten.fmod.Tensor", left=(-7, 7), right=(1.5, 2.7), ints=(INTS, INTS + 3)),
    *binary("aten.remainder.Tensor", left=(-7, 7), right=(-2.7, -1.5), ints=(INTS + 7, INTS + 3)),
    *(case(f"aten.{op}.Scalar", X, n) for op in ("fmod", "remainder") for n in (0.7, -1.3)),
    *binary("aten.div.Tensor_mode", None, right=(0.4, 2)),
    *(case("aten.div.Tensor_mode", X, POSITIVE, mode) for mode in ("floor", "trunc")),
    *(case("aten.div.Scalar_mode", X, 1.3, mode) for mode in (None, "floor", "trunc")),
    *binary("aten.copysign.Tensor"),
    *(case("aten.lerp.Scalar", a, b, w) for a, b in ((X, Y), (X, ROW), (COLUMN, ROW), (POINT, X), (EMPTY, ROW)) for w in (0.3, 1.7)),
    *(case("aten.lerp.Tensor", a, b, w) for a, b, w in ((X, Y, Y), (X, ROW, COLUMN), (COLUMN, ROW, POINT), (POINT, POINT, X), (EMPTY, ROW, ROW))),
    *(case(f"aten.{op}", a, b, POSITIVE[:1] if c is ROW else c, value) for op in ("addcmul", "addcdiv") for a, b, c, value in (
        (X, Y, POSITIVE, 1), (X, ROW, POSITIVE, 0.5), (ROW, COLUMN, ROW, 2), (POINT, X, np.array(1.7), -1), (EMPTY, ROW, ROW, 1), (X, INTS, POSITIVE, 1),
    )),
]  # fmt: skip

ACTIVATIONS: list[Case] = [
    *(c for op in ("relu6", "silu", "mish", "log_sigmoid", "selu") for c in unary(f"aten.{op}", high=7)),
    *unary("aten.hardswish", low=-4, high=4.1), *unary("aten.hardsigmoid", low=-4, high=4.1, torch_order=1, torch_rtol=1e-7),  # a float32 1/6
    *unary("aten.leaky_relu", 0.2), *unary("aten.threshold", 0.3, -1.5), *unary("aten.hardtanh", -0.7, 1.1),
    *unary("aten.hardshrink", 0.6), *unary("aten.softshrink", 0.6), *unary("aten.celu", 0.5),
    *unary("aten.elu", 0.8, 1.3, 0.9), *unary("aten.gelu", "none"), *unary("aten.gelu", "tanh"),
    *unary("aten.softplus", 1.5, 20, low=-3), *unary("aten.softplus", 2, 3, low=-3),
    *(case("aten.prelu", x, w) for x, w in (
        (X, ROW), (X, POINT), (LETTERS, ROW), (ROW, array(1)), (array(2, 3, 2, 2), array(1, seed=4)), (array(0, 3), ROW), (array(3, 2).T, ROW),
    )),
]  # fmt: skip

BOUNDS: list[Case] = [
    *(c for low, high in ((-0.9, 1.1), (None, 0.7), (-1, None)) for c in unary("aten.clamp", low, high)),
    *unary("aten.clamp_min", 0.35), *unary("aten.clamp_max", -0.35),
    *(c for op in ("fmax", "fmin", "clamp_min.Tensor", "clamp_max.Tensor") for c in binary(f"aten.{op}", right=(-1.6, 2.3))),
    *(case("aten.clamp.Tensor", a, b, c) for a, b, c in (
        (X, ROW - 1.1, ROW + 0.3), (ROW, COLUMN - 1.5, X + 0.1), (POINT, X, Y + 0.1), (X, None, ROW + 0.1), (X, COLUMN + 0.1, None),
        (X, INTS - 1, COLUMN + 0.2), (EMPTY, ROW, POINT),
    )),
    *unary("aten.nan_to_num", None, None, None),
    *(case("aten.masked_fill.Scalar", x, m, 1.5) for x, m in ((X, MASK), (X, MASK[0]), (ROW, MASK), (POINT, MASK), (EMPTY, MASK[0]))),
    *(case("aten.masked_fill.Tensor", x, m, np.array(0.7)) for x, m in ((X, MASK), (ROW, MASK), (POINT, np.array(True)))),
    *(case("aten.fill.Tensor", x, np.array(0.7)) for x in (X, POINT, EMPTY)),
]  # fmt: skip

CASES: list[Case] = [*FUNCTIONS, *FLAT, *PAIRS, *ACTIVATIONS, *BOUNDS]

_TIES = np.array([-1.0, 1.0, 0.0, 2.0, NAN, 1.0, NAN]), np.array([-1.0, 1.0, 1.0, 0.0, 1.0, NAN, NAN])
_BEYOND = np.array([-1e4, -800.0, -40.0, 40.0, 800.0, 1e4])  # where what is not chosen overflows
_ZERO = np.array([0.0, -0.0, 1.0])

CORNERS: list[Case] = [
    case("aten.abs", _ZERO), case("aten.asin", np.array([1.0, -1.0, 2.0])), case("aten.acosh", np.array([1.0, 0.5])),
    *(case(f"aten.{op}", np.array([1.0, 0.0, 0.3, -2.0])) for op in ("atanh", "log2", "log10")), case("aten.log1p", np.array([-1.0, -2.0])), case("aten.reciprocal", _ZERO),
    case("aten.logit", np.array([0.0, 1.0, -0.1, 1.1, 0.5]), None), case("aten.logit", np.array([0.0, 1.0, 0.125, 0.875, 2.0]), 0.125),
    *(case(f"aten.{op}", np.array([-1.0, 0.0, 1.0, 0.5, -0.5, 1.5])) for op in ("floor", "ceil", "trunc", "round", "sign", "sgn", "frac")),
    *(case(f"aten.{op}", *_TIES) for op in ("fmax", "fmin", "clamp_min.Tensor", "clamp_max.Tensor")),
    case("aten.clamp", np.array([-1.0, 1.0, 0.0, 2.0, NAN]), -1, 1), case("aten.clamp", X, 1, -1), case("aten.clamp_min", _ZERO, 0),
    case("aten.clamp_max", _ZERO, 0), *(case(f"aten.clamp{kind}", X, None, None, numpy=True, torch_order=0) for kind in ("", ".Tensor")),
    case("aten.clamp.Tensor", np.array([-1.0, 1, 0, 2, 5, NAN]), np.array([-1.0, -1, 0, 3, 3, 0]), np.array([1.0, 1, 1, 2, 3, 1])),
    *(case("aten.clamp.Tensor", _TIES[0], *bounds) for bounds in ((_TIES[1], None), (None, _TIES[1]), (_TIES[1], _TIES[1][::-1].copy()))),
    case("aten.nan_to_num", np.array([INFINITE, -INFINITE, NAN, 1.0]), 1.0, None, None),
    case("aten.atan2", np.array([0.0, 1.0, 0.0, 1e-200]), np.array([0.0, 0.0, -1.0, 1e-200])),
    case("aten.hypot", np.array([3.0, 0.0, -1e-200, 1e200]), np.array([0.0, -2.0, 1e-200, 1e200])),
    case("aten.xlogy.Tensor", np.array([0.0, 0.0, 0.0, 1.0, 2.0]), np.array([0.0, -1.0, 2.0, 0.0, -1.0])),
    case("aten.logaddexp", np.array([-INFINITE, 1.0, 900.0]), np.array([1.0, 1.0, -900.0])),
    case("aten.logaddexp2", np.array([-INFINITE, 1.0, 2000.0]), np.array([1.0, 1.0, -2000.0])),
    *(case(f"aten.{op}.Tensor", np.array([6.0, -6.0, 5.0]), np.array([3.0, 3.0, 2.5])) for op in ("fmod", "remainder")),
    case("aten.copysign.Tensor", np.array([0.0, -1.0, 2.0, -2.0]), np.array([-1.0, 0.0, -0.0, 3.0])),
    *(case(f"aten.{op}", np.array([-6.0, -3.0, 0.0, 3.0, 6.0, 5.5])) for op in ("hardswish", "relu6")),
    case("aten.hardsigmoid", np.array([-6.0, -3.0, 0.0, 3.0, 6.0, 1.0]), torch_order=1, torch_rtol=1e-7),
    case("aten.leaky_relu", _ZERO, 0.3), case("aten.threshold", np.array([1.0, NAN, 2.0]), 1.0, 5.0),
    case("aten.hardtanh", np.array([-1.0, 1.0, NAN, 0.2]), -1, 1), case("aten.prelu", np.array([[0.0, -1.0, 1.0]]), np.array([0.5]), torch_order=1),
    *(case(f"aten.{op}", np.array([0.5, -0.5, NAN, 1.0, 0.0]), 0.5) for op in ("hardshrink", "softshrink")),
    *(case("aten.elu", x, 0.5, 2, 1) for x in (_ZERO, _BEYOND)), *(case("aten.celu", x, 0.5) for x in (_ZERO, _BEYOND)),
    *(case("aten.selu", x) for x in (_ZERO, _BEYOND)),
    *(case(f"aten.{op}", _BEYOND) for op in ("silu", "mish", "log_sigmoid")), *(case("aten.gelu", _BEYOND, kind) for kind in ("none", "tanh")),
    case("aten.softplus", _BEYOND, 1, 20), case("aten.softplus", np.array([10.0, 9.0, 11.0]), 2, 20, torch_order=1),
]  # fmt: skip

UNKNOWN_TO_TORCH = ("aten.heaviside", "tierup.cbrt", "tierup.radians", "tierup.degrees", "aten.floor_divide", "aten.floor_divide.Scalar")
