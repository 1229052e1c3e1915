"""Arguments and results of a TorchScript graph: tuples, lists and dicts from the flat leaves of a call, and results as leaves again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import is_none, under_casts
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script import results as script_results
from tierup.frontend.torch.script.builder import NUMBERS, Builder
from tierup.frontend.torch.script.nodes import constants as script_constants
from tierup.frontend.torch.script.types import spelled
from tierup.runtime.arguments.trees import Leaf, Output, OutputNode, OutputTree, Tree, each_once

_SCALARS = {"IntType": "int", "FloatType": "float", "BoolType": "bool"}


def argument(builder: Builder, tree: Tree, type_: Any, flat: Any) -> ir.Value:
    """What the call hands over, put together again as the graph takes it."""
    kind = type_.kind()
    if isinstance(tree, Leaf):
        if tree.kind == "none":
            return builder.derefined(builder.em.none, builder.type(spelled(type_)))
        if tree.kind == "str":
            if kind in ("TensorType", *_SCALARS):
                raise UnsupportedProgram(f"{builder.name}: a str for an argument of type {type_.annotation_str}")
            return builder.derefined(builder.em.str(str(tree.value)), builder.type(spelled(type_)))
        if tree.is_static:
            raise UnsupportedProgram(f"{builder.name}: an argument of type {tree.value} is not supported")
        given = next(flat)
        if tree.kind == "array" and tree.ndim is not None:
            builder.ranks[given] = tree.ndim
        return builder.derefined(_number(builder, given, tree, type_), builder.type(spelled(type_)))
    if kind == "OptionalType":
        return builder.derefined(argument(builder, tree, type_.getElementType(), flat), builder.type(spelled(type_)))
    element: Callable[[int], Any]
    if kind == "TupleType":
        elements = list(type_.elements())
        op, element = "TupleConstruct", lambda i: elements[i]
    elif kind == "ListType":
        op, element = "ListConstruct", lambda i: type_.getElementType()
    elif kind == "DictType":
        keys = [script_constants.constant(builder, key, type_.getKeyType()) for key in tree.keys]
        return builder.dict_of(keys, [argument(builder, item, type_.getValueType(), flat) for item in tree.items], type_)
    else:
        raise UnsupportedProgram(f"{builder.name}: a {tree.kind} for an argument of type {type_.annotation_str}")
    items = [argument(builder, item, element(i), flat) for i, item in enumerate(tree.items)]
    return builder.em.create(f"torch.prim.{op}", items, [builder.type(spelled(type_))]).results[0]


def _number(builder: Builder, value: ir.Value, leaf: Leaf, type_: Any) -> ir.Value:
    """An int where the graph takes a float, and a number where it takes a tensor, as PyTorch converts them."""
    kind = type_.getElementType().kind() if type_.kind() == "OptionalType" else type_.kind()
    if kind == "FloatType" and leaf.kind == "int":
        return builder.em.create("torch.aten.Float.Scalar", [value], [builder.em.types.float]).results[0]
    return value


def results(builder: Builder, outputs: Sequence[Any]) -> tuple[list[ir.Value], OutputTree]:
    """What the graph returns, flat, and how that becomes the user's result."""
    flat: list[ir.Value] = []
    trees = [_output(builder, builder.value(o), o.type(), flat) for o in outputs]
    return each_once(flat, trees[0] if len(trees) == 1 else OutputNode("tuple", tuple(trees)) if trees else Output("const"))


def _output(builder: Builder, value: ir.Value, type_: Any, results: list[ir.Value]) -> OutputTree:
    kind = type_.kind()
    if kind == "NoneType":
        return Output("const")
    if kind == "TupleType":
        elements = list(type_.elements())
        types = [builder.type(spelled(t)) for t in elements]
        made = maker(value, "torch.prim.TupleConstruct")
        if made is not None and not any(True for _ in value.uses):
            items = list(made.operands)
        else:
            items = list(builder.em.create("torch.prim.TupleUnpack", [value], types).results)
        return OutputNode("tuple", tuple(_output(builder, v, t, results) for v, t in zip(items, elements, strict=True)))
    if kind == "OptionalType" and (under := under_casts(value)).type != value.type:
        return Output("const") if is_none(under) else _output(builder, under, type_.getElementType(), results)
    if kind == "DictType" and (named := script_results.items_of(value)) is not None:
        element = type_.getValueType()
        return OutputNode("dict", tuple(_output(builder, v, element, results) for v in named.values()), tuple(named))
    results.append(builder.tensor_of(value) if kind == "TensorType" and str(value.type) in NUMBERS else value)
    return Output("array" if kind == "TensorType" else _SCALARS.get(kind, "other"))
