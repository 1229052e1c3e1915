"""Telling debuggers of machine code: gdb's JIT interface (https://sourceware.org/gdb/current/onlinedocs/gdb.html/JIT-Interface.html).

A debugger looks in a process's libraries for `__jit_debug_descriptor`, a list of objects in memory, and stops in
`__jit_debug_register_code` to hear that it has changed. We use LLVM's, which is loaded anyway: to find the symbols takes 5 ms and each
object is kept once more, so it is done where a debugger is there when code is loaded, or with `TIERUP_GDB=1`.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import os
from functools import cache
from typing import Any

from tierup.dialect.base import forking
from tierup.lowering.objects import elf

VARIABLE = "TIERUP_GDB"
_REGISTER, _UNREGISTER = 1, 2
_DESCRIPTOR, _CHANGED = "__jit_debug_descriptor", "__jit_debug_register_code"

_log = logging.getLogger("tierup.gdb")
_lock = forking.lock()


class Entry(ctypes.Structure):
    """`struct jit_code_entry`."""


Entry._fields_ = [
    ("next", ctypes.POINTER(Entry)),
    ("previous", ctypes.POINTER(Entry)),
    ("object", ctypes.c_char_p),
    ("size", ctypes.c_uint64),
]


class _Descriptor(ctypes.Structure):
    """`struct jit_descriptor`."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("action", ctypes.c_uint32),
        ("relevant", ctypes.POINTER(Entry)),
        ("first", ctypes.POINTER(Entry)),
    ]


def listen() -> bool:
    """Whether a debugger is to be told: one holds this process now, or the variable asks for it."""
    value = os.environ.get(VARIABLE, "")
    return value == "1" or (value != "0" and _traced())


def _traced() -> bool:
    try:
        with open("/proc/self/status", "rb", buffering=0) as file:
            status = file.read(4096)
    except OSError:  # no /proc: nothing can be told
        return False
    return b"\nTracerPid:\t" in status and b"\nTracerPid:\t0\n" not in status


def register(image: bytes) -> list[Entry]:
    """Tell debuggers of an object that is in memory, with the addresses of its sections in it. What to unregister: nothing where
    they cannot be told."""
    interface = _interface()
    if interface is None:
        return []
    descriptor, changed = interface
    entry = Entry(object=image, size=len(image))
    with _lock:
        entry.next = descriptor.first
        if entry.next:
            entry.next.contents.previous = ctypes.pointer(entry)
        descriptor.first = ctypes.pointer(entry)
        _say(descriptor, changed, entry, _REGISTER)
    return [entry]


def unregister(entry: Entry) -> None:
    """Its code is gone."""
    interface = _interface()
    assert interface is not None
    descriptor, changed = interface
    with _lock:
        if entry.previous:
            entry.previous.contents.next = entry.next
        else:
            descriptor.first = entry.next
        if entry.next:
            entry.next.contents.previous = entry.previous
        _say(descriptor, changed, entry, _UNREGISTER)


def _say(descriptor: _Descriptor, changed: Any, entry: Entry, action: int) -> None:
    descriptor.action, descriptor.relevant = action, ctypes.pointer(entry)
    changed()
    descriptor.action, descriptor.relevant = 0, None


@cache
def _interface() -> tuple[_Descriptor, Any] | None:
    """The list and the function, in LLVM's library. None, said once, where it has them no longer."""
    from llvmlite.binding import ffi  # here: only debuggers need it

    known = "LLVMPY_GetVersionInfo"
    try:
        library = ctypes.CDLL(ffi.lib._name)
        with open(ffi.lib._name, "rb") as file:
            read = elf.Object(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        loaded_at = (ctypes.cast(getattr(library, known), ctypes.c_void_p).value or 0) - read.find(known)
        places = [loaded_at + read.find(name) for name in (_DESCRIPTOR, _CHANGED)]
    except (OSError, ValueError, KeyError, AttributeError) as e:
        _log.warning("debuggers are not told of machine code: %s: %s", type(e).__name__, e)
        return None
    return _Descriptor.from_address(places[0]), ctypes.CFUNCTYPE(None)(places[1])
