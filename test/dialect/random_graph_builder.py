"""Bytes to graphs: each chunk of bytes is one statement, so that hypothesis shrinks a program by dropping and lowering chunks.

A chunk's first byte says what to make; the others choose among what is there, 0 being the newest value. An op is asked of its row's
shape rule first: what does not fit the operands is left out, or kept now and then, for a program that raises.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from random_graphs import Body, Func, Memory, Node, Val

from tierup.dialect import optable
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Str, Tensor, Tuple, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.language.context import thread_context
from tierup.dialect.optable.core import REFUSALS, Aliasing, Infer, Kind, Op, Promotion

T = TypeVar("T")
MAX_DEPTH = 3
_PIECES = frozenset({"aten.chunk", "aten.split.Tensor", "aten.unbind.int"})  # their result is a list


class Bits:
    """Choices out of a chunk of bytes; when it is used up every choice is 0, the simplest."""

    def __init__(self, chunk: bytes) -> None:
        self._rest = iter(chunk)

    def below(self, count: int) -> int:
        return next(self._rest, 0) % count

    def pick(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def one_in(self, count: int) -> bool:
        return self.below(count) == count - 1


class Builder:
    """Appends ops to the body that is being built. `scope`: the values that may be used there."""

    def __init__(self, prefix: str, helpers: Sequence[Func] = ()) -> None:
        self.prefix = prefix
        self.helpers = helpers
        self.scope: list[Val] = []
        self.body = Body()
        self.depth = 0
        self.loops = 0
        self.unproven = False  # whether more is known of some value than inference can find
        self._count = 0

    # --- values ----------------------------------------------------------------------------------------------------------

    def value(self, known: Value, memory: Memory | None = None, **flags: bool) -> Val:
        self._count += 1
        if memory is None and (isinstance(known, Tensor) or _holds_tensors(known)):
            memory = Memory()
        return Val(known, f"%{self.prefix}{self._count}", memory, **flags)

    def constant(self, value: Any) -> Val:
        """A value of its own for a Python number, string, None or list of these."""
        if isinstance(value, (list, tuple)):
            items = [self.constant(v) for v in value]
            made = self.value(List(tuple(v.known for v in items), Int()))
            return self.node("torch.prim.ListConstruct", items, [made]).results[0]
        made = self.value(known_of(value))
        spelled = {bool: lambda: str(value).lower(), int: lambda: f"{value} : i64", float: lambda: f"{_spelled(value)} : f64", str: lambda: f'"{value}"'}
        attributes = "" if value is None else f"value = {spelled[type(value)]()}"
        return self.node(f"torch.constant.{made.kind}", [], [made], attributes).results[0]

    def node(self, name: str, operands: Sequence[Val], results: Sequence[Val] = (), attributes: str = "", **rest: Any) -> Node:
        made = Node(name, operands, results, attributes, **rest)
        self.body.nodes.append(made)
        return made

    def bind(self, *values: Val) -> None:
        self.scope.extend(values)

    # --- choices ---------------------------------------------------------------------------------------------------------

    def find(self, bits: Bits, *kinds: str, where: Callable[[Val], bool] = lambda v: True) -> Val | None:
        """A value of one of the kinds, the newest for a choice of 0; None when there is none."""
        found = [v for v in reversed(self.scope) if v.kind in kinds and where(v)]
        return bits.pick(found) if found else None

    def number(self, bits: Bits, low: int, high: int) -> Val:
        """An int in scope, or a constant near 0 from a range."""
        found = self.find(bits, "int") if bits.one_in(3) else None
        return found or self.constant(_spiral(bits.below(high - low + 1), low, high))

    # --- ops -------------------------------------------------------------------------------------------------------------

    def op(self, bits: Bits, name: str, operands: Sequence[Any], *, number: bool = False) -> list[Val] | None:
        """Append an op of the op table and bind its results; None when its operands do not fit. Operands that are no Val are constants.
        `number`: its result is a !torch.number."""
        row = optable.table()[name]
        numpy = row.numpy is not None and bits.one_in(3)
        ctx = Infer()
        ctx.promotion = Promotion.NUMPY if numpy else Promotion.TORCH
        try:
            found = row.infer(ctx, [v.known if isinstance(v, Val) else known_of(v) for v in operands])
        except REFUSALS:
            if row.results != 1 or row.kind is Kind.SCALAR or name in _PIECES or not bits.one_in(12):
                return None
            found = Tensor()
        values = [v if isinstance(v, Val) else self.constant(v) for v in operands]
        results = [self._result(row.aliasing, values, _settled(f, row), number) for f in (found if isinstance(found, tuple) else (found,))]
        if row.writes:
            for v in values:  # MLIR wants all tensors of an op that writes one to be of that type
                if v.memory is not None:
                    v.memory.write()
        spelled, attributes = torch_types.spelled(thread_context(), name)
        marks = [f"{key} = {value}" for key, value in attributes.items()] + ['tierup.promotion = "numpy"'] * numpy
        self.node(spelled, values, results, ", ".join(marks))
        self.bind(*results)
        return results

    def _result(self, aliasing: Aliasing, operands: Sequence[Val], known: Value, number: bool) -> Val:
        memory = None
        if (aliasing is not Aliasing.FRESH or _holds_tensors(known)) and (isinstance(known, Tensor) or _holds_tensors(known)):
            memory = Memory()
            for v in operands:
                if v.memory is not None:
                    memory.join(v.memory)
        return self.value(known, memory, number=number)

    # --- control flow ----------------------------------------------------------------------------------------------------

    def inside(self, arguments: Sequence[Val], fill: Callable[[], None]) -> tuple[Body, list[Val]]:
        """A body that `fill` makes, and the values that can be seen at its end."""
        outer, start = self.body, len(self.scope)
        body = self.body = Body(list(arguments))
        self.bind(*arguments)
        self.depth += 1
        fill()
        self.depth -= 1
        self.body = outer
        seen = list(self.scope)
        del self.scope[start:]
        return body, seen

    def carried(self, bits: Bits, most: int) -> list[Val]:
        """Values that a branch or a loop gives a new one for."""
        kinds = ("tensor", "int", "list", "tuple", "ints", "float", "bool")
        found = [self.find(bits, *kinds) for _ in range(bits.below(most + 1))]
        return [v for v in found if v is not None]

    def alike(self, value: Val) -> Val:
        """A new value of the type of `value`, that may be it."""
        return self.value(forgotten(value.known), value.memory)

    def edge(self, target: Val, source: Val) -> Val:
        if target.memory is not None and source.memory is not None:
            target.memory.join(source.memory)
        return source

    def choose(self, bits: Bits, seen: Sequence[Val], target: Val) -> Val:
        """One of the values seen at the end of a body that can stand for `target`: there is always one."""
        fitting = [v for v in reversed(seen) if fits(v, target)]
        return self.edge(target, bits.pick(fitting))

    def branch(self, bits: Bits, then: Callable[[], None], other: Callable[[], None]) -> None:
        condition = self.find(bits, "bool") or self.constant(bool(bits.below(2)))
        results = [self.alike(v) for v in self.carried(bits, 3)]
        bodies = []
        for fill in (then, other):
            body, seen = self.inside([], fill)
            body.nodes.append(Node("torch.prim.If.yield", [self.choose(bits, seen, r) for r in results], targets=results))
            bodies.append(body)
        self.node("torch.prim.If", [condition], results, bodies=bodies)
        self.bind(*results)

    def loop(self, bits: Bits, fill: Callable[[], None]) -> None:
        """At most 4 rounds: counted, or while a truth value of the body holds."""
        counted = not bits.one_in(3)
        trip = self.constant(_spiral(bits.below(6), -1, 4))
        start = self.find(bits, "bool") if bits.one_in(5) else None
        start = start or self.constant(True)
        inits = self.carried(bits, 3)
        results = [self.alike(v) for v in inits]
        arguments = [self.edge(r, self.value(r.known, r.memory)) for r in results]
        counter = self.value(Int())
        self.loops += 1
        body, seen = self.inside([counter, *arguments], fill)
        self.loops -= 1
        outer, self.body = self.body, body
        again = next((v for v in reversed(seen) if v.kind == "bool"), None) if not counted else None
        again = again or self.constant(True)
        self.body = outer
        yielded = [self.choose(bits, seen, r) for r in results]
        body.nodes.append(Node("torch.prim.Loop.condition", [again, *yielded], targets=[None, *results]))
        self.node("torch.prim.Loop", [trip, start, *inits], results, bodies=[body], targets=[None, None, *results])
        self.bind(*results)

    def call(self, bits: Bits) -> None:
        """A call of a helper, with arguments of the types that it was made for."""
        if not self.helpers:
            return
        helper = bits.pick(self.helpers)
        arguments = []
        for parameter in helper.body.arguments:
            found = self.find(bits, parameter.kind, where=lambda v, p=parameter: fits(v, p))  # type: ignore[misc]
            if found is None:
                return
            arguments.append(self.edge(parameter, found))
        results = [self.value(r.known, r.memory, number=r.number) for r in helper.results]
        self.node("func.call", arguments, results, f"callee = @{helper.name}", targets=helper.body.arguments)
        self.bind(*results)


def statements(bodies: Iterator[bytes], builder: Builder, make: Callable[[Builder, int, Bits], None], codes: dict[str, int]) -> str:
    """Statements up to the end of the body that is open, which `codes` names by their first bytes; which end it was."""
    for chunk in bodies:
        bits = Bits(chunk)
        code = bits.below(256)
        if code >= codes["end"]:
            if builder.depth:
                return "end"
        elif code >= codes["else"]:
            if builder.depth:
                return "else"
        elif code >= codes["if"]:
            if builder.depth < MAX_DEPTH:
                _branch(bits, bodies, builder, make, codes)
        elif code >= codes["loop"]:
            if builder.depth < MAX_DEPTH and builder.loops < 2:
                builder.loop(bits, lambda: None if statements(bodies, builder, make, codes) else None)
        else:
            make(builder, code, bits)
    return "end"


def _branch(
    bits: Bits, bodies: Iterator[bytes], builder: Builder, make: Callable[[Builder, int, Bits], None], codes: dict[str, int]
) -> None:
    how = ["end"]

    def then() -> None:
        how[0] = statements(bodies, builder, make, codes)

    def other() -> None:
        if how[0] == "else":
            statements(bodies, builder, make, codes)

    builder.branch(bits, then, other)


def fits(value: Val, target: Val) -> bool:
    """Whether a value can stand where `target` is asked for: the same type, and as much known of it."""
    return value.kind == target.kind and forgotten(value.known) == forgotten(target.known)


def forgotten(known: Value) -> Value:
    """What is known of a value that may be another one of its type."""
    if isinstance(known, List):
        return List(None, known.element if isinstance(known.element, Tensor) else Int())
    if isinstance(known, Tuple):
        return Tuple(tuple(forgotten(v) for v in known.items))
    scalars: dict[type, Value] = {Int: Int(), Float: Float(), Bool: Bool(), Str: Str()}
    return scalars.get(type(known), known)


def _holds_tensors(known: Value) -> bool:
    if isinstance(known, List):
        return isinstance(known.element, Tensor) or any(isinstance(v, Tensor) for v in known.items or ())
    return isinstance(known, Tuple) and any(isinstance(v, Tensor) for v in known.items)


def _settled(known: Value, row: Op) -> Value:
    """A rule's answer with sizes that are numbers, or none; a list of unlike tensors knows nothing of each."""
    if isinstance(known, Tensor):
        if known.shape is not None and not all(isinstance(d, int) for d in known.shape):
            return Tensor(known.dtype, None)
        return known
    if isinstance(known, Int):
        return known if isinstance(known.value, int) else Int()
    if isinstance(known, List):
        items = None if known.items is None else tuple(_settled(v, row) for v in known.items)
        element = known.element or (Tensor() if row.aliasing is Aliasing.VIEW else None)  # of an empty list of views
        if items:
            element = items[0] if all(v == items[0] for v in items) else Int() if isinstance(items[0], Int) else Tensor()
        return List(items, Int() if isinstance(element, Int) or element is None else _settled(element, row))
    return known


def known_of(value: Any) -> Value:
    """What is known of a Python value."""
    if isinstance(value, (list, tuple)):
        return List(tuple(known_of(v) for v in value), Int())
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, int):
        return Int(value)
    if isinstance(value, float):
        return Float(value)
    return NoneValue() if value is None else Str(value)


def _spelled(value: Any) -> str:
    """A float as MLIR reads it: bits, where it has no digits."""
    if not isinstance(value, float) or (math.isfinite(value) and "e" not in repr(value)):
        return repr(value)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _spiral(choice: int, low: int, high: int) -> int:
    """0, 1, -1, 2, -2, ... within a range: the simplest number for the lowest choice."""
    order = sorted(range(low, high + 1), key=lambda v: (abs(v), v < 0))
    return order[choice % len(order)]
