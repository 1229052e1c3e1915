"""The two formats that functions are computed in, and constants: those of the expansion, and those of the program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tierup.dialect.mlir import ir


@dataclass(frozen=True)
class Format:
    """An IEEE binary format and the integer type of its bits."""

    bits: int
    mantissa: int  # stored bits
    numpy: type[np.floating]

    @property
    def exponent_bias(self) -> int:
        return (1 << (self.bits - self.mantissa - 2)) - 1

    @property
    def min_exponent(self) -> int:
        """Exponent of the smallest normal number."""
        return 1 - self.exponent_bias

    @property
    def min_normal(self) -> float:
        return 2.0**self.min_exponent

    @property
    def max(self) -> float:
        return float(np.finfo(self.numpy).max)

    @property
    def magic(self) -> float:
        """Added to |x| < 2**(mantissa - 1), it rounds x to an integer, which then stands in the low bits of the sum."""
        return 1.5 * 2.0**self.mantissa


F32 = Format(32, 23, np.float32)
F64 = Format(64, 52, np.float64)


class Constants:
    """The constants of one function: each made once, at the start of the block that dominates all uses."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        self._made: dict[tuple[ir.Type, str], ir.Value] = {}
        self._loc = ir.Location.unknown(block.owner.context)

    def get(self, type_: ir.Type, number: float) -> ir.Value:
        # repr tells -0.0 from 0.0 and knows nan
        key = (type_, repr(number))
        if key not in self._made:
            element = ir.ShapedType(type_).element_type if isinstance(type_, ir.ShapedType) else type_
            attr = ir.FloatAttr.get(element, number) if isinstance(number, float) else ir.IntegerAttr.get(element, number)
            if element != type_:
                attr = ir.DenseElementsAttr.get_splat(type_, attr)
            # the first op may be one that is replaced and erased next, so its place is looked up each time
            ip = ir.InsertionPoint.at_block_begin(self._block)
            op = ir.Operation.create("arith.constant", results=[type_], attributes={"value": attr}, ip=ip, loc=self._loc)
            self._made[key] = op.results[0]
        return self._made[key]


def known_number(value: ir.Value) -> float | int | None:
    """The number that an `arith.constant` holds, seen through float conversions that keep it; None for anything else."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    if owner.name in ("arith.extf", "arith.truncf"):
        number = known_number(owner.operands[0])
        short = number is not None and abs(number * 2) < 256 and number * 2 == int(number * 2)  # every float format holds it
        return number if owner.name == "arith.extf" or short else None
    if owner.name != "arith.constant":
        return None
    attr = owner.attributes["value"]
    if isinstance(attr, ir.DenseElementsAttr):
        if not attr.is_splat:
            return None
        attr = attr.get_splat_value()
    return attr.value
