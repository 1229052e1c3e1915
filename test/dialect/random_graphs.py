"""Graphs that are drawn at random, and their text: values with what is known of them, ops, branches, loops, calls.

Which tensors may share memory is followed while a graph is built, and decides at the end which of them are `!torch.tensor`: those that
may be written. Text is made last, in MLIR's generic form, with casts where two types meet along an edge of control flow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Number, Str, Tensor, Tuple, Value

SCALARS: dict[type, str] = {Int: "int", Float: "float", Bool: "bool", Number: "number", Str: "str", NoneValue: "none"}


class Typing(Enum):
    """How much the types of a graph say."""

    NOTHING = 0
    ALL = 1
    ARGUMENTS = 2  # of tensors that are arguments, and nothing of others
    RANKS = 3  # dtypes and ranks


@dataclass(eq=False)
class Memory:
    """A set of tensors (and of lists and tuples of such) that may share memory, as a union-find node. `mutable`: some op writes it, or
    asks for the type of what may be written."""

    parent: Memory | None = None
    _mutable: bool = False

    def root(self) -> Memory:
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def join(self, other: Memory) -> None:
        a, b = self.root(), other.root()
        if a is not b:
            b.parent = a
            a._mutable |= b._mutable

    @property
    def mutable(self) -> bool:
        return self.root()._mutable

    def write(self) -> None:
        self.root()._mutable = True


@dataclass(eq=False)
class Val:
    """An SSA value. `known` is of the exact sizes it has when the program is called as it was drawn; `memory` is None for numbers."""

    known: Value
    name: str
    memory: Memory | None = None
    argument: bool = False
    literal: bool = False
    number: bool = False  # a number whose type does not say which: !torch.number

    @property
    def kind(self) -> str:
        if isinstance(self.known, Tensor):
            return "tensor"
        if isinstance(self.known, List):
            return "ints" if isinstance(self.known.element, Int) else "list"
        return "tuple" if isinstance(self.known, Tuple) else "number" if self.number else SCALARS[type(self.known)]

    def type(self, typing: Typing) -> str:
        """The value's type, as text."""
        if not isinstance(self.known, Tensor):
            return f"!torch.{_name(self)}"
        full = typing in (Typing.ALL, Typing.RANKS) or (typing is Typing.ARGUMENTS and self.argument)
        of = "tensor" if self.memory is not None and self.memory.mutable else "vtensor"
        if not (full or self.literal) or self.known.dtype is None or not _sized(self.known):
            return f"!torch.{of}"
        sizes = ",".join("?" if typing is Typing.RANKS and not self.literal else str(d) for d in self.known.shape or ())
        return f"!torch.{of}<[{sizes}],{self.known.dtype.mlir}>"


def sizes_of(value: Value) -> tuple[int, ...] | None:
    """The sizes of a tensor of which all are numbers; None else."""
    if not isinstance(value, Tensor) or value.shape is None:
        return None
    return tuple(d for d in value.shape if isinstance(d, int)) if _sized(value) else None


def _sized(value: Tensor) -> bool:
    return value.shape is not None and all(isinstance(d, int) for d in value.shape)


def _name(value: Val) -> str:
    known, of = value.known, "tensor" if value.memory is not None and value.memory.mutable else "vtensor"
    if isinstance(known, List):
        return "list<int>" if isinstance(known.element, Int) else f"list<{of}>"
    if isinstance(known, Tuple):
        return f"tuple<{', '.join(of if isinstance(v, Tensor) else SCALARS[type(v)] for v in known.items)}>"
    return value.kind


@dataclass(eq=False)
class Node:
    """An op. `targets`: for each operand the value whose type it must have, or None; it is then cast."""

    name: str
    operands: Sequence[Val]
    results: Sequence[Val] = ()
    attributes: str = ""
    bodies: Sequence[Body] = ()
    targets: Sequence[Val | None] = ()


@dataclass(eq=False)
class Body:
    arguments: list[Val] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)


@dataclass(eq=False)
class Func:
    """A function; `results` are values of the types that it returns."""

    name: str
    body: Body
    results: list[Val] = field(default_factory=list)
    private: bool = False


class Printer:
    """The text of functions."""

    def __init__(self, typing: Typing) -> None:
        self.typing = typing
        self.casts = 0

    def types(self, values: Iterable[Val]) -> str:
        return ", ".join(v.type(self.typing) for v in values)

    def function(self, func: Func) -> str:
        arguments = ", ".join(f"{v.name}: {v.type(self.typing)}" for v in func.body.arguments)
        visibility = "private " if func.private else ""
        head = f"func.func {visibility}@{func.name}({arguments}) -> ({self.types(func.results)}) {{"
        return "\n".join([head, *self.body(func.body, 1), "}"])

    def body(self, body: Body, depth: int) -> Iterator[str]:
        for node in body.nodes:
            yield from self.node(node, depth)

    def node(self, node: Node, depth: int) -> Iterator[str]:
        pad = "  " * depth
        names, types = [], []
        for i, operand in enumerate(node.operands):
            type_, name = operand.type(self.typing), operand.name
            target = node.targets[i] if i < len(node.targets) else None
            if target is not None and target.type(self.typing) != type_:
                self.casts += 1
                name, wanted = f"%cast{self.casts}", target.type(self.typing)
                yield f"{pad}{name} = torch.tensor_static_info_cast {operand.name} : {type_} to {wanted}"
                type_ = wanted
            names.append(name)
            types.append(type_)
        head = f"{', '.join(v.name for v in node.results)} = " if node.results else ""
        name = node.name
        if name == "torch.vtensor.literal" and node.results[0].type(self.typing).startswith("!torch.tensor"):
            name = "torch.tensor.literal"
        attributes = f" {{{node.attributes}}}" if node.attributes else ""
        signature = f" : ({', '.join(types)}) -> ({self.types(node.results)})"
        if not node.bodies:
            yield f'{pad}{head}"{name}"({", ".join(names)}){attributes}{signature}'
            return
        yield f'{pad}{head}"{name}"({", ".join(names)}) ({{'
        for i, body in enumerate(node.bodies):
            if i:
                yield f"{pad}}}, {{"
            arguments = ", ".join(f"{v.name}: {v.type(self.typing)}" for v in body.arguments)
            yield f"{pad}^bb0({arguments}):"
            yield from self.body(body, depth + 1)
        yield f"{pad}}}){attributes}{signature}"
