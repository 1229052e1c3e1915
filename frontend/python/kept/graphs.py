"""Graphs of Python functions on disk: a process whose program was warm before has them without its front end, and without MLIR.

    graphs = Graphs(target, options)
    graphs.find(shape, arguments)               as `frontend.graph.built` gave it in an earlier process; None where there is none
    keep = graphs.to_keep(shape, built)         keeps it, when called: once the graph has a version

An entry is found by the function's code and where it stands, the structure of the call, and the versions of what builds graphs (`_key`).
It has graphs for several states of what stands outside of the function (`contents.py`): one is right where all constants and hidden inputs
that were noted with it hold now, as they have to for a graph of this process.

Free of MLIR.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

import numpy as np

from tierup import __version__
from tierup.dialect import optable
from tierup.frontend.python.building.gradient_spec import GradientSpec
from tierup.frontend.python.kept.contents import Things, described
from tierup.lowering.artifacts import encoding
from tierup.lowering.objects import keys, store
from tierup.lowering.objects.keys import Key, Part
from tierup.runtime.arguments.hidden import Access, Constant
from tierup.runtime.arguments.trees import CallShape
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.functions.graphs.variant import Built
from tierup.runtime.functions.portable.plain import NotDescribed, Reader, Writer, path_of
from tierup.runtime.programs.program import Program

_MOST = 8  # graphs of one structure


class Graphs:
    """Of one function, or its gradients. `how`: what a graph depends on beside."""

    def __init__(self, target: FunctionType | GradientSpec, how: str) -> None:
        self._target, self._how = target, how

    def find(self, shape: CallShape, arguments: Mapping[str, object]) -> Built | None:
        """A graph that is right for a call, of an earlier process."""
        try:
            by = self._key(shape)
        except (NotDescribed, RecursionError):
            return None
        except OSError as e:  # of the files that the key is made of
            store.report(f"graphs of earlier processes are not looked up: {e}")
            return None
        for outside, kept in _read(by):
            try:
                found = _Now(self._target, arguments).built(outside, kept)
            except (NotDescribed, NameError, LookupError, TypeError, ValueError, AttributeError, ImportError, RecursionError):
                continue  # something outside is not what it was: another graph, or none
            if found is not None:
                return found
        return None

    def to_keep(self, shape: CallShape, built: Built) -> Callable[[], None] | None:
        """Keeps a graph that was just built; None where something that it relies on cannot be told to another process."""
        try:  # now: what stands outside may be changed before the graph has a version
            by, writer = self._key(shape), _Writer(self._target)
            outside = writer.outside(built)
        except (NotDescribed, RecursionError, OSError):  # which `find` has reported
            return None
        program = built.program
        if built.enlarge is not None or optable.has_foreign(program.graph):  # room of lists, and ops of PyTorch's, are this process's
            return None

        def keep() -> None:
            try:
                about, graph = (program.name, program.entry, program.names, program.place, program.made), program.graph
                plain = writer.plain((program.tier0, built.output, built.hidden, built.written_out))
            except (NotDescribed, NotCompiled, RecursionError):
                return
            before = [(facts, kept) for facts, kept in _read(by) if facts != outside]
            made = outside, encoding.dumps((about, graph, plain))
            store.write(by.name, encoding.dumps((made, *before[: _MOST - 1])), by.description(), everywhere=True)

        return keep

    def _key(self, shape: CallShape) -> Key:
        """Raises NotDescribed."""
        things = Things()
        things.index(self._target)
        arguments = _Writer(self._target, inline=True).plain(shape)
        parts = (
            Part("function", repr(things.descriptions)),
            Part("arguments", repr(arguments)),
            Part("options", self._how),
            Part("Python", f"{sys.version} {sys.flags.optimize} {sys.prefix}", sys.version.partition(" ")[0]),
            Part("NumPy", np.__version__),
            Part("tierup's front end", keys.sources("frontend", "runtime"), __version__),
        )
        return Key("graph", self._target.__name__, (*parts, *keys.environment()))


def _read(by: Key) -> Sequence[tuple[Any, bytes]]:
    payload = store.read(by.name, everywhere=True)
    if payload is None:
        return ()
    try:
        return [(outside, kept) for outside, kept in encoding.loads(payload)]
    except (TypeError, ValueError) as e:
        store.report(f"the entry {by.name} cannot be read: {e}; the graph is built anew")
        return ()


class _Writer(Writer):
    """Of what a graph is, as plain data: what `encoding` takes. `inline`: things are spelled out, not numbered."""

    def __init__(self, target: Any, *, inline: bool = False) -> None:
        self._things, self._inline = Things(), inline
        if not inline:
            self._things.index(target)

    def outside(self, built: Built) -> tuple[Any, ...]:
        """What the graph relies on, in an order in which each function is known before what it reads, and the things in it."""
        noted, waiting = [], list(built.constants)
        while waiting:
            ready = [constant for constant in waiting if self._is_known(constant.access)]
            if not ready:
                raise NotDescribed(f"what {waiting[0].access} is read of")
            for constant in ready:
                if constant.kind == "identity":
                    noted.append((self.plain(constant.access), "identity", self._things.index(constant.value)))
                else:
                    noted.append((self.plain(constant.access), constant.kind, self.plain(constant.value)))
            waiting = [constant for constant in waiting if constant not in ready]
        return tuple(noted), tuple(self._things.descriptions)

    def _is_known(self, access: Access) -> bool:
        return access.function is None or self._things.known(access.function) is not None

    def thing(self, value: Any) -> Any:
        """By its number, where it has one."""
        known = self._things.known(value)
        if known is not None:
            return "thing", known
        return super().thing(value) if path_of(value) is not None or not self._inline else ("class", described(value))


class _Now(Reader):
    """Of what a graph is, from plain data, where what stands outside is what it was."""

    def __init__(self, target: Any, arguments: Mapping[str, object]) -> None:
        self._things, self._arguments = Things(), arguments
        self._things.index(target)

    def built(self, outside: tuple[Any, ...], kept: bytes) -> Built | None:
        """The graph; None where it is not right for the call. Raises what reading, and data of another kind, raises."""
        noted, descriptions = outside
        constants = tuple([self._constant(*each) for each in noted])
        if tuple(self._things.descriptions) != descriptions or not all(constant.holds(self._arguments) for constant in constants):
            return None
        (name, entry, names, place, made), graph, plain = encoding.loads(kept)
        tier0, output, hidden, written_out = self.value(plain)
        if not all(each.fits(each.read(self._arguments)) for each in hidden):
            return None
        return Built(Program(name, graph, entry, names, tier0, place, made=made), output, hidden, constants, written_out)

    def _constant(self, access: Any, kind: str, value: Any) -> Constant:
        """Raises NotDescribed for the identity of another thing, and what reading raises."""
        where: Access = self.value(access)
        if kind != "identity":
            return Constant(where, kind, self.value(value))
        now = where.read(self._arguments)
        if self._things.index(now) != value:
            raise NotDescribed
        return Constant(where, kind, now)

    def _thing(self, number: int) -> Any:
        return self._things.all[number]
