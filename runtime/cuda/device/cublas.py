"""NVIDIA's cuBLAS, as far as products need it: one handle on the device's stream, one function.

    library = open_cublas(driver, allocate)         raises NoLibrary
    library.multiply(gemm, addresses)

Names, types and numbers are those of NVIDIA, "cuBLAS Library" (13.0): cublasGemmStridedBatchedEx and "Data types used with cuBLAS". Sums
are f32 for halves and singles, f64 for doubles; singles are not rounded to TF32 unless a product allows it (CUBLAS_DEFAULT_MATH keeps
the asked precision since cuBLAS 11), and partial sums keep the width of sums. The workspace is ours: with it calls may be recorded
into graphs, and the library allocates nothing ("CUDA Graphs Support"); setting the stream takes it away, so both are set together.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tierup.lowering.artifacts.host_steps import ADDS, TF32
from tierup.lowering.cuda.assembling import toolkit
from tierup.runtime.cuda.device.driver import Driver
from tierup.runtime.cuda.errors import DriverError
from tierup.runtime.cuda.host import elements
from tierup.runtime.cuda.host.gemm import Gemm, Matrix

VERSIONS = (13, 12, 11)  # that have all of the functions; a driver loads those that are not newer than itself
_TYPES = {"f32": 0, "f64": 1, "f16": 2, "bf16": 14}  # cudaDataType_t
_COMPUTE_32F, _COMPUTE_64F, _COMPUTE_32F_FAST_TF32 = 68, 70, 77  # cublasComputeType_t
_DEFAULT_ALGORITHM = -1
_MATH = 0 | 16  # CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
_POINTERS_ON_HOST = 0
_WORKSPACE, _WORKSPACE_HOPPER, _HOPPER = 4 << 20, 32 << 20, 9  # bytes, as "cublasSetWorkspace" recommends
_HAVE_TF32 = (8, 0)  # compute capability
_pointer, _int, _long = ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong
_MATRIX = (_pointer, _int, _int, _long)
_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cublasCreate_v2": (ctypes.POINTER(_pointer),),
    "cublasGetVersion_v2": (_pointer, ctypes.POINTER(_int)),
    "cublasSetStream_v2": (_pointer, _pointer),
    "cublasSetWorkspace_v2": (_pointer, _pointer, ctypes.c_size_t),
    "cublasSetPointerMode_v2": (_pointer, _int),
    "cublasSetMathMode": (_pointer, _int),
    "cublasGemmStridedBatchedEx": (
        _pointer, _int, _int, _int, _int, _int, _pointer, *_MATRIX, *_MATRIX, _pointer, *_MATRIX, _int, _int, _int,
    ),
}  # fmt: skip
_STATUS = {
    1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 11: "MAPPING_ERROR", 13: "EXECUTION_FAILED",
    14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED", 16: "LICENSE_ERROR",
}  # fmt: skip


class NoLibrary(Exception):
    """cuBLAS cannot be used. `installed`: it is there, so something is wrong with it."""

    def __init__(self, message: str, *, installed: bool) -> None:
        super().__init__(message)
        self.installed = installed


def load(path: str) -> Any:
    """A shared library. Raises OSError. The seam at which tests put in theirs."""
    return ctypes.CDLL(path)


def open_cublas(driver: Driver, allocate: Callable[[int], int]) -> Cublas:
    """The first version that can be used: one that the process has loaded or the loader finds, then those of toolkit.py. Raises NoLibrary.
    `allocate` gives memory of the device."""
    failed: list[str] = []
    for path in _candidates(driver.version // 1000):
        try:
            library = load(path)
        except OSError as e:
            if "/" in path:  # it is there: what it needs is not
                failed.append(f"{path}: {e}")
            continue
        try:
            return Cublas(library, path, driver, allocate)
        except (DriverError, MemoryError, AttributeError) as e:
            failed.append(f"{path}: {e}")
    if failed:
        raise NoLibrary("; ".join(dict.fromkeys(failed)), installed=True)
    raise NoLibrary("cuBLAS is not installed", installed=False)


def _candidates(driver_major: int) -> Iterator[str]:
    fitting = [version for version in VERSIONS if version <= driver_major]
    yield from (f"libcublas.so.{version}" for version in fitting)
    for version in fitting:
        yield from map(str, toolkit.find(f"lib*/libcublas.so.{version}"))


class Cublas:
    """Raises DriverError with the name of the library's status. To be used under the device's lock."""

    def __init__(self, library: Any, path: str, driver: Driver, allocate: Callable[[int], int]) -> None:
        self._functions = {name: _function(library, name, types) for name, types in _SIGNATURES.items()}
        self._driver, self.path = driver, path
        handle = _pointer()
        self._call("cublasCreate_v2", ctypes.byref(handle))
        self._handle = handle
        found = _int()
        self._call("cublasGetVersion_v2", handle, ctypes.byref(found))
        self.version = found.value
        self._call("cublasSetPointerMode_v2", handle, _POINTERS_ON_HOST)
        self._call("cublasSetMathMode", handle, _MATH)
        self._bytes = _WORKSPACE_HOPPER if driver.capability[0] >= _HOPPER else _WORKSPACE
        self._workspace = allocate(self._bytes)
        self._stream = 0

    def multiply(self, gemm: Gemm, addresses: Sequence[int], flags: Sequence[str] = ()) -> None:
        """Put a product on the driver's stream, or into what it records. `addresses`: of x, y and the result."""
        self._follow(self._driver.target)
        kind, held = gemm.types
        scalar = ctypes.c_double if kind == "f64" else ctypes.c_float
        tf32 = TF32 in flags and kind == "f32" and self._driver.capability >= _HAVE_TF32
        compute = _COMPUTE_64F if kind == "f64" else _COMPUTE_32F_FAST_TF32 if tf32 else _COMPUTE_32F
        alpha, beta = scalar(1), scalar(1 if ADDS in flags else 0)

        def of(matrix: Matrix, dtype: str) -> tuple[int, int, int, int]:
            return addresses[matrix.operand] + matrix.start * elements.size(dtype), _TYPES[dtype], matrix.leading, matrix.page

        self._call(
            "cublasGemmStridedBatchedEx", self._handle, int(gemm.a.transposed), int(gemm.b.transposed), gemm.m, gemm.n, gemm.k,
            ctypes.addressof(alpha), *of(gemm.a, kind), *of(gemm.b, kind), ctypes.addressof(beta), *of(gemm.c, held), gemm.batch,
            compute, _DEFAULT_ALGORITHM,
        )  # fmt: skip

    def _follow(self, stream: int) -> None:
        if stream != self._stream:
            self._call("cublasSetStream_v2", self._handle, stream)
            self._call("cublasSetWorkspace_v2", self._handle, self._workspace, self._bytes)
            self._stream = stream

    def _call(self, name: str, *arguments: Any) -> None:
        status = self._functions[name](*arguments)
        if status:
            found = f"CUBLAS_STATUS_{_STATUS[status]}" if status in _STATUS else f"status {status}"
            raise DriverError(found, f"{name}: {found}")

    def __repr__(self) -> str:
        return f"cuBLAS {self.version // 10000}.{self.version // 100 % 100}.{self.version % 100}"


def _function(library: Any, name: str, types: Sequence[Any]) -> Any:
    found = getattr(library, name)
    found.argtypes, found.restype = list(types), _int
    return found
