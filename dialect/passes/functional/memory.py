"""What `tierup-functionalize` knows while it walks a function: which memory a tensor shows, and the value there now.

A `Storage` is memory that somebody made: an argument, the result of an op. A `Ref` is a tensor of the old graph: a storage
seen through a chain of view ops. The new graph has values only, so a storage has a *current* value, which writes replace, and a
Ref becomes a value by applying its chain to that. Storages that may share memory, without it being known how, are *entangled*.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TypeAlias

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import blocks
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir

_MUTABLE = re.compile(r"\btensor\b")


@dataclass(eq=False)
class Storage:
    """Memory. `type`: of its values in the new graph; `argument`: which argument it is, None for memory made inside; `taken`: whether it is
    a list or tuple, or may have been taken out of one: which of its items it is, nobody follows; `new`: whether the tensor is surely
    another object than those whose memory it may be."""

    type: ir.Type
    argument: int | None = None
    taken: bool = False
    new: bool = False


@dataclass(frozen=True)
class Step:
    """One view op of a chain: `operands` are those after the viewed one, as values of the new graph. `part`: which of several results."""

    op: ir.Operation
    name: str
    operands: tuple[ir.Value, ...]
    type: ir.Type
    part: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Step) and self._key == other._key

    def __hash__(self) -> int:
        return hash((self.name, self.operands, self.part))

    @property
    def _key(self) -> tuple[object, ...]:
        return self.name, self.operands, self.part, self.type


@dataclass(frozen=True)
class Ref:
    """A tensor as what view ops show of a storage, from the first of `chain` to the last."""

    storage: Storage
    chain: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Items:
    """A list or tuple that nobody changes: the tensors in it are seen as they are when it is read. `name` of the op that makes it."""

    entries: tuple[Entry, ...]
    name: str
    type: ir.Type


Entry: TypeAlias = "Ref | Items | ir.Value"


@cache
def _value_type_text(text: str) -> str:
    return _MUTABLE.sub("vtensor", text)


def value_type(type_: ir.Type) -> ir.Type:
    """The type with value semantics: every `tensor` in it becomes `vtensor`."""
    text = str(type_)
    new = _value_type_text(text)
    return type_ if new == text else ir.Type.parse(new, type_.context)


def holds_tensors(type_: ir.Type) -> bool:
    """Whether values of the type are tensors or contain some."""
    return "tensor" in str(type_)


def refs(entry: Entry) -> Iterator[Ref]:
    """All tensors in an entry."""
    if isinstance(entry, Ref):
        yield entry
    elif isinstance(entry, Items):
        for item in entry.entries:
            yield from refs(item)


def taken_from_lists(entry: Entry) -> bool:
    """Whether a tensor of an entry may be one out of a list that nobody follows."""
    return any(ref.storage.taken for ref in refs(entry))


@dataclass
class Memory:
    """The state at one point of the walk. `shown`: the old graph's values that show (part of) a storage; `views`: what was
    computed already of the current values."""

    current: dict[Storage, ir.Value]
    entangled: dict[Storage, frozenset[Storage]]
    shown: dict[Storage, tuple[ir.Value, ...]]
    views: dict[Storage, dict[tuple[Step, ...], ir.Value]]

    @classmethod
    def empty(cls) -> Memory:
        """The state before anything is made."""
        return cls({}, {}, {}, {})

    def copy(self) -> Memory:
        """The same state, to go on from apart: what is noted in the one does not show in the other."""
        return Memory(dict(self.current), dict(self.entangled), dict(self.shown), {s: dict(v) for s, v in self.views.items()})

    def leave(self, outer: Memory) -> None:
        """Go on after a region whose state before was `outer`: values computed inside cannot be used. What may share memory stays known."""
        self.current, self.views = dict(outer.current), {s: dict(v) for s, v in outer.views.items()}

    def make(
        self, value: ir.Value, sources: Iterable[Storage] = (), argument: int | None = None, taken: bool = False, new: bool = False
    ) -> Storage:
        """New memory with this value, which may be (part of) that of `sources`."""
        storage = Storage(value.type, argument, taken or not is_tensor(value.type), new)
        self.current[storage] = value
        self.entangle(storage, sources)
        return storage

    def entangle(self, storage: Storage, others: Iterable[Storage]) -> None:
        """Note that a storage may share memory with each of the others."""
        for other in others:
            if other is not storage:
                self.entangled[storage] = self.entangled.get(storage, frozenset()) | {other}
                self.entangled[other] = self.entangled.get(other, frozenset()) | {storage}

    def may_be(self, entry: Entry) -> frozenset[Storage]:
        """All storages whose memory the tensors of an entry may show."""
        found: frozenset[Storage] = frozenset()
        for ref in refs(entry):
            found |= {ref.storage} | self.entangled.get(ref.storage, frozenset())
        return found

    def share(self, left: Entry, right: Entry) -> bool:
        """Whether tensors of two entries may show the same memory."""
        near = self.may_be(left)
        return any(ref.storage in near for ref in refs(right))

    def show(self, value: ir.Value, entry: Entry) -> None:
        """Note that an old value shows the storages of an entry."""
        for ref in refs(entry):
            self.shown[ref.storage] = (*self.shown.get(ref.storage, ()), value)

    def write(self, storage: Storage, value: ir.Value) -> None:
        """Make `value` the current value of a storage; what was computed of its views holds no longer."""
        self.current[storage] = value
        self.views.pop(storage, None)


class Liveness:
    """Which values of the old function may still be used after a point."""

    def __init__(self, func: ir.Operation) -> None:
        self._place: dict[ir.Operation, tuple[int, tuple[ir.Operation, ...]]] = Notes()  # number in program order, loops around
        self._number(func, ())

    def _number(self, op: ir.Operation, loops: tuple[ir.Operation, ...]) -> None:
        inner = (*loops, op) if op.name == "torch.prim.Loop" else loops
        for block in blocks(op):
            for view in block.operations:
                self._place[view.operation] = len(self._place), loops if inner is loops else inner
                self._number(view.operation, inner)

    def used_after(self, value: ir.Value, point: ir.Operation) -> bool:
        """Whether a run that has passed `point` may use this binding of `value` again."""
        number, loops = self._place[point]
        owner = value.owner
        if isinstance(owner, ir.Block):
            maker = owner.owner.operation
            outside = 0 if maker.name == "func.func" else len(self._place[maker][1]) + (maker.name == "torch.prim.Loop")
        else:
            outside = len(self._place[owner.operation][1])
        for use in value.uses:
            user = use.owner.operation
            if user not in self._place:
                continue
            at, around = self._place[user]
            common = sum(a == b for a, b in zip(loops, around, strict=False))
            if at > number or common > outside:
                return True
        return False
