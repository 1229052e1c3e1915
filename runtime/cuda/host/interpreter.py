"""The interpreter of host programs (`lowering/artifacts/host_steps.py`): sizes and views here, memory and kernels through an engine.

    run(program, [Buffer(memory, "f32", 0, (5, 7), (7, 1)), 2.5, ..., status], engine) -> what it returns

What memory is, only the engine knows: an address on the device, an array, or a name for what will be allocated later (`flat.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tierup.lowering.artifacts.host_steps import NOTHING, NUMBER, HostProgram, Step, walk
from tierup.runtime.cuda.host import elements
from tierup.runtime.cuda.host.buffers import Buffer, dense
from tierup.runtime.cuda.host.gemm import Gemm, gemm

Number = int | float | bool


class Engine(Protocol):
    """What a host program does things with. All of it happens in the order of the calls."""

    def allocate(self, dtype: str, count: int) -> Any:
        """Fresh memory for so many elements."""

    def free(self, memory: Any) -> None:
        """No later step looks at memory that `allocate` gave."""

    def data(self, name: str) -> Any:
        """Memory with the constant of this name."""

    def launch(self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: tuple[Any, ...]) -> None:
        """Run a kernel. `parameters`: memory and numbers, in the kernel's order. `shared`: bytes asked for at run time."""

    def has_library(self) -> bool:
        """Whether `multiply` can be called."""

    def multiply(self, name: str, gemm: Gemm, memories: tuple[Any, ...], flags: tuple[str, ...]) -> None:
        """Compute a product by NVIDIA's library. `memories`: of x, y and the result."""

    def read(self, memory: Any, element: int, dtype: str) -> Number:
        """One element, when all before it is done."""

    def write(self, value: Number, memory: Any, element: int, dtype: str) -> None:
        """Set one element."""


class Left(Exception):
    """The program ended at an exit. `values`: what it hands over, numbers and buffers; `memory`: what of these it had allocated, which
    is now the catcher's to give back."""

    def __init__(self, index: int, values: tuple[Any, ...]) -> None:
        super().__init__(index)
        self.index, self.values = index, values
        self.memory: list[Any] = []


def run(
    program: HostProgram,
    given: Sequence[Buffer | Number],
    engine: Engine,
    *,
    lost: tuple[int, int] = (-1, 0),
    reads: Counter[int] | None = None,
) -> tuple[Number | Buffer, ...]:
    """Run a program on its arguments: buffers and numbers. What it allocates is freed, but for buffers that it returns, or hands over at an
    exit: their memory is the caller's. `lost`: the exit that a test wants taken, and at which evaluation of its assumption (from 0).
    `reads` counts what the host waits for, by the numbers that reads give. Raises Left where an assumption fails, ValueError for another
    number of arguments, or for a step that is none."""
    if len(given) != program.arguments:
        raise ValueError(f"a host program of {program.arguments} arguments was given {len(given)}")
    machine = _Machine(program, given, engine, lost, Counter() if reads is None else reads)
    try:
        machine.steps(program.steps)
        returns = tuple([machine.values[number] for number in program.returns])
        machine.hand_over(returns)
        return returns
    except Left as left:
        left.memory = machine.hand_over(left.values)
        raise
    finally:
        machine.free_all()


class _Machine:
    def __init__(
        self, program: HostProgram, given: Sequence[Buffer | Number], engine: Engine, lost: tuple[int, int], reads: Counter[int]
    ) -> None:
        # no bools: what is computed of them may be a size, and a shape with True in it is equal to one with 1, but NumPy takes none
        self.values: dict[int, Any] = {i: int(v) if isinstance(v, bool) else v for i, v in enumerate(given)}
        self._constants, self._engine = program.constants, engine
        self._lost, self._reads = lost, reads
        self._asked: Counter[int] = Counter()
        self._allocated: list[Any] = []

    def steps(self, steps: Sequence[Step]) -> None:
        values = self.values
        for step in steps:
            name = step[0]
            if name == "constant":
                values[step[1]] = step[2]
                continue
            arithmetic = ARITHMETIC.get(name)
            if arithmetic is not None:
                values[step[1]] = arithmetic(*[values[number] for number in step[2:]])
                continue
            handler = _HANDLERS.get(name)
            if handler is None:
                raise ValueError(f"no step of a host program is called {name!r}")
            handler(self, *step[1:])

    def free_all(self) -> None:
        while self._allocated:
            self._engine.free(self._allocated.pop())

    def hand_over(self, values: Sequence[Any]) -> list[Any]:
        """Memory of the program's own that these values lie in; others free it."""
        theirs = [v.memory for v in values if isinstance(v, Buffer)]
        found = [memory for memory in self._allocated if any(memory is other for other in theirs)]
        self._allocated = [memory for memory in self._allocated if not any(memory is other for other in theirs)]
        return found

    def _all(self, numbers: Sequence[int]) -> tuple[Any, ...]:
        return tuple([self.values[number] for number in numbers])

    def _size(self, to: int, buffer: int, axis: int) -> None:
        self.values[to] = self.values[buffer].sizes[self.values[axis]]

    def _cast(self, to: int, value: int, dtype: str) -> None:
        self.values[to] = elements.cast(self.values[value], dtype)

    def _field(self, to: int, buffer: int, field: int) -> None:
        self.values[to] = self.values[buffer].field(field)

    def _base(self, to: int, buffer: int) -> None:
        source = self.values[buffer]
        self.values[to] = Buffer(source.memory, source.dtype, 0, (), ())

    def _view(self, to: int, buffer: int, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> None:
        source = self.values[buffer]
        self.values[to] = Buffer(source.memory, source.dtype, self.values[offset], self._all(sizes), self._all(strides))

    def _allocate(self, to: int, dtype: str, sizes: Sequence[int]) -> None:
        found = self._all(sizes)
        memory = self._engine.allocate(dtype, math.prod(found))
        self._allocated.append(memory)
        self.values[to] = dense(memory, dtype, found)

    def _free(self, buffer: int) -> None:
        memory = self.values[buffer].memory
        at = next(i for i, m in enumerate(self._allocated) if m is memory)
        self._engine.free(self._allocated.pop(at))

    def _data(self, to: int, name: str) -> None:
        constant = self._constants[name]
        self.values[to] = dense(self._engine.data(name), constant.dtype, constant.sizes)

    def _launch(self, kernel: str, grid: Sequence[int], block: Sequence[int], shared: int, parameters: Sequence[Sequence[int]]) -> None:
        blocks = self._all(grid)
        if 0 in blocks:
            return  # nothing to do, which the driver takes for an error
        values = self.values
        given = tuple([values[number] if field == NUMBER else values[number].field(field) for number, field in parameters])
        self._engine.launch(kernel, blocks, self._all(block), 0 if shared == NOTHING else values[shared], given)

    def _fits(self, to: int, equation: str, operands: Sequence[int], least_work: int, least_depth: int) -> None:
        found = gemm(equation, self._all(operands))
        fits = found is not None and found.work >= least_work and found.k >= least_depth and self._engine.has_library()
        self.values[to] = int(fits)

    def _multiply(self, name: str, equation: str, operands: Sequence[int], flags: Sequence[str]) -> None:
        buffers = self._all(operands)
        found = gemm(equation, buffers)
        if found is None:
            raise ValueError(f"{name} does not fit NVIDIA's library, but is left to it")
        self._engine.multiply(name, found, tuple([buffer.memory for buffer in buffers]), tuple(flags))

    def _read(self, to: int, buffer: int, at: Sequence[int], dtype: str) -> None:
        source = self.values[buffer]
        self._reads[to] += 1
        self.values[to] = self._engine.read(source.memory, source.element(self._all(at)), dtype)

    def _write(self, value: int, buffer: int, at: Sequence[int], dtype: str) -> None:
        into = self.values[buffer]
        self._engine.write(self.values[value], into.memory, into.element(self._all(at)), dtype)

    def _for(self, index: int, start: int, stop: int, step: int, body: Sequence[Step]) -> None:
        before, carried = set(map(id, self._allocated)), _moved(body)
        for i in range(*self._all((start, stop, step))):
            self.values[index] = i
            self.steps(body)
            self._turned(before, carried)

    def _while(self, condition: int, first: Sequence[Step], second: Sequence[Step]) -> None:
        before, carried = set(map(id, self._allocated)), _moved(first) | _moved(second)
        self.steps(first)
        while self.values[condition]:
            self.steps(second)
            self.steps(first)
            self._turned(before, carried)

    def _turned(self, before: set[int], carried: frozenset[int]) -> None:
        """Free what a loop's turns have allocated and nothing carries on: else a loop would take more memory in each turn."""
        new = [m for m in self._allocated if id(m) not in before]
        if new:
            held = {id(v.memory) for v in map(self.values.get, carried) if isinstance(v, Buffer)}
            for memory in new:
                if id(memory) not in held:
                    self._engine.free(memory)
            self._allocated = [m for m in self._allocated if id(m) in before or id(m) in held]

    def _move(self, to: int, value: int) -> None:
        self.values[to] = self.values[value]

    def _exit(self, index: int, values: Sequence[int]) -> None:
        raise Left(index, self._all(values))

    def _forced(self, to: int, index: int) -> None:
        self.values[to] = int((index, self._asked[index]) == self._lost)
        self._asked[index] += 1

    def _if(self, condition: int, then: Sequence[Step], otherwise: Sequence[Step] = ()) -> None:
        self.steps(then if self.values[condition] else otherwise)


def _moved(body: Sequence[Step]) -> frozenset[int]:
    """The values by which buffers leave a turn of a loop, and others that branches inside give."""
    return frozenset(step[1] for step in walk(body) if step[0] == "move")


def _wrapped(value: Number) -> Number:
    """In 64 bits, as an i64 has it."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63) if type(value) is int else value


def _truncated(a: int, b: int) -> int:
    """a / b towards zero; 0 where the machine would trap, since what is divided by zero is guarded by a check."""
    if b == 0:
        return 0
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return float("nan") if not a or a != a else float("inf") * a * (1.0 if str(float(b))[0] != "-" else -1.0)


def _larger(a: float, b: float) -> float:
    """A NaN where either is one."""
    return a if a != a or (b == b and a > b) else b


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: _wrapped(a + b),
    "sub": lambda a, b: _wrapped(a - b),
    "mul": lambda a, b: _wrapped(a * b),
    "mulhigh": lambda a, b: a * b >> 64,
    "div": _truncated,
    "floordiv": lambda a, b: a // b if b else 0,
    "ceildiv": lambda a, b: -(-a // b) if b else 0,
    "fdiv": _divided,
    "fmax": _larger,
    "fmin": lambda a, b: -_larger(-a, -b),
    "rem": lambda a, b: a - b * _truncated(a, b) if b else 0,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shl": lambda a, b: _wrapped(a << b) if 0 <= b < 64 else 0,
    "shr": lambda a, b: a >> b if 0 <= b < 64 else 0,
    "select": lambda condition, a, b: a if condition else b,
    "eq": lambda a, b: int(a == b),
    "ne": lambda a, b: int(a != b),
    "lt": lambda a, b: int(a < b),
    "le": lambda a, b: int(a <= b),
    "gt": lambda a, b: int(a > b),
    "ge": lambda a, b: int(a >= b),
}

_NAMES = (
    "cast", "size", "field", "base", "view", "allocate", "free", "data", "launch", "fits", "multiply", "read", "write",
    "for", "if", "while", "move", "exit", "forced",
)  # fmt: skip
_HANDLERS: dict[str, Callable[..., None]] = {name: getattr(_Machine, f"_{name}") for name in _NAMES}
STEPS = frozenset({"constant", *ARITHMETIC, *_HANDLERS})
