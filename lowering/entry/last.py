"""Which version the dispatcher ran last in a thread: a number in memory of the thread's own, which generated code writes.

The memory is found through one key of the C library's thread-specific data: exact for any number of threads (a table hashed by thread
would forget), released with the thread, and read with one call that takes about a nanosecond.
"""

from __future__ import annotations

import ctypes
from functools import cache

from tierup.dialect.base import forking

KEY = "tierup_last_version_key"  # the symbol by which generated code finds the key
FRAME_KEY = "tierup_frame_key"  # that of `allocations.py`
_lock = forking.lock()
_key: ctypes.c_uint | None = None


def key() -> ctypes.c_uint:
    """The key, made on the first call in a process. Raises OSError when the C library has none left."""
    global _key
    with _lock:
        if _key is None:
            made, free = ctypes.c_uint(), ctypes.cast(ctypes.pythonapi.free, ctypes.c_void_p)
            if ctypes.pythonapi.pthread_key_create(ctypes.byref(made), free):
                raise OSError("no key for thread-specific data is left")
            _key = made
    return _key


@cache
def frame_key() -> ctypes.c_uint:
    """Another key, for what lies on a thread's stack. Raises OSError."""
    made = ctypes.c_uint()
    if ctypes.pythonapi.pthread_key_create(ctypes.byref(made), None):
        raise OSError("no key for thread-specific data is left")
    return made


@cache
def _functions() -> tuple[ctypes._NamedFuncPointer, ctypes._NamedFuncPointer, ctypes._NamedFuncPointer]:
    python = ctypes.PyDLL(None)  # functions of our own: whoever else declares these through `pythonapi` keeps their types
    get, put, calloc = python.pthread_getspecific, python.pthread_setspecific, python.calloc
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_uint]
    put.restype, put.argtypes = ctypes.c_int, [ctypes.c_uint, ctypes.c_void_p]
    calloc.restype, calloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    return get, put, calloc


def cell() -> ctypes.c_int64:
    """This thread's number: the serial of the version that the dispatcher ran last, 0 for none. Valid as long as the thread lives.
    Raises MemoryError when there is no memory for it."""
    get, put, calloc = _functions()
    address = get(key())
    if address is None:
        address = calloc(1, 8)
        if address is None or put(key(), address):
            raise MemoryError
    return ctypes.c_int64.from_address(address)
