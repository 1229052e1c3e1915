"""Run a host program on the emulated device: `run(artifact, values) -> Outcome`. The steps are those of `lowering/cuda/host_steps.py`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from emulated_memory import DTYPES, Memory, contiguous
from gpu_emulator import Emulator

from tierup.dialect import dtypes
from tierup.dialect.inference.dims import substitute
from tierup.lowering.abi import ResultKind
from tierup.lowering.cuda.artifact import CudaArtifact
from tierup.lowering.cuda.host_steps import NOTHING, NUMBER, HostProgram, Step


@dataclass(frozen=True)
class Buffer:
    """A memref's descriptor, as the host has it."""

    memory: Memory
    address: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def field(self, number: int) -> int:
        return (self.address, self.address, self.offset, *self.sizes, *self.strides)[number]

    def at(self, indices: Sequence[int]) -> int:
        return self.offset + sum(i * s for i, s in zip(indices, self.strides, strict=True))


@dataclass
class Outcome:
    """`results`: arrays, numbers and new contents of arguments, in the order of the artifact's. `status`: 0, or the error site."""

    results: list[Any]
    status: int
    launches: list[str] = field(default_factory=list)
    reads: int = 0


def run(artifact: CudaArtifact, values: Sequence[Any]) -> Outcome:
    """Launch a program's kernels on NumPy arrays and numbers. Raises `Fault` for a kernel that is wrong.
    `artifact` must have the stages "kernels" and "nvvm"."""
    emulator = Emulator(artifact.stages["kernels"], artifact.stages["nvvm"])
    host = _Host(emulator, artifact.host)
    sizes = _sizes(artifact, values)
    given: list[Any] = [host.given(f"argument {i}", v) if isinstance(v, np.ndarray) else v for i, v in enumerate(values)]
    buffers: dict[int, tuple[Buffer, np.dtype[Any]]] = {}
    for i, spec in enumerate(artifact.results):
        if spec.kind in (ResultKind.BUFFER, ResultKind.ARGUMENT):
            kind = dtypes.BY_NAME[spec.dtype].numpy
            shape = tuple(int(substitute(d, sizes)) for d in spec.sizes)  # type: ignore[arg-type]
            buffers[i] = (host.allocate(f"result {i}", _spelled(kind), shape), kind)
    status = host.given("the status", np.zeros((), np.int32))
    returned = iter(host.run([*given, *(buffer for buffer, _ in buffers.values()), status]))
    results: list[Any] = []
    for i, spec in enumerate(artifact.results):
        if i in buffers:
            buffer, kind = buffers[i]
            assert status.memory.data[0] or buffer.memory.written.all(), f"no kernel wrote all of result {i}"
            results.append(buffer.memory.data.view(kind).reshape(buffer.sizes))
        elif spec.kind is ResultKind.SCALAR:
            results.append(next(returned))
        else:
            results.append((spec.kind, spec.argument))
    return Outcome(results, int(status.memory.data[0]), emulator.launches, host.reads)


def _sizes(artifact: CudaArtifact, values: Sequence[Any]) -> dict[str, int]:
    found = {}
    for i, (spec, value) in enumerate(zip(artifact.arguments, values, strict=True)):
        if isinstance(value, np.ndarray):
            found |= {name: size for name, size in zip(spec.sizes, value.shape, strict=True) if isinstance(name, str)}
            found |= {f"stride{i}_{axis}": step // value.itemsize for axis, step in enumerate(value.strides)}
    return found


def _spelled(kind: np.dtype[Any]) -> str:
    """A dtype as MLIR spells it."""
    if kind.kind in "iu":
        return f"i{8 * kind.itemsize}"
    return next(name for name, known in DTYPES.items() if np.dtype(known) == kind)


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.floordiv, "floordiv": operator.floordiv,
    "ceildiv": _cdiv, "rem": operator.mod, "min": min, "max": max, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
    "select": lambda c, a, b: a if c else b, "fdiv": operator.truediv,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
}  # fmt: skip


class _Host:
    def __init__(self, emulator: Emulator, program: HostProgram) -> None:
        self._emulator, self._program = emulator, program
        self._values: dict[int, Any] = {}
        self.reads = 0

    def given(self, what: str, array: np.ndarray) -> Buffer:
        """A NumPy array in the device's memory: what lies between its elements comes along, as something never written."""
        kind = DTYPES[_spelled(array.dtype)]
        steps = tuple(s // array.itemsize for s in array.strides)
        if array.flags.c_contiguous or not array.size:
            memory = Memory(what, array.reshape(-1).view(kind).copy(), written=True)
            return Buffer(memory, self._emulator.share(memory), 0, array.shape, tuple(contiguous(array.shape)))  # type: ignore[arg-type]
        low = sum(min(0, (n - 1) * s) for n, s in zip(array.shape, steps, strict=True))
        high = sum(max(0, (n - 1) * s) for n, s in zip(array.shape, steps, strict=True))
        memory = Memory.fresh(what, high - low + 1, _spelled(array.dtype))
        places = np.zeros(array.shape, np.int64)
        for axis, (n, s) in enumerate(zip(array.shape, steps, strict=True)):
            places += (np.arange(n) * s).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        memory.data[places - low] = array.view(kind) if array.dtype != kind else array
        memory.written[places - low] = True
        first = self._emulator.share(memory) - low * array.itemsize  # the address of the first element, as a caller hands it over
        return Buffer(memory, first, 0, array.shape, steps)

    def allocate(self, what: str, dtype: str, sizes: Sequence[int]) -> Buffer:
        memory = Memory.fresh(what, int(np.prod(sizes, dtype=np.int64)), dtype)
        return Buffer(memory, self._emulator.share(memory), 0, tuple(sizes), tuple(contiguous(sizes)))  # type: ignore[arg-type]

    def run(self, arguments: Sequence[Any]) -> list[Any]:
        assert len(arguments) == self._program.arguments
        self._values = dict(enumerate(arguments))
        self._steps(self._program.steps)
        return [self._values[n] for n in self._program.returns]

    def _steps(self, steps: Sequence[Step]) -> None:
        for name, *fields in steps:
            if name in _FUNCTIONS:
                number, *given = fields
                self._values[number] = _FUNCTIONS[name](*(self._values[n] for n in given))
            else:
                getattr(self, f"_{name}")(*fields)

    def _all(self, numbers: Sequence[int]) -> list[Any]:
        return [self._values[n] for n in numbers]

    def _constant(self, number: int, value: Any) -> None:
        self._values[number] = value

    def _size(self, number: int, buffer: int, axis: int) -> None:
        self._values[number] = self._values[buffer].sizes[self._values[axis]]

    def _allocate(self, number: int, dtype: str, sizes: Sequence[int]) -> None:
        self._values[number] = self.allocate(f"buffer {number}", dtype, self._all(sizes))

    def _free(self, buffer: int) -> None:
        self._values[buffer].memory.written[:] = False  # who reads it afterwards is found out

    def _data(self, number: int, name: str) -> None:
        known = self._program.constants[name]
        array = np.frombuffer(known.data, DTYPES[known.dtype]).reshape(known.sizes)
        self._values[number] = self.given(f"constant {name}", array)

    def _base(self, number: int, buffer: int) -> None:
        self._values[number] = self._values[buffer]

    def _field(self, number: int, buffer: int, which: int) -> None:
        self._values[number] = self._values[buffer].field(which)

    def _view(self, number: int, buffer: int, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> None:
        of = self._values[buffer]
        self._values[number] = Buffer(of.memory, of.address, self._values[offset], tuple(self._all(sizes)), tuple(self._all(strides)))

    def _read(self, number: int, buffer: int, at: Sequence[int], dtype: str) -> None:
        del dtype
        of = self._values[buffer]
        place = self._emulator.memory(of.address)[1] + of.at(self._all(at))
        assert of.memory.written[place], f"the host reads {of.memory.what}, which nothing wrote"
        self.reads += 1
        self._values[number] = of.memory.data[place].item()

    def _write(self, value: int, buffer: int, at: Sequence[int], dtype: str) -> None:
        del dtype
        of = self._values[buffer]
        place = self._emulator.memory(of.address)[1] + of.at(self._all(at))
        of.memory.data[place] = self._values[value]
        of.memory.written[place] = True

    def _launch(self, name: str, grid: Sequence[int], block: Sequence[int], shared: int, parameters: Sequence[tuple[int, int]]) -> None:
        given = [self._values[n] if which == NUMBER else self._values[n].field(which) for n, which in parameters]
        size = 0 if shared == NOTHING else self._values[shared]
        self._emulator.launch(name, tuple(self._all(grid)), tuple(self._all(block)), size, given)  # type: ignore[arg-type]

    def _for(self, index: int, start: int, stop: int, step: int, body: Sequence[Step]) -> None:
        for i in range(*self._all((start, stop, step))):
            self._values[index] = i
            self._steps(body)

    def _while(self, condition: int, before: Sequence[Step], after: Sequence[Step]) -> None:
        self._steps(before)
        while self._values[condition]:
            self._steps(after)
            self._steps(before)

    def _move(self, number: int, value: int) -> None:
        self._values[number] = self._values[value]

    def _if(self, condition: int, then: Sequence[Step], otherwise: Sequence[Step] = ()) -> None:
        self._steps(then if self._values[condition] else otherwise)
