"""Comparisons, truth and bits: results are exact in every tier."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.dtypes import DType
from tierup.dialect.ir.values import Value
from tierup.dialect.optable import operands as read
from tierup.dialect.optable.core import Op, ShapeError, without_gradient
from tierup.dialect.optable.elementwise import pointwise


def _row(name: str, function: str, numpy: str | None = None, **fields: object) -> Op:
    flavour = f"numpy_comparison.{numpy or function}"
    return without_gradient(pointwise(name, f"comparison.{function}", flavour, exact=True, **fields))  # type: ignore[arg-type]  # Op's fields


def _check_tolerances(operands: Sequence[Value], dtype: DType | None) -> None:
    for value in operands[2:4]:
        number = read.or_unknown(read.number)(value)
        if number is not None and number < 0:
            raise ShapeError(f"rtol and atol must be greater than or equal to zero, but got {number}")


_NAN = "False with NaN; ne is True"
ROWS = [
    *(_row(f"aten.{op}.{kind}", op, note=_NAN) for op in ("eq", "ne", "lt", "le", "gt", "ge") for kind in ("Tensor", "Scalar")),
    *(_row(f"aten.logical_{op}", f"logical_{op}") for op in ("and", "or", "xor", "not")),
    *(_row(f"aten.bitwise_{op}.Tensor", f"bitwise_{op}") for op in ("and", "or", "xor")),
    _row("aten.bitwise_and.Scalar", "bitwise_and"),
    _row("aten.__and__.Tensor", "bitwise_and"),
    _row("aten.__and__.Scalar", "bitwise_and"),
    _row("aten.__or__.Tensor", "bitwise_or"),
    _row("aten.bitwise_not", "bitwise_not"),
    _row("aten.bitwise_left_shift.Tensor", "left_shift", note="0 for a shift below 0 or at least the width"),
    _row("aten.bitwise_right_shift.Tensor", "right_shift", note="0 or -1 for a shift below 0 or at least the width"),
    _row("aten.__lshift__.Scalar", "left_shift", note="0 for a shift below 0 or at least the width"),
    _row("aten.__rshift__.Scalar", "right_shift", note="0 or -1 for a shift below 0 or at least the width"),
    *(_row(f"aten.{op}", op) for op in ("isnan", "isinf", "isfinite", "isposinf", "isneginf")),
    _row("aten.signbit", "signbit", note="True for -0.0"),
    _row("aten.isclose", "isclose", check=_check_tolerances),
]
