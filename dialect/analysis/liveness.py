"""Mark and sweep: what of a function a run can tell is missing, and taking out the rest. See transforms/dce.py for the rules."""

from __future__ import annotations

from dataclasses import dataclass, field

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.points_to import Location, inner_ops, is_known
from tierup.dialect.analysis.raising import Raising
from tierup.dialect.ir.structure import LIST_WRITERS, TERMINATORS, blocks, hand_over, handed_over, last_of, made_again
from tierup.dialect.mlir import ir

IF, LOOP = "torch.prim.If", "torch.prim.Loop"
_BIND = "torch.bind_symbolic_shape"


@dataclass
class Live:
    """What stays: values that are used or returned, and ops that have a live result or do something."""

    values: set[ir.Value] = field(default_factory=set)
    ops: set[ir.Operation] = field(default_factory=set)


def eliminate_dead_code(func: ir.Operation, *, drop_errors: bool = False) -> None:
    """What tierup-dce does to one function, for passes that leave dead code behind."""
    written = _writes_lists(func)
    sweep(func, live_in(func, drop_errors=drop_errors))
    if written and not _writes_lists(func):  # more is known of lists that nobody writes
        sweep(func, live_in(func, drop_errors=drop_errors))


def _writes_lists(func: ir.Operation) -> bool:
    return any(op.name in LIST_WRITERS for op in inner_ops(func))


def live_in(func: ir.Operation, *, drop_errors: bool = False) -> Live:
    """What of `func` is live. `drop_errors`: that an op may raise on wrong operands does not keep it."""
    return _Marker(func, drop_errors).live


class _Marker:
    def __init__(self, func: ir.Operation, drop_errors: bool) -> None:
        self.live = Live()
        self.aliases = AliasAnalysis(func)
        self._raising = None if drop_errors else Raising(func)
        self._memory: set[Location] = set()  # what live values may be or hold
        self._pending: list[ir.Value] = []
        self._writes: list[ir.Operation] = []
        self._binds: list[ir.Operation] = []
        for op in inner_ops(func):
            if op.name != "func.func":
                self._root(op)
        self._settle()
        for op in self._binds:  # a declaration of a size lives with the value it is about
            if isinstance(op.operands[0].owner, ir.Block) or op.operands[0] in self.live.values:
                self._mark_op(op)
        self._settle()

    def _settle(self) -> None:
        while self._pending:
            self._mark_value(self._pending.pop())
            if not self._pending:
                self._mark_writes()

    # --- roots ---

    def _root(self, op: ir.Operation) -> None:
        if op.name == _BIND:
            self._binds.append(op)
        elif op.name == "func.return" or (len(op.regions) == 0 or not is_known(op)) and self._stays(op):
            self._mark_op(op)
        elif not len(op.regions) and self.aliases.writes(op):
            self._writes.append(op)

    def _stays(self, op: ir.Operation) -> bool:
        if op.name in TERMINATORS:
            return False  # what it yields lives with the result that it becomes
        if op.name in ("tierup.guard", "tierup.bailout"):
            return True  # a constant may stand for what followed from it, and an op be gone that raises where it fails
        return self.aliases.has_side_effects(op) or (self._raising is not None and self._raising.may_raise(op))

    # --- marking ---

    def _mark_op(self, op: ir.Operation) -> None:
        """The op stays, and the branches and loops around it; what it uses is live."""
        while op not in self.live.ops:
            self.live.ops.add(op)
            if op.name == LOOP:
                self._pending += [op.operands[0], op.operands[1], last_of(op.regions[0].blocks[0]).operands[0]]
            elif op.name == IF:
                self._pending.append(op.operands[0])
            elif len(op.regions):
                self._mark_body(op)
            else:
                self._pending += op.operands
            if op.parent is None or op.parent.operation.name == "func.func":
                return
            op = op.parent.operation

    def _mark_body(self, op: ir.Operation) -> None:
        """A group or fallback keeps its results and operands as long as it stands: its twin has the same."""
        self._pending += op.operands
        for block in blocks(op):
            self._pending += last_of(block).operands

    def _mark_value(self, value: ir.Value) -> None:
        if value in self.live.values:
            return
        self.live.values.add(value)
        self._memory |= self.aliases.points_to.reach(value)
        owner = value.owner
        if isinstance(owner, ir.Block):
            op = owner.owner.operation
            if op.name == LOOP and value != owner.arguments[0]:
                self._mark_carried(op, list(owner.arguments).index(value) - 1)
            if op.name != "func.func":
                self._mark_op(op)
            return
        op = owner.operation
        self._mark_op(op)
        if op.name in (IF, LOOP):
            at = list(op.results).index(value)
            if op.name == LOOP:
                self._mark_carried(op, at)
            else:
                self._pending += [last_of(r.blocks[0]).operands[at] for r in op.regions]

    def _mark_carried(self, loop: ir.Operation, slot: int) -> None:
        """A slot lives in all four places or in none."""
        body = loop.regions[0].blocks[0]
        after = last_of(body)
        self._pending += [loop.operands[2 + slot], body.arguments[1 + slot], after.operands[1 + slot], loop.results[slot]]

    def _mark_writes(self) -> None:
        """Writes to memory that a live value may be or hold, wherever they stand: what a loop writes late its next round reads."""
        dead = []
        for op in self._writes:
            if self.aliases.effects(op).writes.isdisjoint(self._memory):
                dead.append(op)
            else:
                self._mark_op(op)
        self._writes = dead


# --- taking out the rest ----------------------------------------------------------------------------------------------------


@dataclass
class _Plan:
    """What to do with one op, decided before anything changes: the bindings hash an op by its operands."""

    op: ir.Operation
    kept: list[int] | None = None  # of a branch or loop: which slots stay; None: the op goes
    inside: list[list[_Plan]] = field(default_factory=list)


def sweep(func: ir.Operation, live: Live) -> None:
    """Take out everything of `func` that is not live."""
    for block in func.regions[0].blocks:
        _sweep_block(_plan_block(block, live))


def _plan_block(block: ir.Block, live: Live) -> list[_Plan]:
    plans = []
    for view in block.operations:
        op = view.operation
        if op.name in TERMINATORS:
            continue
        if op not in live.ops:
            plans.append(_Plan(op))
        elif len(op.regions):
            inside = [_plan_block(inner, live) for inner in blocks(op)]
            plans.append(_Plan(op, [i for i, r in enumerate(op.results) if r in live.values], inside))
    return plans


def _sweep_block(plans: list[_Plan]) -> None:
    for plan in reversed(plans):  # users before what they use
        if plan.kept is None:
            plan.op.erase()
            continue
        prunes = plan.op.name in (IF, LOOP) and len(plan.kept) < len(plan.op.results)
        if prunes:
            _prune_yields(plan.op, plan.kept)
        for inner in plan.inside:
            _sweep_block(inner)
        if prunes:
            _prune(plan.op, plan.kept)


def _prune_yields(op: ir.Operation, kept: list[int]) -> None:
    for region in op.regions:
        operands = handed_over(region.blocks[0])
        first = 1 if op.name == LOOP else 0  # a loop's condition comes first
        hand_over(region.blocks[0], [*operands[:first], *(operands[first + i] for i in kept)])


def _prune(op: ir.Operation, kept: list[int]) -> None:
    """The op again with these results only. Its other results, and the loop arguments that go with them, have no users left."""
    results = list(op.results)
    operands = list(op.operands)
    if op.name == LOOP:
        body = op.regions[0].blocks[0]
        for i in reversed(range(len(results))):
            if i not in kept:
                body.erase_argument(1 + i)
        operands = [*operands[:2], *(operands[2 + i] for i in kept)]
    new = made_again(op, operands, [results[i].type for i in kept])
    for i, result in zip(kept, new.results, strict=True):
        results[i].replace_all_uses_with(result)
    op.erase()
