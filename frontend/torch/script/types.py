"""TorchScript's types as the torch dialect's.

    Tensor -> !torch.tensor        Tensor? -> !torch.optional<tensor>      Dict(str, int[]) -> !torch.dict<str, list<int>>
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tierup.frontend.torch.errors import UnsupportedProgram

if TYPE_CHECKING:
    import torch

_PLAIN = {
    "TensorType": "tensor",
    "IntType": "int",
    "FloatType": "float",
    "BoolType": "bool",
    "StringType": "str",
    "NumberType": "number",
    "NoneType": "none",
    "DeviceObjType": "Device",
    "GeneratorType": "Generator",
    "AnyType": "any",
    "EnumType": "str",  # a member's name
    "SymIntType": "int",
    "SymFloatType": "float",
    "SymBoolType": "bool",
    "LayoutType": "int",
    "ScalarTypeType": "int",
    "MemoryFormatType": "int",
}


def spelled(type_: torch._C.JitType) -> str:
    """The type's text behind `!torch.`. Raises UnsupportedProgram for a type that programs cannot hold."""
    t: Any = type_
    kind = t.kind()
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "ListType":
        return f"list<{spelled(t.getElementType())}>"
    if kind == "OptionalType":
        return f"optional<{spelled(t.getElementType())}>"
    if kind == "TupleType":
        return f"tuple<{', '.join(spelled(e) for e in t.elements())}>"
    if kind == "DictType":
        return f"dict<{spelled(t.getKeyType())}, {spelled(t.getValueType())}>"
    if kind == "UnionType":
        return "any"
    raise UnsupportedProgram(f"values of the type {type_.annotation_str} are not supported")
