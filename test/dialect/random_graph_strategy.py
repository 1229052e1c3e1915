"""`programs()`: a hypothesis strategy for programs of the pristine graph, with arguments to call them on.

Tensors of f32, f64, bool and all integers of up to three small sizes, 0 and 1 among them; numbers, truth values, lists, tuples; branches, loops, calls
of a helper; views, and writes through them to local tensors and to arguments; ops that raise now and then; NumPy's promotion on some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from random_graph_builder import Bits, Builder, statements
from random_graph_ops import CODES, DTYPES, make
from random_graphs import Body, Func, Memory, Node, Printer, Typing, Val, sizes_of

from tierup.dialect.facts.values import Bool, Float, Int, Tensor, Value

_SIZES = (2, 3, 1, 0)
_LAYOUTS = ("plain", "plain", "plain", "transposed", "stepped", "reversed")


@dataclass(frozen=True)
class Program:
    """A module whose entry is @f. `arguments`: what each takes when it is called as it was drawn; `typing`: what its types
    say of that."""

    text: str
    arguments: tuple[Value, ...]
    typing: Typing
    seed: int = field(repr=False)

    def __repr__(self) -> str:
        return f"\n{self.text}\nseed {self.seed}"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # what hypothesis prints
        printer.text(repr(self))

    def calls(self, count: int = 2) -> list[list[Any]]:
        """Arguments as the program was drawn for, of different values and layouts."""
        return [self._arguments(np.random.default_rng([self.seed, i]), i) for i in range(count)]

    def overlapping(self) -> list[list[Any]]:
        """A call with one array, or a view of it, for two arguments; none when no two could be."""
        (given,) = self.calls(1)
        arrays = [i for i, a in enumerate(given) if isinstance(a, np.ndarray)]
        for i in arrays:
            for j in arrays:
                if i < j and given[i].dtype == given[j].dtype and given[i].shape == given[j].shape:
                    given[j] = given[i] if self.seed % 2 else given[i][...]
                    return [given]
        return []

    def other_shapes(self) -> list[list[Any]]:
        """A call with arguments of other sizes or dtypes, where the types allow it."""
        if self.typing is not Typing.NOTHING:
            return []
        rng = np.random.default_rng([self.seed, 99])
        given = self._arguments(rng, 0)
        for i, a in enumerate(given):
            if isinstance(a, np.ndarray) and rng.random() < 0.6:
                how = rng.integers(3)
                given[i] = a.astype(np.float64) if how == 0 else np.concatenate([a, a]) if how == 1 and a.ndim else a[None]
        return [given]

    def _arguments(self, rng: np.random.Generator, turn: int) -> list[Any]:
        return [_argument(known, rng, turn) for known in self.arguments]


def _argument(known: Value, rng: np.random.Generator, turn: int) -> Any:
    if isinstance(known, Tensor):
        assert known.dtype is not None
        return _laid_out(_elements(known, rng), _LAYOUTS[int(rng.integers(len(_LAYOUTS)))])
    if isinstance(known, Bool):
        return bool((rng.integers(2) + turn) % 2)
    return int(rng.integers(-1, 4)) if isinstance(known, Int) else float(rng.integers(-4, 5)) / 2


def _elements(known: Tensor, rng: np.random.Generator) -> np.ndarray:
    sizes = sizes_of(known)
    assert known.dtype is not None and sizes is not None
    if known.dtype.name == "bool":
        return np.asarray(rng.integers(0, 2, sizes)).astype(bool)
    if not known.dtype.is_float:
        return np.asarray(rng.integers(-2, 3, sizes)).astype(known.dtype.numpy)  # of unsigned ones the largest, too
    x = np.asarray(rng.integers(-8, 9, sizes) / 4.0)
    odd = rng.random(sizes) < 0.08
    return np.where(odd, rng.choice([np.nan, np.inf, -np.inf, -0.0], sizes), x).astype(known.dtype.numpy)


def _laid_out(x: np.ndarray, how: str) -> np.ndarray:
    """The same elements in another layout."""
    if not x.ndim or how == "plain":
        return np.array(x)
    if how == "transposed":
        return np.array(x, order="F")
    if how == "reversed":
        return np.array(x[::-1])[::-1]
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
    wide[..., 1::2] = x
    return wide[..., 1::2]


def decode(head: bytes, chunks: list[bytes], helper: list[bytes], tail: bytes) -> Program:
    """The program that bytes stand for: any bytes do."""
    bits = Bits(head)
    typing = Typing(bits.below(4))
    mutable = bits.one_in(4)  # all tensors are !torch.tensor, whether somebody writes them or not
    seed = bits.below(256) * 256 + bits.below(256)
    parameters = [bits.below(256) for _ in range(6)]
    h = Builder("h")
    callee = _helper(h, helper, parameters) if helper else None
    b = Builder("v", [callee] if callee else [])
    arguments = [_parameter(b, code) for code in parameters[: 1 + bits.below(3)]]
    arguments += [b.value(Int(), argument=True), b.value(Bool(), argument=True)] + [b.value(Float(), argument=True)] * bits.below(2)
    f = _function("f", b, arguments, chunks, Bits(tail))
    funcs = [f, *([callee] if callee and any(n.name == "func.call" for n in _nodes(f.body)) else [])]
    if mutable:
        for v in arguments:
            if v.memory is not None:
                v.memory.write()
    if (b.unproven or h.unproven) and typing in (Typing.ALL, Typing.RANKS):
        typing = Typing.ARGUMENTS
    printer = Printer(typing)
    text = "\n".join(printer.function(func) for func in funcs) + "\n"
    return Program(text, tuple(v.known for v in arguments), typing, seed)


def _parameter(b: Builder, code: int) -> Val:
    """A tensor whose sizes are so few that two often fit each other."""
    rows, columns = _SIZES[code % 4 if code % 16 > 2 else 0], 3
    sizes = ((rows, columns), (columns,), (rows, columns), (), (rows,), (columns, columns), (rows, 1), (2, rows, columns))[code // 4 % 8]
    of = (0, 0, 0, 2, 1, 0, 3, 1, 4, 0, 5, 6, 0, 7, 2, 1)[code // 16]
    return b.value(Tensor(DTYPES[of], sizes), Memory(), argument=True)


def _helper(b: Builder, chunks: list[bytes], parameters: list[int]) -> Func:
    """A function that takes a tensor of the kind of the first argument, and a number."""
    arguments = [_parameter(b, parameters[0]), b.value(Int(), argument=True)]
    return _function("helper", b, arguments, chunks, Bits(chunks[-1][::-1]), private=True)


def _function(name: str, b: Builder, arguments: list[Val], chunks: list[bytes], tail: Bits, *, private: bool = False) -> Func:
    b.body = Body(arguments)
    b.bind(*arguments)
    statements(iter(chunks), b, make, CODES)
    kinds = ("tensor", "int", "float", "bool", "list", "tuple", "ints", "number")
    found = [b.find(tail, *kinds) for _ in range(1 + tail.below(3))]
    returned = [v for v in found if v is not None]
    results = [b.alike(v) if v.kind != "number" else b.value(v.known, number=True) for v in returned]
    b.body.nodes.append(Node("func.return", returned, targets=results))
    return Func(name, b.body, results, private)


def _nodes(body: Body) -> Iterator[Node]:
    for node in body.nodes:
        yield node
        for inner in node.bodies:
            yield from _nodes(inner)


_CHUNK = st.binary(max_size=9)


@st.composite
def programs(draw: Callable[[Any], Any], most: int = 24) -> Program:
    """Programs of up to `most` statements, and as many as 6 in the helper."""
    head = draw(st.binary(max_size=16))
    chunks = draw(st.lists(_CHUNK, max_size=8) | st.lists(_CHUNK, min_size=8, max_size=most))
    helper = draw(st.just([]) | st.lists(_CHUNK, min_size=1, max_size=6))
    return decode(head, chunks, helper, draw(st.binary(max_size=8)))
