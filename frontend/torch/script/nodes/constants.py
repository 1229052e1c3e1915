"""Constants of TorchScript graphs: numbers, strings and None as ops; tensors as inputs that the caller hands over at every call; and
tensors that the program makes of numbers and lists of them.

    aten::tensor(%l, %none, ...)  of a %l : int[]    is    aten::tensor(%l, int64, ...)      where %l may be empty
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, is_none, under_casts
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.types import spelled

_OF_INTS = {"IntType": dtypes.i64, "BoolType": dtypes.bool_}


def constant(builder: Builder, value: Any, type_: Any) -> ir.Value:
    """A Python value as TorchScript holds it, of that type. Raises UnsupportedProgram for an object of a class.

    A number that tracing made a tensor (`x * 0.5`) is given back as a number, by whose dtype rules it goes: see `Builder._numbers`.
    """
    em = builder.em
    kind = type_.kind()
    if value is None:
        return em.none
    if kind == "OptionalType":
        return constant(builder, value, type_.getElementType())
    if kind == "TensorType" and not isinstance(value, (int, float)):
        return builder.tensor_constant(value)
    if kind == "EnumType":
        text = f"{type_.annotation_str}.{value.name}"
        builder.members[text] = value
        return em.str(text)
    if (made := literal(builder, value)) is not None:
        return made
    if kind == "DeviceObjType":
        return em.device(str(value))
    if kind == "ListType":
        element = type_.getElementType()
        return _made(builder, "ListConstruct", [constant(builder, v, element) for v in value], type_, [element] * len(value))
    if kind == "TupleType":
        elements = list(type_.elements())
        return _made(builder, "TupleConstruct", [constant(builder, v, t) for v, t in zip(value, elements, strict=True)], type_, elements)
    if kind == "DictType":
        keys = [constant(builder, k, type_.getKeyType()) for k in value]
        return builder.dict_of(keys, [constant(builder, v, type_.getValueType()) for v in value.values()], type_)
    raise UnsupportedProgram(f"a constant of the type {type_.annotation_str} is not supported")


def literal(builder: Builder, value: object) -> ir.Value | None:
    """A number or a string as a constant of the graph; None for what has none."""
    if isinstance(value, float) and math.isnan(value):
        value = math.nan
    if not isinstance(value, (bool, int, float, str)) or isinstance(value, int) and not -(2**63) <= value < 2**63:
        return None
    return builder.em.constant(value)


def _made(builder: Builder, op: str, values: Sequence[ir.Value], type_: Any, types: Sequence[Any]) -> ir.Value:
    fitted = [builder.derefined(v, builder.type(spelled(t))) for v, t in zip(values, types, strict=True)]
    return builder.em.create(f"torch.prim.{op}", fitted, [builder.type(spelled(type_))]).results[0]


def of_tensor(builder: Builder, node: Any, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """The operands of `torch.tensor` with the dtype that it has where the program names none. Raises LeftToPyTorch for what is a leaf."""
    data, dtype, device, leaf = operands
    if bool_of(leaf) is not False:
        builder.attributes.leave("a tensor that the program makes requires a gradient")
    element = next(node.inputs()).type()
    while element.kind() == "ListType":
        element = element.getElementType()
    if is_none(under_casts(dtype)) and element.kind() in _OF_INTS:
        dtype = builder.em.int(_OF_INTS[element.kind()].code)
    return [data, dtype, device, leaf]
