"""A loop with `return` in it, or with an `else`, as one that is left by `break` alone.

    for i in range(n):                          for i in range(n):
        if x[i] > t:                                if x[i] > t:
            return x[i]          ->                     slot = x[i]
    else:                                               left = 1
        y = 1                                           break
    rest                                        if left == 1:
                                                    return slot
                                                if left == 0:
                                                    y = 1
                                                rest

What a `return` gives is computed where it stands, but for names that the loop does not bind and constants. Of loops in one another the
outermost is rewritten, with those inside: behind each stands `if left > 0: break`.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field
from typing import Any

from tierup.frontend.python.flow.names import Names, binds, reads
from tierup.frontend.python.flow.parts import To, jumps, placed, with_blocks

Loop = ast.For | ast.While
_BROKEN = -1


@dataclass
class Leaving:
    """A loop without `return` and `else`, and what stands behind it. `left`: the name that says how it ended, 0 before it; `slots`: those
    of what is returned, which nobody reads before they get a value."""

    loop: Any
    left: str
    after: list[ast.stmt] = field(default_factory=list)
    slots: list[str] = field(default_factory=list)


def leaving(loop: Loop) -> Leaving | None:
    """The loop rewritten. None where it has neither `return` nor `else`."""
    if not loop.orelse and To.RETURN not in jumps(loop.body):
        return None
    made = _Rewriting(loop, f"how the loop at line {loop.lineno}, column {loop.col_offset + 1} ended")
    found = Leaving(_copy(loop, made.block(loop.body, 0), []), made.left, slots=made.slots)
    for number, returned in enumerate(made.returns, 1):
        only = number == len(made.returns) and not loop.orelse and _ends_by_leaving(loop)
        found.after.append(returned if only else placed(ast.If(made.test(ast.Eq(), number), [returned], []), returned))
    if loop.orelse:
        found.after.append(placed(ast.If(made.test(ast.Eq(), 0), loop.orelse, []), loop))
    return found


def _copy(loop: Loop, body: list[ast.stmt], orelse: list[ast.stmt]) -> Any:
    made = copy.copy(loop)
    made.body, made.orelse = body, orelse
    return made


def _ends_by_leaving(loop: Loop) -> bool:
    """Whether nothing but a `return` in it ends the loop."""
    for_ever = isinstance(loop, ast.While) and isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    return for_ever and To.BREAK not in jumps(loop.body)


@dataclass
class _Rewriting:
    loop: Loop
    left: str
    returns: list[ast.stmt] = field(default_factory=list)  # those behind the loop
    slots: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.bound: Names = binds([self.loop])

    def block(self, statements: list[ast.stmt], depth: int) -> list[ast.stmt]:
        """Statements of the body, `depth` loops inside it."""
        return [made for statement in statements for made in self.statement(statement, depth)]

    def statement(self, node: ast.stmt, depth: int) -> list[ast.stmt]:
        if isinstance(node, ast.Return):
            return self.returned(node)
        if isinstance(node, ast.Break) and depth == 0 and self.loop.orelse:
            return self.leave(_BROKEN, node)
        if not isinstance(node, (ast.For, ast.While)):
            return [with_blocks(node, lambda block: self.block(block, depth))]
        inner = _copy(node, self.block(node.body, depth + 1), self.block(node.orelse, depth))
        if To.RETURN not in jumps(node.body):
            return [inner]
        return [inner, placed(ast.If(self.test(ast.Gt(), 0), [ast.Break()], []), node)]

    def returned(self, node: ast.Return) -> list[ast.stmt]:
        if isinstance(node.value, ast.IfExp):
            arms = [placed(ast.Return(value), node) for value in (node.value.body, node.value.orelse)]
            return [placed(ast.If(node.value.test, self.returned(arms[0]), self.returned(arms[1])), node)]
        if node.value is None or self.may_wait(node.value):
            self.returns.append(node)
            return self.leave(len(self.returns), node)
        slot = f"what return {len(self.slots) + 1} of the loop at line {self.loop.lineno}, column {self.loop.col_offset + 1} gives"
        self.slots.append(slot)
        self.returns.append(placed(ast.Return(ast.Name(slot, ast.Load())), node))
        return [placed(ast.Assign([ast.Name(slot, ast.Store())], node.value), node), *self.leave(len(self.returns), node)]

    def may_wait(self, value: ast.expr) -> bool:
        """Whether an expression is the same behind the loop: one that nothing computes, of names that the loop does not bind."""
        if isinstance(value, (ast.Tuple, ast.List)):
            return all(map(self.may_wait, value.elts))
        if isinstance(value, ast.UnaryOp):
            return isinstance(value.operand, ast.Constant)
        return isinstance(value, ast.Constant) or isinstance(value, ast.Name) and not self.bound & reads([value])

    def leave(self, how: int, node: ast.stmt) -> list[ast.stmt]:
        return [placed(ast.Assign([ast.Name(self.left, ast.Store())], ast.Constant(how)), node), placed(ast.Break(), node)]

    def test(self, op: ast.cmpop, how: int) -> ast.expr:
        return ast.Compare(ast.Name(self.left, ast.Load()), [op], [ast.Constant(how)])
