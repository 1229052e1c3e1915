"""Kernels of the gpu dialect, run on NumPy memory: an oracle for the lowering where there is no GPU.

    emulator = Emulator(artifact.stages["kernels"], artifact.stages["nvvm"])
    emulator.launch("f_0", (grid x, y, z), (block x, y, z), shared_bytes, parameters)

Each gpu.func after the pipeline lower-gpu-kernels becomes a Python generator function, and each thread of a block a generator of it, which
yields where it meets others: at barriers all threads of the block, at shuffles those of its warp. What no kernel may do is a Fault that
names the kernel and the op: a barrier or shuffle that some threads do not reach, an access out of bounds, a value that nothing wrote,
a data race. Parameters are the numbers that a launch hands to the device (addresses of memory that `Emulator.allocate` or `share` gave,
sizes, strides), those that tierup-trim-kernels left.

This is an aid to find wrong lowering. It is no test of a kernel on a device: what NVVM, LLVM's back end and the hardware make of these
ops is not looked at, nor how fast it is.
"""

from __future__ import annotations

import itertools
import linecache
import traceback
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from emulated_kernels import Kernel, kernels
from emulated_memory import Dynamic, Fault, Memory, View, contiguous

from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.cuda.targets import MOST_SHARED
from tierup.lowering.cuda.transforms.trim_kernels import PARAMETERS

WARP = 32
_ALIGNMENT = 256
_GAP = 4096  # bytes between pieces of memory: an address beyond one belongs to none

Size3 = tuple[int, int, int]
Thread = Generator[Any, Any, None]


class Emulator:
    """The device: its memory by address, and the kernels of one program. Not thread-safe."""

    def __init__(self, kernels_text: str, nvvm_text: str) -> None:
        with thread_context(), ir.Location.unknown():
            self.kernels = kernels(ir.Module.parse(kernels_text))
            self._parameters: dict[str, list[int]] = {}
            lowered = ir.Module.parse(nvvm_text)
            for op in b.walk(lowered.operation):
                if op.name == "llvm.func" and PARAMETERS in op.attributes:
                    self._parameters[ir.StringAttr(op.attributes["sym_name"]).value] = list(ir.DenseI64ArrayAttr(op.attributes[PARAMETERS]))
        self._starts: list[int] = []
        self._pieces: list[Memory] = []
        self._end = _ALIGNMENT
        self.launches: list[str] = []

    def allocate(self, what: str, dtype: str, count: int) -> int:
        """The address of fresh memory, poisoned."""
        return self.share(Memory.fresh(what, count, dtype))

    def share(self, memory: Memory) -> int:
        """The address under which kernels find a piece of memory."""
        address = self._end
        self._starts.append(address)
        self._pieces.append(memory)
        self._end += (memory.data.nbytes + _GAP + _ALIGNMENT - 1) // _ALIGNMENT * _ALIGNMENT
        return address

    def memory(self, address: int) -> tuple[Memory, int]:
        """What lies at an address: the piece of memory, and which of its elements."""
        found = bisect_right(self._starts, address) - 1
        if found < 0:
            raise Fault(f"no memory has the address {address}")
        piece = self._pieces[found]
        return piece, (address - self._starts[found]) // piece.data.itemsize

    def launch(self, name: str, grid: Size3, block: Size3, shared_bytes: int, parameters: Sequence[Any]) -> None:
        """Run a kernel. Raises Fault."""
        kernel = self.kernels[name]
        limits = ((2**31 - 1, 65535, 65535), (1024, 1024, 64))  # CUDA C Programming Guide, technical specifications
        for sizes, most, what in zip((grid, block), limits, ("grid", "block"), strict=True):
            if any(not 0 < size <= limit for size, limit in zip(sizes, most, strict=True)):
                raise Fault(f"{name}: a {what} of {sizes}")
        if shared_bytes > MOST_SHARED:
            raise Fault(f"{name}: {shared_bytes} bytes of shared memory")
        if np.prod(block) > 1024:
            raise Fault(f"{name}: a block of {np.prod(block)} threads")
        self.launches.append(name)
        given = self._arguments(kernel, parameters)
        memories = list({id(v.memory): v.memory for v in given if isinstance(v, View)}.values())
        try:
            with np.errstate(all="ignore"):
                for z, y, x in itertools.product(*(range(n) for n in reversed(grid))):
                    shared = [View(Memory.fresh(what, int(np.prod(s)), t, is_shared=True), 0, s, contiguous(s)) for what, s, t in kernel.shared]
                    dynamic = Dynamic(shared_bytes)
                    used = [*memories, *(v.memory for v in shared)]
                    _run_block(kernel, [*given, *shared], (x, y, z), grid, block, dynamic, used)
                    for memory in used:
                        memory.end_block()
        except Fault as e:
            raise Fault(f"{name}: {e}{_place(e, kernel)}") from e
        finally:
            for memory in memories:
                memory.end_launch()

    def _arguments(self, kernel: Kernel, parameters: Sequence[Any]) -> list[Any]:
        given = dict(zip(self._parameters[kernel.name], parameters, strict=True))
        arguments: list[Any] = []
        place = 0
        for i, type_ in enumerate(kernel.parameters):
            if type_.rank is None:
                arguments.append(_number(given.get(place), type_.element))
                place += 1
                continue
            address, offset = given.get(place + 1), given.get(place + 2, type_.offset)
            fields = [given.get(place + 3 + j) for j in range(2 * type_.rank)]
            sizes = [s if s is not None else f for s, f in zip(type_.sizes, fields[: type_.rank], strict=True)]
            guessed = contiguous(sizes) if type_.strides is None else type_.strides
            strides = [f if f is not None else s for s, f in zip(guessed, fields[type_.rank :], strict=True)]
            place += 3 + 2 * type_.rank
            if address is None:  # the kernel does not touch it
                arguments.append(View(Memory.fresh(f"parameter {i}", 0, type_.element), 0, sizes, strides))
                continue
            memory, start = self.memory(address)
            arguments.append(View(memory, start + (offset or 0), sizes, strides))
        return arguments


def _number(value: Any, type_: str) -> Any:
    return value if value is None or type_.startswith("i") else {"f32": np.float32, "f64": np.float64, "f16": np.float16}[type_](value)


def _run_block(
    kernel: Kernel, given: list[Any], number: Size3, grid: Size3, block: Size3, dynamic: Dynamic, memories: list[Memory]
) -> None:
    threads: list[Thread] = []
    for z, y, x in itertools.product(*(range(n) for n in reversed(block))):
        threads.append(kernel.function(len(threads), (x, y, z), number, block, grid, dynamic, *given))
    warps = [range(i, min(i + WARP, len(threads))) for i in range(0, len(threads), WARP)]
    while True:
        met = [event for warp in warps for event in _run_warp(threads, warp)]
        if all(event is None for event in met):
            return
        if len(set(met)) > 1:
            absent = next(i for i, event in enumerate(met) if event != met[0])
            raise Fault(f"barrier: thread 0 is at {_said(met[0])}, thread {absent} at {_said(met[absent])}")
        for memory in (*memories, *dynamic.pieces.values()):
            memory.barrier()


def _run_warp(threads: list[Thread], warp: range) -> list[Any]:
    """Run a warp's threads to where each waits for its block or has ended: the barrier, or None."""
    answers: list[Any] = [None] * len(warp)
    while True:
        events = []
        for lane, answer in zip(warp, answers, strict=True):
            try:
                events.append(threads[lane].send(answer))
            except StopIteration:
                events.append(None)
        exchanging = [isinstance(event, tuple) for event in events]
        if not any(exchanging):
            return events
        places = {event[0] if isinstance(event, tuple) else event for event in events}
        if len(places) > 1 or len(events) < WARP:
            raise Fault(f"a warp of {len(events)} threads does not come to {_said(next(e for e in events if isinstance(e, tuple))[0])} as a whole")
        function: Callable[[list[Any]], list[Any]] = events[0][1]
        answers = function([event[2] for event in events])


def _said(event: Any) -> str:
    return "its end" if event is None else str(event)


def _place(fault: Fault, kernel: Kernel) -> str:
    """The op that a thread was at."""
    for frame in reversed(traceback.extract_tb(fault.__traceback__)):
        if frame.filename == kernel.file:
            return f"\n  at {linecache.getline(kernel.file, frame.lineno or 0).strip()}"
    return ""
