"""Arguments and results of a TorchScript graph: tuples, lists and dicts from the flat leaves of a call, and results as leaves again."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, EnumMeta
from typing import Any

from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import is_none, str_of, under_casts
from tierup.frontend.torch import by_torch
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script import results as script_results
from tierup.frontend.torch.script.builder import NUMBERS, Builder
from tierup.frontend.torch.script.nodes import constants as script_constants
from tierup.frontend.torch.script.nodes import queries as script_queries
from tierup.frontend.torch.script.types import spelled
from tierup.runtime.arguments.trees import FIXED, Leaf, Output, OutputNode, OutputTree, Tree, each_once

_KINDS = {"!torch.tensor": "array", "!torch.int": "int", "!torch.float": "float", "!torch.bool": "bool"}
_SCALARS = {"IntType": "int", "FloatType": "float", "BoolType": "bool"}


def argument(builder: Builder, tree: Tree, type_: Any, flat: Any, length: int | None = None) -> ir.Value:
    """What the call hands over, put together again as the graph takes it. `length`: of a list that a number may stand for. Raises
    RuntimeError, as TorchScript does, for what is not of the argument's type and not converted to it."""
    kind = type_.kind()
    if kind == "ListType" and length is not None and isinstance(tree, Leaf) and tree.kind != "none":
        item = argument(builder, tree, type_.getElementType(), flat)
        return builder.em.create("torch.prim.ListConstruct", [item] * length, [builder.type(spelled(type_))]).results[0]
    if kind in ("AnyType", "UnionType"):
        found = _type_of(builder, tree, type_)
        return builder.derefined(argument(builder, tree, found, flat), builder.type(spelled(type_)))
    if isinstance(tree, Leaf):
        return builder.derefined(_leaf(builder, tree, type_, flat), builder.type(spelled(type_)))
    if kind == "OptionalType":
        return builder.derefined(argument(builder, tree, type_.getElementType(), flat), builder.type(spelled(type_)))
    if kind == "DictType" and tree.kind == "dict":
        keys_are = _KEYS.get(type_.getKeyType().kind())
        if keys_are is None:
            raise UnsupportedProgram(f"{builder.name}: arguments of the type {type_.annotation_str} are not supported")
        if any(type(key) is not keys_are for key in tree.keys):
            raise _misfit(builder, f"a dict with the keys {list(tree.keys)}", type_)
        keys = [script_constants.constant(builder, key, type_.getKeyType()) for key in tree.keys]
        return builder.dict_of(keys, [argument(builder, item, type_.getValueType(), flat) for item in tree.items], type_)
    elements = list(type_.elements()) if kind == "TupleType" else [type_.getElementType()] * len(tree.items) if kind == "ListType" else None
    if elements is None or tree.kind == "dict" or len(elements) != len(tree.items):
        raise _misfit(builder, f"a {tree.kind} of {len(tree.items)}", type_)
    op = "TupleConstruct" if kind == "TupleType" else "ListConstruct"
    items = [argument(builder, item, element, flat) for item, element in zip(tree.items, elements, strict=True)]
    return builder.em.create(f"torch.prim.{op}", items, [builder.type(spelled(type_))]).results[0]


def _leaf(builder: Builder, leaf: Leaf, type_: Any, flat: Any) -> ir.Value:
    """A value of a call: numbers and tensors of one element where the graph takes a number are converted, as TorchScript converts them."""
    within = type_.getElementType() if type_.kind() == "OptionalType" else type_
    kind = within.kind()
    given = "array" if leaf.kind == "scalar" else leaf.kind
    is_optional = given == "none" and within is not type_
    if given == "itself":
        return _itself(builder, leaf.value, within)
    if not is_optional and given != "object" and given not in _OF.get(kind, {given: None}):
        raise _misfit(builder, {"array": "a tensor", "none": "None"}.get(given, f"a {given}"), type_)
    if given == "none":
        return builder.em.bool(False) if kind == "BoolType" and not is_optional else builder.em.none
    if given == "str":
        return builder.em.device(str(leaf.value)) if kind == "DeviceObjType" else builder.em.str(str(leaf.value))
    if given == "object":
        if kind == "EnumType" and isinstance(leaf.value, EnumMeta):
            FIXED.add(leaf.value)  # from the next call on
        raise UnsupportedProgram(f"{builder.name}: an argument of type {leaf.value} is not supported")
    value: ir.Value = next(flat)
    if leaf.kind == "array" and leaf.ndim is not None:
        builder.ranks[value] = leaf.ndim
    op = _OF.get(kind, {}).get(given)
    return value if op is None else builder.em.create(f"torch.aten.{op}", [value], [builder.type(spelled(within))]).results[0]


def _itself(builder: Builder, value: Any, type_: Any) -> ir.Value:
    """A device, a member of an enum; a dtype, a layout or a memory format as the int that TorchScript has for it. Raises RuntimeError for
    what the argument does not take."""
    kind, code = type_.kind(), by_torch.code_of(value)
    if kind == "EnumType" and isinstance(value, Enum) or kind == "DeviceObjType" and not isinstance(value, Enum) and code is None:
        return script_constants.constant(builder, value, type_)
    if kind != "IntType" or code is None:
        raise _misfit(builder, str(value), type_)
    return builder.em.int(code)


_OF: dict[str, dict[str, str | None]] = {  # by the type of an argument: what it is made of, and by which op where it is another type
    "IntType": {"int": None, "bool": "Int.bool", "array": "Int.Tensor"},
    "FloatType": {"float": None, "int": "Float.Scalar", "bool": "Float.Scalar", "array": "Float.Tensor"},
    "BoolType": {"bool": None, "int": "Bool.int", "float": "Bool.float", "array": "Bool.Tensor", "none": None},
    "StringType": {"str": None},
    "TensorType": {"array": None, "int": None, "float": None, "bool": None, "none": None},  # numbers as eager mode takes them
    "ListType": {},
    "TupleType": {},
    "DictType": {},
    "DeviceObjType": {"str": None},
}
_KEYS = {"StringType": str, "IntType": int, "FloatType": float, "BoolType": bool}
_EXAMPLES: dict[str, object] = {"none": None, "str": "", "int": 0, "float": 0.0, "bool": False}


def _type_of(builder: Builder, tree: Tree, type_: Any) -> Any:
    """The TorchScript type that it finds for what is handed over as Any, or as one of several types. Raises RuntimeError for another."""
    import torch  # here: an optional package, and a second to import

    def example(tree: Tree) -> Any:
        if isinstance(tree, Leaf):
            return _EXAMPLES[tree.kind] if tree.kind in _EXAMPLES else torch.empty(0)
        items = [example(item) for item in tree.items]
        return dict(zip(tree.keys, items, strict=True)) if tree.kind == "dict" else tuple(items) if tree.kind == "tuple" else items

    found = torch._C._jit_try_infer_type(example(tree))
    if not found.success():
        raise _misfit(builder, f"a {tree.kind} of one of its items of another type, or of none", type_)
    if not found.type().isSubtypeOf(type_):
        raise _misfit(builder, f"a value of type {found.type().annotation_str}", type_)
    return found.type()


def _misfit(builder: Builder, found: str, type_: Any) -> RuntimeError:
    return RuntimeError(f"{builder.name}: expected a value of type {type_.annotation_str}, and found {found}")


def results(builder: Builder, outputs: Sequence[Any]) -> tuple[list[ir.Value], OutputTree]:
    """What the graph returns, flat, and how that becomes the user's result."""
    flat: list[ir.Value] = []
    trees = [_output(builder, builder.value(o), o.type(), flat) for o in outputs]
    return each_once(flat, trees[0] if len(trees) == 1 else OutputNode("tuple", tuple(trees)) if trees else Output("const"))


def _output(builder: Builder, value: ir.Value, type_: Any, results: list[ir.Value]) -> OutputTree:
    kind = type_.kind()
    if kind == "NoneType" or is_none(under_casts(value)) or maker(under_casts(value), "tierup.autograd_zero") is not None:
        return Output("const")  # as PyTorch gives a tensor that is not defined
    said = script_queries.known(builder, value) if kind in ("DeviceObjType", "EnumType") else str_of(under_casts(value))
    if kind == "EnumType" and said not in builder.members:
        raise UnsupportedProgram(f"{builder.name}: a result of the type {type_.annotation_str} is not supported")
    if isinstance(said, str):
        return Output("const", value=builder.members.get(said, said))
    if kind == "TupleType":
        elements = list(type_.elements())
        types = [builder.type(spelled(t)) for t in elements]
        made = maker(under_casts(value), "torch.prim.TupleConstruct")
        if made is not None:
            items = list(made.operands)
        else:
            items = list(builder.em.create("torch.prim.TupleUnpack", [value], types).results)
        return OutputNode("tuple", tuple(_output(builder, v, t, results) for v, t in zip(items, elements, strict=True)))
    if kind in ("AnyType", "UnionType"):
        return _any(builder, under_casts(value), results)
    if kind == "OptionalType" and (under := under_casts(value)).type != value.type:
        return _output(builder, under, type_.getElementType(), results)
    if kind == "DictType" and (named := script_results.items_of(value)) is not None:
        element = type_.getValueType()
        return OutputNode("dict", tuple(_output(builder, v, element, results) for v in named.values()), tuple(named))
    if kind == "ListType" and (listed := builder.items_of(value)) is not None:  # TorchScript gives a new one each time
        element = type_.getElementType()
        return OutputNode("list", tuple(_output(builder, v, element, results) for v in listed))
    results.append(builder.tensor_of(value) if kind == "TensorType" and str(value.type) in NUMBERS else value)
    return Output("array" if kind == "TensorType" else _SCALARS.get(kind, "other"))


def _any(builder: Builder, value: ir.Value, results: list[ir.Value]) -> OutputTree:
    """What is known by what it is alone."""
    results.append(value)
    return Output(_KINDS.get(str(value.type), "other"))
