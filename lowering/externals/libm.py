"""The C library's functions of floats, those that Python's `math` calls (dialect/ops/scalars/libm.py).

    double tierup_libm_sin(double)

is `sin` of the library that this process has: with its bits, on this CPU.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from functools import cache

PREFIX = "tierup_libm_"


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of the functions among `names`. RuntimeError for one that the library does not have."""
    return {name: _address(name.removeprefix(PREFIX)) for name in names if name.startswith(PREFIX)}


@cache
def _address(name: str) -> int:
    for library in (None, "libm.so.6"):  # Python's own may be in the interpreter
        try:
            return ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value or 0
        except (AttributeError, OSError):
            continue
    raise RuntimeError(f"the C library has no {name}")
