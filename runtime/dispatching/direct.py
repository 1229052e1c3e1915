"""The shortest way to a kernel: the table behind a user-facing function whose calls need no unpacking.

Positional arguments go straight to the guards, hidden inputs are read by the dispatcher, and results come back as the user
gets them. The executors of a function whose calls are of that kind add their versions here as well as to their own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakKeyDictionary

from tierup.dialect.base import forking
from tierup.dialect.base.exceptions import UNANSWERED
from tierup.dialect.base.records import dataclass
from tierup.lowering.entry.records import (
    AttributeSource,
    CellSource,
    Constant,
    Form,
    GlobalSource,
    Inputs,
    Positional,
    Source,
    VersionRecord,
)
from tierup.runtime.arguments import hidden
from tierup.runtime.arguments.trees import CallShape, Leaf, Output, OutputNode, OutputTree
from tierup.runtime.dispatching.dispatch import DispatchTable, make_table
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.runtime.dispatching.version import Version


@dataclass(frozen=True)
class Convention:
    """How calls of one kind map to a table. Two graphs with equal conventions share it."""

    key: tuple[object, ...]
    inputs: Inputs
    form: Form
    scalars: bool


def convention(
    shape: CallShape, output: OutputTree, inputs: tuple[hidden.HiddenInput, ...], constants: tuple[hidden.Constant, ...]
) -> Convention | None:
    """The convention of a graph, or None when its calls need Python: trees, static arguments, results of mixed kinds."""
    names = [name for name, _ in shape.parameters]
    if not all(isinstance(tree, Leaf) and not tree.is_static and tree.kind != "scalar" for _, tree in shape.parameters):
        return None
    handed = _form(output)
    if handed is None:
        return None
    sources: list[Source] = [Positional(i) for i in range(len(names))]
    for item in inputs:
        source = _source(item.direct or item.access, names)
        if source is None or item.leaf.kind == "scalar":
            return None
        sources.append(source)
    fixed: list[Constant] = []
    constants = tuple(c for c in constants if c.kind != "dtype")  # guards of versions check those of all inputs
    for constant in constants:
        source = _source(constant.access, names)
        if source is None or constant.kind in ("structure", "missing"):
            return None
        if constant.kind == "same":
            assert isinstance(constant.value, hidden.Access)
            other = _source(constant.value, names)
            if other is None:
                return None
            fixed.append(Constant(source, str(constant.value), other))
            continue
        fixed.append(Constant(source, constant.access.read({})))  # the object of this moment; an equal one goes the long way
    key = (
        len(names),
        tuple((str(i.access), i.leaf.kind) for i in inputs),
        tuple((str(c.access), f.value if f.same else id(f.value)) for c, f in zip(constants, fixed, strict=True)),
    )
    return Convention((*key, *handed), Inputs(len(names), tuple(sources), tuple(fixed)), *handed)


def _form(output: OutputTree) -> tuple[Form, bool] | None:
    if isinstance(output, Output):
        if output.kind == "const":
            return (Form.NONE, False) if output.value is None else None
        return (Form.SINGLE, output.decays) if output.kind in _PLAIN else None
    if isinstance(output, OutputNode) and output.kind in ("tuple", "list"):
        leaves = [item for item in output.items if isinstance(item, Output) and item.kind in _PLAIN]
        decays = {leaf.decays for leaf in leaves if leaf.kind == "array"}
        if len(leaves) == len(output.items) and len(decays) <= 1:
            return (Form.TUPLE if output.kind == "tuple" else Form.LIST), True in decays
    return None


_PLAIN = ("array", "int", "float", "bool")


def _source(access: hidden.Access, names: list[str]) -> Source | None:
    source: Source
    function = access.function
    if access.root == "argument":
        source = Positional(names.index(access.name))
    elif access.root == "global" and function is not None and access.name in function.__globals__:
        source = GlobalSource(function.__globals__, access.name)
    elif access.root == "closure" and function is not None and function.__closure__ is not None:
        source = CellSource(function.__closure__[function.__code__.co_freevars.index(access.name)])
    else:
        return None
    for kind, step in access.path:
        if kind != "attr":
            return None
        source = AttributeSource(source, str(step))
    return source


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
    ) -> None:
        """`unanswered(error, program, *arguments)` is the result where a program has none, or raises the error."""
        self.convention = made_for
        self._unanswered = unanswered
        self._lock = forking.lock()  # executors that share the table change it
        self._records: dict[int, VersionRecord] = {}  # id of an executor's record -> ours
        # our record -> the executor whose version it is, and its record; weakly: a call in a version that was removed may still leave it
        self._owners: WeakKeyDictionary[VersionRecord, tuple[Owner, VersionRecord]] = WeakKeyDictionary()
        self._output, self._finish = output, finish
        self._takes: bool | None = None  # calls with tensors; None: nobody asked
        self.table: DispatchTable = make_table(made_for.inputs, slow, self._failed)

    def _failed(self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None = None) -> Any:
        owner, theirs = self._owners[record]
        try:
            results = owner.failed_directly(theirs, status, flat, live)
        except UNANSWERED as e:
            error: Exception = e
        else:
            return self._finish(self._output, results)
        return self._unanswered(error, owner.program, *flat[: self.convention.inputs.n_positional])

    def take_tensors(self, always: bool = False) -> bool:
        """Let calls with PyTorch's tensors run versions, which give tensors then; whether that can be. See `NativeTable.take_tensors`."""
        if self._takes is None:
            self._takes = self.table.take_tensors(always) is None
        return self._takes

    def add(self, owner: Owner, version: Version) -> None:
        """Let an executor's version answer calls, before all others."""
        r = version.record
        mine = replace(r, form=self.convention.form, scalars=self.convention.scalars)
        with self._lock:
            self._records[id(r)] = mine
            self._owners[mine] = owner, r
            self.table.add(mine, first=True)

    def remove(self, record: VersionRecord) -> None:
        """Take a version out; calls that are in it finish. Raises KeyError when it is not in the table."""
        with self._lock:
            self.table.remove(self._records.pop(id(record)))

    def reorder(self, records: Sequence[VersionRecord]) -> None:
        """Try these versions of one owner in this order, in the places that they have; other owners' stay where they are."""
        with self._lock:
            ordered = [self._records[id(r)] for r in records]
            mine, wanted = iter(ordered), set(map(id, ordered))
            now = self.table.versions
            then = [next(mine) if id(r) in wanted else r for r in now]
            if list(now) != then:
                self.table.reorder(then)

    def has(self, record: VersionRecord) -> bool:
        """Whether a version is in the table."""
        return id(record) in self._records

    def hits(self, record: VersionRecord) -> int:
        """How many calls a version answered here. Raises KeyError when it is not in the table."""
        return self.table.hits(self._records[id(record)])

    def total_hits(self, records: Sequence[VersionRecord]) -> int:
        """How many calls these versions answered here together. Raises KeyError when one is not in the table."""
        return sum([self.table.hits(self._records[id(r)]) for r in records])
