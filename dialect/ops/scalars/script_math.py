"""TorchScript's `math` of numbers: C's functions, which raise nothing: `math.acos(2.0)` is NaN there, and `math.exp(1000.0)` infinite.

Native code calls the C library's, as PyTorch does and as Python's `math` does in tier 0, so that all tiers give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.facts.values import Bool, Float
from tierup.dialect.ops.scalars.numbers import as_kind, of_known
from tierup.dialect.optable.define import DefinedOp

_known = partial(of_known, differentiable=False)
# By TorchScript's name, which is that of the C library's, too: what NumPy gives where Python raises
_NUMPYS: dict[str, Callable[..., Any]] = {
    "acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "cos": np.cos, "sin": np.sin, "tan": np.tan, "cosh": np.cosh, "sinh": np.sinh,
    "tanh": np.tanh, "acosh": np.arccosh, "asinh": np.arcsinh, "atanh": np.arctanh, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "log10": np.log10, "erf": math.erf, "erfc": math.erfc,
}  # fmt: skip


def _as_in_c(function: Callable[..., float], otherwise: Callable[..., Any]) -> Callable[..., float]:
    def of(*numbers: float) -> float:
        try:
            return function(*map(float, numbers))
        except (ValueError, OverflowError):  # "math domain error", "math range error"
            with np.errstate(all="ignore"):
                return float(otherwise(*map(np.float64, numbers)))

    of.__name__ = function.__name__
    return of


def _of_pairs(name: str) -> list[str]:
    """Schemas of a function of two numbers: TorchScript has overloads for ints and floats."""
    pairs = {"int": ("int", "int"), "float": ("float", "float"), "int_float": ("int", "float"), "float_int": ("float", "int")}
    return [f"{name}.{suffix}({a} a, {b} b) -> float" for suffix, (a, b) in pairs.items()]


LIBM = {  # ops that are a function of the C library: its name
    **{f"aten.{name}.{kind}": name for name in _NUMPYS for kind in ("int", "float")},
    **{schema.partition("(")[0]: name for name in ("atan2", "fmod") for schema in _of_pairs(f"aten.{name}")},
    **{f"aten.pow.{kind}": "pow" for kind in ("int", "float", "int_float", "float_int")},
}


def _of(name: str) -> DefinedOp[float]:
    fields: dict[str, Any] = {"numpy": math.log} if name == "log" else {}
    schemas = f"aten.{name}.int(int a) -> float", f"aten.{name}.float(float a) -> float"
    made: DefinedOp[float] = _known(*schemas, otherwise=as_kind(Float), **fields)(_as_in_c(getattr(math, name), _NUMPYS[name]))
    return made


acos, asin, atan, cos, sin, tan, cosh, sinh, tanh, acosh, asinh, atanh, exp, expm1, log, log1p, log10, erf, erfc = map(_of, _NUMPYS)
atan2 = _known(*_of_pairs("aten.atan2"), otherwise=as_kind(Float))(_as_in_c(math.atan2, np.arctan2))
fmod = _known(*_of_pairs("aten.fmod"), otherwise=as_kind(Float))(_as_in_c(math.fmod, np.fmod))


fabs = _known("aten.fabs.int(int a) -> float", "aten.fabs.float(float a) -> float", otherwise=as_kind(Float))(lambda a: math.fabs(a))


@_known(*_of_pairs("aten.copysign"), otherwise=as_kind(Float))
def copysign(a: float, b: float) -> float:
    return math.copysign(a, b)


@_known("aten.degrees.int(int a) -> float", "aten.degrees.float(float a) -> float", otherwise=as_kind(Float))
def degrees(a: float) -> float:
    return float(a) * (180 / math.pi)


@_known("aten.radians.int(int a) -> float", "aten.radians.float(float a) -> float", otherwise=as_kind(Float))
def radians(a: float) -> float:
    return float(a) * (math.pi / 180)


isnan = _known("aten.isnan.float(float a) -> bool", otherwise=as_kind(Bool))(lambda a: math.isnan(a))
isinf = _known("aten.isinf.float(float a) -> bool", otherwise=as_kind(Bool))(lambda a: math.isinf(a))
isfinite = _known("aten.isfinite.float(float a) -> bool", otherwise=as_kind(Bool))(lambda a: math.isfinite(a))


@_known("prim.max.float(float a, float b) -> float", otherwise=as_kind(Float))
def greater(a: float, b: float) -> float:
    return a if a > b else b


@_known("prim.min.float(float a, float b) -> float", otherwise=as_kind(Float))
def lesser(a: float, b: float) -> float:
    return a if a < b else b
