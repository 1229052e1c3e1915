"""What is known of values in the regions that a comparison dominates: `x == 3` in the arm that is taken when it holds.

Facts are integers: the number that a value is, or the length that a list has. They flow through `not`, `and`, `or`, through the
branches that short-circuit these, past an assertion, and past a branch whose other arm raises; where paths meet, what all of them
agree on is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tierup.dialect.ir.structure import blocks, maker
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of

Facts = dict[ir.Value, int]


@dataclass(frozen=True)
class Decision:
    """That a boolean says `value` is `number`: when it is true (`equal`), or when it is false."""

    value: ir.Value
    number: int
    equal: bool


@dataclass
class Scope:
    """The facts at one place; `constants` made for them so far that dominate it."""

    facts: Facts = field(default_factory=dict)
    constants: dict[int, ir.Value] = field(default_factory=dict)

    def inner(self, more: Facts | None) -> Scope:
        """The scope of a region in this one, where `more`, if any, holds too. Constants that are made in it are not seen out here."""
        return Scope(self.facts | (more or {}), dict(self.constants))


class Decisions:
    """Walks a function. `decides`: what the op that makes a boolean says; `visit(op, scope)`: for every op, in order, outer before
    inner; `leave(op)`: for every branch, after what is in it. Both may make ops before the op and replace values, but erase nothing."""

    def __init__(
        self,
        decides: Callable[[ir.Operation], Decision | None],
        visit: Callable[[ir.Operation, Scope], None],
        leave: Callable[[ir.Operation], None] = lambda op: None,
    ) -> None:
        self._decides = decides
        self._visit = visit
        self._leave = leave

    def walk(self, func: ir.Operation) -> None:
        """Visit all ops of a function, each with the facts at its place."""
        for block in blocks(func):
            self._block(block, Scope())

    def when(self, value: ir.Value, truth: bool) -> Facts | None:
        """What holds where a boolean is `truth`; None where it never is."""
        op = maker(value)
        known = bool_of(value)
        if known is not None:
            return {} if known is truth else None
        if op is None:
            return {}
        if op.name == "torch.aten.__not__":
            return self.when(op.operands[0], not truth)
        if op.name in ("torch.aten.__and__.bool", "torch.aten.__or__.bool"):
            both = (op.name == "torch.aten.__and__.bool") is truth
            left, right = (self.when(v, truth) for v in op.operands)
            return _both(left, right) if both else _either(left, right)
        if op.name == "torch.prim.If":
            at = list(op.results).index(value)
            return _either(*(self._arm(op, at, taken, truth) for taken in (True, False)))
        found = self._decides(op)
        return {found.value: found.number} if found is not None and found.equal is truth else {}

    def _arm(self, op: ir.Operation, at: int, taken: bool, truth: bool) -> Facts | None:
        """What holds when this arm was taken and gave `truth`."""
        block = op.regions[0 if taken else 1].blocks[0]
        if raises(block):
            return None
        *_, last = block.operations
        return _both(self.when(op.operands[0], taken), self.when(last.operation.operands[at], truth))

    def _block(self, block: ir.Block, scope: Scope) -> None:
        for op in ops_of(block):
            self._visit(op, scope)
            if op.name == "torch.prim.If":
                self._branch(op, scope)
            elif op.name == "torch.runtime.assert":
                scope.facts |= self.when(op.operands[0], True) or {}
            else:
                for inner in blocks(op):
                    self._block(inner, scope.inner(None) if op.name == "torch.prim.Loop" else Scope())

    def _branch(self, op: ir.Operation, scope: Scope) -> None:
        after: list[Facts | None] = []
        for region, taken in zip(op.regions, (True, False), strict=True):
            arm = scope.inner(self.when(op.operands[0], taken))
            self._block(region.blocks[0], arm)
            after.append(None if raises(region.blocks[0]) else arm.facts)
        self._leave(op)
        scope.facts |= _either(*after) or {}


def raises(block: ir.Block) -> bool:
    """Whether a block always ends with an exception."""
    for view in block.operations:
        op = view.operation
        if op.name == "torch.prim.RaiseException" or (op.name == "torch.prim.If" and all(raises(b) for b in blocks(op))):
            return True
    return False


def _both(a: Facts | None, b: Facts | None) -> Facts | None:
    return None if a is None or b is None else a | b


def _either(a: Facts | None, b: Facts | None) -> Facts | None:
    if a is None or b is None:
        return b if a is None else a
    return {value: number for value, number in a.items() if b.get(value) == number}
