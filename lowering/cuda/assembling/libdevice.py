"""Where NVIDIA's libdevice is: math functions as LLVM bitcode. linking.py makes them part of kernels. Free of MLIR and LLVM."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tierup.lowering.cuda.assembling import toolkit

_FILE = "nvvm/libdevice/libdevice.10.bc"
MISSING = (
    f"needs NVIDIA's libdevice, which is not found, or the option libraries is off: {_FILE} of CUDA's toolkit, by CUDA_HOME, or of a wheel"
)


def find() -> Path | None:
    """The bitcode; None where it is not installed."""
    return next(iter(toolkit.find(_FILE)), None)


def digest(path: Path | None) -> str:
    """What code depends on that may be linked with it; "" without."""
    if path is None:
        return ""
    about = path.stat()
    return _digest(path, about.st_mtime_ns, about.st_size)


@cache
def _digest(path: Path, changed: int, size: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
