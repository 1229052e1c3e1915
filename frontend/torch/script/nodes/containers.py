"""Lists and dicts that a program changes where it is seen: what is in them is known when the graph is built, and they are no values.

    %l = prim::ListConstruct(%a, %b); %y = aten::pop(%l, %zero); %0 = aten::append(%l, %c)      %l is [%b, %c], %y is %a
    %d = prim::DictConstruct("h", %a); prim::Loop { aten::_set_item(%d, "h", %b) }              a loop that carries %a, then %b

Who reads one as a whole gets a new list or dict of what is in it then. Such is one that has no second name, and is changed in its own
block at places and under keys that the text says; in the branches and loops of this block items are set alone, those that it began with. A
list of no tensors, or that is a result, may also be appended to there: then branches have to be taken for certain and loops written out,
else `OutOfSight` has the graph built again without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tierup.dialect.mlir import ir
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.frontend.torch.script.builder import Builder, Contents, OutOfSight, nodes_of
from tierup.frontend.torch.script.nodes.objects import Record
from tierup.frontend.torch.script.nodes.queries import UNKNOWN, known
from tierup.frontend.torch.script.types import spelled

_READ = frozenset({
    "aten::__contains__", "aten::__getitem__", "aten::get", "aten::items", "aten::keys", "aten::len", "aten::values", "prim::ListUnpack",
})  # fmt: skip
_RESULTS = frozenset({"prim::DictConstruct", "prim::ListConstruct", "prim::Return", "prim::TupleConstruct"})


# --- which ------------------------------------------------------------------------------------------------------------


def is_in_sight(builder: Builder, value: Any, keys: Sequence[Any]) -> bool:
    """Whether a new list or dict, or one that is an argument, is one of these. `keys`: of its items when it is made."""
    if builder.has_tasks or value.debugName() in builder.out_of_sight:
        return False
    here = value.node().owningBlock()  # one object while it is held
    is_dict = value.type().kind() == "DictType"
    changed, moves = False, False
    inside: set[Any] = set()  # the keys that branches and loops set, which have to be there then
    removed: set[Any] = set()
    for use in _uses(value):
        user, kind = use.user, use.user.kind()
        if use.offset != 0 or kind not in _CHANGES:
            if not _reads(builder, user, use.offset):
                return False
            continue
        if not _is_said(user):
            return False
        changed = True
        if kind == "aten::append" and user.owningBlock() is not here and _is_inside(user, here) and _is_kept(value):
            moves = True
            continue
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


def _is_inside(user: Any, here: Any) -> bool:
    """Whether a node stands in branches and loops of a block."""
    block = user.owningBlock()
    while block is not here and block.owningNode() is not None:
        block = block.owningNode().owningBlock()
    return block is here


def grown_in(builder: Builder, node: Any) -> Any:
    """A list in sight to which the branches or the loop of a node append: which do has to be known when the graph is built."""
    appended = (next(n.inputs()) for block in node.blocks() for n in nodes_of(block) if n.kind() == "aten::append")
    return next((v for v in appended if v.unique() in builder.contents), None)


def _is_kept(value: Any) -> bool:
    """Whether a list to which branches and loops append is better known item by item: one of no tensors, or a result."""
    return value.type().kind() == "ListType" and (value.type().getElementType().kind() != "TensorType" or is_result(value))


def is_result(value: Any) -> bool:
    """Whether the program gives a list to its caller, as it is or in something else."""
    users = [use.user for use in value.uses()]
    return any(u.kind() == "prim::Return" or u.kind() in _RESULTS and any(map(is_result, u.outputs())) for u in users)


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
    if kind == "aten::remove":
        return _is_constant(operands[1]) and operands[0].node().kind() != "aten::add_"
    return kind in ("aten::clear", "aten::reverse") or _is_constant(operands[1])


def _is_constant(value: Any) -> bool:
    return bool(value.node().kind() == "prim::Constant")


def _reads(builder: Builder, user: Any, position: int) -> bool:
    """Whether a node looks at a list or dict and keeps no name of it: a result of the program is what it is in the end, and one of a branch
    that is taken for certain what it is there."""
    kind = user.kind()
    if kind in _READ:
        return position == 0
    if kind == "prim::Return" and user.owningBlock().owningNode() is not None:
        output = _handed_on(user, position)
        return output is not None and output.debugName() in builder.handed_on and _is_left(builder, output, set())
    if kind in _RESULTS:
        return _is_in_the_end(user) and all(_reads(builder, use.user, use.offset) for value in user.outputs() for use in value.uses())
    import torch  # here: optional, and whoever has a graph has it

    if not kind.startswith("aten::") or user.schema() == "(no schema)":
        return False
    return torch._C.parse_schema(user.schema()).arguments[position].alias_info is None


def _handed_on(user: Any, position: int) -> Any:
    """The result of a branch that a result of an arm is."""
    branch = user.owningBlock().owningNode()
    return list(branch.outputs())[position] if branch.kind() == "prim::If" else None


def _is_left(builder: Builder, value: Any, seen: set[str]) -> bool:
    """Whether nobody changes a list under the name that a branch gave it, or those that it gets later."""
    if value.debugName() in seen:
        return True
    seen.add(value.debugName())
    for use in value.uses():
        if use.user.kind() == "prim::unchecked_cast":
            names = [use.user.output()]
        elif use.user.kind() == "prim::Return" and use.user.owningBlock().owningNode() is not None:
            names = [_handed_on(use.user, use.offset)]
        else:
            names = []
            if not _reads(builder, use.user, use.offset):
                return False
        if any(name is None or not _is_left(builder, name, seen) for name in names):
            return False
    return True


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
    handler = None if contents is None else {**_CHANGES, **QUESTIONS}.get(node.kind())
    return contents is not None and handler is not None and handler(builder, node, contents)


def operand(builder: Builder, node: Any, i: int) -> Any:
    """What is known of an operand of a node."""
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
    key, value = operand(builder, node, 1), builder.operands(node)[2]
    assert isinstance(contents.items, dict)
    builder.bind(node, [contents.items.setdefault(key, builder.derefined(value, contents.element))])
    return True


def _insert(builder: Builder, node: Any, contents: Contents) -> bool:
    assert isinstance(contents.items, list)
    contents.items.insert(operand(builder, node, 1), builder.derefined(builder.operands(node)[2], contents.element))
    return True


def _set(builder: Builder, node: Any, contents: Contents) -> bool:
    key = operand(builder, node, 1)
    if isinstance(contents.items, list):
        key = _place(contents, key)
        if key is None:
            return False
    contents.items[key] = builder.derefined(builder.operands(node)[2], contents.element)
    return True


def _pop(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _place(contents, operand(builder, node, 1))
    if key is None or len(list(node.inputs())) > 2:
        return False
    builder.bind(node, [contents.items.pop(key)])
    return True


def _delete(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _place(contents, operand(builder, node, 1))
    if key is not None:
        del contents.items[key]
    return key is not None


def _reverse(builder: Builder, node: Any, contents: Contents) -> bool:
    assert isinstance(contents.items, list)
    contents.items.reverse()
    return True


def _clear(builder: Builder, node: Any, contents: Contents) -> bool:
    contents.items.clear()
    return True


def _remove(builder: Builder, node: Any, contents: Contents) -> bool:
    """Of numbers and strings that are known, of which it is one: for any other list the run says what goes."""
    items, wanted = contents.items, operand(builder, node, 1)
    assert isinstance(items, list)
    found = [known(builder, item) for item in items]
    if UNKNOWN in found or wanted not in found:
        raise OutOfSight(next(node.inputs()).debugName())
    del items[found.index(wanted)]
    return True


def _sort(builder: Builder, node: Any, contents: Contents) -> bool:
    """Of ints."""
    items = contents.items
    assert isinstance(items, list)
    in_order(builder, items)
    if operand(builder, node, 1):
        items.reverse()
    return True


def in_order(builder: Builder, items: list[ir.Value]) -> list[ir.Value]:
    """Ints from the least to the largest: each is exchanged with those before it."""
    em = builder.em
    for i in range(len(items)):
        for j in range(i, 0, -1):
            pair = [items[j - 1], items[j]]
            items[j - 1], items[j] = (em.scalar(f"prim.{which}.int", pair, em.types.int) for which in ("min", "max"))
    return items


def _item(builder: Builder, node: Any, contents: Contents) -> bool:
    key = _place(contents, operand(builder, node, 1))
    if key is not None:
        builder.bind(node, [builder.derefined(contents.items[key], builder.result_types(node)[0])])
    return key is not None


def _get(builder: Builder, node: Any, contents: Contents) -> bool:
    """An item, or what is asked for in its place."""
    key = operand(builder, node, 1)
    if key is UNKNOWN or isinstance(key, list) or isinstance(contents.items, list):
        return False
    default = builder.operands(node)[2] if len(list(node.inputs())) > 2 else builder.em.none
    builder.bind(node, [builder.derefined(contents.items.get(key, default), builder.result_types(node)[0])])
    return True


def _length(builder: Builder, node: Any, contents: Contents) -> bool:
    builder.bind(node, [builder.em.int(len(contents.items))])
    return True


def _has(builder: Builder, node: Any, contents: Contents) -> bool:
    key = operand(builder, node, 1)
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
    "aten::clear": _clear,
    "aten::extend": _extend,
    "aten::insert": _insert,
    "aten::pop": _pop,
    "aten::remove": _remove,
    "aten::reverse": _reverse,
    "aten::setdefault": _set_default,
    "aten::sort": _sort,
    "aten::update": _update,
}
QUESTIONS: dict[str, Handler] = {
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
