"""Lists and dicts that stay as they are: what is asked of them, and new ones that are made of them.

So are the items of `x.unbind()`, which loops over tensors read: `aten::__getitem__(%items, %i)` is `torch.aten.select.int`. And parts of
tensors and numbers that the program gives to its caller: how many there are is known by the sizes among the arguments, which then are part
of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from math import prod
from operator import add
from typing import Any

from tierup.dialect.facts.values import List, Tensor
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder, Contents
from tierup.frontend.torch.script.nodes.containers import QUESTIONS, in_order, is_in_sight, is_result, operand
from tierup.frontend.torch.script.nodes.queries import UNKNOWN, known
from tierup.frontend.torch.script.types import spelled

_UNPACKED = "torch.aten.unbind.int"


def _ask(builder: Builder, node: Any) -> None:
    """A question to a list, a dict or a string."""
    of = next(node.inputs())
    contents = _of_dict(builder, of) if of.type().kind() == "DictType" else None
    if contents is not None and QUESTIONS[node.kind()](builder, node, contents):
        return
    _OF_LISTS.get(node.kind(), type(builder).op)(builder, node)


def _of_dict(builder: Builder, of: Any) -> Contents | None:
    """What is in a dict that is written down; None where that is not known, or changes."""
    made = None if builder.is_written(of) else maker(builder.value(of), "torch.prim.DictConstruct")
    if made is None:
        return None
    parts, count = list(made.operands), len(made.operands) // 2  # keys, then values
    keys = [known(builder, key) for key in parts[:count]]
    if any(key is UNKNOWN or isinstance(key, list) for key in keys) or len(set(keys)) < count:
        return None
    return Contents(dict(zip(keys, parts[count:], strict=True)), builder.type(spelled(of.type().getValueType())))


def _of_list(builder: Builder, node: Any) -> None:
    """An item of a list, or how many there are: of one that is written down, and of what `unbind` gave."""
    of, *index = node.inputs()
    objects = builder.object_or_none(of)
    if isinstance(objects, list):
        _of_objects(builder, node, objects)
        return
    first, *index = builder.operands(node)
    items = builder.items_of(first) if index and of.type().kind() == "ListType" else None
    at = known(builder, index[0]) if items is not None else None
    if items is not None and isinstance(at, int) and -len(items) <= at < len(items):
        builder.bind(node, [builder.derefined(items[at], builder.result_types(node)[0])])
        return
    made = maker(first, _UNPACKED)
    if made is None or builder.is_written(next(node.inputs())):
        builder.op(node)
        return
    x, dim = made.operands
    name, operands = ("torch.aten.select.int", [x, dim, *index]) if index else ("torch.aten.size.int", [x, dim])
    builder.bind(node, list(builder.em.create(name, operands, builder.result_types(node)).results))


def _of_objects(builder: Builder, node: Any, objects: list[Any]) -> None:
    if node.kind() == "aten::len":
        builder.bind(node, [builder.em.int(len(objects))])
        return
    at = known(builder, builder.value(list(node.inputs())[1]))
    if not isinstance(at, int) or not -len(objects) <= at < len(objects):
        raise UnsupportedProgram("which object of a list is meant is known at run time only")
    builder.put_object(node.output(), objects[at])


_MOST_ITEMS, _MOST_SORTED = 64, 16


def open_result(builder: Builder, node: Any) -> None:
    """Let a list of parts of a tensor, that the program gives to its caller, be a list that is written down."""
    outputs = list(node.outputs())
    if len(outputs) != 1 or str(outputs[0].type()) != "List[Tensor]" or builder.is_written(outputs[0]) or not is_result(outputs[0]):
        return
    made = builder.value(outputs[0])
    found = builder.fact(made)
    if not isinstance(found, List) or found.items is None:
        found = builder.fact_of_sizes(made)
    if isinstance(found, List) and found.items is not None and len(found.items) <= _MOST_ITEMS:
        items = builder.em.create("torch.prim.ListUnpack", [made], [builder.type("tensor")] * len(found.items)).results
        builder.put_list(outputs[0], builder.em.create("torch.prim.ListConstruct", list(items), [made.type]).results[0])


# by the type of numbers: the dtypes that they are of, and how they are read
_READ_AS = {"int": ("i64", "Int"), "float": ("f32 f64", "Float"), "bool": ("bool", "Bool")}


def _numbers_of(builder: Builder, node: Any) -> None:
    """`x.tolist()`, where that is a result: number by number, if all is as the program states and they are few."""
    x, rank = builder.operands(node)[0], operand(builder, node, 1)
    output = node.output()
    known = builder.fact_of_sizes(x) if not builder.is_written(output) and (is_result(output) or rank == 0) else None
    dtypes, name = _READ_AS.get(str(output.type()).replace("List[", "").rstrip("]"), ("", ""))
    sizes = known.shape if isinstance(known, Tensor) and known.dtype is not None and known.dtype.name in dtypes.split() else None
    counts = [n for n in sizes or () if isinstance(n, int)]
    if sizes is None or not len(sizes) == len(counts) == rank or prod(counts) > _MOST_ITEMS:
        builder.op(node)
        return

    def items(x: ir.Value, counts: Sequence[int], type_: Any) -> ir.Value:
        em = builder.em
        if not counts:
            return em.scalar(f"aten.{name}.Tensor", [x], builder.type(spelled(type_)))
        rows = [em.create("torch.aten.select.int", [x, em.int(0), em.int(i)], [em.types.tensor]).results[0] for i in range(counts[0])]
        return builder.whole([items(row, counts[1:], type_.getElementType()) for row in rows], builder.type(spelled(type_)))

    builder.bind(node, [items(x, counts, output.type())])


def _from_list(builder: Builder, node: Any) -> None:
    """A new list or dict of what is in a list that is known, the sum or an extreme of its numbers, how often one is there."""
    of = next(node.inputs())
    items = builder.items_of(builder.value(of)) if of.type().kind() == "ListType" and not builder.object_or_none(of) else None
    made = None if items is None else _FROM_ITEMS[node.kind()](builder, node, items)
    builder.op_unless(node, made)


def _copied(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    return None if builder.is_written(node.output()) else builder.whole(items, builder.result_types(node)[0])


def _another(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    """A new list, which may be changed in its turn."""
    output = node.output()
    if builder.is_written(output):
        if not is_in_sight(builder, output, range(len(items))):
            return None
        builder.contents[output.unique()] = Contents([*items], builder.type(spelled(output.type().getElementType())))
    return builder.whole(items, builder.result_types(node)[0])


def _joined(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    more = builder.items_of(builder.operands(node)[1])
    return None if more is None else _another(builder, node, [*items, *more])


def _repeated(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    times = operand(builder, node, 1)
    return _another(builder, node, [*items] * times) if type(times) is int and times * len(items) <= _MOST_ITEMS else None


def _cut(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    bounds = [operand(builder, node, i) for i in (1, 2, 3)]
    return None if UNKNOWN in bounds or bounds[2] == 0 else _another(builder, node, items[slice(*bounds)])


def _sorted(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    if not items or {str(v.type) for v in items} != {"!torch.int"} or len(items) > _MOST_SORTED:
        return None
    return _another(builder, node, in_order(builder, [*items]))


def _paired(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    pairs = [maker(item, "torch.prim.TupleConstruct") for item in items]
    if builder.is_written(node.output()) or any(p is None for p in pairs):
        return None
    keys, values = zip(*(list(p.operands) for p in pairs if p is not None), strict=True) if pairs else ((), ())
    return builder.dict_of(keys, values, node.output().type())


def _numbers(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    """From the first to the last, as TorchScript does it: so NaN goes."""
    kind = str(builder.result_types(node)[0]).removeprefix("!torch.")
    if kind not in ("int", "float") or {str(v.type) for v in items} != {f"!torch.{kind}"}:
        return None
    numbers = [known(builder, v) for v in items]
    if UNKNOWN not in numbers:
        return builder.em.constant(reduce(add, numbers)) if node.kind() == "aten::sum" else None  # of others the op says which it is
    em, op = builder.em, node.kind().replace("::", ".").replace("aten.sum", "aten.add")
    found = items[0]
    for item in items[1:]:
        found = em.scalar(f"{op}.{kind}", [item, found], found.type)
    return found


def _count(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    em, wanted = builder.em, builder.operands(node)[1]
    if not items or str(wanted.type) not in ("!torch.int", "!torch.float") or {v.type for v in items} != {wanted.type}:
        return None
    name = f"aten.eq.{str(wanted.type).removeprefix('!torch.')}"
    same = [em.scalar("aten.Int.bool", [em.scalar(name, [v, wanted], em.types.bool)], em.types.int) for v in items]
    return reduce(lambda a, b: em.scalar("aten.add.int", [a, b], em.types.int), same)


def _index(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    """Where an item is, where all are known, and it is there."""
    found, wanted = [known(builder, v) for v in items], operand(builder, node, 1)
    return builder.em.int(found.index(wanted)) if UNKNOWN not in (*found, wanted) and wanted in found else None


_FROM_ITEMS: dict[str, Callable[[Builder, Any, Sequence[ir.Value]], ir.Value | None]] = {
    "aten::add": _joined,
    "aten::copy": _another,
    "aten::count": _count,
    "aten::dict": _paired,
    "aten::index": _index,
    "aten::list": _copied,
    "aten::mul": _repeated,
    "aten::slice": _cut,
    "aten::sorted": _sorted,
    "aten::sum": _numbers,
    "prim::max": _numbers,
    "prim::min": _numbers,
}
_OF_LISTS = {"aten::__getitem__": _of_list, "aten::len": _of_list}
HANDLERS = dict.fromkeys(QUESTIONS, _ask) | dict.fromkeys(_FROM_ITEMS, _from_list) | {"prim::tolist": _numbers_of}
