"""A host program for given sizes and numbers, flattened: launches one after another, their parameters ready but for addresses.

Sizes decide everything that a host program does between launches, but where it reads a number from the device. So it is run once, on
names in the place of memory, and what it asks for is written down. A program that reads, or that ends at an exit for these sizes and
numbers, is run by the interpreter each time. What it allocates shares one piece of memory, in which buffers that are not in use at the
same time may have the same place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.lowering.artifacts.host_steps import BODIES, NUMBER, HostProgram, walk
from tierup.runtime.cuda.host import elements
from tierup.runtime.cuda.host.buffers import Buffer
from tierup.runtime.cuda.host.gemm import Gemm
from tierup.runtime.cuda.host.interpreter import Left, Number, run

ALIGNMENT = 256  # bytes; what the driver's own allocations have


@dataclass(frozen=True, eq=False)
class Given:
    """Memory of argument number `index`, or that number. Behind the arguments comes the memory that the program hands over."""

    index: int


@dataclass(frozen=True, eq=False)
class Data:
    """Memory of the constant of this name."""

    name: str


@dataclass(eq=False)
class Temporary:
    """Memory that the program allocates: its bytes, first and last op that use it, and its place."""

    bytes: int
    first: int = -1
    last: int = -1
    offset: int = 0


@dataclass(frozen=True, eq=False)
class Launch:
    """`parameters`: Given, Data, Temporary or a number."""

    kernel: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared: int
    parameters: tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Multiply:
    """A product by NVIDIA's library. `memories`: Given, Data or Temporary, of x, y and the result."""

    name: str
    gemm: Gemm
    memories: tuple[Any, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Write:
    """One element set to a number."""

    value: Number
    memory: Any
    element: int
    dtype: str


@dataclass(frozen=True, eq=False)
class Flat:
    """`bytes`: what the temporaries take together. `returns`: the program's numbers, or Given, or Buffers whose memory is a Given;
    `handed`: the bytes of each piece of memory that comes back so, fresh in every run."""

    ops: tuple[Launch | Multiply | Write, ...]
    bytes: int
    returns: tuple[Any, ...]
    handed: tuple[int, ...] = ()

    @property
    def launches(self) -> tuple[Launch, ...]:
        """The launches alone, in order."""
        return tuple(op for op in self.ops if isinstance(op, Launch))


class _Reads(Exception):
    """The program reads a number from the device."""


def free_numbers(program: HostProgram) -> frozenset[int]:
    """The arguments that the host does nothing with but hand them to kernels, or back: a flat program serves all their values."""
    used: set[int] = set()
    for step in walk(program.steps):
        if step[0] == "launch":
            _, _, grid, block, shared, parameters = step
            used.update((*grid, *block, shared), (number for number, field in parameters if field != NUMBER))
        elif step[0] in ("fits", "multiply"):
            continue  # of buffers alone
        elif step[0] not in ("constant", "exit", "forced"):  # no flat program has the latter two
            used.update(_numbers(step[1 : BODIES.get(step[0], len(step))]))
    return frozenset(range(program.arguments)) - used


def _numbers(parts: Sequence[Any]) -> Iterator[int]:
    """All ints in parts of a step."""
    for part in parts:
        if isinstance(part, tuple):
            yield from _numbers(part)
        elif isinstance(part, int):
            yield part


def flatten(
    program: HostProgram,
    given: Sequence[Buffer | Number],
    free: frozenset[int] = frozenset(),
    has_library: Callable[[], bool] = lambda: False,
) -> Flat | None:
    """A program for arguments of these sizes, strides and numbers; their memory does not matter, and of `free` arguments nothing. None
    where what the program does hangs on a number that it reads from the device, or on a test, and where it ends at an exit.
    `has_library`: whether NVIDIA's is there, asked only where a product may be its."""
    if any(step[0] == "forced" for step in walk(program.steps)):
        return None
    named: list[Any] = []
    for i, value in enumerate(given):
        if isinstance(value, Buffer):
            named.append(Buffer(Given(i), value.dtype, value.offset, value.sizes, value.strides))
        else:
            named.append(Given(i) if i in free else value)
    recorder = _Recorder(has_library)
    try:
        returns = run(program, named, recorder)
    except (_Reads, Left):
        return None
    handed = list(dict.fromkeys(v.memory for v in returns if isinstance(v, Buffer)))
    named_so = {memory: Given(len(given) + i) for i, memory in enumerate(handed)}
    return Flat(
        tuple([_renamed(op, named_so) for op in recorder.ops] if named_so else recorder.ops),
        _place([t for t in recorder.temporaries if t not in named_so]),
        tuple([replace(v, memory=named_so[v.memory]) if isinstance(v, Buffer) else v for v in returns]),
        tuple([memory.bytes for memory in handed]),
    )


def _renamed(op: Launch | Multiply | Write, names: Mapping[Any, Given]) -> Launch | Multiply | Write:
    if isinstance(op, Write):
        return replace(op, memory=names.get(op.memory, op.memory))
    if isinstance(op, Multiply):
        return replace(op, memories=tuple([names.get(m, m) for m in op.memories]))
    return replace(op, parameters=tuple([names.get(p, p) for p in op.parameters]))


class _Recorder:
    """An engine that writes down."""

    def __init__(self, has_library: Callable[[], bool]) -> None:
        self.has_library = has_library
        self.ops: list[Launch | Multiply | Write] = []
        self.temporaries: list[Temporary] = []
        self._constants: dict[str, Data] = {}

    def allocate(self, dtype: str, count: int) -> Temporary:
        self.temporaries.append(Temporary(elements.size(dtype) * count))
        return self.temporaries[-1]

    def free(self, memory: Temporary) -> None:
        """Its last use says when it is free."""

    def data(self, name: str) -> Data:
        return self._constants.setdefault(name, Data(name))

    def launch(self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: tuple[Any, ...]) -> None:
        for parameter in parameters:
            self._use(parameter)
        self.ops.append(Launch(kernel, grid, block, shared, parameters))

    def multiply(self, name: str, gemm: Gemm, memories: tuple[Any, ...], flags: tuple[str, ...]) -> None:
        for memory in memories:
            self._use(memory)
        self.ops.append(Multiply(name, gemm, memories, flags))

    def read(self, memory: Any, element: int, dtype: str) -> Number:
        raise _Reads

    def write(self, value: Number, memory: Any, element: int, dtype: str) -> None:
        self._use(memory)
        self.ops.append(Write(value, memory, element, dtype))

    def _use(self, memory: Any) -> None:
        if isinstance(memory, Temporary):
            memory.first = len(self.ops) if memory.first < 0 else memory.first
            memory.last = len(self.ops)


def _place(temporaries: Sequence[Temporary]) -> int:
    """Give each its offset; the bytes of all. First fit, the largest first, as in Pisarchyk and Lee, "Efficient memory management for
    deep neural net inference" (2020), greedy by size."""
    placed: list[Temporary] = []
    total = 0
    for temporary in sorted((t for t in temporaries if t.first >= 0), key=lambda t: -t.bytes):
        meanwhile = sorted((t for t in placed if t.first <= temporary.last and temporary.first <= t.last), key=lambda t: t.offset)
        at = 0
        for other in meanwhile:
            if at + temporary.bytes <= other.offset:
                break
            at = max(at, -(-(other.offset + other.bytes) // ALIGNMENT) * ALIGNMENT)
        temporary.offset = at
        placed.append(temporary)
        total = max(total, at + temporary.bytes)
    return total
