"""One walk over a function whose writes become values: each op of the old graph is made again on values in the new one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tierup.dialect.base.exceptions import Acted
from tierup.dialect.ir.attributes import PROMOTION, constant
from tierup.dialect.ir.structure import CASTS, COPIES, LIST_WRITERS, TERMINATORS, attributes_of
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.ir.walking import Notes, callee_name, torch_name, walk
from tierup.dialect.mlir import ir
from tierup.dialect.ops import inplace
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.passes.functional import views as functional_views
from tierup.dialect.passes.functional import writes as functional_writes
from tierup.dialect.passes.functional.memory import (
    Entry,
    Items,
    Liveness,
    Memory,
    Ref,
    Step,
    Storage,
    holds_tensors,
    refs,
    taken_from_lists,
    value_type,
)
from tierup.dialect.passes.functional.views import perhaps_read_only
from tierup.dialect.rewriting.core import int_of

_TUPLE = "torch.prim.TupleConstruct"  # nothing changes it
_ITEMS = frozenset({"torch.prim.ListConstruct", _TUPLE})
_UNPACK = frozenset({"torch.prim.ListUnpack", "torch.prim.TupleUnpack"})
_INDEX = frozenset({"torch.aten.__getitem__.t", "torch.prim.TupleIndex"})


_STAND_INS = {"!torch.bool": False, "!torch.float": 0.0, "!torch.int": 0}


class Acts(PassFailure):
    """The program prints, or changes a list, a dict or an attribute, whichever way it goes: no program of values does that."""


Regions = Mapping[str, "Callable[[Walker, ir.Operation], None]"]
"""How ops with regions are made again, by name."""


class Walker:
    """`block` makes the ops of an old block at `ip`. Old values are looked up with `entry`, made into new ones with `value`."""

    def __init__(self, func: ir.Operation, writers: frozenset[str], lists_change: bool, regions: Regions) -> None:
        self.memory = Memory.empty()
        self.ip: ir.InsertionPoint = None  # set by `inside`
        self._env: dict[ir.Value, Entry] = Notes()
        self._liveness = Liveness(func)
        self._writers = writers
        self._lists_change = lists_change
        self.carried: dict[Storage, ir.Operation] = {}  # what a loop carries on from round to round, and the loop
        self._made_for: dict[Storage, ir.Value] = {}
        self._regions = regions
        self._has_read_only = any(functional_views.is_read_only(op) for op in walk(func))

    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Make ops at the end of a block, as long as the context lasts."""
        saved, self.ip = self.ip, ir.InsertionPoint(block)
        try:
            yield
        finally:
            self.ip = saved

    # --- old values and new ones -----------------------------------------------------------------------------------------

    def entry(self, old: ir.Value) -> Entry:
        """What an old value stands for: a tensor in some storage, a list or tuple of such, or a new value."""
        return self._env[old]

    def bind(self, old: ir.Value, entry: Entry) -> None:
        """Say what an old value stands for from here on."""
        self._env[old] = entry
        self.memory.show(old, entry)

    def bind_new(
        self, old: ir.Value, value: ir.Value, sources: frozenset[Storage] = frozenset(), argument: int | None = None, taken: bool = False,
        new: bool = False,
    ) -> Storage | None:  # fmt: skip
        """Bind an old value to a new one. One that holds tensors is new memory, which may be that of `sources`."""
        if not holds_tensors(old.type):
            self.bind(old, value)
            return None
        storage = self.memory.make(value, sources, argument, taken, new)
        self._made_for[storage] = old
        self.bind(old, Ref(storage))
        return storage

    def bind_results(self, olds: Sequence[ir.Value], news: Sequence[ir.Value], paths: Sequence[tuple[Memory, Sequence[Entry]]]) -> None:
        """Bind what a branch or a loop gives. `paths`: of each way through it what it gives, and what is known there. Results that share
        memory on no path lie apart, although each may be the memory of one source. Sources that are unknown out here are gone."""
        known = self.memory.current.keys()
        made: list[tuple[int, Storage]] = []
        for i, (old, new) in enumerate(zip(olds, news, strict=True)):
            sources = frozenset(s for memory, given in paths for s in memory.may_be(given[i]) if s in known)
            entries = [given[i] for _, given in paths]
            storage = self.bind_new(
                old, new, sources, taken=any(map(taken_from_lists, entries)), new=all(map(functional_views.is_new, entries))
            )
            if storage is not None:
                shared = [other for j, other in made if any(memory.share(given[i], given[j]) for memory, given in paths)]
                self.memory.entangle(storage, shared)
                made.append((i, storage))

    def now(self, storages: Iterable[Storage]) -> list[Storage]:
        """The storages that this walk over a loop has made where an earlier one made these, in order of making. Not in it: what is gone."""
        made = {e.storage for s in storages if isinstance(e := self._env.get(self._made_for[s]), Ref) and not e.chain}
        return [s for s in self.memory.current if s in made] if made else []

    def value(self, old: ir.Value) -> ir.Value:
        """The new value that stands for an old one now; for a tensor, with all that was written to it so far."""
        return self.read(self._env[old])

    def read(self, entry: Entry) -> ir.Value:
        """The entry's value now: for a tensor its chain of views, from the current value of its storage."""
        if isinstance(entry, Items):
            items = [self.read(e) for e in entry.entries]
            return ir.Operation.create(entry.name, [entry.type], items, loc=ir.Location.unknown(entry.type.context), ip=self.ip).results[0]
        if not isinstance(entry, Ref):
            return entry
        value = self.memory.current[entry.storage]
        views = self.memory.views.setdefault(entry.storage, {})
        for i, step in enumerate(entry.chain, start=1):
            known = views.get(entry.chain[:i])
            value = functional_views.apply(step, value, self.ip) if known is None else known
            views[entry.chain[:i]] = value
        return value

    def coerced(self, entry: Entry, type_: ir.Type, op: ir.Operation) -> ir.Value:
        """The entry's value now, under another type that it also has; a cast gets the location of `op`."""
        return self.cast(self.read(entry), type_, op)

    def cast(self, value: ir.Value, type_: ir.Type, op: ir.Operation) -> ir.Value:
        """A tensor, or what may be one, under another type that it also has."""
        if value.type == type_:
            return value
        name = "torch.tensor_static_info_cast" if is_tensor(value.type) and is_tensor(type_) else "torch.derefine"
        return ir.Operation.create(name, [type_], [value], loc=op.location, ip=self.ip).results[0]

    # --- ops ---------------------------------------------------------------------------------------------------------------

    def block(self, old: ir.Block) -> list[ir.Value]:
        """Make a block's ops; the operands of its terminator, which is not made."""
        for view in old.operations:
            op = view.operation
            if op.name in TERMINATORS:
                return list(op.operands)
            self._visit(op)
        raise AssertionError("MLIR verified that every block has a terminator")

    def _visit(self, op: ir.Operation) -> None:
        name = op.name
        row = row_of(op)
        if row is not None and row.of_memory:
            return  # code of values runs where arguments are writeable; what else is refused is refused at the write
        if name in self._regions:
            self._regions[name](self, op)
        elif len(op.regions):
            raise PassFailure(op, "has a body, which cannot be turned into values")
        elif name == "torch.tensor.literal":
            self._make(op, name="torch.vtensor.literal")
        elif name in COPIES:
            self.bind_new(op.results[0], self.value(op.operands[0]))
        elif name == "torch.overwrite.tensor.contents":
            target = op.operands[1]
            self._write(op, target, functional_writes.copied(self.value(target), self.value(op.operands[0]), op, self.ip))
        elif row is not None and row.acts:
            self._act(op)
        elif name in CASTS:
            self._identity(op)
        elif not any(holds_tensors(v.type) for v in (*op.operands, *op.results)):
            self._make(op)
        elif row is None or row.kind is Kind.SCALAR:
            self._structure(op, row)
        elif row.writes:
            operands = [self.value(v) for v in op.operands]
            self._check_read(op)
            target = self._env[op.operands[0]]
            is_part = isinstance(target, Ref) and functional_views.in_place_of_part(target.chain)
            self._write(op, op.operands[0], functional_writes.new_contents(op, row, operands, self.ip, is_part))
            self.bind(op.results[0], self._env[op.operands[0]])
        elif row.aliasing is Aliasing.VIEW and name != "torch.operator" and self._exact(op):
            self._view(op)
        elif row.aliasing is Aliasing.FRESH:
            self._make(op, new=True)
        else:
            whole = self._env[op.operands[0]]
            new = row.aliasing is Aliasing.MAY_VIEW and (functional_views.is_new(whole) or not functional_views.may_be_operand(op))
            self._make(op, self.memory.may_be(whole), new=new)

    def _make(self, op: ir.Operation, sources: frozenset[Storage] = frozenset(), name: str | None = None, new: bool = False) -> None:
        """The same op on values. What it gives may be memory of `sources`."""
        operands = [self.value(v) for v in op.operands]
        types = [value_type(r.type) for r in op.results]
        made = ir.Operation.create(name or op.name, types, operands, attributes_of(op), loc=op.location, ip=self.ip)
        taken = bool(sources) and any(taken_from_lists(self._env[v]) for v in op.operands)
        parts: list[Storage] = []
        for old, value in zip(op.results, made.results, strict=True):
            part = self.bind_new(old, value, sources, taken=taken, new=new)
            if part is not None and sources:
                self.memory.entangle(part, parts)
                parts.append(part)

    def _act(self, op: ir.Operation) -> None:
        """What only tier 0 may do, once a call. In a branch the program of values raises instead, having written nothing: the pristine
        graph then runs the call. In no branch each call would come to that, and the function is refused."""
        named = torch_name(op)
        what = f"acts ({named}): only tier 0 does that, once a call"
        at: ir.Operation | ir.OpView | None = op
        while at is not None and at.name != "torch.prim.If":
            at = at.operation.parent
        stand_ins = [_STAND_INS.get(str(r.type)) for r in op.results]
        if at is None or None in stand_ins:
            raise Acts(op, what)
        said = [constant(text, self.ip, op.location) for text in (what, Acted.__name__)]
        ir.Operation.create("torch.prim.RaiseException", [], said, loc=op.location, ip=self.ip)
        for result, stand_in in zip(op.results, stand_ins, strict=True):  # nobody gets to read them
            self.bind(result, constant(stand_in, self.ip, op.location))

    def _structure(self, op: ir.Operation, row: Op | None) -> None:
        """Lists, calls, and ops of which only the operands are known."""
        name = op.name
        whole = self._env[op.operands[0]] if len(op.operands) else None
        if name == _TUPLE or name in _ITEMS and not self._lists_change:
            self.bind(op.results[0], Items(tuple(self._env[v] for v in op.operands), name, value_type(op.results[0].type)))
        elif name in _UNPACK and isinstance(whole, Items) and len(whole.entries) == len(op.results):  # of another length it raises
            for result, entry in zip(op.results, whole.entries, strict=True):
                self.bind(result, entry)
        elif name in _UNPACK and isinstance(whole, Ref) and len(whole.chain) > 0:
            self._parts(op, whole)
        elif name in _INDEX and isinstance(whole, Items) and (at := self._index(op, len(whole.entries))) is not None:
            self.bind(op.results[0], whole.entries[at])
        elif name == "func.call" and callee_name(op) in self._writers:
            raise PassFailure(op, "calls a function that writes tensors: inline it first (MLIR's pass `inline`)")
        elif row is None and name == "torch.operator" and any(_mutable(v.type) for v in op.operands):
            raise PassFailure(op, f"may write its operands: no part of tierup knows {op.attributes['name']}")
        else:
            sources = frozenset[Storage]().union(*(self.memory.may_be(self._env[v]) for v in op.operands))
            if name in LIST_WRITERS and isinstance(whole, Ref):
                for storage in self.memory.may_be(whole):  # the list, and all that may be this list
                    if not is_tensor(storage.type):
                        self.memory.entangle(storage, sources)
            self._make(op, sources)

    def _identity(self, op: ir.Operation) -> None:
        """The same tensor under another type."""
        if not holds_tensors(op.results[0].type):
            self._make(op)
        elif isinstance(self._env[op.operands[0]], Ref):
            self._view(op)
        else:
            self._make(op, self.memory.may_be(self._env[op.operands[0]]))

    # --- views ---------------------------------------------------------------------------------------------------------------

    def _exact(self, op: ir.Operation) -> bool:
        """Whether a view can be computed again whenever it is read: of a tensor, with operands that nobody changes."""
        rest = list(op.operands)[1:]
        return isinstance(self._env[op.operands[0]], Ref) and not any(self._list_changes(v) for v in rest)

    def _list_changes(self, value: ir.Value) -> bool:
        return str(value.type).startswith("!torch.list") and any(use.owner.operation.name in LIST_WRITERS for use in value.uses)

    def _view(self, op: ir.Operation) -> None:
        whole = self._env[op.operands[0]]
        assert isinstance(whole, Ref)
        step = Step(op, op.name, tuple(self.value(v) for v in list(op.operands)[1:]), value_type(op.results[0].type))
        entry = Ref(whole.storage, (*whole.chain, step))
        self.bind(op.results[0], entry)
        self.read(entry)  # now, so that what is wrong with it is found where the user wrote it

    def _parts(self, op: ir.Operation, whole: Ref) -> None:
        """The tensors of a list that a view gives. Unpacked now, so that a list of another length raises where the user wrote it."""
        types = [value_type(r.type) for r in op.results]
        made = ir.Operation.create(op.name, types, [self.read(whole)], attributes_of(op), loc=op.location, ip=self.ip)
        views = self.memory.views.setdefault(whole.storage, {})
        for i, (result, value) in enumerate(zip(op.results, made.results, strict=True)):
            part = Ref(whole.storage, (*whole.chain, Step(op, op.name, (), value.type, i)))
            views[part.chain] = value
            self.bind(result, part)

    def _index(self, op: ir.Operation, length: int) -> int | None:
        new = self.value(op.operands[1])
        index = int_of(new)
        return index % length if index is not None and -length <= index < length else None

    # --- writes --------------------------------------------------------------------------------------------------------------

    def _write(self, op: ir.Operation, target: ir.Value, value: ir.Value) -> None:
        """`target` has the contents `value` from here on."""
        ref = self._env[target]
        if not isinstance(ref, Ref):
            raise PassFailure(op, "writes something that is not a tensor")
        if self._has_read_only and PROMOTION in op.attributes and perhaps_read_only(target):
            raise PassFailure(op, "writes what NumPy lets nobody write on some paths: copy what np.broadcast_to or np.diagonal gives")
        self._check_shared(op, ref.storage)
        chain = ref.chain
        while chain:
            if chain[-1].name in _UNPACK:
                whole = self.read(Ref(ref.storage, chain[:-2]))
                value = functional_views.put_item(chain, whole, value, op, self.ip)
                chain = chain[:-2]
            else:
                whole = self.read(Ref(ref.storage, chain[:-1]))
                value = functional_views.put(chain, whole, value, op, self.ip)
                chain = chain[:-1]
        self.memory.write(ref.storage, value)

    def _check_read(self, op: ir.Operation) -> None:
        """A write that reads another part of the memory it writes is PyTorch's to refuse or not: layouts decide. NumPy takes it."""
        target = self._env[op.operands[0]]
        if PROMOTION in op.attributes or op.name.startswith("torch.aten.fill_.") or not isinstance(target, Ref):
            return
        near = self.memory.entangled.get(target.storage, frozenset())
        row = row_of(op)
        by_index = row is not None and inplace.writes_by_index(row)
        for ref in (ref for value in list(op.operands)[1:] for ref in refs(self._env[value])):
            chains = ref.chain, target.chain
            shown = not functional_views.apart(*chains) if by_index else functional_views.in_part(*chains)
            if (ref.storage is target.storage and shown) or ref.storage in near:
                raise PassFailure(op, "reads the memory that it writes, in part or otherwise: layouts decide whether PyTorch refuses it")

    def _check_shared(self, op: ir.Operation, storage: Storage) -> None:
        """Nothing that may or may not share the written memory is read later: no value would be right for it."""
        for other in self.memory.entangled.get(storage, ()):
            if other.argument is not None or any(self._liveness.used_after(v, op) for v in self.memory.shown.get(other, ())):
                what = "the result of an op that may or may not have copied" if other.argument is None else f"argument {other.argument}"
                loop = self.carried.get(storage)
                if loop is None:
                    raise PassFailure(op, f"writes memory that may be shared with {what}: whether it is, only the run can tell")
                other_name = "a tensor that is read later" if other.argument is None else what
                said = f"writes a tensor that a loop carries, which is {other_name} in some rounds and another in others"
                remedy = "this loop does not hand on the tensor it got: use the op that does not write, or start with an aten.clone"
                raise PassFailure(op, said, (loop, remedy))


def _mutable(type_: ir.Type) -> bool:
    return bool(value_type(type_) != type_)


