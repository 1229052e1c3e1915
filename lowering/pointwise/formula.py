"""What the native body of an op is made by."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tierup.lowering.arith import Scalar

if TYPE_CHECKING:
    from tierup.lowering.pointwise.context import Context

Recipe = Callable[["Context"], Scalar]  # for ops that type their operands in a way of their own

Parameter = Any  # an operand that came as it is: a Python value, or a Scalar when the program computes it
