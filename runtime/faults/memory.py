"""NumPy's memory that runs out when a test asks for it.

NumPy takes the memory of arrays from a handler that belongs to the context (NEP 49, "Data allocation strategies";
numpy.org/devdocs/reference/c-api/data_memory.html). Ours is NumPy's own, but for `malloc` and `calloc`, which ask first. So an array that
outlives the block is freed by NumPy's code alone.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import numpy as np

# in NumPy's table of its C interface (numpy/_core/code_generators/numpy_api.py): a function, and a variable that holds a capsule
_SET_HANDLER, _DEFAULT_HANDLER = 304, 306
_NAME = b"mem_handler"

_Malloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_Calloc = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)


class _Handler(ctypes.Structure):
    """PyDataMem_Handler of numpy/ndarraytypes.h."""

    _fields_ = [
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("ctx", ctypes.c_void_p),
        ("malloc", ctypes.c_void_p),
        ("calloc", ctypes.c_void_p),
        ("realloc", ctypes.c_void_p),
        ("free", ctypes.c_void_p),
    ]


class _Counting:
    """Memory that is asked for in a call. `fails(number)`: whether the number-th is refused."""

    def __init__(self, fails: Callable[[int], bool]) -> None:
        self._fails = fails
        self._asked = 0

    def refused(self) -> bool:
        self._asked += 1
        return self._fails(self._asked - 1)


_counting: ContextVar[_Counting | None] = ContextVar("tierup_allocations", default=None)


def _refused() -> bool:
    counting = _counting.get()
    return counting is not None and counting.refused()


@cache
def _set_handler() -> Callable[[Any], Any]:
    return ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(_of_numpy(_SET_HANDLER))


def _of_numpy(index: int) -> int:
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]  # NumPy's stubs leave it out

    table = _pointer_in(_multiarray_umath._ARRAY_API, None)
    return int(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[index] or 0)


def _pointer_in(capsule: object, name: bytes | None) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name))


@cache
def _handler() -> tuple[object, object]:
    """A capsule with the handler, and what it refers to. Made once and never freed: arrays keep the handler that they came from."""
    default = ctypes.py_object.from_address(_of_numpy(_DEFAULT_HANDLER)).value
    theirs = _Handler.from_address(_pointer_in(default, _NAME))
    their_malloc, their_calloc = _Malloc(theirs.malloc), _Calloc(theirs.calloc)
    malloc = _Malloc(lambda ctx, size: None if _refused() else their_malloc(ctx, size))
    calloc = _Calloc(lambda ctx, count, size: None if _refused() else their_calloc(ctx, count, size))
    made = _Handler.from_buffer_copy(theirs)
    made.name = b"tierup.testing"
    made.malloc, made.calloc = ctypes.cast(malloc, ctypes.c_void_p), ctypes.cast(calloc, ctypes.c_void_p)
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(made), _NAME, None), (made, malloc, calloc, np)


@contextmanager
def counted(fails: Callable[[int], bool]) -> Iterator[None]:
    """Count the memory that NumPy is asked for in this context; it does not get what `fails(number)`, from 0, says."""
    token = _counting.set(_Counting(fails))
    before = _set_handler()(_handler()[0])
    try:
        yield
    finally:
        _set_handler()(before)
        _counting.reset(token)
