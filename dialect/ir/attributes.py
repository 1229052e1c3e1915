"""Attributes of ops, made from and read as Python's values; so are the torch dialect's constants, of numbers, strings and None.

The attribute `#tierup.profiled<...>` is what runs have shown of a value, in the text form of `Profiled` and `ProfiledScalar`:

    #tierup.profiled<f32[2,s0] strides=[?,1] device=cpu requires_grad=false defined>
    #tierup.profiled<int=3>

MLIR keeps the text as it is and checks only its brackets; the ops that carry it check the rest (see definitions/checks.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Union

from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact
from tierup.dialect.mlir import ir

# of an op that stands for one item of an index: how many dimensions the items before it took, and how many there are; its errors say both
INDEX = "tierup.index"
PROMOTION = "tierup.promotion"  # of an op: "numpy", by whose dtype rules it goes; without it torch's hold
SATURATES = "tierup.saturates"  # the unit attribute of an op on ints: what 64 bits do not hold is the nearest int that they do
LOCKED = "tierup.locked"  # the unit attribute of a view that NumPy locks, which was NumPy's before tierup-explicit-promotion
IN_NO_GRAD = "tierup.in_no_grad"  # the unit attribute of an aten.detach that says what a no_grad block gives
UNREAD = "tierup.unread"  # the unit attribute of an empty tensor of which nobody reads an element before it was written
REQUIRES_GRAD = "tierup.requires_grad"  # of a function's argument: true or false (`requires_grad.py`)
_OPEN, _CLOSE = "#tierup.profiled<", ">"


def i64(value: int, context: ir.Context | None = None) -> ir.IntegerAttr:
    """A number as an attribute, in `context` or the current one."""
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64, context), value)


def profiled_attr(facts: Fact, context: ir.Context | None = None) -> ir.Attribute:
    """`#tierup.profiled<...>` for these facts, in `context` or the current one."""
    return ir.Attribute.parse(f"{_OPEN}{facts}{_CLOSE}", context)


def is_profiled(attribute: ir.Attribute) -> bool:
    """Whether an attribute is a #tierup.profiled."""
    return str(attribute).startswith(_OPEN)


def facts_of(attribute: ir.Attribute) -> Fact:
    """The facts in a `#tierup.profiled`. Raises ValueError for another attribute and for a malformed text."""
    text = str(attribute)
    if not text.startswith(_OPEN):
        raise ValueError(f"expected #tierup.profiled, got {text}")
    return _parse(text[len(_OPEN) : -len(_CLOSE)].strip('"'))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Fact:
    return profiled.parse(text)


# --- the torch dialect's constants -------------------------------------------------------------------------------------


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
