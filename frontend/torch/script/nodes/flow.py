"""Branches, loops, exceptions and warnings of TorchScript, and what decides a branch when the graph is built.

    %z : Tensor = prim::If(%c) block0(): -> (%y) ...   ->      torch.prim.If with derefined yields, or the arm that is taken
"""

from __future__ import annotations

from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, is_none, under_casts
from tierup.frontend.torch.script import by_script
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.nodes import queries as script_queries
from tierup.frontend.torch.script.nodes.values import cast
from tierup.frontend.torch.script.places import place_of


def _is(builder: Builder, node: Any) -> None:
    """Whether something is None, where that is known: by its type, or by that of what was made an optional."""
    given = builder.operands(node)
    nones = [is_none(under_casts(v)) for v in given]
    if not any(nones) or any(not n and _may_be_none(v) for v, n in zip(given, nones, strict=True)):
        builder.op(node)
        return
    builder.bind(node, [builder.em.bool(all(nones) == (node.kind() == "aten::__is__"))])


def _may_be_none(value: ir.Value) -> bool:
    return all(str(v.type).startswith("!torch.optional") for v in (value, under_casts(value)))


def _not(builder: Builder, node: Any) -> None:
    known = bool_of(builder.operands(node)[0])
    builder.op_unless(node, None if known is None else builder.em.bool(not known))


def _warn(builder: Builder, node: Any) -> None:
    by_script.known("aten.warn", None)
    file, line = place_of(node) or (builder.name, 0)
    builder.emit("aten.warn", [builder.operands(node)[0], builder.em.str(file), builder.em.int(line)], [])


def _raise(builder: Builder, node: Any) -> None:
    operands = builder.operands(node)
    if len(operands) == 1:
        operands.append(builder.em.none)
    builder.em.create("torch.prim.RaiseException", operands, [])


def _cast(builder: Builder, node: Any) -> None:
    (value,), (type_,) = builder.operands(node), builder.result_types(node)
    builder.bind(node, [cast(builder, value, type_)])


def _branch(builder: Builder, node: Any) -> None:
    types = builder.result_types(node)
    taken = bool_of(builder.operands(node)[0])
    if taken is not None:
        block = list(node.blocks())[0 if taken else 1]
        builder.nodes(block)
        builder.bind(node, [builder.derefined(builder.value(o), t) for o, t in zip(block.outputs(), types, strict=True)])
        return
    made = builder.em.create("torch.prim.If", builder.operands(node), types, regions=2)
    for block, region in zip(node.blocks(), made.regions, strict=True):
        with builder.em.at_end(region.blocks.append()):
            builder.nodes(block)
            yields = [builder.derefined(builder.value(o), t) for o, t in zip(block.outputs(), types, strict=True)]
            builder.em.create("torch.prim.If.yield", yields, [])
    arms = [list(region.blocks[0].operations)[-1].operation.operands for region in made.regions]
    builder.bind(node, [script_queries.agreed(builder, r, a, b) for r, a, b in zip(made.results, *arms, strict=True)])


def _loop(builder: Builder, node: Any) -> None:
    types = builder.result_types(node)
    trip, condition, *carried = builder.operands(node)
    carried = [builder.derefined(v, t) for v, t in zip(carried, types, strict=True)]
    made = builder.em.create("torch.prim.Loop", [trip, condition, *carried], types, regions=1)
    (block,) = node.blocks()
    body = made.regions[0].blocks.append(builder.em.types.int, *types, arg_locs=[builder.em.unknown] * (1 + len(types)))
    for value, argument in zip(block.inputs(), body.arguments, strict=True):
        builder.put(value, argument)
    for value, *given in zip(list(block.inputs())[1:], list(node.inputs())[2:], list(block.outputs())[1:], strict=True):
        builder.carried[value.unique()] = given
    with builder.em.at_end(body):
        builder.nodes(block)
        goes_on, *values = (builder.value(o) for o in block.outputs())
        values = [builder.derefined(v, t) for v, t in zip(values, types, strict=True)]
        builder.em.create("torch.prim.Loop.condition", [goes_on, *values], [])
    builder.bind(node, list(made.results))


HANDLERS = {
    "aten::__is__": _is,
    "aten::__isnot__": _is,
    "aten::__not__": _not,
    "aten::warn": _warn,
    "prim::If": _branch,
    "prim::Loop": _loop,
    "prim::RaiseException": _raise,
    "prim::unchecked_cast": _cast,
}
