"""The torch dialect's constants, made from and read as Python's numbers, strings and None."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Union

from tierup.dialect.ir.attributes import i64
from tierup.dialect.mlir import ir

Scalar = Union[bool, int, float, str, None]

TYPES: dict[type, str] = {bool: "!torch.bool", int: "!torch.int", float: "!torch.float", str: "!torch.str", type(None): "!torch.none"}

READERS: dict[str, Callable[[ir.Operation], Any]] = {
    "torch.constant.int": lambda op: ir.IntegerAttr(op.attributes["value"]).value,
    "torch.constant.float": lambda op: ir.FloatAttr(op.attributes["value"]).value,
    "torch.constant.bool": lambda op: bool(ir.BoolAttr(op.attributes["value"]).value),
    "torch.constant.str": lambda op: ir.StringAttr(op.attributes["value"]).value,
    "torch.constant.none": lambda op: None,
    "torch.constant.device": lambda op: ir.StringAttr(op.attributes["value"]).value,
}
"""What a constant holds, by its name; of a device its name."""


def constant(value: Scalar, ip: ir.InsertionPoint, location: ir.Location | None = None) -> ir.Value:
    """A constant of a value, at no place of the user's source unless one is given."""
    type_ = next(t for kind, t in TYPES.items() if isinstance(value, kind))
    with ir.Location.unknown(ip.block.owner.context) if location is None else location:
        attributes = {} if value is None else {"value": _attribute(value)}
        name = type_.replace("!torch.", "torch.constant.")
        return ir.Operation.create(name, [ir.Type.parse(type_)], [], attributes, ip=ip).operation.results[0]


def _attribute(value: bool | int | float | str) -> ir.Attribute:
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return i64(value)
    return ir.FloatAttr.get(ir.F64Type.get(), value)
