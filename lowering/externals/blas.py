"""OpenBLAS, BLAS and LAPACK, from the scipy-openblas32 wheel: where its functions are, and how many threads it may use.

Free of MLIR and LLVM. The library is loaded when the first program that calls it is.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache

PREFIX = "scipy_"  # of its symbols
CBLAS = f"{PREFIX}cblas_"


@cache
def library() -> ctypes.CDLL:
    """The shared library. Raises ImportError when the wheel is not installed."""
    import scipy_openblas32  # loads 30 MB: only for programs with matrix products or linear algebra

    return ctypes.CDLL(f"{scipy_openblas32.get_lib_dir()}/{scipy_openblas32.get_library(fullname=True)}")


def set_threads(count: int) -> None:
    """Let BLAS use `count` threads. Process-wide: two contended threads made a small product 57 times slower."""
    library().scipy_openblas_set_num_threads(ctypes.c_int(count))


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of the functions of BLAS and LAPACK among `names`; one thread is set before the first is given out."""
    wanted = [name for name in names if name.startswith(PREFIX)]
    if not wanted:
        return {}
    _one_thread()
    return {name: ctypes.cast(getattr(library(), name), ctypes.c_void_p).value or 0 for name in wanted}


@cache
def _one_thread() -> None:
    set_threads(1)
