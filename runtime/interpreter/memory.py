"""Which arguments a statement may write, and which constants could reach the caller: may-alias, over the whole program.

Flow-insensitive and conservative. Free of MLIR.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from tierup.runtime.interpreter.graph import Function, If, Let, Loop, Node, Piece, Var, nodes, variables

_NOTHING: frozenset[int] = frozenset()


class Memory:
    """The answers for one program, `functions` by name."""

    def __init__(self, functions: Mapping[str, Function], entry: str) -> None:
        self._sources: dict[Var, list[Var]] = {}
        self._functions = functions
        self._escapes: list[Var] = []
        self._stores: list[tuple[list[Var], list[Piece]]] = []
        writes: list[Var] = []
        for function in functions.values():
            for node in nodes(function.body):
                self._add(node)
                if isinstance(node, Let) and node.writes is not None:
                    writes += variables(node.writes)
        for lists, items in self._stores:
            for var in self._reach(lists):  # the list under each of its names
                self._link(var, *items)
        self._arguments = self._propagate(functions[entry].body.arguments)
        returned = (v for y in functions[entry].body.yields for v in variables(y))
        self._escaping = self._reach([*self._escapes, *writes, *returned])
        self.written: frozenset[int] = frozenset().union(*(self._arguments.get(v, _NOTHING) for v in writes))

    def arguments_of(self, piece: Piece) -> tuple[int, ...]:
        """Positions of the entry's arguments whose memory the value may share."""
        return tuple(sorted(frozenset().union(*(self._arguments.get(v, _NOTHING) for v in variables(piece)))))

    def escapes(self, var: Var) -> bool:
        """Whether the caller may get hold of the value's memory, or the program may write it."""
        return var in self._escaping

    def _link(self, target: Var, *pieces: Piece) -> None:
        self._sources.setdefault(target, []).extend(v for p in pieces for v in variables(p))

    def _add(self, node: Node) -> None:
        if isinstance(node, If):
            for result, a, b in zip(node.results, node.then.yields, node.orelse.yields, strict=True):
                self._link(result, a, b)
        elif isinstance(node, Loop):
            carried = zip(node.results, node.body.arguments[1:], node.inits, node.body.yields[1:], strict=True)
            for result, argument, init, after in carried:
                self._link(argument, init, after)
                self._link(result, init, after)
        elif isinstance(node, Let):
            for result in node.results:
                self._link(result, *node.shares)
            if not node.results:  # what is handed to a continuation that is no part of this program
                self._escapes += (v for piece in node.shares for v in variables(piece))
            if node.stores is not None:
                self._stores.append((list(variables(node.stores)), node.shares))
            if node.callee is not None:
                callee = self._functions[node.callee].body
                for argument, given in zip(callee.arguments, node.arguments, strict=True):
                    self._link(argument, given)
                if node.results:
                    for result, given in zip(node.results, callee.yields, strict=True):
                        self._link(result, given)
                else:  # a bailout: its continuation's results are the function's
                    self._escapes += (v for y in callee.yields for v in variables(y))

    def _propagate(self, arguments: list[Var]) -> dict[Var, frozenset[int]]:
        found = {var: frozenset((i,)) for i, var in enumerate(arguments)}
        targets: dict[Var, list[Var]] = {}
        for target, sources in self._sources.items():
            for source in sources:
                targets.setdefault(source, []).append(target)
        pending = deque(arguments)
        while pending:  # sets only grow
            source = pending.popleft()
            pending += [target for target in targets.get(source, ()) if _grows(found, target, found[source])]
        return found

    def _reach(self, start: list[Var]) -> set[Var]:
        seen, pending = set(start), list(start)
        while pending:
            for source in self._sources.get(pending.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    pending.append(source)
        return seen


def _grows(found: dict[Var, frozenset[int]], target: Var, more: frozenset[int]) -> bool:
    """Add `more` to what is found of a variable; whether that was not there."""
    before = found.get(target, _NOTHING)
    found[target] = before | more
    return len(found[target]) > len(before)
