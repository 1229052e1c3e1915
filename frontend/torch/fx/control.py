"""Control flow in FX graphs: `torch.cond` becomes torch.prim.If, `while_loop` torch.prim.Loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx import Node

from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.fx.builder import Builder
from tierup.frontend.torch.fx.nodes import number_kind

_FOREVER = 2**63 - 1
_ORDERED = (torch.ops.aten._linalg_check_errors.default,)  # they give nothing


def emit(builder: Builder, target: torch._ops.HigherOrderOperator, node: Node) -> list[Any]:
    """What a higher-order op gives: a list. Raises UnsupportedProgram for one that is not translated."""
    name = target.name() if callable(target.name) else str(target)
    handler = _HANDLERS.get(name)
    if handler is None:
        raise UnsupportedProgram(f"the higher-order op {name} is not supported")
    return handler(builder, node)


def _truth(builder: Builder, value: ir.Value) -> ir.Value:
    return builder.em.scalar("aten.Bool.Tensor", [value], builder.em.types.bool) if value.type == builder.em.types.tensor else value


def _cond(builder: Builder, node: Node) -> list[Any]:
    condition, *arms, operands = node.args
    taken = _truth(builder, builder.operand(condition))
    given = [builder.operand(v) for v in operands]
    types = [_type(builder, v) for v in node.meta["val"]]
    made = builder.em.create("torch.prim.If", [taken], types, regions=2)
    for arm, region in zip(arms, made.regions, strict=True):
        with builder.em.at_end(region.blocks.append()):
            builder.em.create("torch.prim.If.yield", builder.inside(builder.values[arm], given), [])
    return list(made.results)


def _while_loop(builder: Builder, node: Node) -> list[Any]:
    goes_on, body, carried, others = node.args
    test, step = builder.values[goes_on], builder.values[body]
    fixed = [builder.operand(v) for v in others]
    given = [builder.operand(v) for v in carried]
    types = [v.type for v in given]
    first = _truth(builder, builder.inside(test, [*given, *fixed])[0])
    made = builder.em.create("torch.prim.Loop", [builder.em.int(_FOREVER), first, *given], types, regions=1)
    block = made.regions[0].blocks.append(builder.em.types.int, *types, arg_locs=[builder.em.unknown] * (1 + len(types)))
    with builder.em.at_end(block):
        values = builder.inside(step, [*list(block.arguments)[1:], *fixed])
        again = _truth(builder, builder.inside(test, [*values, *fixed])[0])
        builder.em.create("torch.prim.Loop.condition", [again, *values], [])
    return list(made.results)


def _with_effects(builder: Builder, node: Node) -> list[Any]:
    """An op that may raise in an order that a token keeps: lines of a graph have an order anyway."""
    token, op, *operands = node.args
    if op not in _ORDERED:
        raise UnsupportedProgram(f"{op} does something beside its result")
    builder.op(op, tuple(operands), node.kwargs, {})
    return [builder.values[token]]


def _type(builder: Builder, found: Any) -> ir.Type:
    types = builder.em.types
    if isinstance(found, torch.Tensor):
        return types.tensor
    kind = number_kind(found)
    if kind is None:
        raise UnsupportedProgram(f"torch.cond that gives a {type(found).__name__} is not supported")
    return types.scalars[kind]


_HANDLERS: dict[str, Callable[[Builder, Node], list[Any]]] = {
    "cond": _cond,
    "while_loop": _while_loop,
    "with_effects": _with_effects,
}
