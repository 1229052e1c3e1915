"""Alias questions: which values may share memory, who writes it, what may be merged, moved or replaced.

For graphs as front ends give them: mutable `!torch.tensor`s, in-place ops, views, lists that are appended to, all of that through
branches and loops. On a functional graph (`tierup-functionalize`) nothing has a writer and most answers are immediate.

    aliases = AliasAnalysis(func)                    # func is not changed

    aliases.may_alias(a, b)            may a and b be, or be views of, one piece of memory?  (containers: one object)
    aliases.may_contain_alias(a, b)    ... or may what is in one, at any depth?
    aliases.writers(value)             the ops that may write it, or what is in it, anywhere in the function, in order
    aliases.has_writers(value)         whether there are any
    aliases.touches_written(op)        whether an operand or result of the op has writers: it may compute something else elsewhere
    aliases.writes(op)                 whether the op (or one in its regions) writes memory
    aliases.has_side_effects(op)       whether a run can tell that the op is missing though nobody uses its results: it (or one in its
                                       regions) raises on purpose, records (tierup.profile), draws random numbers, writes the caller's
                                       memory, or is unknown. That wrong operands make it raise is not meant: see raising.py
    aliases.is_safe_to_replace(old, new)    may all uses of old become uses of new, which holds an equal value, as far as memory goes?
                                       No when either is written, when two outputs would become one object (or share memory that they
                                       do not share), when an output would become an argument, or rounds of a loop would share one
    aliases.replace(old, new)          do so, if it is safe; False: nothing was replaced
    aliases.returned(value)            whether the caller gets it, a view of it, or a container of it
    aliases.can_move_before(op, point) aliases.can_move_after(op, point)     may op go there, with all that must travel along?
    aliases.move_before(op, point)     aliases.move_after(op, point)         go there if so, in order; False: nothing was moved

Exact rules: arguments of type `!torch.tensor` may overlap one another; a `!torch.vtensor` shares no memory with anything written (the
contract `graph`). Numbers, strings and None are no memory: they alias nothing and are always safe to replace. Answers are
flow-insensitive: a write anywhere counts. `op` and `point` of a move stand in one block; a move keeps the order of any two ops of
which one writes what the other reads or writes, of observable effects (raising on purpose, unknown ops, calls that have some), and of
those against what may leave the function (guards, ops that raise for some values, bailouts). Two ops that may both raise may swap.

`move_*`, `replace` and erasing ops keep an analysis valid. For new ops (but see `adopt`), and after
replacing values by other means, make a new one.
Cost: about 40 us an op; a question costs a set intersection.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tierup.dialect.analysis import points_to as p
from tierup.dialect.analysis.moving import carry_out, plan_move
from tierup.dialect.analysis.points_to import NOWHERE, Holds, Location, Locations, PointsTo, inner_ops, is_known, reachable
from tierup.dialect.ir.structure import TERMINATORS, blocks, handed_over, last_of
from tierup.dialect.ir.walking import Notes, callee_name, callee_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind
from tierup.dialect.optable.rows import row_of

_LEAVING = frozenset({"tierup.guard", "tierup.bailout"})
_ACTING = frozenset({"tierup.count_run", "torch.prim.RaiseException", "torch.runtime.assert"})


@dataclass(frozen=True)
class Effects:
    """What one op does, what is in its regions included. `acts`: a run can tell. `leaves`: it may end the
    function early. `records`: it feeds the profile, at any place."""

    reads: Locations = NOWHERE
    writes: Locations = NOWHERE
    acts: bool = False
    leaves: bool = False
    records: bool = False

    def __or__(self, other: Effects) -> Effects:
        if other == _NONE:
            return self
        return Effects(
            self.reads | other.reads, self.writes | other.writes, self.acts or other.acts, self.leaves or other.leaves,
            self.records or other.records,
        )  # fmt: skip


_NONE = Effects()
_RECORDS = Effects(records=True)


class AliasAnalysis:
    """The answers for one function; see the module's docstring."""

    def __init__(self, func: ir.Operation, _callees: dict[str, Effects] | None = None) -> None:
        self.points_to = PointsTo(func)
        self._effects: dict[ir.Operation, Effects] = Notes()
        self._callees = {} if _callees is None else _callees
        self._random = Location(Holds.TENSOR)  # the generator's state: random ops keep their order
        self._writers: dict[Location, dict[int, ir.Operation]] = {}  # by their places in the text
        for i, op in enumerate(inner_ops(func)):
            for location in self.effects(op).writes if not len(op.regions) or not is_known(op) else ():
                self._writers.setdefault(location, {})[i] = op
        self._sources: dict[ir.Value, set[ir.Value]] = Notes()  # what a value may be, view or contain
        self._returned: set[ir.Value] = set()
        self._hand_out(v for v in self._flows(func) if self.is_memory(v))
        outputs = [v for op in inner_ops(func) if op.name == "func.return" for v in op.operands]
        self._outputs = reachable(loc for v in outputs for loc in self.points_to.reach(v))

    # --- sharing ---

    def may_alias(self, a: ir.Value, b: ir.Value) -> bool:
        """Whether `a` and `b` may share memory; for containers, whether they may be one object."""
        return not self.points_to.of(a).isdisjoint(self.points_to.of(b))

    def may_contain_alias(self, a: ir.Value, b: ir.Value) -> bool:
        """Whether `a`, or anything in it, may share memory with `b` or anything in that."""
        return not self.points_to.reach(a).isdisjoint(self.points_to.reach(b))

    def is_memory(self, value: ir.Value) -> bool:
        """Whether the value is a tensor or a container: no number, string or None."""
        return self.points_to.holds(value.type) is not Holds.NOTHING

    def returned(self, value: ir.Value) -> bool:
        """Whether the caller gets the value, a view of it or a container of it, as a result or in a container of its own."""
        return value in self._returned

    # --- writing ---

    def writers(self, value: ir.Value) -> list[ir.Operation]:
        """The ops that may write the value's memory or what is in it, in program order."""
        found: dict[int, ir.Operation] = {}
        for location in self.points_to.reach(value):
            found |= self._writers.get(location, {})
        return [found[i] for i in sorted(found)]

    def has_writers(self, value: ir.Value) -> bool:
        """Whether any op may write the value's memory or what is in it."""
        return any(location in self._writers for location in self.points_to.reach(value))

    def touches_written(self, op: ir.Operation) -> bool:
        """Whether an operand or a result of the op, or what is in one, may be written, by whichever op."""
        return any(self.has_writers(v) for v in (*op.operands, *op.results))

    def writes(self, op: ir.Operation) -> bool:
        """Whether the op, or one in it, may write memory; drawing random numbers counts."""
        return bool(self.effects(op).writes)

    def has_side_effects(self, op: ir.Operation) -> bool:
        """Whether the op does more than give results: it acts or records (`Effects`), is random or may write a caller's memory."""
        found = self.effects(op)
        return found.acts or found.records or any(location.outside for location in found.writes)

    # --- replacing ---

    def is_safe_to_replace(self, old: ir.Value, new: ir.Value) -> bool:
        """Whether uses of `old` may become uses of `new`, whose value is equal, without anyone seeing that it is another object."""
        if not self.is_memory(old) and not self.is_memory(new):
            return True
        if self.has_writers(old) or self.has_writers(new):
            return False
        if not self.returned(old):
            return True
        before, after = self.points_to.reach(old), self.points_to.reach(new)
        if self.returned(new) or any((loc.outside or loc in self._outputs) and loc not in before for loc in after):
            return False
        return before == after or not loops_around(old) - loops_around(new)  # else the rounds of a loop would hand out one object

    def replace(self, old: ir.Value, new: ir.Value) -> bool:
        """Make uses of `old` uses of `new` if that is safe; whether it was."""
        if not self.is_safe_to_replace(old, new):
            return False
        old.replace_all_uses_with(new)
        if self.is_memory(old) and self.is_memory(new):
            self.points_to.replaced(old, new)
            self._sources.setdefault(old, set()).add(new)
            if self.returned(old):
                self._outputs |= self.points_to.reach(new)
                self._hand_out([new])
        return True

    def adopt(self, old: ir.Value, new: ir.Value) -> None:
        """Take `new`, the result of an op made since, for the memory that `old` is; uses of `old` may then become uses of `new`."""
        self.points_to.values[new] = set(self.points_to.values.get(old, ()))
        self._sources[new] = set(self._sources.get(old, ()))
        if self.returned(old):
            self._returned.add(new)

    # --- moving ---

    def can_move_before(self, op: ir.Operation, point: ir.Operation) -> bool:
        """Whether `op`, with the ops between that must move along, can go right before `point`. ValueError for ops of two blocks."""
        return plan_move(op, point, after=False, conflict=self.conflict) is not None

    def can_move_after(self, op: ir.Operation, point: ir.Operation) -> bool:
        """Whether `op`, with the ops between that must move along, can go right after `point`. ValueError for ops of two blocks."""
        return plan_move(op, point, after=True, conflict=self.conflict) is not None

    def move_before(self, op: ir.Operation, point: ir.Operation) -> bool:
        """Move `op` right before `point`, with the ops between that must move along; False if it cannot. ValueError for two blocks."""
        return carry_out(plan_move(op, point, after=False, conflict=self.conflict))

    def move_after(self, op: ir.Operation, point: ir.Operation) -> bool:
        """Move `op` right after `point`, with the ops between that must move along; False if it cannot. ValueError for two blocks."""
        return carry_out(plan_move(op, point, after=True, conflict=self.conflict))

    def conflict(self, a: ir.Operation, b: ir.Operation) -> bool:
        """Whether the order of two ops of one block shows, by memory or effects; that one uses the other's results is not looked at."""
        return self.conflicting(self.effects(a), self.effects(b))

    @staticmethod
    def conflicting(x: Effects, y: Effects) -> bool:
        """Whether the order of what does these things shows."""
        if not (x.writes.isdisjoint(y.writes) and x.writes.isdisjoint(y.reads) and x.reads.isdisjoint(y.writes)):
            return True
        return _orders(x, y) or _orders(y, x)

    # --- effects ---

    def effects(self, op: ir.Operation) -> Effects:
        """What the op and all in it do."""
        found = self._effects.get(op)
        if found is None:
            found = self._leaf(op) if not len(op.regions) or not is_known(op) else _NONE
            self._effects[op] = found
            for block in blocks(op):
                for view in block.operations:
                    found = found | self.effects(view.operation)
            self._effects[op] = found
        return found

    def _reach(self, values: Iterable[ir.Value]) -> Locations:
        return frozenset().union(*(self.points_to.reach(v) for v in values))

    def _leaf(self, op: ir.Operation) -> Effects:
        name = op.name
        if name in p.LIST_WRITES:
            return Effects(self.points_to.of(op.operands[0]), self.points_to.of(op.operands[0]), leaves=name.endswith("_set_item.t"))
        if name == p.OVERWRITE:
            return Effects(self.points_to.of(op.operands[0]), self.points_to.of(op.operands[1]), leaves=True)
        if name == "func.call":
            return self._call(op)
        if name == "tierup.profile":
            return _RECORDS
        if name in _LEAVING:
            return Effects(self._reach(op.operands), leaves=True)
        if name in TERMINATORS or name in p.IDENTITIES or name in p.CONSTRUCTS or name.startswith("torch.constant."):
            return _NONE  # they hand values on and look into none
        row = row_of(op)
        if row is not None and row.acts:
            return self._anything(op)
        if row is None:
            return Effects(self._reach(op.operands), acts=name in _ACTING) if is_known(op) else self._anything(op)
        if row.aliasing is Aliasing.VIEW:  # sizes and strides, which nothing changes; lists are read
            reads = frozenset(loc for v in op.operands for loc in self.points_to.of(v) if loc.holds is Holds.CONTAINER)
        elif row.kind is Kind.SCALAR:
            reads = frozenset(loc for v in op.operands for loc in self.points_to.of(v))
        else:
            reads = self._reach(op.operands)
        written = self.points_to.of(op.operands[0]) if row.writes else NOWHERE
        if row.random:
            reads, written = reads | {self._random}, written | {self._random}
        return Effects(reads, written, acts=name in _ACTING or row.results == 0, leaves=row.raises)

    def _anything(self, op: ir.Operation) -> Effects:
        """An op that nobody knows: it may use all that it reaches and all that others like it have kept. No one writes value tensors."""
        seen = self._reach(op.operands) | reachable({self.points_to.caller_tensors, self.points_to.caller_containers})
        return Effects(seen, (seen | {self._random}) - {self.points_to.caller_values}, acts=True, leaves=True)

    def _call(self, op: ir.Operation) -> Effects:
        does = self._callee(op)
        reads = self._reach(op.operands)
        written = (reads | {self._random}) - {self.points_to.caller_values} if does.writes else NOWHERE
        return Effects(reads, written, does.acts, does.leaves, does.records)

    def _callee(self, call: ir.Operation) -> Effects:
        """What a function does for its caller: that it writes something, not what."""
        name, somewhere = callee_name(call), frozenset({self._random})
        if name not in self._callees:
            self._callees[name] = Effects(writes=somewhere, acts=True, leaves=True)  # a recursive call, and one that nobody knows
            body = callee_of(call)
            if body is not None:
                found = AliasAnalysis(body, self._callees).effects(body)
                shown = any(location.outside for location in found.writes)
                self._callees[name] = Effects(NOWHERE, somewhere if shown else NOWHERE, found.acts, found.leaves, found.records)
        return self._callees[name]

    # --- what the caller gets ---

    def _flows(self, func: ir.Operation) -> list[ir.Value]:
        """Fill in which values hand memory on to which; what leaves the function, as a result or into a container of the caller."""
        out: list[ir.Value] = []
        stored: dict[Location, set[ir.Value]] = {}
        for op in inner_ops(func):
            if op.name == "func.return" or (op.name != "func.func" and not is_known(op)):  # who nobody knows may keep them
                out += op.operands
            elif op.name in p.LIST_WRITES and self.is_memory(op.operands[p.LIST_WRITES[op.name]]):
                for location in self.points_to.of(op.operands[0]):
                    stored.setdefault(location, set()).add(op.operands[p.LIST_WRITES[op.name]])
            for source, target in _handed_on(op):
                if self.is_memory(source) and self.is_memory(target):
                    self._sources.setdefault(target, set()).add(source)
        for location, items in stored.items():
            if location.outside:
                out += items
        for value, locations in self.points_to.values.items() if stored else ():
            for location in locations & stored.keys():
                self._sources.setdefault(value, set()).update(stored[location])
        return out

    def _hand_out(self, values: Iterable[ir.Value]) -> None:
        """Note that the caller gets these. They may hand on values that are gone since, so none of them is looked into here."""
        pending = list(values)
        while pending:
            value = pending.pop()
            if value not in self._returned:
                self._returned.add(value)
                pending += self._sources.get(value, ())


def _handed_on(op: ir.Operation) -> Iterator[tuple[ir.Value, ir.Value]]:
    """(operand, result) pairs in which the result may be, view or contain the operand."""
    name = op.name
    if name == "torch.prim.Loop":
        body = op.regions[0].blocks[0]
        after = handed_over(body)[1:]
        for init, yielded, argument, result in zip(list(op.operands)[2:], after, list(body.arguments)[1:], op.results, strict=True):
            yield from ((init, argument), (init, result), (yielded, argument), (yielded, result))
        return
    for region in list(op.regions)[:1] if name == "tierup.differentiable" else op.regions:
        for block in region.blocks if name != "func.func" else ():
            yield from zip(op.operands, block.arguments, strict=False)
            yield from zip(last_of(block).operands, op.results, strict=False)
    row = row_of(op)
    if not len(op.regions) and (row is None or row.aliasing is not Aliasing.FRESH or row.kind is Kind.SCALAR):
        for result in op.results:
            yield from ((operand, result) for operand in op.operands)


def loops_around(value: ir.Value) -> set[ir.Operation]:
    """The loops around the place where a value is made."""
    owner = value.owner
    op = owner.owner.operation if isinstance(owner, ir.Block) else owner.operation
    found = set()
    if not isinstance(owner, ir.Block):
        op = op.parent.operation if op.parent is not None else op
    while op.name != "func.func" and op.parent is not None:
        if op.name == "torch.prim.Loop":
            found.add(op)
        op = op.parent.operation
    return found


def _orders(x: Effects, y: Effects) -> bool:
    """Whether `x` acts, and `y` must stay on its side of it."""
    acts = x.acts or any(location.outside for location in x.writes)
    return acts and (y.leaves or (x.acts and y.acts))
