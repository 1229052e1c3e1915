"""Lists and dicts that a program changes where it is seen: what is in them is known when the graph is built, and they are no values.

    %l = prim::ListConstruct(%a, %b); %y = aten::pop(%l, %zero); %0 = aten::append(%l, %c)      %l is [%b, %c], %y is %a
    %d = prim::DictConstruct("h", %a); prim::Loop { aten::_set_item(%d, "h", %b) }              a loop that carries %a, then %b

Who reads one as a whole gets a new list or dict of what is in it then. Such is one that has no second name, and is changed in its own
block at places and under keys that the text says; in the branches and loops of this block items are set alone, those that it began with.
So are the items of `x.unbind()`, which loops over tensors read: `aten::__getitem__(%items, %i)` is `torch.aten.select.int`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Any

from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder, Contents, nodes_of
from tierup.frontend.torch.script.nodes.objects import Record
from tierup.frontend.torch.script.nodes.queries import UNKNOWN, known
from tierup.frontend.torch.script.types import spelled

_READ = frozenset({
    "aten::__contains__", "aten::__getitem__", "aten::get", "aten::items", "aten::keys", "aten::len", "aten::values", "prim::ListUnpack",
})  # fmt: skip
_RESULTS = frozenset({"prim::DictConstruct", "prim::ListConstruct", "prim::Return", "prim::TupleConstruct"})
_UNPACKED = "torch.aten.unbind.int"


# --- which ------------------------------------------------------------------------------------------------------------


def is_in_sight(builder: Builder, value: Any, keys: Sequence[Any]) -> bool:
    """Whether a new list or dict, or one that is an argument, is one of these. `keys`: of its items when it is made."""
    if builder.has_tasks:
        return False
    here = value.node().owningBlock()  # one object while it is held
    is_dict = value.type().kind() == "DictType"
    changed, moves = False, False
    inside: set[Any] = set()  # the keys that branches and loops set, which have to be there then
    removed: set[Any] = set()
    for use in _uses(value):
        user, kind = use.user, use.user.kind()
        if use.offset != 0 or kind not in _CHANGES:
            if not _reads(user, use.offset):
                return False
            continue
        if not _is_said(user):
            return False
        changed = True
        if user.owningBlock() is not here:
            key = list(user.inputs())[1].toIValue() if kind == "aten::_set_item" else None
            if key is None or key not in keys:
                return False
            inside.add(key)
        elif is_dict and kind in ("aten::Delete", "aten::pop"):
            removed.add(list(user.inputs())[1].toIValue())
        else:
            moves = moves or kind not in ("aten::_set_item", "aten::add_", "aten::append")
    return changed and not (inside and (moves or inside & removed))


def _uses(value: Any) -> Iterator[Any]:
    """Of a list under all its names: `l += [x]` gives it another."""
    for use in value.uses():
        yield use
        if use.user.kind() == "aten::add_" and use.offset == 0:
            yield from _uses(use.user.output())


def _is_said(user: Any) -> bool:
    """Whether a change is one at a place or under a key that the text says."""
    kind, operands = user.kind(), list(user.inputs())
    if kind in ("aten::add_", "aten::extend", "aten::update"):
        added = operands[1].node()
        is_written_down = added.kind() in ("prim::DictConstruct", "prim::ListConstruct") and len(operands[1].uses()) == 1
        return is_written_down and (kind != "aten::update" or all(map(_is_constant, list(added.inputs())[::2])))
    if kind == "aten::append":
        return not user.output().uses()
    if kind == "aten::sort":
        return str(user.schema()).startswith("aten::sort.int") and _is_constant(operands[1])
    return kind == "aten::reverse" or _is_constant(operands[1])


def _is_constant(value: Any) -> bool:
    return bool(value.node().kind() == "prim::Constant")


def _reads(user: Any, position: int) -> bool:
    """Whether a node looks at a list or dict and keeps no name of it: a result of the program is what it is in the end."""
    kind = user.kind()
    if kind in _READ:
        return position == 0
    if kind in _RESULTS:
        return _is_in_the_end(user) and all(_reads(use.user, use.offset) for value in user.outputs() for use in value.uses())
    import torch  # here: optional, and whoever has a graph has it

    if not kind.startswith("aten::") or user.schema() == "(no schema)":
        return False
    return torch._C.parse_schema(user.schema()).arguments[position].alias_info is None


def _is_in_the_end(node: Any) -> bool:
    """Whether a node is the program's return, or puts together what it returns, behind all else."""
    block = node.owningBlock()
    if block.owningNode() is not None:
        return False
    last = {value.unique() for other in _last_of(block) for value in other.outputs()}
    return node.kind() == "prim::Return" or all(value.unique() in last for value in node.outputs())


def _last_of(block: Any) -> Iterator[Any]:
    for node in reversed(list(block.nodes())):
        if node.kind() not in _RESULTS and node.kind() != "prim::Constant":
            return
        yield node


# --- what is done to them ----------------------------------------------------------------------------------------------


def change(builder: Builder, node: Any) -> bool:
    """Translate a node that changes or asks one of these; whether it is one, and what it asks for is there."""
    first = next(node.inputs(), None)
    contents = None if first is None else builder.contents.get(first.unique())
    handler = None if contents is None else {**_CHANGES, **_QUESTIONS}.get(node.kind())
    return contents is not None and handler is not None and handler(builder, node, contents)


def _operand(builder: Builder, node: Any, i: int) -> Any:
    return known(builder, builder.value(list(node.inputs())[i]))


def _place(contents: Contents, index: Any) -> Any:
    """The key of an item that is there; None where there is none."""
    items = contents.items
    if isinstance(items, dict):
        return index if index is not UNKNOWN and not isinstance(index, list) and index in items else None
    return index % len(items) if isinstance(index, int) and -len(items) <= index < len(items) else None


def _append(builder: Builder, node: Any, contents: Contents) -> bool:
    assert isinstance(contents.items, list)
    contents.items.append(builder.derefined(builder.operands(node)[1], contents.element))
    return True


def _extend(builder: Builder, node: Any, contents: Contents) -> bool:
    assert isinstance(contents.items, list)
    added = list(node.inputs())[1].node()
    contents.items += [builder.derefined(v, contents.element) for v in builder.operands(added)]
    for grown in node.outputs():  # of `l += [x]`
        builder.contents[grown.unique()] = contents
    return True


def _update(builder: Builder, node: Any, contents: Contents) -> bool:
    added = builder.operands(list(node.inputs())[1].node())
    for key, value in zip(added[::2], added[1::2], strict=True):
        contents.items[known(builder, key)] = builder.derefined(value, contents.element)
    return True


def _set_default(builder: Builder, node: Any, contents: Contents) -> bool:
    key, value = _operand(builder, node, 1), builder.operands(node)[2]
    assert isinstance(contents.items, dict)
    builder.bind(node, [contents.items.setdefault(key, builder.derefined(value, contents.element))])
    return True


def _insert(builder: Builder, node: Any, contents: Contents) -> bool:
    assert isinstance(contents.items, list)
    contents.items.insert(_operand(builder, node, 1), builder.derefined(builder.operands(node)[2], contents.element))
    return True


def _set(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _operand(builder, node, 1)
    if isinstance(contents.items, list):
        key = _place(contents, key)
        if key is None:
            return False
    contents.items[key] = builder.derefined(builder.operands(node)[2], contents.element)
    return True


def _pop(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _place(contents, _operand(builder, node, 1))
    if key is None or len(list(node.inputs())) > 2:
        return False
    builder.bind(node, [contents.items.pop(key)])
    return True


def _delete(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _place(contents, _operand(builder, node, 1))
    if key is not None:
        del contents.items[key]
    return key is not None


def _reverse(builder: Builder, node: Any, contents: Contents) -> bool:
    assert isinstance(contents.items, list)
    contents.items.reverse()
    return True


def _sort(builder: Builder, node: Any, contents: Contents) -> bool:
    """Of ints: each is exchanged with those before it."""
    items, em = contents.items, builder.em
    assert isinstance(items, list)
    for i in range(len(items)):
        for j in range(i, 0, -1):
            pair = [items[j - 1], items[j]]
            items[j - 1], items[j] = (em.scalar(f"prim.{which}.int", pair, em.types.int) for which in ("min", "max"))
    if _operand(builder, node, 1):
        items.reverse()
    return True


def _item(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _place(contents, _operand(builder, node, 1))
    if key is not None:
        builder.bind(node, [builder.derefined(contents.items[key], builder.result_types(node)[0])])
    return key is not None


def _get(builder: Builder, node: Any, contents: Contents) -> bool:
    """An item, or what is asked for in its place."""
    key = _operand(builder, node, 1)
    if key is UNKNOWN or isinstance(key, list) or isinstance(contents.items, list):
        return False
    default = builder.operands(node)[2] if len(list(node.inputs())) > 2 else builder.em.none
    builder.bind(node, [builder.derefined(contents.items.get(key, default), builder.result_types(node)[0])])
    return True


def _length(builder: Builder, node: Any, contents: Contents) -> bool:
    builder.bind(node, [builder.em.int(len(contents.items))])
    return True


def _has(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _operand(builder, node, 1)
    if not isinstance(contents.items, dict) or key is UNKNOWN:
        return False
    builder.bind(node, [builder.em.bool(key in contents.items)])
    return True


def _whole(builder: Builder, node: Any, contents: Contents) -> bool:
    """The keys of a dict, its values, or both, as a list."""
    assert isinstance(contents.items, dict)
    keys, (type_,) = [builder.em.constant(key) for key in contents.items], builder.result_types(node)
    items = keys if node.kind() == "aten::keys" else list(contents.items.values())
    if node.kind() == "aten::items":
        pair = builder.type(spelled(node.output().type().getElementType()))
        items = [builder.em.create("torch.prim.TupleConstruct", [k, v], [pair]).results[0] for k, v in zip(keys, items, strict=True)]
    builder.bind(node, [builder.whole(items, type_)])
    return True


Handler = Callable[[Builder, Any, Contents], bool]
_CHANGES: dict[str, Handler] = {
    "aten::Delete": _delete,
    "aten::_set_item": _set,
    "aten::add_": _extend,
    "aten::append": _append,
    "aten::extend": _extend,
    "aten::insert": _insert,
    "aten::pop": _pop,
    "aten::reverse": _reverse,
    "aten::setdefault": _set_default,
    "aten::sort": _sort,
    "aten::update": _update,
}
_QUESTIONS: dict[str, Handler] = {
    "aten::__contains__": _has,
    "aten::__getitem__": _item,
    "aten::get": _get,
    "aten::items": _whole,
    "aten::keys": _whole,
    "aten::len": _length,
    "aten::values": _whole,
}


# --- in branches and loops ----------------------------------------------------------------------------------------------


@dataclass
class Set:
    """The items and fields that branches or a loop set: they are results of these, behind all others."""

    builder: Builder
    places: list[tuple[Contents | Record, Any]]

    @property
    def types(self) -> list[ir.Type]:
        """Of each."""
        return [holder.type_of(self.builder, key) for holder, key in self.places]

    @contextmanager
    def inside(self) -> Iterator[None]:
        """What is translated here stands in the branches or the loop."""
        before = self.builder.carried_items
        self.builder.carried_items = before | set(self.places)
        self.builder.depth += 1
        try:
            yield
        finally:
            self.builder.carried_items = before
            self.builder.depth -= 1

    def now(self) -> list[ir.Value]:
        """What they are here. Raises UnsupportedProgram for a field that is set on one path alone."""
        if any(isinstance(holder, Record) and not isinstance(holder.items.get(key), ir.Value) for holder, key in self.places):
            raise UnsupportedProgram("a branch or a loop sets a field of an object that has none before, or an object in it")
        return [holder.items[key] for holder, key in self.places]

    def are(self, values: list[ir.Value]) -> None:
        """Let them be these."""
        for (holder, key), value in zip(self.places, values, strict=True):
            holder.items[key] = value


def set_in(builder: Builder, node: Any) -> Set:
    """The items and fields that the blocks of a node set."""
    found: dict[tuple[int, Any], tuple[Contents | Record, Any]] = {}
    for block in node.blocks():
        for inner in nodes_of(block):
            contents = builder.contents.get(next(inner.inputs()).unique()) if inner.kind() == "aten::_set_item" else None
            if contents is not None:
                key = list(inner.inputs())[1].toIValue()
                found[id(contents), key] = contents, key
            owner = builder.object_or_none(next(inner.inputs())) if inner.kind() == "prim::SetAttr" else None
            if isinstance(owner, Record):
                found[id(owner), inner.s("name")] = owner, inner.s("name")
    return Set(builder, list(found.values()))


# --- of those that stay as they are --------------------------------------------------------------------------------------


def _ask(builder: Builder, node: Any) -> None:
    """A question to a list, a dict or a string."""
    of = next(node.inputs())
    contents = _of_dict(builder, of) if of.type().kind() == "DictType" else None
    if contents is not None and _QUESTIONS[node.kind()](builder, node, contents):
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


def _from_list(builder: Builder, node: Any) -> None:
    """A new list or dict of what is in a list that is known, the sum or an extreme of its numbers, how often one is there."""
    of = next(node.inputs())
    items = builder.items_of(builder.value(of)) if of.type().kind() == "ListType" and not builder.object_or_none(of) else None
    made = None if items is None else _FROM_ITEMS[node.kind()](builder, node, items)
    builder.op_unless(node, made)


def _copied(builder: Builder, node: Any, items: Sequence[ir.Value]) -> ir.Value | None:
    return None if builder.is_written(node.output()) else builder.whole(items, builder.result_types(node)[0])


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
    if all(known(builder, v) is not UNKNOWN for v in items):
        return None  # the op says which number it is
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


_FROM_ITEMS: dict[str, Callable[[Builder, Any, Sequence[ir.Value]], ir.Value | None]] = {
    "aten::count": _count,
    "aten::dict": _paired,
    "aten::list": _copied,
    "aten::sum": _numbers,
    "prim::max": _numbers,
    "prim::min": _numbers,
}
_OF_LISTS = {"aten::__getitem__": _of_list, "aten::len": _of_list}
HANDLERS = dict.fromkeys(_QUESTIONS, _ask) | dict.fromkeys(_FROM_ITEMS, _from_list)
