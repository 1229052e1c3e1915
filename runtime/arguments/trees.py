"""The tree structure of a call's arguments and results, and its flat leaves.

A program takes leaves: arrays and Python scalars. Tuples, lists and dicts of them are structure, which is static: one graph is
built per `CallShape`. None, strings and objects are part of the structure, not leaves. A list of many numbers of one kind may be a leaf:
the array of them, so that one graph serves lists of every length.

Free of MLIR: read on every call that the native entry does not take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from itertools import islice
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.runtime.arguments.lists.columns import Kind, columns_of, kinds_in
from tierup.runtime.base.errors import UnsupportedArgument

COMPLEX, SWAPPED = "complex", "in foreign byte order"
STATIC_KINDS = ("none", "str", "object", "itself")
FIXED: set[type] = set()  # of these each object is part of the structure; front ends add classes

INT64 = np.iinfo(np.int64)
_OF_NUMBERS = (int, float, complex, np.generic)
DEEPEST = 100  # walks of trees recurse
MOST_NUMBERS, MOST_ALIKE = 50, 200  # numbers, and arrays of one shape, of a list: each is an argument of a graph, which compiles for long
MOST_IN_ALL = 100  # numbers of lists within one another

S = TypeVar("S")


@dataclass(frozen=True)
class Leaf:
    """One argument value.

    `kind`: "array" (numpy.ndarray), "scalar" (a NumPy scalar such as numpy.float32(1): a rank-0 array that is never written
    in place), "int", "float", "bool" (Python's own, NumPy's weak scalars), "numbers" (of a list, of one kind, in an array that is made
    for the call), "other" (what only programs in MLIR take: lists), or static: "none", "str", "object", "itself" (of a class in FIXED).
    `ndim`: an array's rank; None builds a graph that serves every rank, with tests of the rank at run time where it matters.
    `value`: the string of a "str", the type of an "object", the object "itself", the kind of "numbers"; of arrays and NumPy scalars whether
    they are complex (COMPLEX), which has a graph of its own, of arrays whether they are in foreign byte order (SWAPPED), which Python
    answers, else None.
    """

    kind: str
    ndim: int | None = None
    value: object = None

    @property
    def is_complex(self) -> bool:
        """Whether it is an array, or a NumPy scalar, of complex numbers."""
        return self.value is COMPLEX and self.kind in ("array", "scalar")

    @property
    def is_static(self) -> bool:
        """Whether the value is part of what the graph was built for, and no input of it."""
        return self.kind in STATIC_KINDS


@dataclass(frozen=True)
class Node:
    """A tuple, list or dict; `keys` are a dict's, in its order. A complex number of Python's: its real and its imaginary part, which are
    its attributes. A "whole" list of lists or tuples of numbers, as arrays (columns.py): `keys` has the kind of its items."""

    kind: str
    items: tuple[Tree, ...]
    keys: tuple[object, ...] = ()


Tree = Leaf | Node
OF_COMPLEX = Node("complex", (Leaf("float"), Leaf("float")), ("real", "imag"))


@dataclass(frozen=True)
class CallShape:
    """The structure of one call: a tree for each parameter, in the signature's order, defaults filled in."""

    parameters: tuple[tuple[str, Tree], ...]

    @staticmethod
    def of(arguments: Mapping[str, object], *, fewest: int = 0) -> tuple[CallShape, list[object]]:
        """The shape of bound arguments (`inspect.BoundArguments.arguments`, defaults applied) and their leaves in order. `fewest`:
        lists of so many numbers, or more, are leaves; 0: none is.

        Raises TypeError naming the argument for a value that programs cannot take.
        """
        leaves: list[object] = []
        return CallShape(tuple((name, flatten(value, leaves, name, fewest=fewest)) for name, value in arguments.items())), leaves

    @property
    def has_whole_lists(self) -> bool:
        """Whether a list of numbers is a leaf."""
        return any(leaf.kind == "numbers" for name, tree in self.parameters for _, leaf in leaf_names(tree, name))


def flatten(value: Any, leaves: list[object], name: str, depth: int = 0, *, fewest: int = 0) -> Tree:
    """The tree of `value`; its leaves are appended to `leaves`. Raises TypeError, naming the path, for what programs cannot take."""
    kind = type(value)
    if kind is np.ndarray:
        leaves.append(value)
        return Leaf("array", value.ndim, _rules(value.dtype))
    if kind is float or kind is bool:
        leaves.append(value)
        return Leaf(kind.__name__)
    if kind is int:
        if not INT64.min <= value <= INT64.max:
            raise UnsupportedArgument(f"argument {name}: the int {value} does not fit in 64 bits")
        leaves.append(value)
        return Leaf("int")
    if value is None:
        return Leaf("none")
    if kind is str:
        return Leaf("str", value=value)
    if kind is list and fewest and (columns := columns_of(value, fewest)) is not None:
        leaves += columns[1]
        return _whole(columns[0])
    if kind is tuple or kind is list:
        _refuse_depth(name, depth)
        _refuse_many(name, value)
        return _node(kind.__name__, [(str(i), v) for i, v in enumerate(value)], leaves, name, depth, fewest=fewest)
    if kind is dict:
        _refuse_depth(name, depth)
        _refuse_many(name, value.values())
        _refuse_keys(name, value)
        return _node("dict", [(repr(k), v) for k, v in value.items()], leaves, name, depth, tuple(value), fewest=fewest)
    if isinstance(value, np.generic):
        leaves.append(np.asarray(value))
        return Leaf("scalar", 0, _rules(value.dtype))
    if isinstance(value, np.ndarray):
        if not is_plain(value):
            raise UnsupportedArgument(f"argument {name}: {kind.__name__} is not supported; pass numpy.asarray({name})")
        leaves.append(value)
        return Leaf("array", value.ndim, _rules(value.dtype))
    if kind is complex:
        leaves += (value.real, value.imag)
        return OF_COMPLEX
    if isinstance(value, complex):
        raise UnsupportedArgument(f"argument {name}: {kind.__name__} is not supported; pass complex({name})")
    if is_on_device(value):
        leaves.append(value)
        return Leaf("array", value.ndim)
    return Leaf("itself", value=value) if kind in FIXED else Leaf("object", value=kind)


def _rules(dtype: np.dtype) -> str | None:
    """What an array's dtype says of the graph that takes it, but for what the graph asks when it runs."""
    if not dtype.isnative:
        return SWAPPED
    return COMPLEX if dtype.kind == "c" else None


def _whole(kind: Kind) -> Tree:
    """The tree of a list that is read as arrays."""
    if isinstance(kind, str):
        return Leaf("numbers", 1, kind)
    return Node("whole", tuple([Leaf("numbers", 1, inner) for inner in kinds_in(kind)]), (kind,))


def _node(
    kind: str, items: Sequence[tuple[str, Any]], leaves: list[object], name: str, depth: int, keys: tuple[object, ...] = (), *,
    fewest: int,
) -> Node:  # fmt: skip
    before = len(leaves)
    made = tuple([flatten(v, leaves, f"{name}[{step}]", depth + 1, fewest=fewest) for step, v in items])
    if len(leaves) - before > MOST_IN_ALL:
        numbers = sum(isinstance(v, (int, float)) or type(v) is np.ndarray and v.ndim == 0 for v in leaves[before:])
        _refuse(name, numbers, MOST_IN_ALL, "numbers")
    return Node(kind, made, keys)


def is_plain(array: np.ndarray) -> bool:
    """Whether an array is of no subclass, which may have rules and methods of its own; one of a mapped file computes as others do."""
    return type(array) is np.ndarray or type(array) is np.memmap


def _refuse_depth(name: str, depth: int) -> None:
    """Raises TypeError for tuples, lists and dicts in one another deeper than programs take."""
    if depth == DEEPEST:
        first = name.split("[", 1)[0]
        raise UnsupportedArgument(f"argument {first}: it is nested {DEEPEST} deep, or contains itself; pass what the function reads of it")


def _refuse_keys(name: str, value: Mapping[object, object]) -> None:
    """Raises UnsupportedArgument for keys whose hash is the user's own code: it runs as often as in plain Python."""
    for key in value:
        of = type(key)
        if of is str or not isinstance(own := of.__hash__, FunctionType) or own is Enum.__hash__:
            continue
        if own.__code__.co_filename != "<string>":  # as those are that dataclasses have made for them
            raise UnsupportedArgument(f"argument {name}: a dict with keys of the class {of.__name__}, which hashes them itself")


def _refuse_many(name: str, items: Collection[object]) -> None:
    """Raises UnsupportedArgument for more numbers, or arrays of one shape, in a list or dict than a graph is made for: they are data."""
    if len(items) <= MOST_NUMBERS:
        return
    if all(isinstance(v, _OF_NUMBERS) for v in islice(items, MOST_NUMBERS + 1)):  # most often: the others need no look
        _refuse(name, len(items), MOST_NUMBERS, "items that are numbers")
    numbers = sum(isinstance(v, _OF_NUMBERS) for v in items)
    shapes = Counter(v.shape for v in items if isinstance(v, np.ndarray))
    _refuse(name, numbers, MOST_NUMBERS, "numbers")
    _refuse(name, max(shapes.values(), default=0), MOST_ALIKE, "arrays of one shape")


def _refuse(name: str, count: int, most: int, what: str) -> None:
    if count > most:
        raise UnsupportedArgument(f"argument {name}: {count} {what}, each an argument of its own; pass one array of them")


def explain_recursion(args: Sequence[object], kwargs: Mapping[str, object]) -> None:
    """Raises that TypeError for the argument that is so deep, if there is one: for who has got RecursionError."""
    for name, value in (*((str(i), v) for i, v in enumerate(args)), *kwargs.items()):
        level: list[Any] = [value]
        for depth in range(DEEPEST + 1):
            level = [v for v in level if isinstance(v, (tuple, list, dict))]
            if level:
                _refuse_depth(name, depth)
            level = list({id(item): item for v in level for item in (v.values() if isinstance(v, dict) else v)}.values())


def is_on_device(value: object) -> bool:
    """Whether a value is an array on a device: ours, PyTorch's, CuPy's."""
    return getattr(value, "__cuda_array_interface__", None) is not None


def leaf_names(tree: Tree, name: str) -> Iterator[tuple[str, Leaf]]:
    """Every leaf that takes a slot, with the path that names it: `w`, `layers[0]`, `params['w']`."""
    if isinstance(tree, Leaf):
        if not tree.is_static:
            yield name, tree
        return
    if tree.kind == "complex":
        yield from zip((f"{name}.real", f"{name}.imag"), tree.items, strict=True)
        return
    if tree.kind == "whole":
        yield from zip(_names_of_arrays(tree.keys[0], f"{name}[:]"), tree.items, strict=True)  # type: ignore[arg-type]  # a Kind, leaves
        return
    steps = [repr(k) for k in tree.keys] if tree.kind == "dict" else [str(i) for i in range(len(tree.items))]
    for step, item in zip(steps, tree.items, strict=True):
        yield from leaf_names(item, f"{name}[{step}]")


def _names_of_arrays(kind: Kind, name: str) -> Iterator[str]:
    """Of the arrays of a list, by the `name` of an item: `g[:]` says where the lists in it begin, `g[:][:]` has their items, `g[:][0]` the
    first place of tuples; of numbers of several kinds `g[:]` says of which each is, `g[:].int` has the ints."""
    if isinstance(kind, str):
        yield name
    elif kind[0] == "list":
        yield name
        yield from _names_of_arrays(kind[1], f"{name}[:]")
    elif kind[0] == "either":
        yield from (name, *(f"{name}.{of}" for of in kind[1:]))
    else:
        yield from (f"{name}[{i}]" for i in range(len(kind) - 1))


def has_lists(tree: Tree) -> bool:
    """Whether there is a list in it that is taken item by item."""
    return isinstance(tree, Node) and (tree.kind == "list" or any(map(has_lists, tree.items)))


@dataclass(frozen=True)
class Output:
    """A leaf of a program's result.

    `kind`: "array", "int", "float", "bool", "dtype" (torch's code, an int, for a numpy.dtype), "other"; or, taking no slot, "const":
    `value` itself, and "again": the very array of slot `value`, where the lists that came in as arrays stand behind all slots ("list" until
    it is known how many slots there are). `decays`: NumPy gives a scalar, not a rank-0 array, when this result has rank 0: the caller
    returns `result[()]` then.
    """

    kind: str
    decays: bool = False
    value: object = None


@dataclass(frozen=True)
class OutputNode:
    """A tuple, list or dict of outputs, `keys` a dict's, or a named tuple's class; a "complex" number of two floats; "each": a list whose
    items' numbers are in arrays; in it "rows", of items that are lists: how many items each has, and those of all of them, and "either", of
    items of several kinds: of which each is, and all of each kind; or "scalar_if": an array, and a bool that says whether rank 0 makes it a
    NumPy scalar."""

    kind: str
    items: tuple[OutputTree, ...]
    keys: tuple[object, ...] = ()


@dataclass(frozen=True)
class OutputUnion:
    """A result of another kind on another path: an int slot says which alternative holds, then the slots of all of them."""

    alternatives: tuple[OutputTree, ...]


OutputTree = Output | OutputNode | OutputUnion


def unflatten(tree: OutputTree, results: Sequence[Any]) -> object:
    """The Python value that a flat list of results stands for."""
    return _value(tree, results, iter(results))


def _value(tree: OutputTree, results: Sequence[Any], rest: Iterator[Any]) -> object:
    if isinstance(tree, Output):
        if tree.kind == "const":
            return tree.value
        value = results[tree.value] if tree.kind == "again" else next(rest)  # type: ignore[call-overload]  # a number
        if tree.kind == "dtype":
            return dtypes.NUMPY_BY_CODE[value]
        if tree.decays and isinstance(value, np.ndarray) and value.ndim == 0:
            return value[()]
        return value
    if isinstance(tree, OutputUnion):
        tag, found = next(rest), None
        for i, alternative in enumerate(tree.alternatives):
            if i == tag:
                found = _value(alternative, results, rest)
            else:  # no part of it is a value
                for _ in output_leaves(alternative):
                    next(rest)
        return found
    if tree.kind == "each":
        return _items(tree.items[0], rest)
    items = [_value(item, results, rest) for item in tree.items]
    if tree.kind == "dict":
        return dict(zip(tree.keys, items, strict=True))
    if tree.kind == "scalar_if":
        array, decays = items
        return array[()] if decays and isinstance(array, np.ndarray) and array.ndim == 0 else array
    if tree.kind == "complex":
        return complex(*items)  # type: ignore[call-overload]  # two floats
    return tree.keys[0](*items) if tree.keys else tuple(items) if tree.kind == "tuple" else items  # type: ignore[operator]  # a class


def listed(item: OutputTree, *columns: Any) -> list[Any]:
    """The list with such items whose numbers these are."""
    return _items(item, iter(columns))


def _items(tree: OutputTree, rest: Iterator[Any]) -> list[Any]:
    """The items of a list whose numbers the results are, place by place."""
    if isinstance(tree, Output):
        column = next(rest)
        column = column if hasattr(column, "tolist") else np.asarray(column)  # one on a device
        return list(column) if tree.decays else column.tolist()
    assert isinstance(tree, OutputNode)
    if tree.kind == "rows":
        counts, items = _items(tree.items[0], rest), iter(_items(tree.items[1], rest))
        return [list(islice(items, count)) for count in counts]
    if tree.kind == "either":
        return _of_kinds(np.asarray(next(rest)), [_items(part, rest) for part in tree.items[1:]])
    columns = [_items(part, rest) for part in tree.items]
    return list(map(complex, *columns)) if tree.kind == "complex" else list(zip(*columns, strict=True))


def _of_kinds(which: np.ndarray, columns: list[list[Any]]) -> list[Any]:
    """Of each place the item of the column that this says. All are taken for those of the most common one first."""
    common = int(np.bincount(which, minlength=len(columns)).argmax())
    found = columns[common]
    for i in (which != common).nonzero()[0].tolist():
        found[i] = columns[which[i]][i]
    return found


def output_leaves(tree: OutputTree) -> Iterator[Output]:
    """The leaves that take a result slot, in order."""
    if isinstance(tree, OutputUnion):
        yield Output("int")
        for alternative in tree.alternatives:
            yield from output_leaves(alternative)
    elif isinstance(tree, OutputNode):
        for item in tree.items:
            yield from output_leaves(item)
    elif tree.kind not in ("const", "again"):
        yield tree


def each_once(results: Sequence[S], tree: OutputTree) -> tuple[list[S], OutputTree]:
    """Flat results without those that stand there before: an array that is returned twice is one object."""
    slots: dict[S, int] = {}
    kept: list[S] = []
    rest = iter(results)

    def taken(tree: OutputTree) -> OutputTree:
        if isinstance(tree, OutputUnion):
            kept.append(next(rest))
            return OutputUnion(tuple([taken(alternative) for alternative in tree.alternatives]))
        if isinstance(tree, OutputNode):
            return replace(tree, items=tuple([taken(item) for item in tree.items]))
        if tree.kind in ("const", "again", "list"):
            return tree
        result = next(rest)
        if tree.kind == "array":
            if result in slots:
                return Output("again", tree.decays, slots[result])
            slots[result] = len(kept)
        kept.append(result)
        return tree

    def behind(tree: OutputTree) -> OutputTree:
        if isinstance(tree, OutputUnion):
            return OutputUnion(tuple([behind(alternative) for alternative in tree.alternatives]))
        if isinstance(tree, OutputNode):
            return replace(tree, items=tuple([behind(item) for item in tree.items]))
        return Output("again", value=len(kept) + tree.value) if tree.kind == "list" else tree  # type: ignore[operator]  # a number

    tree = taken(tree)
    return kept, behind(tree)
