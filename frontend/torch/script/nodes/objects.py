"""Objects of scripted classes that the program makes: what is in their fields is known when the graph is built, and they are no values.

    %p = prim::CreateObject(); prim::SetAttr[name="a"](%p, %x); %y = prim::GetAttr[name="a"](%p)       %y is %x

Fields that a branch or a loop sets are results of it. What leaves a branch or goes round a loop is one of several objects: its fields are
results, and nobody may set a field of it, or of those that it may be, from then on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import OBJECTS, Builder, nodes_of
from tierup.frontend.torch.script.grad_mode import is_no_grad
from tierup.frontend.torch.script.types import spelled


@dataclass(eq=False)
class Record:
    """An object in the making. `types`: of its fields. `depth`: in how many branches and loops it was made. `is_one_of`: it may be
    another."""

    types: dict[str, Any]
    depth: int
    items: dict[Any, Any] = field(default_factory=dict)  # values, and other objects
    is_one_of: bool = False

    def type_of(self, builder: Builder, name: str) -> ir.Type:
        """Of a field that is no object."""
        return builder.type(spelled(self.types[name]))


def _types_of(builder: Builder, type_: Any) -> dict[str, Any]:
    """The fields that the graph sets or reads of a class, and their types: a program that makes objects sets all of them."""
    found: dict[str, Any] = {}
    for node in nodes_of(builder.graph):
        if node.kind() in ("prim::SetAttr", "prim::GetAttr") and next(node.inputs()).type().str() == type_.str():
            value = node.output() if node.kind() == "prim::GetAttr" else list(node.inputs())[1]
            if node.kind() == "prim::GetAttr" or node.s("name") not in found:
                found[node.s("name")] = value.type()
    return found


def create(builder: Builder, node: Any) -> None:
    """Handler of prim::CreateObject."""
    type_ = node.output().type()
    builder.put_object(node.output(), type_ if is_no_grad(type_) else Record(_types_of(builder, type_), builder.depth))


def get(builder: Builder, node: Any, owner: Record) -> None:
    """Read a field."""
    if node.s("name") not in owner.items:
        raise UnsupportedProgram(f"the field {node.s('name')!r} of an object is not set on every path")
    value = owner.items[node.s("name")]
    if isinstance(value, ir.Value):
        builder.bind(node, [builder.derefined(value, builder.result_types(node)[0])])
    else:
        builder.put_object(node.output(), value)


def set_(builder: Builder, node: Any, owner: Record) -> None:
    """Set a field."""
    name, value = node.s("name"), list(node.inputs())[1]
    if owner.is_one_of:
        raise UnsupportedProgram(f"the program sets the field {name!r} of an object that may be one of several")
    if owner.depth < builder.depth and (owner, name) not in builder.carried_items:
        raise UnsupportedProgram(f"which object has its field {name!r} set is known at run time only")
    if value.type().kind() not in OBJECTS:
        owner.items[name] = builder.derefined(builder.value(value), owner.type_of(builder, name))
    elif owner.depth < builder.depth or not isinstance(builder.object(value), Record):
        raise UnsupportedProgram(f"the program sets the field {name!r} to an object in a branch or a loop, or to a module")
    else:
        owner.items[name] = builder.object(value)


# --- one of several ----------------------------------------------------------------------------------------------------


def is_object(type_: Any) -> bool:
    """Whether a value of a type is an object or a module."""
    return type_.kind() in OBJECTS


def item_types(builder: Builder, type_: Any) -> list[ir.Type]:
    """The types of the fields of an object that leaves a branch or a loop."""
    types = _types_of(builder, type_)
    if not types or any(is_object(t) for t in types.values()):
        raise UnsupportedProgram(f"which object of the class {type_.annotation_str} is meant is known at run time only")
    return [builder.type(spelled(types[name])) for name in sorted(types)]


def items(builder: Builder, value: Any) -> list[ir.Value]:
    """The fields of an object that may be one of several from now on."""
    found = builder.object(value)
    names = sorted(_types_of(builder, value.type()))
    if not isinstance(found, Record) or any(name not in found.items for name in names):
        raise UnsupportedProgram("an object with a field that is not set, or a module, leaves a branch or a loop")
    found.is_one_of = True
    return [found.items[name] for name in names]


def put(builder: Builder, value: Any, fields: list[ir.Value]) -> None:
    """Let a TorchScript value be the object with these fields."""
    types = _types_of(builder, value.type())
    builder.put_object(value, Record(types, builder.depth, dict(zip(sorted(types), fields, strict=True)), is_one_of=True))
