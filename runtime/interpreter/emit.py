"""From the graph to Python source: one statement per op, values deleted after their last use. Free of MLIR.

A value that holds memory is deleted as soon as nothing reads it: after a statement, in each arm of an `if`, inside a loop.
Values that a branch or an iteration hands on get the name of what they become, where that is safe, so that no copy of a
name keeps memory alive.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from tierup.runtime.base.errors import Origin, UnsupportedOp
from tierup.runtime.interpreter.graph import Body, Function, Global, If, Let, Loop, Node, Piece, Var, expressions, variables
from tierup.runtime.interpreter.memory import Memory
from tierup.runtime.interpreter.names import Names

_FOREVER = str((1 << 63) - 1)  # a trip count that means "as long as the condition holds"
_ROUNDS = 16  # of a loop, a power of two, from one poll to the next: a poll costs what one round of a small body does
_MAX_DEPTH = 90  # Python's tokenizer takes 100 levels of indentation
_MAX_LOOPS = 19  # and its compiler 20 nested loops


class Source:
    """The text so far, and where each line comes from."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.origins: dict[int, Origin] = {}
        self._last = ""

    def add(self, depth: int, text: str, origin: Origin | None = None) -> None:
        """A line; it says which line of the user's it belongs to where that changes."""
        comment = ""
        if origin is not None:
            self.origins[len(self.lines) + 1] = origin
            # a comment, which no character of the file's name may end: who writes a program's locations would write our source
            file = "".join(c if c.isprintable() else "?" for c in os.path.basename(origin.file))
            position = f"{file}:{origin.line}" if origin.line else ""
            if position and position != self._last:
                comment, self._last = f"  # {position}", position
        self.lines.append("    " * depth + text + comment)

    def text(self) -> str:
        """All lines, as one text."""
        return "\n".join(self.lines) + "\n"


class FunctionEmitter:
    """Emits one function. `globals_`: Global.path -> its name in the source. `polls`: its loops call `poll`."""

    def __init__(self, source: Source, memory: Memory, globals_: dict[str, str], polls: bool = False) -> None:
        self.source, self.polls = source, polls
        self.memory = memory
        self.globals = globals_
        self.names = Names(globals_.values())
        self.name: dict[Var, str] = {}
        self.reads: Counter[Var] = Counter()
        self.loops = 0

    def emit(self, function: Function, header: Iterable[str], prologue: Iterable[str], *, as_tuple: bool = False) -> None:
        """`header`: parameters that come before the function's own. `prologue`: statements that come first. `as_tuple`: one result is
        returned as a tuple of one."""
        self.reads.update(v for e in expressions(function.body) for v in variables(e))
        parameters = [*header, *(self.variable(a) for a in function.body.arguments)]
        self.source.add(0, f"def {self.globals[f'@{function.name}']}({', '.join(parameters)}):")
        for line in prologue:
            self.source.add(1, line)
        self._body(function.body, 1, {})
        self.source.add(1, "return " + (", ".join(map(self.text, function.body.yields)) or "None") + ("," if as_tuple else ""))

    # --- names and expressions ------------------------------------------------------------------------------------------

    def variable(self, var: Var) -> str:
        """A variable's name in the source, picked when it is first asked for."""
        if var not in self.name:
            self.name[var] = self.names.pick(var.hint) if var.hint else self.names.number("v")
        return self.name[var]

    def text(self, piece: Piece) -> str:
        """An expression as Python source."""
        if isinstance(piece, str):
            return piece
        if isinstance(piece, Var):
            return self.variable(piece)
        if isinstance(piece, Global):
            return self.globals[piece.path]
        return "".join(map(self.text, piece.pieces))

    # --- bodies ---------------------------------------------------------------------------------------------------------

    def _body(self, body: Body, depth: int, dying: dict[Var, None]) -> None:
        """The statements of a body. `dying`: variables from outside that nothing reads after it."""
        if depth > _MAX_DEPTH:
            raise UnsupportedOp(f"branches nested deeper than {_MAX_DEPTH} levels")
        last: dict[Var, int] = {}
        defined_at: dict[Var, int] = {}
        for k, node in enumerate(body.nodes):
            last.update(dict.fromkeys(node.reads, k))
            for result in node.results:
                last[result] = defined_at[result] = k
        last.update(dict.fromkeys((v for y in body.yields for v in variables(y)), len(body.nodes)))
        owned = dying.keys() | defined_at.keys()
        deaths: dict[int, dict[Var, None]] = {}
        for var, k in last.items():
            if var.memory and var in owned:
                deaths.setdefault(k, {})[var] = None
        self._delete([v for v in dying if v not in last], depth)
        for k, node in enumerate(body.nodes):
            dead = deaths.get(k, {})
            if isinstance(node, If):
                self._if(node, depth, dead)
            elif isinstance(node, Loop):
                self._loop(node, depth, dead)
            elif isinstance(node, Let):
                self._let(node, depth)
            # a name that the statement has just given to one of its results is not the dead value's any more
            current = {self.name[r] for r in node.results if r in self.name and r not in dead}
            self._delete([v for v in dead if self.name.get(v) not in current], depth)

    def _delete(self, dead: list[Var], depth: int) -> None:
        names = dict.fromkeys(self.variable(v) for v in dead if v in self.name)
        if names:
            self.source.add(depth, "del " + ", ".join(names))

    def _hand_on(self, body: Body, yields: list[Piece], targets: list[str], depth: int) -> None:
        """Assign what a body yields to the names that read it, all at once, and delete the names it had."""
        pairs = [(t, self.text(y)) for t, y in zip(targets, yields, strict=True)]
        moves = [(t, y) for t, y in pairs if t != y]
        if moves:
            self.source.add(depth, f"{', '.join(t for t, _ in moves)} = {', '.join(y for _, y in moves)}")
        kept = set(targets)
        own = dict.fromkeys(r for node in body.nodes for r in node.results)
        left = [v for y in yields for v in variables(y) if v.memory and v in own and self.variable(v) not in kept]
        self._delete(left, depth)

    # --- nodes ----------------------------------------------------------------------------------------------------------

    def _origin(self, node: Node) -> Origin:
        if isinstance(node, Let) and node.writes is not None:
            return replace(node.origin, writes=self.memory.arguments_of(node.writes))
        return node.origin

    def _let(self, node: Let, depth: int) -> None:
        text = self.text(node.expression)
        if node.constant and self.memory.escapes(node.results[0]):
            text += ".copy()"  # the caller may write what it gets
        if any(self.reads[r] for r in node.results) or len(node.results) > 1:  # unpacking counts the items, read or not
            text = f"{', '.join(self.variable(r) for r in node.results)} = {text}"
        self.source.add(depth, text, self._origin(node))

    def _if(self, node: If, depth: int, dead: dict[Var, None]) -> None:
        targets = [self.variable(r) for r in node.results]
        dying = {v: None for v in dead if v not in node.results}
        condition = self.text(node.condition)
        for arm, opening, origin in ((node.then, f"if {condition}:", node.origin), (node.orelse, "else:", None)):
            self._name_yields(arm, targets)
            mark = len(self.source.lines)
            self.source.add(depth, opening, origin)
            self._body(arm, depth + 1, dict(dying))
            self._hand_on(arm, arm.yields, targets, depth + 1)
            self._delete([v for v in dying if any(v in variables(y) for y in arm.yields)], depth + 1)
            if len(self.source.lines) == mark + 1:
                if arm is node.then:
                    self.source.add(depth + 1, "pass")
                else:
                    self.source.lines.pop()
        for var in dying:
            dead.pop(var)  # deleted in both arms

    def _name_yields(self, arm: Body, targets: list[str]) -> None:
        """Let values made in an arm have the name of the result they become."""
        made = {r for node in arm.nodes for r in node.results}
        for target, piece in zip(targets, arm.yields, strict=True):
            if isinstance(piece, Var) and piece in made and piece not in self.name:
                self.name[piece] = target

    def _loop(self, node: Loop, depth: int, dead: dict[Var, None]) -> None:
        body = node.body
        counter, carried = body.arguments[0], body.arguments[1:]
        if self.loops == _MAX_LOOPS:
            raise UnsupportedOp(f"loops nested deeper than {_MAX_LOOPS} levels (at {node.origin})")
        self.loops += 1
        targets = self._enter(node, carried, depth, dead)
        condition, after = node.condition, body.yields[0]
        counts = bool(self.reads[counter]) or self.polls
        if condition == after == "True":
            opening, test = f"for {self.variable(counter) if counts else '_'} in range({self.text(node.trip)}):", ""
        else:
            test = self.names.pick("go_on")
            self.source.add(depth, f"{test} = {self.text(condition)}", node.origin)
            if node.trip == _FOREVER and not counts:
                opening = f"while {test}:"
            else:
                opening = f"for {self.variable(counter) if counts else '_'} in range({self.text(node.trip)}):"
        self.source.add(depth, opening, node.origin)
        mark = len(self.source.lines)
        if test and not opening.startswith("while"):
            self.source.add(depth + 1, f"if not {test}:")
            self.source.add(depth + 2, "break")
        if self.polls:
            self.source.add(depth + 1, f"if not {self.variable(counter)} & {_ROUNDS - 1}: poll()")
        self._name_carried(body, targets)
        self._body(body, depth + 1, {c: None for c in carried if c.memory})
        self._hand_on(body, body.yields[1:] + ([after] if test else []), targets + ([test] if test else []), depth + 1)
        if len(self.source.lines) == mark:
            self.source.add(depth + 1, "pass")
        self.loops -= 1

    def _enter(self, node: Loop, carried: list[Var], depth: int, dead: dict[Var, None]) -> list[str]:
        """Give the carried values their names and first values; the names."""
        inside = node.body.reads
        targets: list[str] = []
        moves: list[tuple[str, str]] = []
        taken_over: list[Var] = []
        for argument, result, init in zip(carried, node.results, node.inits, strict=True):
            if result not in self.name and isinstance(init, Var) and init in dead and init not in inside:
                self.name[argument] = self.variable(init)  # nothing reads it later: the loop goes on with its name
                dead.pop(init)
            elif result in self.name:
                self.name[argument] = self.name[result]
            else:
                argument.hint = argument.hint or result.hint
            name = self.variable(argument)
            self.name[result] = name
            targets.append(name)
            if self.text(init) != name:
                moves.append((name, self.text(init)))
                taken_over += [v for v in variables(init) if v in dead and v not in inside]
        if moves:
            self.source.add(depth, f"{', '.join(t for t, _ in moves)} = {', '.join(i for _, i in moves)}", node.origin)
        gone = [var for var in dict.fromkeys(taken_over) if var in dead]  # else the loop goes on with its name, as another of its values
        for var in gone:
            dead.pop(var)
        self._delete(gone, depth)
        return targets

    def _name_carried(self, body: Body, targets: list[str]) -> None:
        """Let the next value of a carried name have that name at once, where nothing reads the old one any more."""
        last_read: dict[Var, int] = {}
        made: dict[Var, int] = {}
        heirs: dict[Var, list[Var]] = {}  # the results of loops that may go on with the name of what they began with
        for k, node in enumerate(body.nodes):
            last_read.update(dict.fromkeys(node.reads, k))
            if isinstance(node, Let):
                made.update(dict.fromkeys(node.results, k))
            elif isinstance(node, Loop):
                for init, result in zip(node.inits, node.results, strict=True):
                    if isinstance(init, Var):
                        heirs.setdefault(init, []).append(result)
        last_read.update(dict.fromkeys((v for y in body.yields for v in variables(y)), len(body.nodes)))

        def needed(var: Var) -> int:
            """Where the variable's name is read for the last time."""
            return max([last_read.get(var, -1), *map(needed, heirs.get(var, ()))])

        for target, argument, piece in zip(targets, body.arguments[1:], body.yields[1:], strict=True):
            if isinstance(piece, Var) and piece in made and piece not in self.name and needed(argument) <= made[piece]:
                self.name[piece] = target
