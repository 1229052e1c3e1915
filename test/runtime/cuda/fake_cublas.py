"""A stand-in for libcublas behind the real one's C functions: it checks what it is given as the library's documentation has it (matrices in
columns, leading dimensions, pages), and computes with NumPy. Memory, streams and graphs are those of the stand-in of the driver.

    library = FakeCublas(api)
    monkeypatch.setattr(cublas, "load", library.load)
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from fake_driver import FakeDriver

from tierup.runtime.cuda.device import cublas

_DTYPES = {0: np.dtype("f4"), 1: np.dtype("f8"), 2: np.dtype("f2"), 14: np.dtype(ml_dtypes.bfloat16)}
# compute type -> (type of sums and scalars, types of operands, types of the result): the table of cublasGemmEx
_COMPUTE = {68: ("f4", (0, 2, 14), (0, 2, 14)), 77: ("f4", (0,), (0,)), 70: ("f8", (1,), (1,))}
_INVALID, _NOT_SUPPORTED = 7, 15


@dataclass
class Multiplied:
    """A call. `rows` ...: as the library counts, in columns."""

    rows: int
    columns: int
    depth: int
    batch: int
    transposed: tuple[bool, bool]
    types: tuple[int, int, int]
    compute: int
    beta: float
    recorded: bool


class FakeCublas:
    """`names`: the paths at which it is found. `status`: what a function gives, by name, in the place of what it does."""

    def __init__(self, api: FakeDriver, names: tuple[str, ...] = ("libcublas.so.13",)) -> None:
        self.api, self.names = api, names
        self.multiplied: list[Multiplied] = []
        self.status: dict[str, int] = {}
        self.loaded: list[str] = []
        self.math = self.stream = self.workspace = self.pointers = None
        self._functions: dict[str, Any] = {}
        for name, types in cublas._SIGNATURES.items():
            self._functions[name] = ctypes.CFUNCTYPE(ctypes.c_int, *types)(self._called(name))

    def load(self, path: str) -> Any:
        if path not in self.names:
            raise OSError(f"{path}: cannot open shared object file")
        self.loaded.append(path)
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cublas"):
            return self._functions[name]
        raise AttributeError(name)

    def _called(self, name: str) -> Any:
        def call(*given: Any) -> int:
            if name in self.status:
                return self.status[name]
            assert name == "cublasCreate_v2" or given[0] == 4711, "another handle"
            return getattr(self, "_" + name)(*given) or 0

        return call

    def _cublasCreate_v2(self, handle: Any) -> None:
        handle[0] = 4711

    def _cublasGetVersion_v2(self, handle: int, version: Any) -> None:
        version[0] = 130002

    def _cublasSetStream_v2(self, handle: int, stream: int) -> None:
        self.stream, self.workspace = stream, None  # as documented

    def _cublasSetWorkspace_v2(self, handle: int, address: int, count: int) -> None:
        assert address % 256 == 0 and count >= 4 << 20
        assert any(base <= address and address + count <= base + held for base, (_, held) in self.api._memory.items())
        self.workspace = address

    def _cublasSetPointerMode_v2(self, handle: int, mode: int) -> None:
        self.pointers = mode

    def _cublasSetMathMode(self, handle: int, mode: int) -> None:
        self.math = mode

    def _cublasGemmStridedBatchedEx(self, handle: int, *given: Any) -> int:
        (ta, tb, m, n, k, alpha, a, a_type, lda, a_page, b, b_type, ldb, b_page, beta, c, c_type, ldc, c_page, batch, compute, algorithm) = given
        assert self.math == 16 and self.pointers == 0 and self.workspace, "precision, pointers or workspace are not set"
        assert ta in (0, 1) and tb in (0, 1) and algorithm == -1
        if min(m, n, k, batch) < 0 or lda < max(1, k if ta else m) or ldb < max(1, n if tb else k) or ldc < max(1, m):
            return _INVALID
        if compute not in _COMPUTE or a_type != b_type or a_type not in _COMPUTE[compute][1] or c_type not in _COMPUTE[compute][2]:
            return _NOT_SUPPORTED
        if a_type == 0 and c_type != 0 or c_type in (2, 14) and c_type != a_type:
            return _NOT_SUPPORTED
        sums = np.dtype(_COMPUTE[compute][0])
        scale, keep = (np.frombuffer((ctypes.c_char * sums.itemsize).from_address(p), sums)[0] for p in (alpha, beta))
        assert scale == 1
        recording = self.api._capturing is not None and self.stream == self.api._capturing_on
        self.multiplied.append(Multiplied(m, n, k, batch, (bool(ta), bool(tb)), (a_type, b_type, c_type), compute, float(keep), recording))
        views = [
            _columns(address, _DTYPES[kind], rows, columns, leading, page, batch)
            for address, kind, rows, columns, leading, page in (
                (a, a_type, *((k, m) if ta else (m, k)), lda, a_page), (b, b_type, *((n, k) if tb else (k, n)), ldb, b_page),
                (c, c_type, m, n, ldc, c_page),
            )
        ]  # fmt: skip

        def work() -> None:
            left, right, result = views
            x = np.swapaxes(left, 1, 2) if ta else left
            y = np.swapaxes(right, 1, 2) if tb else right
            total = x.astype(sums) @ y.astype(sums)
            result[...] = total if keep == 0 else total + keep * result

        spans = [(v.__array_interface__["data"][0], sum((s - 1) * t for s, t in zip(v.shape, v.strides)) + v.itemsize) for v in views]
        [error] = self.api._do(work, self.stream, *spans)
        return 13 if error else 0


def _columns(address: int, dtype: np.dtype, rows: int, columns: int, leading: int, page: int, batch: int) -> np.ndarray:
    """The matrices at an address, [batch, rows, columns]."""
    held = (batch - 1) * page + (columns - 1) * leading + rows
    raw = np.frombuffer((ctypes.c_char * (held * dtype.itemsize)).from_address(address), dtype)
    steps = tuple(s * dtype.itemsize for s in (page, 1, leading))
    return np.lib.stride_tricks.as_strided(raw, (batch, rows, columns), steps)
