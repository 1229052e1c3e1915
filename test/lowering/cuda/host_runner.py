"""Run a program on the emulated device: `run(artifact, values) -> Outcome`. `runtime/cuda/host/interpreter.py` runs the steps; this is its engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from emulated_memory import DTYPES, Memory
from gpu_emulator import Emulator

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import substitute
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.artifacts.host_steps import ADDS, Constant
from tierup.lowering.base.abi import ResultKind
from tierup.runtime.cuda.host.gemm import Gemm
from tierup.runtime.cuda.host.interpreter import Buffer, Left, dense
from tierup.runtime.cuda.host.interpreter import run as run_host


@dataclass
class Outcome:
    """`results`: arrays, numbers and new contents of arguments, in the order of the artifact's. `status`: 0, or the error site. `exit`: the
    exit that was taken, or -1; then `handed` is what the host program handed over there, and there are no results."""

    results: list[Any]
    status: int
    launches: list[str] = field(default_factory=list)
    reads: int = 0
    exit: int = -1
    handed: list[Any] = field(default_factory=list)
    products: list[str] = field(default_factory=list)  # by NVIDIA's library


def run(artifact: CudaArtifact, values: Sequence[Any], lost: tuple[int, int] = (-1, 0), *, library: bool = False) -> Outcome:
    """Launch a program's kernels on NumPy arrays and numbers; `library`: NVIDIA's for products is there. Raises `Fault` for a kernel that is
    wrong. `lost`: as `run_host` has it. `artifact` must have the stages "kernels" and "nvvm"."""
    engine = _Engine(Emulator(artifact.stages["kernels"], artifact.stages["nvvm"]), artifact.host.constants, library)
    sizes = _sizes(artifact, values)
    given: list[Any] = [engine.given(f"argument {i}", v) if isinstance(v, np.ndarray) else v for i, v in enumerate(values)]
    fresh: dict[int, tuple[Memory, np.dtype[Any], tuple[int, ...]]] = {}
    for i, spec in enumerate(artifact.results):
        if spec.kind in (ResultKind.BUFFER, ResultKind.ARGUMENT):
            kind = dtypes.BY_NAME[spec.dtype].numpy
            shape = tuple(int(substitute(d, sizes)) for d in spec.sizes)  # type: ignore[arg-type]
            memory = Memory.fresh(f"result {i}", int(np.prod(shape, dtype=np.int64)), _spelled(kind))
            fresh[i] = memory, kind, shape
            given.append(dense(engine.emulator.share(memory), _spelled(kind), shape))
    status = Memory("the status", np.zeros(1, np.int32), written=True)
    try:
        returned = iter(run_host(artifact.host, [*given, dense(engine.emulator.share(status), "i32", ())], engine, lost=lost))
    except Left as left:
        handed = [engine.taken(v) if isinstance(v, Buffer) else v for v in left.values]
        return Outcome([], int(status.data[0]), engine.emulator.launches, engine.reads, left.index, handed)
    results: list[Any] = []
    for i, spec in enumerate(artifact.results):
        if i in fresh:
            memory, kind, shape = fresh[i]
            assert status.data[0] or memory.written.all(), f"no kernel wrote all of result {i}"
            results.append(memory.data.view(kind).reshape(shape))
        elif spec.kind is ResultKind.SCALAR:
            results.append({"int": int, "float": float, "bool": bool}[spec.dtype](next(returned)))  # as a plan does
        elif spec.kind is ResultKind.ALLOCATED:
            buffer = next(returned)
            memory, start = engine.emulator.memory(buffer.memory)
            count = int(np.prod(buffer.sizes, dtype=np.int64))
            assert not start and (status.data[0] or memory.written[:count].all()), f"no kernel wrote all of result {i}, or it was freed"
            results.append(memory.data[:count].view(dtypes.BY_NAME[spec.dtype].numpy).reshape(buffer.sizes))
        else:
            results.append((spec.kind, spec.argument))
    return Outcome(results, int(status.data[0]), engine.emulator.launches, engine.reads, products=engine.products)


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


class _Engine:
    """The emulated device, as `runtime/cuda/host/interpreter.py` asks for it: memory is an address."""

    def __init__(self, emulator: Emulator, constants: Mapping[str, Constant], library: bool) -> None:
        self.emulator, self._constants = emulator, constants
        self._count = 0
        self.reads = 0
        self.library, self.products = library, list[str]()

    def given(self, what: str, array: np.ndarray[Any, Any]) -> Buffer:
        """A NumPy array in the device's memory: what lies between its elements comes along, as something never written."""
        dtype = _spelled(array.dtype)
        steps = tuple(s // array.itemsize for s in array.strides)
        if array.flags.c_contiguous or not array.size:
            memory = Memory(what, array.reshape(-1).view(DTYPES[dtype]).copy(), written=True)
            return dense(self.emulator.share(memory), dtype, array.shape)
        low = sum(min(0, (n - 1) * s) for n, s in zip(array.shape, steps, strict=True))
        high = sum(max(0, (n - 1) * s) for n, s in zip(array.shape, steps, strict=True))
        memory = Memory.fresh(what, high - low + 1, dtype)
        places = np.zeros(array.shape, np.int64)
        for axis, (n, s) in enumerate(zip(array.shape, steps, strict=True)):
            places += (np.arange(n) * s).reshape([-1 if i == axis else 1 for i in range(array.ndim)])
        memory.data[places - low] = array.view(DTYPES[dtype])
        memory.written[places - low] = True
        first = self.emulator.share(memory) - low * array.itemsize  # the address of the first element, as a caller hands it over
        return Buffer(first, dtype, 0, array.shape, steps)

    def taken(self, buffer: Buffer) -> np.ndarray[Any, Any]:
        """A copy of what a buffer shows, all of which something must have written."""
        memory, start = self.emulator.memory(buffer.memory)
        places = np.full(buffer.sizes, start + buffer.offset, np.int64)
        for axis, (n, s) in enumerate(zip(buffer.sizes, buffer.strides, strict=True)):
            places += (np.arange(n) * s).reshape([-1 if i == axis else 1 for i in range(len(buffer.sizes))])
        assert memory.written[places].all(), f"an exit hands over {memory.what}, of which no kernel wrote all"
        return memory.data[places]

    def allocate(self, dtype: str, count: int) -> int:
        self._count += 1
        return self.emulator.allocate(f"buffer {self._count}", dtype, count)

    def free(self, memory: int) -> None:
        self.emulator.memory(memory)[0].written[:] = False  # who reads it afterwards is found out

    def data(self, name: str) -> int:
        known = self._constants[name]
        return self.emulator.share(Memory(f"constant {name}", np.frombuffer(known.data, DTYPES[known.dtype]).copy(), written=True))

    def launch(self, kernel: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int, parameters: tuple[Any, ...]) -> None:
        self.emulator.launch(kernel, grid, block, shared, parameters)  # type: ignore[arg-type]

    def has_library(self) -> bool:
        return self.library

    def multiply(self, name: str, gemm: Gemm, memories: tuple[int, ...], flags: tuple[str, ...]) -> None:
        """As BLAS has it: matrices in columns. Sums are in double precision."""
        self.products.append(name)
        views = []
        for matrix, rows, columns in ((gemm.a, gemm.m, gemm.k), (gemm.b, gemm.k, gemm.n), (gemm.c, gemm.m, gemm.n)):
            piece, start = self.emulator.memory(memories[matrix.operand])
            if matrix.transposed:
                rows, columns = columns, rows
            assert matrix.leading >= rows
            step = piece.data.itemsize
            shape, strides = (gemm.batch, rows, columns), (matrix.page * step, step, matrix.leading * step)
            low = start + matrix.start
            assert low + sum((n - 1) * s // step for n, s in zip(shape, strides, strict=True)) < piece.data.size, f"{name} beyond {piece.what}"
            found, known = (
                np.lib.stride_tricks.as_strided(a[low:], shape, tuple(s * a.itemsize // step for s in strides))
                for a in (piece.data, piece.written)
            )
            views.append((np.swapaxes(found, 1, 2) if matrix.transposed else found, known))
        (x, x_written), (y, y_written), (out, out_written) = views
        assert x_written.all() and y_written.all() and (out_written.all() or ADDS not in flags), f"{name} reads what nothing wrote"
        total = x.astype(np.float64) @ y.astype(np.float64)
        out[...] = total + out if ADDS in flags else total
        out_written[...] = True

    def read(self, memory: int, element: int, dtype: str) -> Any:
        del dtype
        piece, start = self.emulator.memory(memory)
        assert piece.written[start + element], f"the host reads {piece.what}, which nothing wrote"
        self.reads += 1
        return piece.data[start + element].item()

    def write(self, value: Any, memory: int, element: int, dtype: str) -> None:
        del dtype
        piece, start = self.emulator.memory(memory)
        piece.data[start + element] = value
        piece.written[start + element] = True
