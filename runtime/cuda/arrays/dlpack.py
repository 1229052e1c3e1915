"""Arrays in and out by DLPack, the protocol by which libraries exchange them without a copy (dmlc/dlpack, dlpack.h, version 0.8).

A capsule named "dltensor" holds a DLManagedTensor; who takes it renames it "used_dltensor" and calls its deleter when it is done.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass

CPU, CUDA = 1, 2  # DLDeviceType
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6  # DLDataTypeCode
_FRESH, _USED = b"dltensor", b"used_dltensor"
_CODES = {"f": _FLOAT, "i": _INT, "u": _UINT, "b": _BOOL}


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Destructor = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, _Destructor)
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.restype, _rename.argtypes = ctypes.c_int, (ctypes.py_object, ctypes.c_char_p)

_exported: dict[int, tuple[object, ...]] = {}  # by the address of the struct: what lives until the deleter is called


@_Deleter  # type: ignore[untyped-decorator]  # a ctypes callback
def _delete(address: int) -> None:
    _exported.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]  # a ctypes callback
def _destroy(capsule: int) -> None:
    """Of a capsule that nobody took."""
    if _valid_at(capsule, _FRESH):
        _exported.pop(_pointer_at(capsule, _FRESH), None)


def export(array: Any, device: tuple[int, int]) -> object:
    """A capsule of an array: anything with `address`, `dtype`, `shape`, `strides`. It lives as long as the consumer wants it."""
    rank = len(array.shape)
    shape = (ctypes.c_int64 * max(rank, 1))(*array.shape)
    strides = (ctypes.c_int64 * max(rank, 1))(*[s // array.dtype.itemsize for s in array.strides])
    code = _BFLOAT if array.dtype == dtypes.bf16.numpy else _CODES[array.dtype.kind]
    tensor = _Tensor(array.address, *device, rank, code, 8 * array.dtype.itemsize, 1, shape, strides, 0)
    managed = _Managed(tensor, None, ctypes.cast(_delete, ctypes.c_void_p))
    at = ctypes.addressof(managed)
    _exported[at] = (array, managed, shape, strides)
    return _new(at, _FRESH, ctypes.cast(_destroy, _Destructor))


@dataclass(eq=False)
class Imported:
    """What a capsule says, and the duty to call its deleter. Strides in bytes."""

    address: int
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    managed: Any

    def __del__(self) -> None:
        if self.managed.deleter:
            _Deleter(self.managed.deleter)(ctypes.addressof(self.managed))


def take(capsule: object) -> Imported:
    """Take over a capsule. Raises TypeError for elements that programs cannot hold, ValueError for a capsule that was taken before."""
    managed = _Managed.from_address(_pointer(capsule, _FRESH))
    tensor = managed.tensor
    dtype = _dtype(tensor)
    _rename(capsule, _USED)
    rank = tensor.ndim
    shape = tuple(tensor.shape[:rank]) if rank else ()
    strides = tuple(s * dtype.itemsize for s in tensor.strides[:rank]) if rank and tensor.strides else None
    return Imported((tensor.data or 0) + tensor.byte_offset, dtype, shape, strides, managed)


def _dtype(tensor: Any) -> np.dtype:
    if tensor.lanes == 1:
        if tensor.code == _BFLOAT and tensor.bits == 16:
            return dtypes.bf16.numpy
        for kind, code in _CODES.items():
            if tensor.code == code:
                found = np.dtype(np.bool_) if code == _BOOL else np.dtype(f"{kind}{tensor.bits // 8}")
                if dtypes.from_numpy(found) is not None:
                    return found
    raise TypeError(f"DLPack elements of code {tensor.code} with {tensor.bits} bits in {tensor.lanes} lanes have no place in programs")
