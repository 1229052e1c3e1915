"""From a relocatable object to machine code in memory: one mapping for each object.

    | machine code, constants, stubs, addresses | data |
      read, execute                               read, write

LLVM's RuntimeDyld, which its JITs use unless asked otherwise, maps each section apart and then wants them within 2 GB of each other:
large processes ended in `Assertion isInt<32>(RealOffset)`. Its JITLink maps an object in one piece, too, but, as llvmlite makes it, tells
debuggers nothing, keeps some 9 kB of each library for good, and works under a lock that a forked child may find taken. So objects for
x86-64 are linked here, others by JITLink.

Relocations: System V ABI, AMD64 supplement, 4.4. What lies outside is reached through an address in the mapping, so it may lie anywhere.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import os
import sys
import weakref
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.lowering.objects import debuggers, elf

_PC32, _PLT32, _64, _PC64 = 2, 4, 1, 24
_GOT = (9, 41, 42, 43)  # GOTPCREL and its forms that a linker may relax: where the symbol's address stands
_KNOWN = frozenset((_PC32, _PLT32, _64, _PC64, *_GOT))
_STUB = np.frombuffer(b"\xff\x25\0\0\0\0\x66\x90", np.uint8)  # jmp *0(%rip); a nop
_SLOT = 8
_names = itertools.count()

Array = np.ndarray[Any, np.dtype[Any]]


def link(
    image: bytes, external: Mapping[str, int], exported: Collection[str], shown: Mapping[str, str] | None = None
) -> Linked | LinkedByLLVM:
    """An object as code that can be called: what comes back gives the addresses of the `exported` symbols.

    `external`: addresses of symbols, beside those that this process exports. `shown`: what debuggers are to call its functions. Raises
    RuntimeError for a symbol that is nowhere, ValueError for a damaged object or one that lacks an exported symbol, OSError.
    """
    read = elf.Object(image)
    for name in exported:
        if name not in read.defined:
            raise ValueError(f"the object has no function {name!r}")
    if read.machine != elf.X86_64:
        return LinkedByLLVM(image, external, exported)
    return Linked(read, external, exported, shown or {})


def undefined(image: bytes) -> list[str]:
    """The names of the symbols that an object needs from outside. Raises ValueError for what is none."""
    read = elf.Object(image)
    return [read.name(start) for _, start in _undefined(read)]


class Linked:
    """An object that was linked here. It is in memory until `close`, or until nothing refers to this."""

    def __init__(self, read: elf.Object, external: Mapping[str, int], exported: Collection[str], shown: Mapping[str, str]) -> None:
        plan, told = _planned(read), list[debuggers.Entry]()
        base = _map(plan.size)
        self._close = weakref.finalize(self, _free, base, plan.size, told)  # whatever happens from here on
        self._close.atexit = False
        memory = np.frombuffer(memoryview((ctypes.c_uint8 * plan.size).from_address(base)), np.uint8)
        values = _filled(memory, base, read, plan, external)
        _relocate(memory, base, read, plan, values)
        _executable(base, plan.code)
        self._addresses = {name: int(values[at]) for name, at in read.defined.items() if name in exported}
        if debuggers.listen():
            told += debuggers.register(read.shown(shown, {number: base + offset for number, offset in plan.sections.items()}))

    def __getitem__(self, name: str) -> int:
        return self._addresses[name]

    def close(self) -> None:
        """Free the code. Idempotent."""
        self._close()

    def keep(self) -> None:
        """Never free it."""
        self._close.detach()


class LinkedByLLVM:
    """An object that JITLink linked, in an LLJIT of its own: what LLVM keeps of it goes with that."""

    def __init__(self, image: bytes, external: Mapping[str, int], exported: Collection[str]) -> None:
        from llvmlite import binding as llvm  # here: where objects are linked by ourselves, running code needs no JIT

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()  # llvmlite's JIT parses the data layout with it
        builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
        for name in exported:
            builder.export_symbol(name)
        for name, address in external.items():
            builder.import_symbol(name, address)
        self._jit = llvm.create_lljit_compiler(use_jit_link=True)
        self._tracker = builder.link(self._jit, f"tierup{next(_names)}")

    def __getitem__(self, name: str) -> int:
        return int(self._tracker[name])

    def close(self) -> None:
        """Free the code. Idempotent."""
        self._tracker.close()
        self._jit.close()

    def keep(self) -> None:
        """Never free it."""
        self._tracker.detach()
        self._jit.detach()


@dataclass(frozen=True)
class _Plan:
    """Where things go, in bytes from the beginning of the mapping."""

    sections: dict[int, int]  # those that are in memory, by their numbers
    outside: dict[int, str]  # symbols that lie outside: number and name
    stubs: dict[int, int]  # for each of these, a jump to it
    slots: dict[int, int]  # for each of these, and for what code reads from such a place, its address
    code: int  # bytes that are executed or read; data that is written follows
    size: int


def _planned(read: elf.Object) -> _Plan:
    outside = {at: read.name(start) for at, start in _undefined(read)}
    through_slots = {at for _, found in read.relocations for at in found["symbol"][_reads_slot(found["kind"])].tolist()}
    sections: dict[int, int] = {}

    def place(at: int, written: bool) -> int:
        for number, section in enumerate(read.sections):
            if section.flags & elf.ALLOC and bool(section.flags & elf.WRITE) is written:  # empty ones, too: symbols may be in them
                at = sections[number] = _aligned(at, max(section.alignment, 1))
                at += section.size
        return at

    at = _aligned(place(0, False), 16)
    stubs = {symbol: at + len(_STUB) * i for i, symbol in enumerate(outside)}
    at += len(_STUB) * len(stubs)
    slots = {symbol: at + _SLOT * i for i, symbol in enumerate(sorted(through_slots | set(outside)))}
    code = _aligned(at + _SLOT * len(slots), mmap.PAGESIZE)
    size = _aligned(place(code, True), mmap.PAGESIZE)
    if size >= 1 << 31:
        raise ValueError("an object of 2 GB or more")
    return _Plan(sections, outside, stubs, slots, code, size)


def _undefined(read: elf.Object) -> list[tuple[int, int]]:
    at = np.flatnonzero((read.symbols["section"] == 0) & (read.symbols["name"] > 0))
    return list(zip(at.tolist(), read.symbols["name"][at].tolist(), strict=True))


def _filled(memory: Array, base: int, read: elf.Object, plan: _Plan, external: Mapping[str, int]) -> Array:
    """Write all but what relocations write; the addresses of the symbols."""
    bases = np.zeros(1 << 16, np.int64)  # by the number of the section, also of those that are none
    for number, offset in plan.sections.items():
        bases[number], section = base + offset, read.sections[number]
        if section.kind != elf.NOBITS:
            memory[offset : offset + section.size] = np.frombuffer(read.image, np.uint8, section.size, section.offset)
    values: Array = bases[read.symbols["section"]] + read.symbols["value"].astype(np.int64)
    for at, name in plan.outside.items():
        values[at] = external.get(name) or _exported_here(name)
    if plan.slots:
        _write(memory, np.array(list(plan.slots.values())), values[list(plan.slots)], 8)
    for at, offset in plan.stubs.items():
        memory[offset : offset + len(_STUB)] = _STUB
        memory[offset + 2 : offset + 6].view("<i4")[:] = plan.slots[at] - (offset + 6)
    return values


def _reads_slot(kinds: Array) -> Array:
    """Which relocations are for the place where the symbol's address stands."""
    found: Array = (kinds == _GOT[0]) | ((kinds >= _GOT[1]) & (kinds <= _GOT[-1]))
    return found


def _relocate(memory: Array, base: int, read: elf.Object, plan: _Plan, values: Array) -> None:
    """Do what the relocations say. Raises ValueError for a kind that is not known here."""
    stubs, slots = values.copy(), values.copy()
    for places, offsets in ((stubs, plan.stubs), (slots, plan.slots)):
        places[list(offsets)] = [base + offset for offset in offsets.values()]
    for section, every in read.relocations:
        for kind in set(every["kind"].tolist()):
            if kind not in _KNOWN:
                raise ValueError(f"the object has a relocation of kind {kind}, which is not known here")
            places = slots if kind in _GOT else stubs if kind == _PLT32 else values
            _apply(memory, base, plan.sections[section], read.sections[section].size, kind, every[every["kind"] == kind], places)


def _apply(memory: Array, base: int, start: int, length: int, kind: int, some: Array, places: Array) -> None:
    """Relocations of one kind in the section at `start`."""
    width = 8 if kind in (_64, _PC64) else 4
    if (some["offset"] > length - width).any():
        raise ValueError("a damaged ELF object: a relocation beyond its section")
    at = start + some["offset"].astype(np.int64)
    target = places[some["symbol"]] + some["addend"]
    if kind != _64:
        target = target - (base + at)
    if width == 4 and (target != target.astype(np.int32)).any():
        raise ValueError("the object reads what lies outside as if it lay near")
    _write(memory, at, target, width)


def _write(memory: Array, at: Array, values: Array, width: int) -> None:
    memory[at[:, None] + np.arange(width)] = values.astype("<i8").view(np.uint8).reshape(-1, 8)[:, :width]


def _aligned(at: int, to: int) -> int:
    return -(-at // to) * to


@cache
def _exported_here(name: str) -> int:
    """The address of what this process exports, which it does until it ends."""
    try:
        return ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value or 0
    except AttributeError:
        raise RuntimeError(f"there is no symbol {name!r} in this process") from None


@cache
def _system() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype, library.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    library.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    return library


def _map(size: int) -> int:
    address: int = _system().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"no memory for code: {os.strerror(ctypes.get_errno())}")
    return address


def _executable(address: int, size: int) -> None:
    if size and _system().mprotect(address, size, mmap.PROT_READ | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), f"code cannot be made executable: {os.strerror(ctypes.get_errno())}")


def _free(address: int, size: int, told: list[debuggers.Entry], finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
    for entry in told:
        debuggers.unregister(entry)
    if not finalizing():  # a thread may be in it until the process ends
        _system().munmap(address, size)
