"""Branches, loops, exceptions and warnings of TorchScript, and what decides a branch when the graph is built.

    %z : Tensor = prim::If(%c) block0(): -> (%y) ...   ->      torch.prim.If with derefined yields, or the arm that is taken
"""

from __future__ import annotations

from typing import Any

from tierup.dialect.facts.values import Int
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.core import bool_of, int_of, is_none, under_casts
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script import by_script
from tierup.frontend.torch.script.builder import Builder, OutOfSight, nodes_of
from tierup.frontend.torch.script.nodes import objects
from tierup.frontend.torch.script.nodes import queries as script_queries
from tierup.frontend.torch.script.nodes.containers import grown_in, is_result, set_in
from tierup.frontend.torch.script.nodes.queries import known
from tierup.frontend.torch.script.nodes.values import cast
from tierup.frontend.torch.script.places import place_of
from tierup.frontend.torch.script.types import spelled


def _is(builder: Builder, node: Any) -> None:
    """Whether something is itself, or None, where that is known: by its type, or by that of what was made an optional."""
    given = builder.operands(node)
    if any(v.type().kind() == "EnumType" for v in node.inputs()):
        one, other = (script_queries.known(builder, v) for v in given)
        if script_queries.UNKNOWN in (one, other):
            raise UnsupportedProgram("which member of an enum is meant is known at run time only")
        builder.bind(node, [builder.em.bool((one == other) == (node.kind() == "aten::__is__"))])
        return
    left, right = map(under_casts, given)
    if left == right or _is_apart(left, right) or _is_apart(right, left):
        builder.bind(node, [builder.em.bool((left == right) == (node.kind() == "aten::__is__"))])
        return
    nones = [is_none(under_casts(v)) for v in given]
    one, other = builder.arguments.get(left), builder.arguments.get(right)
    if not any(nones) and one is not None and other is not None and torch_types.is_tensor(left.type) and torch_types.is_tensor(right.type):
        builder.bind(node, [builder.em.bool(builder.attributes.arguments_are_one(one, other) == (node.kind() == "aten::__is__"))])
        return
    if not any(nones) or any(not n and _may_be_none(v) for v, n in zip(given, nones, strict=True)):
        builder.op(node)
        return
    builder.bind(node, [builder.em.bool(all(nones) == (node.kind() == "aten::__is__"))])


def _is_apart(made: ir.Value, other: ir.Value) -> bool:
    """Whether a tensor that an op makes is no other one: no argument, nor what another op makes."""
    if not _is_made(made) or made == other or not torch_types.is_tensor(other.type):
        return False
    return _is_made(other) or isinstance(other.owner, ir.Block) and other.owner.owner.name == "func.func"


def _is_made(value: ir.Value) -> bool:
    row = None if isinstance(value.owner, ir.Block) or not torch_types.is_tensor(value.type) else row_of(value.owner.operation)
    return row is not None and row.aliasing in (Aliasing.FRESH, Aliasing.VIEW) and not row.writes and not row.may_be_operand


def _may_be_none(value: ir.Value) -> bool:
    return all(str(v.type).startswith("!torch.optional") for v in (value, under_casts(value)))


def _not(builder: Builder, node: Any) -> None:
    known = bool_of(builder.operands(node)[0])
    builder.op_unless(node, None if known is None else builder.em.bool(not known))


def _warn(builder: Builder, node: Any) -> None:
    by_script.known("aten.warn", None)
    file, line = place_of(node) or (builder.name, 0)
    (message, *_) = builder.operands(node)
    said = known(builder, message)
    if not isinstance(said, str) or builder.attributes.is_heard(said, file, line, surely=builder.em.depth == 0):
        builder.emit("aten.warn", [message, builder.em.str(file), builder.em.int(line)], [])


def _raise(builder: Builder, node: Any) -> None:
    operands = builder.operands(node)
    if len(operands) == 1:
        operands.append(builder.em.none)
    builder.em.create("torch.prim.RaiseException", operands, [])


def _cast(builder: Builder, node: Any) -> None:
    (value,), (type_,) = builder.operands(node), builder.result_types(node)
    builder.bind(node, [cast(builder, value, type_)])


def _branch(builder: Builder, node: Any) -> None:
    taken = bool_of(builder.operands(node)[0])
    if taken is None:
        taken = script_queries.flag(builder, builder.operands(node)[0])
    if taken is not None:
        block = list(node.blocks())[0 if taken else 1]
        builder.handed_on.update(o.debugName() for o in node.outputs())
        builder.nodes(block)
        for output, given in zip(node.outputs(), block.outputs(), strict=True):
            _hold(builder, output, _held(builder, given))
        return
    if (appended := grown_in(builder, node)) is not None:
        raise OutOfSight(appended.debugName())
    outputs, items = [o.type() for o in node.outputs()], set_in(builder, node)
    flat = [t for type_ in outputs for t in _item_types(builder, type_) or [builder.type(spelled(type_))]] + items.types
    before = items.now()
    made = builder.em.create("torch.prim.If", builder.operands(node), flat, regions=2)
    for block, region in zip(node.blocks(), made.regions, strict=True):
        items.are(before)
        with builder.em.at_end(region.blocks.append()), items.inside():
            builder.nodes(block)
            given = [v for o, type_ in zip(block.outputs(), outputs, strict=True) for v in _items(builder, o, type_)] + items.now()
            builder.em.create("torch.prim.If.yield", [builder.derefined(v, t) for v, t in zip(given, flat, strict=True)], [])
    arms = [list(region.blocks[0].operations)[-1].operation.operands for region in made.regions]
    found = iter([script_queries.agreed(builder, r, a, b) for r, a, b in zip(made.results, *arms, strict=True)])
    for output, type_ in zip(node.outputs(), outputs, strict=True):
        inside = _item_types(builder, type_)
        if inside is None:
            builder.put(output, next(found))
        elif objects.is_object(type_):
            objects.put(builder, output, [next(found) for _ in inside])
        else:
            builder.put(output, _tuple(builder, [next(found) for _ in inside], builder.type(spelled(type_))))
    items.are(list(found))


def _item_types(builder: Builder, type_: Any) -> list[ir.Type] | None:
    """Of a tuple or an object, which leave a branch item by item: of each it is known what it is and shares. None of anything else."""
    if objects.is_object(type_):
        return objects.item_types(builder, type_)
    return [builder.type(spelled(t)) for t in type_.elements()] if type_.kind() == "TupleType" and type_.elements() else None


def _items(builder: Builder, output: Any, type_: Any) -> list[ir.Value]:
    """What an arm gives for a result of that type: the items of a tuple or an object, or the one value."""
    if objects.is_object(type_):
        return objects.items(builder, output)
    value, wanted = builder.value(output), _item_types(builder, type_)
    if wanted is None:
        return [value]
    made = maker(under_casts(value), "torch.prim.TupleConstruct")
    if made is not None:
        return list(made.operands)
    if maker(value, "torch.prim.Uninitialized") is not None:
        return [builder.em.create("torch.prim.Uninitialized", [], [t]).results[0] for t in wanted]
    return list(builder.em.create("torch.prim.TupleUnpack", [value], _item_types(builder, output.type()) or wanted).results)


def _tuple(builder: Builder, items: list[ir.Value], type_: ir.Type) -> ir.Value:
    return builder.em.create("torch.prim.TupleConstruct", items, [type_]).results[0]


_MOST_NODES = 400


def _rounds(builder: Builder, node: Any) -> int | None:
    """How often a loop goes round over a list of which the items are known, if it is better written out: None for any other."""
    trip, condition = [script_queries.known(builder, builder.value(v)) for v in list(node.inputs())[:2]]
    (block,) = node.blocks()
    grown = grown_in(builder, node)
    if grown is not None and type(trip) is not int:
        trip = _asked(builder, builder.value(next(node.inputs())), grown)
    goes_on, inner = list(block.outputs())[0], list(nodes_of(block))
    if type(trip) is not int or condition is not True or goes_on.node().kind() != "prim::Constant" or goes_on.toIValue() is not True:
        return None
    at = next(block.inputs()).unique()
    read = [next(n.inputs()) for n in inner if n.kind() == "aten::__getitem__" and list(n.inputs())[1].unique() == at]
    is_known = any(v.type().kind() == "ListType" and builder.has_items(v) for v in read)
    return max(trip, 0) if (is_known or grown is not None) and trip * len(inner) <= _MOST_NODES else None


def _asked(builder: Builder, trip: ir.Value, grown: Any) -> int | None:
    """How often a loop goes round that makes a result, from the sizes or numbers among the arguments, which then are part of the graph."""
    if not is_result(grown):
        return None
    name = builder.arguments.get(under_casts(trip))
    if name is not None:
        found = builder.attributes.argument_size(name)
    else:
        fact = builder.fact_of_sizes(trip)
        found = fact.value if isinstance(fact, Int) else None
    return found if type(found) is int else None


def _written_out(builder: Builder, node: Any, rounds: int) -> None:
    (block,) = node.blocks()
    carried = list(node.inputs())[2:]
    now = [_held(builder, v) for v in carried]
    for i in range(rounds):
        number, *inputs = block.inputs()
        builder.put(number, builder.em.int(i))
        for value, given in zip(inputs, now, strict=True):
            _hold(builder, value, given)
        builder.nodes(block)
        now = [_held(builder, v) for v in list(block.outputs())[1:]]
    for value, given in zip(node.outputs(), now, strict=True):
        _hold(builder, value, given)


def _held(builder: Builder, value: Any) -> Any:
    return builder.object(value) if objects.is_object(value.type()) else builder.value(value)


def _hold(builder: Builder, value: Any, given: Any) -> None:
    if objects.is_object(value.type()):
        builder.put_object(value, given)
    else:
        builder.put(value, builder.derefined(given, builder.type(spelled(value.type()))))


_MAY_BE_NONE = ("NoneType", "OptionalType")


def _is_none_at_first(builder: Builder, node: Any) -> bool:
    """Whether the first round of a loop over a range turns None into a tensor, which later rounds keep."""
    (block,) = node.blocks()
    goes_on, *given = block.outputs()
    at_first = [v.type().kind() in _MAY_BE_NONE and is_none(under_casts(builder.value(v))) for v in list(node.inputs())[2:]]
    known = script_queries.known(builder, builder.value(list(node.inputs())[1]))
    counts = known is True and goes_on.node().kind() == "prim::Constant" and goes_on.toIValue() is True
    turned = all(_is_a_tensor(v) for v, none in zip(given, at_first, strict=True) if none)
    plain = not set_in(builder, node).types and not any(objects.is_object(v.type()) for v in given)
    return any(at_first) and counts and turned and plain and 2 * len(list(nodes_of(block))) <= _MOST_NODES


def _is_a_tensor(value: Any) -> bool:
    node = value.node()
    if value.type().kind() == "TensorType" or node.kind() != "prim::If":
        return bool(value.type().kind() == "TensorType")
    at = [v.unique() for v in node.outputs()].index(value.unique())
    return all(_is_a_tensor(list(arm.outputs())[at]) for arm in node.blocks())


def _goes_round(builder: Builder, trip: ir.Value) -> bool | None:
    """Whether a loop goes round at all: an argument, or the size of one, is asked for that. None where only the run knows."""
    known = script_queries.known(builder, trip)
    if type(known) is int:
        return known > 0
    size = maker(trip, "torch.aten.size.int")
    name = builder.arguments.get(under_casts(trip if size is None else size.operands[0]))
    dim = None if size is None else int_of(size.operands[1])
    if name is None or (size is None) != (dim is None):
        return None
    return builder.attributes.argument_counts(name, () if dim is None else (dim,))


def _first_round_apart(builder: Builder, node: Any) -> None:
    """What is None at first is a tensor in the rounds of the loop: `if n > 0: one round, then a loop of the others`."""
    em, outputs, (trip, _, *carried) = builder.em, list(node.outputs()), list(node.inputs())
    types, count = [builder.type(spelled(o.type())) for o in outputs], builder.value(trip)

    def rounds() -> None:
        _written_out(builder, node, 1)
        first = [v if torch_types.is_tensor(v.type) else builder.value(o) for o in outputs for v in [under_casts(builder.value(o))]]
        _rounds_of(builder, node, em.scalar("aten.sub.int", [count, em.int(1)], em.types.int), first)

    def none() -> None:
        for output, value in zip(outputs, carried, strict=True):
            _hold(builder, output, builder.value(value))

    goes_round = _goes_round(builder, count)
    if goes_round is not None:
        (rounds if goes_round else none)()
        return
    made = em.create("torch.prim.If", [em.scalar("aten.gt.int", [count, em.int(0)], em.types.bool)], types, regions=2)
    for region, arm in zip(made.regions, (rounds, none), strict=True):
        with em.at_end(region.blocks.append()):
            arm()
            em.create("torch.prim.If.yield", [builder.derefined(builder.value(o), t) for o, t in zip(outputs, types, strict=True)], [])
    builder.bind(node, list(made.results))


def _loop(builder: Builder, node: Any) -> None:
    rounds = _rounds(builder, node)
    if rounds is not None:
        _written_out(builder, node, rounds)
        return
    grown = grown_in(builder, node)
    if grown is not None:
        raise OutOfSight(grown.debugName())
    if _is_none_at_first(builder, node):
        _first_round_apart(builder, node)
    else:
        _rounds_of(builder, node)


def _rounds_of(builder: Builder, node: Any, trip: ir.Value | None = None, carried: list[ir.Value] | None = None) -> None:
    """A loop: all of its rounds, or from the second on `trip` of them, which begin with other values."""
    items = set_in(builder, node)
    given = list(node.inputs())
    widths = [_carried_types(builder, o.type()) for o in node.outputs()] if carried is None else [[v.type] for v in carried]
    types = [*(t for each in widths for t in each), *items.types]
    carried = carried or [*(v for value in given[2:] for v in _carried(builder, value)), *items.now()]
    carried = [builder.derefined(v, t) for v, t in zip(carried, types, strict=True)]
    trips, condition = map(builder.value, given[:2])
    made = builder.em.create("torch.prim.Loop", [trips if trip is None else trip, condition, *carried], types, regions=1)
    (block,) = node.blocks()
    body = made.regions[0].blocks.append(builder.em.types.int, *types, arg_locs=[builder.em.unknown] * (1 + len(types)))
    number, *inputs = block.inputs()
    builder.put(number, body.arguments[0])
    with builder.em.at_end(body), items.inside():
        if trip is not None:
            builder.put(number, builder.em.scalar("aten.add.int", [body.arguments[0], builder.em.int(1)], builder.em.types.int))
        items.are(_put_carried(builder, inputs, widths, list(body.arguments)[1:]))
        for value, *both in zip(inputs, given[2:], list(block.outputs())[1:], strict=True):
            builder.carried[value.unique()] = both
        builder.nodes(block)
        goes_on, *outputs = block.outputs()
        values = [*(v for value in outputs for v in _carried(builder, value)), *items.now()]
        values = [under_casts(v) if torch_types.is_tensor(t) else builder.derefined(v, t) for v, t in zip(values, types, strict=True)]
        builder.em.create("torch.prim.Loop.condition", [builder.value(goes_on), *values], [])
    items.are(_put_carried(builder, list(node.outputs()), widths, list(made.results)))


def _carried_types(builder: Builder, type_: Any) -> list[ir.Type]:
    return objects.item_types(builder, type_) if objects.is_object(type_) else [builder.type(spelled(type_))]


def _carried(builder: Builder, value: Any) -> list[ir.Value]:
    """What goes round a loop for a TorchScript value: the fields of an object."""
    return objects.items(builder, value) if objects.is_object(value.type()) else [builder.value(value)]


def _put_carried(builder: Builder, of: list[Any], widths: list[list[ir.Type]], values: list[ir.Value]) -> list[ir.Value]:
    """Let values be what goes round a loop; those behind it."""
    rest = iter(values)
    for value, types in zip(of, widths, strict=True):
        fields = [next(rest) for _ in types]
        if objects.is_object(value.type()):
            objects.put(builder, value, fields)
        else:
            builder.put(value, fields[0])
    return list(rest)


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
