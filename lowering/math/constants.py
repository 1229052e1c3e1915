"""The two formats that functions are computed in, and constants: those of the expansion, and those of the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierup.dialect.base.dtypes import DType
from tierup.dialect.mlir import ir
from tierup.lowering.building.arith import Number, Scalar, attribute, constant, element_type, known


@dataclass(frozen=True)
class Format:
    """An IEEE binary format and the integer type of its bits."""

    bits: int
    mantissa: int  # stored bits
    numpy: type[np.floating]

    @property
    def exponent_bias(self) -> int:
        """What is added to an exponent where it is stored."""
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.exponent_bias

    @property
    def min_normal(self) -> float:
        """The smallest positive normal number."""
        return 2.0**self.min_exponent

    @property
    def magic(self) -> float:
        """Added to |x| < 2**(mantissa - 1), it rounds x to an integer, which then stands in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa


F32 = Format(32, 23, np.float32)
F64 = Format(64, 52, np.float64)


class Constants:
    """The constants of one function, scalars or vectors of one shape: each made once, at the start of the block that dominates all uses."""

    def __init__(self, block: ir.Block, shape: Sequence[int] | None = None) -> None:
        self._block, self._shape = block, shape
        self._types: dict[str, ir.Type] = {}
        self._known: dict[tuple[str, str], Scalar] = {}
        self._made: dict[ir.Attribute, Scalar] = {}
        self._loc = ir.Location.unknown(block.owner.context)

    def type(self, dtype: DType) -> ir.Type:
        """The type of the constants of a dtype: a scalar, or a vector of them."""
        if dtype.name not in self._types:
            element = element_type(dtype)
            self._types[dtype.name] = element if self._shape is None else ir.VectorType.get(self._shape, element)
        return self._types[dtype.name]

    def constant(self, number: Number, dtype: DType) -> Scalar:
        """A number in a dtype: a scalar, or a vector that has it in all places."""
        key = dtype.name, repr(number)  # which tells -0.0 from 0.0 and knows nan
        if key not in self._known:
            rounded = attribute(number, dtype)
            if rounded not in self._made:
                # the first op may be one that is replaced and erased next, so its place is looked up each time
                with self._loc, ir.InsertionPoint.at_block_begin(self._block):
                    self._made[rounded] = Scalar(constant(number, dtype, self.type(dtype)), dtype, self)
            self._known[key] = self._made[rounded]
        return self._known[key]


def known_number(value: ir.Value) -> float | int | None:
    """The number that a constant holds, seen through float conversions that keep it; None for anything else."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name in ("arith.extf", "arith.truncf"):
        number = known_number(owner.operands[0])
        short = number is not None and abs(number * 2) < 256 and number * 2 == int(number * 2)  # every float format holds it
        return number if owner.name == "arith.extf" or short else None
    found: float | int | None = known(value)
    return found
