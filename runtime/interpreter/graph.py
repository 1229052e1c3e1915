"""A program as the emitter sees it: variables, expressions made of pieces, and nodes. Free of MLIR.

The reader makes it of a `func.func`, with constants, identities and inlined regions already resolved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tierup.dialect.base.records import cached_property, dataclass
from tierup.runtime.base.errors import Origin


class Var:
    """A value that has a name in the source. `memory`: whether it can hold a tensor, and so should go after its last use."""

    __slots__ = ("hint", "memory")

    def __init__(self, hint: str = "", memory: bool = False) -> None:
        self.hint = hint
        self.memory = memory


@dataclass(frozen=True)
class Global:
    """A name of the source's module: a function ("module:attribute") or an entry of the constants."""

    path: str
    hint: str


@dataclass(frozen=True)
class Group:
    """An expression in pieces: text, names, other groups."""

    pieces: tuple[Piece, ...]


Piece = str | Var | Global | Group


def group(*pieces: Piece) -> Group:
    """Pieces of source as one."""
    return Group(pieces)


def listing(items: list[Piece], start: str = "", end: str = "") -> Group:
    """`start item, item end`."""
    pieces: list[Piece] = [start]
    for i, item in enumerate(items):
        pieces += [", ", item] if i else [item]
    return Group((*pieces, end))


def call(function: Piece, items: list[Piece]) -> Group:
    """The source of a call."""
    return Group((function, listing(items, "(", ")")))


def atoms(piece: Piece) -> Iterator[str | Var | Global]:
    """What an expression is made of, in order."""
    if isinstance(piece, Group):
        for part in piece.pieces:
            yield from atoms(part)
    else:
        yield piece


def variables(piece: Piece) -> Iterator[Var]:
    """The variables that an expression reads, in order."""
    return (atom for atom in atoms(piece) if isinstance(atom, Var))


@dataclass
class Node:
    """One statement. `results` are what it defines."""

    origin: Origin
    results: list[Var]

    def expressions(self) -> Iterator[Piece]:
        """All that the node itself evaluates, bodies not included."""
        raise NotImplementedError

    def bodies(self) -> Iterator[Body]:
        """The bodies in the node, in order; none but for branches and loops."""
        return iter(())

    @cached_property
    def reads(self) -> dict[Var, None]:
        """The variables read in the node and in its bodies, in order; of a graph that is complete."""
        found = dict.fromkeys(v for e in self.expressions() for v in variables(e))
        for body in self.bodies():
            found.update(body.reads)
        return found


@dataclass
class Let(Node):
    """`results = expression`; a bare expression without results.

    `shares`: what the results may share memory with. `writes`: what the statement writes. `stores`: a list that the operands
    go into. `callee`: the function called with `arguments`. `constant`: the expression is an array that must stay as it is.
    """

    expression: Piece
    shares: list[Piece] = field(default_factory=list)
    writes: Piece | None = None
    stores: Piece | None = None
    callee: str | None = None
    arguments: list[Piece] = field(default_factory=list)
    constant: bool = False

    def expressions(self) -> Iterator[Piece]:
        """The one expression."""
        yield self.expression


@dataclass
class If(Node):
    """A branch: `condition` is Python source."""

    condition: Piece
    then: Body
    orelse: Body

    def expressions(self) -> Iterator[Piece]:
        """The condition."""
        yield self.condition

    def bodies(self) -> Iterator[Body]:
        """Both arms."""
        yield self.then
        yield self.orelse


@dataclass
class Loop(Node):
    """torch.prim.Loop. The body's arguments are the counter and the carried values; it yields the condition and the carried values."""

    trip: Piece
    condition: Piece
    inits: list[Piece]
    body: Body

    def expressions(self) -> Iterator[Piece]:
        """The trip count, the first condition, and what the carried values begin with."""
        yield self.trip
        yield self.condition
        yield from self.inits

    def bodies(self) -> Iterator[Body]:
        """The loop's body."""
        yield self.body


@dataclass
class Body:
    """A block: what it takes, does, and gives."""

    arguments: list[Var]
    nodes: list[Node] = field(default_factory=list)
    yields: list[Piece] = field(default_factory=list)

    @cached_property
    def reads(self) -> dict[Var, None]:
        """The variables that its statements and yields read, in order; those made in it, too. Of a graph that is complete."""
        found: dict[Var, None] = {}
        for node in self.nodes:
            found.update(node.reads)
        found.update(dict.fromkeys(v for y in self.yields for v in variables(y)))
        return found


@dataclass
class Function:
    """A `func.func`."""

    name: str
    body: Body


def expressions(body: Body) -> Iterator[Piece]:
    """All that a body and the bodies in it evaluate and yield, in order."""
    for node in body.nodes:
        yield from node.expressions()
        for inner in node.bodies():
            yield from expressions(inner)
    yield from body.yields


def nodes(body: Body) -> Iterator[Node]:
    """All nodes of a body and of the bodies in it."""
    for node in body.nodes:
        yield node
        for inner in node.bodies():
            yield from nodes(inner)
