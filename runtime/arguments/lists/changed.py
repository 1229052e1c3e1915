"""Lists that came in as arrays (columns.py), of which a program changes one, or gives one back.

    def scale(xs, a):                    scale([1.0, 2.0], 3.0)
        for i in range(len(xs)):   ->    the program writes an array [1.0 2.0] -> [3.0 6.0]
            xs[i] *= a                   xs[0], xs[1] = 3.0, 6.0: when the call ends, or raises

What did not change stays the very object that it was. No list has two names here: where one stands in a call twice, as in
`[[0] * 3] * 3`, Python answers.

Free of MLIR: read on every such call that the native entry does not take.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.arguments.lists.columns import NUMBER_TYPES, Kind, by_kinds
from tierup.runtime.arguments.trees import CallShape, Node, Output, OutputNode, OutputTree, OutputUnion, Tree, leaf_names
from tierup.runtime.base.errors import UnsupportedArgument


@dataclass(frozen=True)
class ListArgument:
    """One of them: the way to it, the kind of its items, the places of its arrays among a call's flat leaves, and whether they change."""

    access: Access
    kind: Kind
    places: range
    changes: bool


@dataclass(frozen=True)
class Lists:
    """All lists of a call that came in as arrays, in order; none where the program only reads them."""

    all: tuple[ListArgument, ...] = ()

    @staticmethod
    def of(shape: CallShape, written: Collection[int], output: OutputTree) -> Lists:
        """Of a graph for calls of this shape. `written`: the flat leaves that it writes."""
        found = tuple(_lists_in(shape, frozenset(written)))
        given_back = _again_in(output) >= _results_in(output)
        return Lists(found) if given_back or any(each.changes for each in found) else Lists()

    @property
    def change(self) -> bool:
        """Whether one of them changes."""
        return any(each.changes for each in self.all)

    def find(self, arguments: Mapping[str, object]) -> list[list[Any]]:
        """Those of a call. Raises UnsupportedArgument where one changes, and they, or the lists in them, are not all apart."""
        found: list[Any] = [each.access.read(arguments) for each in self.all]
        if self.change:
            level, seen = [(each.kind, items) for each, items in zip(self.all, found, strict=True)], list(found)
            while level:
                level = [(kind[1], row) for kind, items in level if kind[0] == "list" and not isinstance(kind, str) for row in items]
                seen += [row for _, row in level]
            if len(set(map(id, seen))) < len(seen):
                raise UnsupportedArgument("a list that changes stands in the call twice; pass copies")
        return found

    def put_back(self, lists: Sequence[list[Any]], flat: Sequence[Any]) -> None:
        """Let the lists have what the program left in their arrays."""
        for each, items in zip(self.all, lists, strict=True):
            if each.changes:
                _put([items], each.kind, [np.asarray(flat[place]) for place in each.places])


NO_LISTS = Lists()


def _lists_in(shape: CallShape, written: frozenset[int]) -> Iterator[ListArgument]:
    at = 0

    def walk(tree: Tree, access: Access) -> Iterator[ListArgument]:
        nonlocal at
        count = sum(1 for _ in leaf_names(tree, ""))
        places = range(at, at + count)
        if not isinstance(tree, Node):
            if tree.kind == "numbers":
                yield ListArgument(access, str(tree.value), places, not written.isdisjoint(places))
        elif tree.kind == "whole":
            yield ListArgument(access, tree.keys[0], places, not written.isdisjoint(places))  # type: ignore[arg-type]  # a Kind
        elif tree.kind != "complex":
            for key, item in zip(tree.keys if tree.kind == "dict" else range(len(tree.items)), tree.items, strict=True):
                yield from walk(item, access.item(key))
        at = places.stop

    for name, tree in shape.parameters:
        yield from walk(tree, Access("argument", name))


def _again_in(output: OutputTree) -> int:
    """The last result that stands in another's place; -1 where none does."""
    if isinstance(output, Output):
        return output.value if output.kind == "again" else -1  # type: ignore[return-value]  # a number
    inner = output.alternatives if isinstance(output, OutputUnion) else output.items
    return max(map(_again_in, inner), default=-1)


def _results_in(output: OutputTree) -> int:
    if isinstance(output, Output):
        return output.kind not in ("const", "again")
    if isinstance(output, OutputNode):
        return sum(map(_results_in, output.items))
    return 1 + sum(map(_results_in, output.alternatives))


def _put(lists: Sequence[list[Any]], kind: Kind, arrays: Sequence[np.ndarray]) -> None:
    """Write into lists what the arrays have of their items, one behind the other."""
    if kind[0] == "list" and not isinstance(kind, str):
        _put(list(chain.from_iterable(lists)), kind[1], arrays[1:])
        return
    begin = 0
    for items in lists:
        parts = [array[begin : begin + len(items)] for array in arrays]
        if kind[0] != "tuple":
            for i, now in _changed(items, parts, kind).items():
                items[i] = now
        else:
            places = [_changed([item[place] for item in items], [parts[place]], name) for place, name in enumerate(kind[1:])]
            for i in sorted(set(chain.from_iterable(places))):
                items[i] = tuple([now.get(i, was) for now, was in zip(places, items[i], strict=True)])
        begin += len(items)


def _changed(items: Sequence[Any], arrays: Sequence[np.ndarray], kind: Kind) -> dict[int, Any]:
    """Where numbers are others, bit by bit, and which: a NaN, and a -0.0, stay what they are."""
    if isinstance(kind, str):
        was: np.ndarray = np.array(items, NUMBER_TYPES[kind])
        return {i: arrays[0][i].item() for i in _differ(was, arrays[0])}
    which, *numbers = arrays
    before, *had = by_kinds(items, kind[1:])
    places = set(_differ(before, which))
    for of, (then, now) in enumerate(zip(had, numbers, strict=True)):
        places.update(i for i in _differ(then, now) if which[i] == of)
    return {i: numbers[which[i]][i].item() for i in sorted(places)}


def _differ(was: np.ndarray, now: np.ndarray) -> list[int]:
    bits = np.uint8 if was.dtype == bool else np.int64
    found: list[int] = np.flatnonzero(was.view(bits) != np.ascontiguousarray(now).view(bits)).tolist()
    return found
