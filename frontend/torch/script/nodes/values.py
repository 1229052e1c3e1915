"""Nodes of TorchScript that only say what a value is: a part of a tuple, an optional that is something, a type among several, a task."""

from __future__ import annotations

from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import is_none, under_casts
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.nodes.constants import literal
from tierup.frontend.torch.script.nodes.queries import known
from tierup.frontend.torch.script.types import spelled


def _tuple_slice(builder: Builder, node: Any) -> None:
    (whole,) = builder.operands(node)
    types = [builder.type(spelled(t)) for t in node.input().type().elements()]
    items = list(builder.em.create("torch.prim.TupleUnpack", [whole], types).results)
    part = items[node.i("beg") : node.i("end")]
    builder.bind(node, list(builder.em.create("torch.prim.TupleConstruct", part, builder.result_types(node)).results))


def _unwrap(builder: Builder, node: Any) -> None:
    """An optional that must be something: else an AssertionError, as `torch.jit._unwrap_optional` raises."""
    (value,) = builder.operands(node)
    em = builder.em
    if is_none(under_casts(value)):
        em.raise_now("AssertionError", "Unwrapping null optional")
    elif str(value.type).startswith("!torch.optional"):
        test = em.create("torch.aten.__isnot__", [value, em.none], [em.types.bool]).results[0]
        em.raise_unless(test, "AssertionError", "Unwrapping null optional")
    (type_,) = builder.result_types(node)
    builder.bind(node, [cast(builder, value, type_)])


def cast(builder: Builder, value: ir.Value, type_: ir.Type) -> ir.Value:
    """A value as what TorchScript knows that it is; an int or a float as a number, anything as Any."""
    if under_casts(value).type == type_:
        return under_casts(value)
    widens = str(type_) == "!torch.any" or str(type_) == "!torch.number" and str(value.type) in ("!torch.int", "!torch.float")
    return builder.em.create("torch.derefine" if widens else "torch.prim.unchecked_cast", [value], [type_]).results[0]


def _isinstance(builder: Builder, node: Any) -> None:
    """Decided by what the call gave. Raises UnsupportedProgram where only the run can tell."""
    found = str(under_casts(builder.operands(node)[0]).type)
    if found.startswith(("!torch.optional", "!torch.any", "!torch.number")):
        raise UnsupportedProgram("which type a value has is known at run time only")
    wanted = [f"!torch.{spelled(t)}" for t in node.tys("types") if t.kind() != "ClassType"]  # what is found is a value, and no object
    builder.bind(node, [builder.em.bool(found in wanted)])


def _of_member(builder: Builder, node: Any) -> None:
    """The value or the name of an enum's member. Raises UnsupportedProgram where only the run can tell which."""
    member = builder.members.get(known(builder, builder.operands(node)[0]))
    found = None if member is None else literal(builder, member.value if node.kind() == "prim::EnumValue" else member.name)
    if found is None:
        raise UnsupportedProgram("which member of an enum is meant is known at run time only, or it stands for no number or string")
    builder.bind(node, [found])


def _fork(builder: Builder, node: Any) -> None:
    """A task runs where it is started: what it gives is the same."""
    builder.bind(node, builder.inlined(node.g("Subgraph"), list(node.inputs())))


HANDLERS = {
    "aten::_unwrap_optional": _unwrap,
    "aten::wait": lambda builder, node: builder.bind(node, builder.operands(node)),
    "prim::EnumName": _of_member,
    "prim::EnumValue": _of_member,
    "prim::TupleSlice": _tuple_slice,
    "prim::fork": _fork,
    "prim::isinstance": _isinstance,
    "prim::unchecked_unwrap_optional": _unwrap,
}
