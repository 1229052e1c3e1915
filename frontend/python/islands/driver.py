"""A function that is translated in part: its own code, in which calls of regions stand where tierup is to run statements.

What the front end refuses is an island, the user's own statement. What else can be handed over is one region after the other; what is
refused in one of these, once the kinds of its arguments are known, is an island from the next call on, and that call is answered by
the region's own statements. A function of which no region is left is what it was: plain Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, islice
from types import CellType, FunctionType

from tierup.dialect.base import forking
from tierup.dialect.base.spelling import place_of, printable
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.errors import Position, UnsupportedSyntax
from tierup.frontend.python.building.source import Source, compiled, given_source
from tierup.frontend.python.flow.live import Flow
from tierup.frontend.python.flow.names import NONE, Names, certainly_binds, own_nodes
from tierup.frontend.python.flow.parts import blocks_of, placed
from tierup.frontend.python.islands.cut import LOOK_AT_FRAME, Region, cut
from tierup.frontend.python.islands.foreign import Scope, foreign_call, found_at, take_out, with_instead
from tierup.frontend.python.islands.heard import SETS, is_heard
from tierup.frontend.python.islands.worth import Lost, Race
from tierup.runtime.base import events
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.functions.elsewhere import Left
from tierup.runtime.functions.function import Function

FunctionOf = Callable[[FunctionType, Callable[[UnsupportedSyntax], None]], Function]


@dataclass
class _Part:
    """A region in use. `cell`: what the driver's code reads as its name, whose contents may change while the code runs."""

    region: Region
    plain: FunctionType
    function: Function
    cell: CellType

    @property
    def answer(self) -> str:
        """Who answers its calls, in words."""
        now = self.cell.cell_contents
        return "native code" if now is self.function else "Python" if now is self.plain else "native code and Python in turns"


class Driver:
    """The Python of one function. `function_of(plain, refused)` makes what answers a region's calls; `refused` is called with what the
    front end says when it cannot translate it. `changed` is called when other code answers calls, `settled` when it is known who answers
    the regions."""

    def __init__(self, source: Source, function_of: FunctionOf, changed: Callable[[], None], settled: Callable[[], None]) -> None:
        self._source = source
        self._function_of = function_of
        self._changed, self._settled = changed, settled
        self._islands: dict[ast.stmt, UnsupportedSyntax | Lost] = {}
        self._parts: dict[tuple[ast.stmt, ...], _Part] = {}
        self._functions: list[Function] = []  # of parts that are gone, too
        self._lock = forking.lock()
        self._code = source.function
        self._told = False
        self._body = source.body
        code = source.function.__code__
        self._local = frozenset(code.co_varnames) | frozenset(code.co_cellvars)
        self._arguments = frozenset(a.arg for a in ast.walk(source.tree.args) if isinstance(a, ast.arg))
        self._temporary: Names = NONE  # names of what was taken out of statements
        taken = {*self._local, *code.co_names, *code.co_freevars}
        self._fresh = lambda i: next(islice((name for n in count(1) if (name := f"_{n}") not in taken), len(self._temporary) + i, None))

    @property
    def call(self) -> FunctionType:
        """The code that runs the function now."""
        return self._code

    @property
    def functions(self) -> tuple[Function, ...]:
        """Those of all regions that there were."""
        return tuple(self._functions)

    def explain(self) -> list[str]:
        """Its regions and islands, each with what would make it native."""
        file, lines = self._source.filename, []
        regions = [f"region at {_place(file, *part.region.lines)}: answered by {part.answer}" for part in self._parts.values()]
        for node, why in self._islands_in_order():
            if isinstance(why, Lost):
                lines.append(f"Python at {_place(file, node.lineno, node.end_lineno)}: {why.value}")
            else:
                called = "" if why.called_at is None else f" (called at {_place(file, why.called_at)})"
                said = f"{why.construct}; {why.remedy}".rstrip("; ")
                what = foreign_call(node, why.where, self._scope(NONE)) or "Python"
                lines.append(f"{what} at {_place(why.filename or file, why.lineno or 0)}{called}: {said}")
        return [*(regions or ["runs as plain Python: nothing in it is worth native code"]), *dict.fromkeys(lines)]

    def _islands_in_order(self) -> list[tuple[ast.stmt, UnsupportedSyntax | Lost]]:
        return sorted(self._islands.items(), key=lambda item: item[0].lineno)

    @property
    def left(self) -> list[Left]:
        """What is not translated."""
        refused = [why for _, why in self._islands_in_order() if isinstance(why, UnsupportedSyntax)]
        file = self._source.filename
        return list(dict.fromkeys(Left(e.construct, _place(e.filename or file, e.lineno or 0), e.remedy) for e in refused))

    def race_again(self) -> None:
        """Let regions that Python answers for now be tried again."""
        for race in self._races():
            race.again()
        self._judged()

    def _races(self) -> list[Race]:
        return [race for part in self._parts.values() if isinstance(race := part.cell.cell_contents, Race)]

    def _judged(self) -> None:
        if self._parts and not any(race.goes_on for race in self._races()):
            self._settled()

    def leave(self, error: UnsupportedSyntax, within: Region | None = None) -> None:
        """Let what was refused stay Python from the next call on."""
        statements = tuple(self._body) if within is None else within.statements
        with self._lock:
            for each in error.errors:
                for node in _refused(statements, each):
                    self._islands.setdefault(self._left_of(node, each), each)
            self._make()
        self._changed()

    def _lose(self, region: Region, why: Lost) -> None:
        with self._lock:
            for top in region.statements:
                inside = [top] if why is Lost.NO_VERSIONS else [n for n in ast.walk(top) if isinstance(n, ast.stmt)]
                self._islands.update((node, why) for node in inside if node not in self._islands)
            self._make()
        self._changed()
        self._judged()

    def _left_of(self, node: ast.stmt, error: UnsupportedSyntax) -> ast.stmt:
        """What has to stay Python of a refused statement; where that is a part of it, the others take its place."""
        function = self._source.function
        flow = Flow.of(self._body, self._arguments)
        if isinstance(self._source.tree, ast.Lambda) or node not in flow.bound_before:
            return node
        walrus = {n.target.id for n in own_nodes(node) if isinstance(n, ast.NamedExpr)}
        certain = flow.bound_before[node].difference(walrus, function.__code__.co_cellvars)
        taken = take_out(node, error.where, self._scope(certain), self._fresh)
        if taken is None:
            return node
        self._temporary |= {name for made in taken.statements for name in certainly_binds(made)} - self._local
        self._local |= self._temporary
        self._body = with_instead(self._body, node, taken.statements)
        return taken.foreign

    def _scope(self, certain: Names) -> Scope:
        return Scope(self._source.function, self._local, certain)

    def _make(self) -> None:
        """Cut the function as it is to be now."""
        function, tree = self._source.function, self._source.tree
        regions: dict[str, Region] = {}
        if not isinstance(tree, ast.Lambda) and not SETS.union(LOOK_AT_FRAME) & set(function.__code__.co_names):
            first = function.__code__.co_firstlineno
            made = cut(self._body, function.__name__, self._arguments, self._local, self._islands, self._temporary, first)
            regions = made.regions
        known = self._parts
        self._parts = {r.statements: known.get(r.statements) or self._part(name, r) for name, r in regions.items()}
        if regions:
            assert not isinstance(tree, ast.Lambda)
            definition = type(tree)(tree.name, tree.args, made.body, [], None, None)
            placed(definition, tree)
            inside = {name: self._parts[r.statements].cell for name, r in regions.items()} | {made.asks: CellType(is_heard)}
            self._code = compiled(definition, function, inside)
            self._code.__defaults__, self._code.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        else:
            self._code = function
        self._tell()

    def _tell(self) -> None:
        """The events: that it is cut, and once that nothing of it is left."""
        if self._told:
            return
        self._told = not self._parts
        kind, reason = (EventKind.CUT, Reason.STAYS_PYTHON) if self._parts else (EventKind.PLAIN_PYTHON, Reason.NOT_WORTH_IT)
        action = f"{len(self._parts)} regions, {len(self._islands)} statements stay Python" if self._parts else "runs as plain Python"
        place = place_of(self._source.function.__code__)
        events.emit(Event(kind, self._source.function.__name__, 1, reason, line=place, action=action))

    def _part(self, name: str, region: Region) -> _Part:
        definition = region.definition(name)
        plain = compiled(definition, self._source.function, {})
        given_source(plain, definition, handed_on=NONE if region.returns else frozenset(region.outputs))
        cell = CellType()

        def refused(error: UnsupportedSyntax) -> None:
            cell.cell_contents = plain
            self.leave(error, region)

        function = self._function_of(plain, refused)
        self._functions.append(function)
        cell.cell_contents = Race(plain, function, cell, lambda why: self._lose(region, why), self._judged)
        return _Part(region, plain, function, cell)


def _place(file: str, first: int, last: int | None = None) -> str:
    return printable(f"{file}:{first}") + (f" to {last}" if last not in (None, first) else "")


def _refused(statements: tuple[ast.stmt, ...], error: UnsupportedSyntax) -> list[ast.stmt]:
    """The statement in which the front end stopped; where it stopped at none, those that return, or all."""
    line, inside, found = error.called_at or error.lineno or 0, list(statements), None
    while at := _at_place(inside, error.where, line):
        found, inside = at, [n for block in blocks_of(at) for n in block]
    if found is not None:
        return [found]
    every = [n for top in statements for n in ast.walk(top) if isinstance(n, ast.stmt)]
    return [n for n in every if isinstance(n, ast.Return)] or every


def _at_place(statements: list[ast.stmt], where: Position | None, line: int) -> ast.stmt | None:
    """The statement that has the node that is there in it, or has the line."""
    there = (n for n in statements if n.lineno <= line <= (n.end_lineno or n.lineno))
    return next((n for n in statements if where is not None and found_at(n, where) is not None), next(there, None))
