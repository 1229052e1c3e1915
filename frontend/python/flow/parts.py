"""What each kind of statement is made of and how control goes through it. Whoever walks statements asks here, and knows no kind by itself.

`for target in items: body` `else: orelse`:      items -> next -> target -> body -> next;  next -> orelse -> the statement's end
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

N = TypeVar("N", bound=ast.AST)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SCOPES = (*FUNCTIONS, ast.ClassDef)
_HOLDERS = (ast.ExceptHandler, ast.match_case)  # of blocks in a statement


def placed(made: N, node: ast.AST) -> N:
    """A node that was made up, which stands where another does."""
    return ast.fix_missing_locations(ast.copy_location(made, node))


class To(Enum):
    """Where control goes that leaves a statement."""

    END = "what follows it"
    ENDED = "what follows it, where a context manager ends an exception"
    BREAK = "what follows the loop around it"
    CONTINUE = "the next round of the loop around it"
    RETURN = "the caller"
    RAISE = "a handler around it"
    RESUMED = "where it was going before `finally`"


JUMPS = frozenset((To.BREAK, To.CONTINUE, To.RETURN))
Label = str | To


@dataclass(frozen=True)
class Part:
    """Expressions that are evaluated one after the other, or a block. `then`: the parts that may follow; `raised`: those that an exception
    may lead to. `place`: the node and field that hold the block. `loops`: it is a loop's body. `starts`: a statement that begins here."""

    nodes: Sequence[ast.AST]
    then: tuple[Label, ...] = (To.END,)
    raised: tuple[Label, ...] = ()
    place: tuple[ast.AST, str] | None = None
    loops: bool = False
    starts: ast.stmt | None = None

    @property
    def statements(self) -> list[ast.stmt]:
        """Those of a block."""
        return list(self.nodes) if self.place else []  # type: ignore[arg-type]  # a block holds statements


Parts = dict[Label, Part]
"""The first is where the statement begins. Control goes from one to a later one, but for a loop's body, which goes back."""


def _block(owner: ast.AST, name: str, then: Label = To.END, raised: tuple[Label, ...] = (), *, loops: bool = False) -> Part:
    return Part(getattr(owner, name), (then,), raised, (owner, name), loops)


def _if(node: ast.If) -> Parts:
    """All `elif`s in one: a long chain nests in Python's syntax tree."""
    parts: Parts = {}
    for i in range(1 << 30):
        parts[f"test {i}"] = Part([node.test], (f"body {i}", f"test {i + 1}"), starts=node if i else None)
        parts[f"body {i}"] = _block(node, "body")
        if not (len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)):
            break
        node = node.orelse[0]
    return {**parts, f"test {i + 1}": _block(node, "orelse")}


def _while(node: ast.While) -> Parts:
    body = _block(node, "body", "test", loops=True)
    return {"test": Part([node.test], ("body", "else")), "body": body, "else": _block(node, "orelse")}


def _for(node: ast.For | ast.AsyncFor) -> Parts:
    parts: Parts = {"items": Part([node.iter], ("next",)), "next": Part([], ("target", "else")), "target": Part([node.target], ("body",))}
    return {**parts, "body": _block(node, "body", "next", loops=True), "else": _block(node, "orelse")}


def _with(node: ast.With | ast.AsyncWith) -> Parts:
    parts: Parts = {}
    for i, item in enumerate(node.items):
        ended = (To.ENDED,) if i else ()
        parts[f"manager {i}"] = Part([item.context_expr], (f"target {i}",), ended)
        following = f"manager {i + 1}" if i + 1 < len(node.items) else "body"
        parts[f"target {i}"] = Part([item.optional_vars] if item.optional_vars else [], (following,), (To.ENDED,))
    return {**parts, "body": _block(node, "body", raised=(To.ENDED,))}


def _match(node: ast.Match) -> Parts:
    parts: Parts = {"subject": Part([node.subject], ("case 0",))}
    for i, case in enumerate(node.cases):
        other = f"case {i + 1}" if i + 1 < len(node.cases) else To.END
        parts[f"case {i}"] = Part([], (f"pattern {i}", other))
        parts[f"pattern {i}"] = Part([case.pattern], (f"guard {i}",))
        parts[f"guard {i}"] = Part([case.guard] if case.guard else [], (f"body {i}", other))
        parts[f"body {i}"] = _block(case, "body")
    return parts


def _try(node: ast.Try | ast.TryStar) -> Parts:
    """`finally` is there twice, as in Python's code: behind what ends, and behind what leaves."""
    final: Label = "finally" if node.finalbody else To.END
    leaving = ("leaving",) if node.finalbody else ()
    caught = (*(f"except {i}" for i in range(len(node.handlers))), *leaving)
    parts: Parts = {"body": _block(node, "body", "else", caught[:1]), "else": _block(node, "orelse", final, leaving)}
    for i, handler in enumerate(node.handlers):
        name, others = handler.name, caught[i + 1 : i + 2]
        parts[f"except {i}"] = Part([handler.type] if handler.type else [], (f"name {i}", *others), leaving)
        parts[f"name {i}"] = Part([ast.Name(name, ast.Store())] if name else [], (f"handler {i}",))
        parts[f"handler {i}"] = _block(handler, "body", f"unname {i}", leaving)
        again = others if isinstance(node, ast.TryStar) else ()
        parts[f"unname {i}"] = Part([ast.Delete([ast.Name(name, ast.Del())])] if name else [], (final, *again))
    if node.finalbody:
        parts |= {"finally": _block(node, "finalbody"), "leaving": _block(node, "finalbody", To.RESUMED)}
    return parts


_COMPOUND: dict[type, Callable[[Any], Parts]] = {
    ast.If: _if, ast.While: _while, ast.For: _for, ast.AsyncFor: _for, ast.With: _with, ast.AsyncWith: _with, ast.Match: _match,
    ast.Try: _try, ast.TryStar: _try,
}  # fmt: skip
_LEAVES = {ast.Return: To.RETURN, ast.Raise: To.RAISE, ast.Break: To.BREAK, ast.Continue: To.CONTINUE}


def parts_of(node: Any) -> Parts:
    """The parts of a statement. A function or class inside is one. A made-up statement has those of what it stands for."""
    node = getattr(node, "stands_for", node)
    if type(node) in _COMPOUND:
        return _COMPOUND[type(node)](node)
    if blocks_of(node):
        raise NotImplementedError(f"the statement {type(node).__name__}, of which nothing says how control goes through it")
    return {"": Part([node], (_LEAVES.get(type(node), To.END),))}


def places_of(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The nodes and fields that hold the blocks of a statement, in the order of the source."""
    for name, value in [] if isinstance(node, SCOPES) else ast.iter_fields(node):
        if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
            yield node, name
        elif isinstance(value, list):
            for inner in value:
                if isinstance(inner, _HOLDERS):
                    yield from places_of(inner)


def blocks_of(node: ast.AST) -> list[list[ast.stmt]]:
    """The lists of statements in a compound statement, in the order of the source."""
    return [getattr(owner, name) for owner, name in places_of(node)]


def with_blocks(node: Any, change: Callable[[list[ast.stmt]], list[ast.stmt]]) -> Any:
    """A copy of a statement, with what `change` makes of its blocks."""
    made = copy.copy(node)
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(made, name, [copy.copy(inner) if isinstance(inner, _HOLDERS) else inner for inner in value])
    for owner, name in list(places_of(made)):
        setattr(owner, name, change(getattr(owner, name)))
    return made


def jumps(statements: Sequence[Any]) -> frozenset[To]:
    """How the statements may leave what they are in, exceptions apart: by `return`, or by jumps of a loop around them."""
    found: frozenset[To] = frozenset()
    for part in (part for node in statements for part in parts_of(node).values()):
        inside = jumps(part.statements) if part.place else JUMPS.intersection(part.then)
        found |= inside & {To.RETURN} if part.loops else inside
    return found


def always_leaves(statements: Sequence[Any]) -> bool:
    """Whether what follows the statements certainly does not run: of statements whose context managers end no exception."""
    return any(not _falls_through(node) for node in statements)


def _falls_through(node: Any) -> bool:
    parts = parts_of(node)
    reached: set[Label] = {next(iter(parts))}
    for label, part in parts.items():
        if label in reached:
            reached.update(part.raised, () if part.place and always_leaves(part.statements) else part.then)
            if part.loops and To.BREAK in jumps(part.statements):
                reached.add(To.END)
    return To.END in reached
