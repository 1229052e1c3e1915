"""Python classes whose instances CPython calls through the dispatcher: a given pure-Python class plus vectorcall.

    class Function: ...                                # __slots__ or __dict__, methods, __call__ and __get__ in Python
    NativeFunction = make_function_type(Function)      # the same, but a call goes straight to generated code
    f = NativeFunction(...); attach(f, table)

An instance without a table, and whoever calls `__call__` by name, runs the base's `__call__`. Making a class needs no generated code.
"""

from __future__ import annotations

import ctypes
from typing import Any

from tierup.lowering.entry.records import FUNCTION_RECORD, FUNCTION_SIZE, FUNCTION_TABLE, FUNCTION_VECTORCALL

_TPFLAGS = (1 << 9) | (1 << 10) | (1 << 11)  # Py_TPFLAGS_DEFAULT's parts that matter: HEAPTYPE, BASETYPE, HAVE_VECTORCALL
_METHOD_DESCRIPTOR = 1 << 17  # obj.f(x) calls f(obj, x) without making a bound method
_SLOT_MEMBERS = 72
_T_OBJECT_EX, _T_PYSSIZET, _READONLY = 16, 19, 1


class _Member(ctypes.Structure):  # PyMemberDef
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("offset", ctypes.c_ssize_t), ("flags", ctypes.c_int),
                ("doc", ctypes.c_char_p)]  # fmt: skip


class _Slot(ctypes.Structure):  # PyType_Slot
    _fields_ = [("slot", ctypes.c_int), ("pfunc", ctypes.c_void_p)]


class _Spec(ctypes.Structure):  # PyType_Spec
    _fields_ = [("name", ctypes.c_char_p), ("basicsize", ctypes.c_int), ("itemsize", ctypes.c_int), ("flags", ctypes.c_uint),
                ("slots", ctypes.POINTER(_Slot))]  # fmt: skip


_starts: dict[type, int] = {}  # where our fields begin in instances of these types
_forever: list[object] = []  # what the types made here point to; types are few and live as long as the process


def make_function_type(base: type) -> type:
    """A subclass of `base` whose instances have a table of their own (`attach`).

    The base's `__get__` binds as that of Python functions, and is not asked where a method is called at once. Instances keep the base's
    `__dict__`, slots, weak references and garbage collection. Raises TypeError for a base whose instances vary in size.
    """
    if base.__itemsize__:
        raise TypeError(f"{base.__name__} has instances of varying size")
    start = base.__basicsize__
    members = (_Member * 3)(
        _Member(b"__vectorcalloffset__", _T_PYSSIZET, start + FUNCTION_VECTORCALL, _READONLY, None),
        # CPython visits and clears such a member itself when it collects garbage
        _Member(b"__native_table__", _T_OBJECT_EX, start + FUNCTION_TABLE, 0, None),
    )
    table = (_Slot * 2)(_Slot(_SLOT_MEMBERS, ctypes.addressof(members)))
    name = f"{base.__module__}.{base.__qualname__}".encode()
    spec = _Spec(name, start + FUNCTION_SIZE, 0, _TPFLAGS | _METHOD_DESCRIPTOR, table)
    _forever.extend((members, table, spec, name))
    make = ctypes.pythonapi.PyType_FromSpecWithBases
    make.restype, make.argtypes = ctypes.py_object, [ctypes.POINTER(_Spec), ctypes.py_object]
    made: type = make(ctypes.byref(spec), (base,))
    made.__doc__ = base.__doc__
    _starts[made] = start
    return made


def attach(function: Any, table: Any, record: int, dispatch: int) -> None:
    """Let calls of `function` run `table`, whose Table structure stands at address `record`; the function owns the table. `dispatch`: of
    generated code; 0: calls go to the base's `__call__`.

    Raises TypeError when the function's class does not descend from one that `make_function_type` made.
    """
    start = next((_starts[t] for t in type(function).__mro__ if t in _starts), None)
    if start is None:
        raise TypeError(f"{type(function).__name__} was not made by make_function_type")
    old = getattr(function, "__native_table__", None)  # must live until its record is out of use
    fields = id(function) + start
    if not dispatch:
        ctypes.c_int64.from_address(fields + FUNCTION_VECTORCALL).value = 0
    function.__native_table__ = table
    ctypes.c_int64.from_address(fields + FUNCTION_RECORD).value = record
    ctypes.c_int64.from_address(fields + FUNCTION_VECTORCALL).value = dispatch
    del old


def detach(function: Any) -> None:
    """Let calls of `function` go to its base's `__call__`."""
    if getattr(function, "__native_table__", None) is not None:
        attach(function, None, 0, 0)
