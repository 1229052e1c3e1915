"""The shortest way to a kernel: the table behind a user-facing function whose calls need no unpacking.

Positional arguments go straight to the guards, hidden inputs are read by the dispatcher, and results come back as the user
gets them. The executors of a function whose calls are of that kind add their versions here as well as to their own tables.
"""

from __future__ import annotations

import builtins
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakKeyDictionary

from tierup.dialect.base import forking
from tierup.dialect.base.exceptions import UNANSWERED
from tierup.dialect.base.records import dataclass
from tierup.lowering.entry.records import (
    AttributeSource,
    CellSource,
    Columns,
    ColumnSource,
    Constant,
    Form,
    GlobalSource,
    Inputs,
    Items,
    ItemSource,
    ListBack,
    Made,
    Parameters,
    Positional,
    ScalarSource,
    Source,
    SubscriptSource,
    VersionRecord,
)
from tierup.runtime.account.times import NATIVE, OVERHEAD, During, Times
from tierup.runtime.arguments import hidden
from tierup.runtime.arguments.lists.changed import NO_LISTS, Lists
from tierup.runtime.arguments.lists.columns import NUMBER_TYPES, Kind, kinds_in
from tierup.runtime.arguments.trees import CallShape, Node, Output, OutputNode, OutputTree, OutputUnion, Tree, listed, output_leaves
from tierup.runtime.dispatching.dispatch import DispatchTable, make_table
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.lowering.entry.tables.table import NativeTable
    from tierup.runtime.dispatching.version import Version


@dataclass(frozen=True)
class Convention:
    """How calls of one kind map to a table. Two graphs whose conventions have one key share it."""

    key: tuple[object, ...]
    inputs: Inputs
    form: Form | Made
    scalars: bool | tuple[bool, ...]
    lists: Lists


class _NeedsPython(Exception):
    """Something for which calls have no convention."""


_MOST_SLOTS = 2000  # they are on the stack


def convention(
    shape: CallShape, signature: inspect.Signature, function: Any, output: OutputTree, inputs: tuple[hidden.HiddenInput, ...],
    constants: tuple[hidden.Constant, ...], arguments: Mapping[str, object], lists: Lists = NO_LISTS,
) -> Convention | None:  # fmt: skip
    """The convention of a graph, or None when its calls need Python. `function`: whose defaults hold, or None. `lists`: that may change."""
    constants = tuple(c for c in constants if c.kind not in ("dtype", "index dtype"))  # guards of versions check those of all inputs
    parameters = _parameters(shape, signature, function)
    try:
        ways = _Ways(shape, parameters, signature)
        n_own = len(ways.flat)
        for constant in constants:
            ways.hold(constant, arguments)
        for item in inputs:
            ways.take(item.leaf, item.direct or item.access)
        decays: list[bool] = []
        form = _made(output, decays, set(), sum(1 for _ in output_leaves(output)))
        back = tuple([ListBack(ways.columns[each.access], each.places.start, each.changes) for each in lists.all])
    except (_NeedsPython, *hidden.GONE):
        return None
    n_given = len(parameters.names) + parameters.n_star + len(parameters.extra)
    if n_given + len(ways.sources) > _MOST_SLOTS:
        return None
    key = (
        tuple((name, _skeleton(tree)) for name, tree in shape.parameters),
        tuple((str(i.access), i.leaf.kind) for i in inputs),
        tuple((str(c.access), c.kind, str(c.value) if c.kind == "same" else id(c.value)) for c in constants),
        _skeleton_of_result(output),
        tuple([each.changes for each in lists.all]),
    )
    taken = Inputs(n_given, tuple(ways.flat), tuple(ways.checks), n_own, parameters, back)
    return Convention(key, taken, Form.SINGLE if form.kind == "next" else form, tuple(decays), lists)


def _parameters(shape: CallShape, signature: inspect.Signature, function: Any) -> Parameters:
    trees, each = dict(shape.parameters), signature.parameters.values()
    either = [p for p in each if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    star, extra = ([k for p in each if p.kind is kind for k in _keys(trees[p.name])] for kind in _GATHERING)
    return Parameters(
        names=tuple("" if p.kind is p.POSITIONAL_ONLY else p.name for p in (*either, *(p for p in each if p.kind is p.KEYWORD_ONLY))),
        n_positional=len(either),
        n_star=len(star),
        extra=tuple(map(str, extra)),
        function=function,
    )


_GATHERING = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
_CONTAINERS = {"tuple": tuple, "list": list, "dict": dict}


def _keys(tree: Tree) -> tuple[object, ...]:
    assert isinstance(tree, Node)
    return tree.keys if tree.kind == "dict" else tuple(range(len(tree.items)))


class _Ways:
    """Where the leaves of a call come from, and what must hold of it. `sources`: by the ways that lead there."""

    def __init__(self, shape: CallShape, parameters: Parameters, signature: inspect.Signature) -> None:
        """Takes the call's own leaves. Raises _NeedsPython."""
        self.flat: list[Source] = []
        self.checks: list[Constant | Items] = []
        self.sources: dict[hidden.Access, Source] = {}
        self.columns: dict[hidden.Access, Columns] = {}
        slots, gathered = itertools.count(), itertools.count(len(parameters.names))
        kinds = {p.name: p.kind for p in signature.parameters.values()}
        for name, tree in shape.parameters:
            if kinds[name] not in _GATHERING:
                self.sources[hidden.Access("argument", name)] = Positional(next(slots))
            else:
                self.sources |= {hidden.Access("argument", name).item(key): Positional(next(gathered)) for key in _keys(tree)}
        for name, tree in shape.parameters:
            access = hidden.Access("argument", name)
            if kinds[name] not in _GATHERING:
                self.take(tree, access)
            elif isinstance(tree, Node):
                for key, item in zip(_keys(tree), tree.items, strict=True):
                    self.take(item, access.item(key))

    def take(self, tree: Tree, access: hidden.Access) -> None:
        """The leaves of a tree, and what must hold for it to be one. Raises _NeedsPython."""
        source = self._source(access)
        if isinstance(tree, Node) and tree.kind == "complex":
            self.checks.append(Constant(source, complex, is_type=True))
            for name, item in zip(tree.keys, tree.items, strict=True):
                self.take(item, access.attribute(str(name)))
        elif isinstance(tree, Node) and tree.kind == "whole":
            self._columns(source, tree.keys[0], access)  # type: ignore[arg-type]  # a Kind
        elif isinstance(tree, Node):
            self._open(source, access, _CONTAINERS[tree.kind], _keys(tree))
            for key, item in zip(_keys(tree), tree.items, strict=True):
                self.take(item, access.item(key))
        elif tree.kind == "scalar":
            self.flat.append(ScalarSource(source))
        elif tree.kind == "numbers":
            self._columns(source, str(tree.value), access)
        elif tree.kind in _PLAIN:
            self.flat.append(source)
        elif tree.is_static:
            self.checks.append(Constant(source, tree.value, is_type=tree.kind == "object"))
        else:
            raise _NeedsPython

    def _columns(self, source: Source, kind: Kind, access: hidden.Access) -> None:
        """The arrays of a list. Raises _NeedsPython for lists in lists in a list, and tuples in them."""
        holds = None if isinstance(kind, str) or kind[0] == "either" else _CONTAINERS[kind[0]]
        if holds is not None and not all(isinstance(inner, str) or inner[0] == "either" for inner in kind[1:]):
            raise _NeedsPython
        columns = self.columns[access] = Columns(source, holds, tuple(NUMBER_TYPES[of] for of in kinds_in(kind)))
        self.flat += [ColumnSource(columns, i) for i in range(len(columns.types))]

    def _open(self, source: Source, access: hidden.Access, kind: type, keys: tuple[object, ...]) -> None:
        items = Items(source, kind, keys)
        self.checks.append(items)
        self.sources |= {access.item(key): ItemSource(items, i) for i, key in enumerate(keys)}

    def hold(self, constant: hidden.Constant, arguments: Mapping[str, object]) -> None:
        """What a constant asks for. Raises _NeedsPython, or one of `hidden.GONE`."""
        source, value = self._source(constant.access), constant.value
        if constant.kind == "same":
            assert isinstance(value, hidden.Access)
            self.checks.append(Constant(source, str(value), self._source(value)))
        elif constant.kind == "structure":
            kind, inside = cast("tuple[type, Any]", value)  # as `structure_of` gives it
            if inside is None:
                self.checks.append(Constant(source, kind, is_type=True))
            else:
                self._open(source, constant.access, kind, inside if kind is dict else tuple(range(inside)))
        elif constant.kind == "missing":
            raise _NeedsPython
        else:
            self.checks.append(Constant(source, constant.access.read(arguments)))  # the object of this moment

    def _source(self, access: hidden.Access) -> Source:
        path, function = access.path, access.function
        known = next((n for n in range(len(path), -1, -1) if _begin(access, n) in self.sources), None)
        source: Source
        if known is not None:
            source, path = self.sources[_begin(access, known)], path[known:]
        elif access.root == "global" and function is not None:
            namespace = function.__globals__
            in_builtins = access.name not in namespace and hasattr(builtins, access.name)
            source = GlobalSource(vars(builtins), access.name, namespace) if in_builtins else GlobalSource(namespace, access.name)
        elif access.root == "closure" and function is not None and function.__closure__ is not None:
            source = CellSource(function.__closure__[function.__code__.co_freevars.index(access.name)])
        else:
            raise _NeedsPython
        for kind, step in path:
            source = AttributeSource(source, str(step)) if kind == "attr" else SubscriptSource(source, step)
        return source


def _begin(access: hidden.Access, steps: int) -> hidden.Access:
    return hidden.Access(access.root, access.name, access.path[:steps], access.function)


_PLAIN = ("array", "int", "float", "bool")


def _skeleton(tree: Tree) -> object:
    """What of a tree the guards of versions do not look at."""
    if isinstance(tree, Node):
        return tree.kind, tree.keys, *map(_skeleton, tree.items)
    return (tree.kind, tree.value) if tree.is_static or tree.kind in ("scalar", "numbers") else None


def _skeleton_of_result(tree: OutputTree) -> object:
    if isinstance(tree, OutputNode):
        return tree.kind, tree.keys, *map(_skeleton_of_result, tree.items)
    if isinstance(tree, OutputUnion):
        return "union", *map(_skeleton_of_result, tree.alternatives)
    if tree.kind in ("again", "const"):
        return tree.kind, tree.value if tree.kind == "again" else id(tree.value)
    return tree.decays


def _made(tree: OutputTree, decays: list[bool], dropped: set[int], n: int, only: tuple[tuple[int, int], ...] = ()) -> Made:
    """What the user gets, and of each of the program's `n` results whether it decays; `dropped`: those that may be gone once they were put
    into a union. `only`: the results of unions that it is in, and their alternatives. Raises _NeedsPython."""
    if isinstance(tree, OutputNode) and tree.kind in _CONTAINERS and (tree.kind == "dict" or not tree.keys):  # no named tuple
        return Made(tree.kind, tuple(_made(item, decays, dropped, n, only) for item in tree.items), tree.keys)
    if isinstance(tree, OutputNode) and tree.kind == "each":
        columns = [Made("next") for _ in output_leaves(tree)]
        decays.extend(False for _ in columns)
        [item] = tree.items
        is_plain = isinstance(item, Output) and not item.decays
        return Made("call", tuple(columns), value=methodcaller("tolist") if is_plain else partial(listed, item), only=only)
    if isinstance(tree, OutputNode) and tree.kind == "complex":
        return Made("complex", tuple(_made(item, decays, dropped, n, only) for item in tree.items))
    if isinstance(tree, OutputUnion):
        decays.append(False)
        start = len(decays)
        inner = [_made(item, decays, dropped, n, (*only, (start - 1, i))) for i, item in enumerate(tree.alternatives)]
        made = Made("union", (Made("next"), *inner))
        dropped.update(range(start, len(decays)))
        return made
    if isinstance(tree, Output) and tree.kind == "const":
        return Made("object", value=tree.value)
    if isinstance(tree, Output) and tree.kind == "again" and cast("int", tree.value) >= n:
        return Made("given", value=cast("int", tree.value) - n)
    if isinstance(tree, Output) and tree.kind == "again" and tree.value not in dropped and decays[cast("int", tree.value)] == tree.decays:
        return Made("again", value=tree.value)
    if not isinstance(tree, Output) or tree.kind not in _PLAIN:
        raise _NeedsPython
    decays.append(tree.decays)
    return Made("next")


class Owner(Protocol):
    """The executor that takes over what left one of its versions in a direct table."""

    @property
    def program(self) -> Program:
        """What it runs."""

    def failed_directly(
        self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None = None
    ) -> tuple[Any, ...]:
        """The flat results of a call that left native code with `status`. `live`: the values there at a bailout; None at an error site."""


class DirectTable:
    """A dispatch table in the user's own calling convention."""

    def __init__(
        self,
        made_for: Convention,
        slow: Callable[..., Any],
        output: OutputTree,
        finish: Callable[[OutputTree, tuple[Any, ...]], Any],
        unanswered: Callable[..., Any],
        opened: Callable[[], None],
        times: Times,
        lists_of: Callable[..., list[list[Any]]],
    ) -> None:
        """`unanswered(error, program, *args, **kwargs)` is the result where a program has none, or raises the error. `opened` is called
        when there is a table: with the first version, for making one may load the native entry. `lists_of(lists, args, kwargs)` gives
        those of a call."""
        self.convention = made_for
        self._unanswered = unanswered
        self._lock = forking.lock()  # executors that share the table change it
        self._records: dict[int, VersionRecord] = {}  # id of an executor's record -> ours
        # our record -> the executor whose version it is, and its record; weakly: a call in a version that was removed may still leave it
        self._owners: WeakKeyDictionary[VersionRecord, tuple[Owner, VersionRecord]] = WeakKeyDictionary()
        self._output, self._finish = output, finish
        self._slow, self._opened, self._times = slow, opened, times
        self._lists_of = lists_of
        self._takes: bool | None = None  # calls with tensors; None: nobody asked
        self._wanted = False  # by calls with tensors, before there was a table
        self.table: DispatchTable | None = None

    def open(self) -> DispatchTable:
        """The table, made where there is none."""
        with self._lock:
            if self.table is not None:
                return self.table
            self.table = made = make_table(self.convention.inputs, self._slow, self._failed)
        if self._wanted:
            self.take_tensors()
        self._opened()
        return made

    @property
    def native(self) -> NativeTable | None:
        """The table, where there is one and calls may go straight to it."""
        return None if self.table is None or self.table.entry == "python" else cast("NativeTable", self.table)

    def _failed(
        self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None = None, /, *args: Any, **kwargs: Any
    ) -> Any:
        times = self._times
        times.left += 1
        times.seconds[NATIVE] += times.native.last  # what it took until it left, about
        with During(OVERHEAD, times):
            return self._after_failure(record, status, flat, live, args, kwargs)

    def _after_failure(
        self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None, args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
    ) -> Any:  # fmt: skip
        owner, theirs = self._owners[record]
        lists = self.convention.lists
        given = self._lists_of(lists, args, kwargs) if lists.all else []
        try:
            results = owner.failed_directly(theirs, status, flat, live)
        except UNANSWERED as e:
            error: Exception = e
        except BaseException:
            lists.put_back(given, flat)
            raise
        else:
            lists.put_back(given, flat)
            return self._finish(self._output, (*results, *given))
        return self._unanswered(error, owner.program, *(args if args or kwargs else flat), **kwargs)

    def take_tensors(self, always: bool = False) -> bool:
        """Let calls with PyTorch's tensors run versions, which give tensors then; whether that can be. See `NativeTable.take_tensors`."""
        self._wanted = True
        if self._takes is None and (always or self.table is not None):
            self._takes = self.open().take_tensors(always) is None
        return bool(self._takes)

    def add(self, owner: Owner, version: Version) -> None:
        """Let an executor's version answer calls, before all others."""
        r = version.record
        mine, table = replace(r, form=self.convention.form, scalars=self.convention.scalars), self.open()
        with self._lock:
            self._records[id(r)] = mine
            self._owners[mine] = owner, r
            table.add(mine, first=True)

    def remove(self, record: VersionRecord) -> None:
        """Take a version out; calls that are in it finish. Raises KeyError when it is not in the table."""
        table = self.open()
        with self._lock:
            table.remove(self._records.pop(id(record)))

    def reorder(self, records: Sequence[VersionRecord]) -> None:
        """Try these versions of one owner in this order, in the places that they have; other owners' stay where they are."""
        table = self.open()
        with self._lock:
            ordered = [self._records[id(r)] for r in records]
            mine, wanted = iter(ordered), set(map(id, ordered))
            now = table.versions
            then = [next(mine) if id(r) in wanted else r for r in now]
            if list(now) != then:
                table.reorder(then)

    def has(self, record: VersionRecord) -> bool:
        """Whether a version is in the table."""
        return id(record) in self._records

    def hits(self, record: VersionRecord) -> int:
        """How many calls a version answered here. Raises KeyError when it is not in the table."""
        return self.open().hits(self._records[id(record)])

    def total_hits(self, records: Sequence[VersionRecord]) -> int:
        """How many calls these versions answered here together. Raises KeyError when one is not in the table."""
        return sum([self.hits(r) for r in records])
