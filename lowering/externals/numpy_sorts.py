"""NumPy's own loops that sort, and that multiply two vectors: where equal elements go, -0.0 among 0.0, is what its algorithms make of them
on this CPU, and so is how a product is rounded.

    int tierup_numpy_sort_float64_0(void *start, intptr_t n, NULL)
    int tierup_numpy_argsort_float64_2(void *start, intptr_t *indices, intptr_t n, NULL)
    void tierup_numpy_dot_float64_0(void *a, intptr_t step, void *b, intptr_t step, void *result, intptr_t n, NULL)

to which kernels give addresses as ints. The number is NumPy's of the kind: 0 the default, 2 stable. They are in the table of a dtype
(PyArray_ArrFuncs, numpy/ndarraytypes.h), which NumPy's C API gives; those of numbers ask for no array, and not for the GIL. They give -1
where they get no memory.

NumPy's partitions stand in no table. Kernels call them through the C API, with arrays over their memory, and so under the GIL:
tierup_numpy_PyArray_Partition and so on are NumPy's functions and Python's of these names.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache

import numpy as np

PREFIX = "tierup_numpy_"
DEFAULT, STABLE = 0, 2
_ABI, _GET_ARR_FUNCS = 0, 365  # entries of NumPy's C API (numpy/__multiarray_api.h)
_OF_API = {"PyArray_Type": 2, "PyArray_New": 93, "PyArray_Partition": 296}
_FIRST = {"dot": 27, "sort": 33, "argsort": 36}  # after 21 casts and, of the sorts, 12 functions


def symbol(name: str, dtype: np.dtype, kind: int) -> str:
    """What kernels call "sort", "argsort" or "dot" of a dtype."""
    return f"{PREFIX}{name}_{dtype.name}_{kind}"


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of those of the loops that are among `names`. RuntimeError where NumPy's tables lie otherwise, or lack one."""
    ours = {name: name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX)}
    return {name: _of_api(of) if of.startswith("Py") else _address(*of.split("_")) for name, of in ours.items()}


def _of_api(name: str) -> int:
    """The address of a function or type of NumPy's C API, or of a function of Python's."""
    found = _api()[_OF_API[name]] if name in _OF_API else ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    return found or 0


@cache
def _address(name: str, dtype: str, kind: str) -> int:
    get = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(_api()[_GET_ARR_FUNCS] or 0)
    table = (ctypes.c_void_p * 39).from_address(get(np.dtype(dtype)))
    address = table[_FIRST[name] + int(kind)]
    if address is None:
        raise RuntimeError(f"this NumPy has no {name} of {dtype} in the table of its loops")
    return address


@cache
def _api() -> ctypes.Array[ctypes.c_void_p]:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]  # private
    found = (ctypes.c_void_p * (_GET_ARR_FUNCS + 1)).from_address(pointer(functions, None))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(found[_ABI] or 0)() >> 24
    if version != 2:
        raise RuntimeError(f"NumPy's C API is of version {version}, and 2 is expected")
    return found
