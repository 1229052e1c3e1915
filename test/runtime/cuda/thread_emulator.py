"""Kernels' LLVM IR on the host, thread by thread: what stands between it and a device is LLVM's last stage, and the device.

    with emulated(api):
        ...      # kernels that are compiled inside run when the stand-in of the driver launches them

The IR is what PTX is emitted from. LLVM compiles it for the host; the threads of a block are Python's threads, which ask Python where they
are, wait for each other at barriers and exchange values at shuffles; blocks run one after the other. It is no test of a kernel on a
device: that threads disturb each other it shows only by chance, and of speed it says nothing.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from fake_driver import FakeDriver, Launched
from llvmlite import binding as llvm

from tierup.lowering.cuda import ptx as ptx_module
from tierup.lowering.cuda.targets import Target

WARP = 32
_SECONDS = 60  # until threads that wait for others give up
_AXES = "xyz"
_C = {
    "void": None, "i1": ctypes.c_bool, "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "float": ctypes.c_float, "double": ctypes.c_double, "ptr": ctypes.c_void_p,
}  # fmt: skip
_DECLARED = re.compile(r"^declare (?:[^@]* )?(?P<result>\S+) @llvm\.nvvm\.(?P<name>[\w.]+)\((?P<parameters>[^)]*)\).*$", re.M)
_KERNEL = re.compile(r"^define ptx_kernel void @(?P<name>[\w$.]+)\((?P<parameters>[^{]*?)\) ?(?:local_unnamed_addr )?(?:#\d+ )?\{", re.M)


@contextmanager
def emulated(api: FakeDriver) -> Iterator[None]:
    """What is emitted as PTX meanwhile runs when `api` is asked to launch it."""
    emit = ptx_module.emit

    def emit_and_keep(text: str, target: Target, **options: Any) -> ptx_module.Emitted:
        made = emit(text, target, **(options | {"want_ir": True}))
        module = EmulatedModule(made.ir)
        for name in module.kernels:
            api.code[name, made.ptx] = module.launch
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ptx_module, "emit", emit_and_keep)
        yield


class EmulatedModule:
    """LLVM IR of kernels, compiled for this machine."""

    def __init__(self, text: str) -> None:
        self._here = threading.local()
        self._failed: list[BaseException] = []
        self._callbacks: list[Any] = []
        self.kernels = {m["name"]: [p.split()[0] for p in _split(m["parameters"])] for m in _KERNEL.finditer(text)}
        self.waits = False  # whether any kernel has barriers or shuffles
        declared = {m["name"]: m for m in _DECLARED.finditer(text)}
        text = re.sub(r"^target (triple|datalayout) = .*$", "", text, flags=re.M)
        text = re.sub(r"^attributes #.*$", "", text, flags=re.M)
        text = re.sub(r"( #\d+)+(?=[ ,\n]|$)", "", text).replace("ptx_kernel ", "")
        for name, found in declared.items():
            symbol = f"emulated_{id(self)}_{name.replace('.', '_')}"
            text = re.sub(rf"@llvm\.nvvm\.{re.escape(name)}(?=\()", f"@{symbol}", text)
            types = [_C[p.split()[0]] for p in _split(found["parameters"])]
            callback = ctypes.CFUNCTYPE(_C[found["result"]], *types)(self._guarded(self._intrinsic(name)))
            self._callbacks.append(callback)
            llvm.add_symbol(symbol, ctypes.cast(callback, ctypes.c_void_p).value)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        module = llvm.parse_assembly(text)
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def launch(self, launched: Launched) -> None:
        """Run a kernel. Raises what goes wrong in a thread."""
        types = [_C[t] for t in self.kernels[launched.kernel]]
        run = ctypes.CFUNCTYPE(None, *types)(self._engine.get_function_address(launched.kernel))
        given = [t.from_buffer_copy(v[: ctypes.sizeof(t)]) for t, v in zip(types, launched.values, strict=True)]
        assert launched.block[0] * launched.block[1] * launched.block[2] <= 1024
        for block in _positions(launched.grid):
            together = _Block(launched, block)
            places = list(_positions(launched.block))
            if self.waits:
                threads = [threading.Thread(target=self._thread, args=(run, given, together, n, place)) for n, place in enumerate(places)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            else:
                for number, place in enumerate(places):
                    self._thread(run, given, together, number, place)
            if self._failed:
                raise self._failed.pop()

    def _thread(self, run: Any, given: list[Any], block: _Block, number: int, place: tuple[int, ...]) -> None:
        self._here.block, self._here.number, self._here.thread = block, number, place
        run(*given)

    def _guarded(self, function: Any) -> Any:
        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except BaseException as e:  # noqa: BLE001 - it cannot pass through the kernel; `launch` raises it
                self._failed.append(e)
                return 0

        return call

    def _intrinsic(self, name: str) -> Any:
        register = re.fullmatch(r"read\.ptx\.sreg\.(tid|ctaid|ntid|nctaid)\.([xyz])", name)
        if register is not None:
            kind, axis = register[1], _AXES.index(register[2])
            return lambda: self._register(kind)[axis]
        if name in ("read.ptx.sreg.laneid", "read.ptx.sreg.tid.linear"):
            return lambda: self._here.number % WARP
        self.waits = True
        if name.startswith(("barrier.cta.sync.aligned.all", "barrier0")):
            return lambda *_: self._here.block.barrier.wait(_SECONDS)
        shuffle = re.fullmatch(r"shfl\.sync\.(bfly|down|up|idx)\.(i32|f32)", name)
        if shuffle is not None:
            return lambda mask, value, offset, clamp: self._here.block.exchange(self._here.number, shuffle[1], value, offset)
        raise NotImplementedError(f"the emulator does not know llvm.nvvm.{name}")

    def _register(self, kind: str) -> tuple[int, ...]:
        here = self._here
        return {"tid": here.thread, "ctaid": here.block.place, "ntid": here.block.sizes, "nctaid": here.block.grid}[kind]


class _Block:
    """The threads of a block that is running."""

    def __init__(self, launched: Launched, place: tuple[int, ...]) -> None:
        self.place, self.sizes, self.grid = place, launched.block, launched.grid
        count = self.sizes[0] * self.sizes[1] * self.sizes[2]
        self.barrier = threading.Barrier(count)
        self._warps = [threading.Barrier(min(WARP, count - start)) for start in range(0, count, WARP)]
        self._values: list[Any] = [None] * count

    def exchange(self, number: int, kind: str, value: Any, offset: int) -> Any:
        """A shuffle: the value of another lane, or the thread's own where there is no such lane."""
        warp, lane = divmod(number, WARP)
        self._values[number] = value
        self._warps[warp].wait(_SECONDS)
        other = {"bfly": lane ^ offset, "down": lane + offset, "up": lane - offset, "idx": offset}[kind]
        at = warp * WARP + other
        found = self._values[at] if 0 <= other < WARP and at < len(self._values) else value
        self._warps[warp].wait(_SECONDS)
        return found


def _positions(sizes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """All (x, y, z), x first."""
    for z in range(sizes[2]):
        for y in range(sizes[1]):
            for x in range(sizes[0]):
                yield x, y, z


def _split(parameters: str) -> list[str]:
    """A parameter list at its commas, but for those in parentheses."""
    return [p.strip() for p in re.split(r",(?![^(]*\))", parameters) if p.strip()]
