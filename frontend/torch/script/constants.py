"""Constants of TorchScript graphs: numbers, strings and None as ops; tensors as inputs that the caller hands over at every call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.types import spelled


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
    if isinstance(value, bool):
        return em.bool(value)
    if isinstance(value, int):
        return em.int(value)
    if isinstance(value, float):
        return em.float(value) if not math.isnan(value) else em.float(math.nan)
    if isinstance(value, str):
        return em.str(value)
    if kind == "DeviceObjType":
        text = ir.StringAttr.get(str(value), em.context)
        return em.create("torch.constant.device", [], [builder.type("Device")], {"value": text}).results[0]
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


def _made(builder: Builder, op: str, values: Sequence[ir.Value], type_: Any, types: Sequence[Any]) -> ir.Value:
    fitted = [builder.derefined(v, builder.type(spelled(t))) for v, t in zip(values, types, strict=True)]
    return builder.em.create(f"torch.prim.{op}", fitted, [builder.type(spelled(type_))]).results[0]
