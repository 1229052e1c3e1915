"""Where NVIDIA's libraries lie: CUDA's folder, NVIDIA's wheels. Free of MLIR and LLVM.

    find("nvvm/libdevice/libdevice.10.bc")          [Path("/usr/local/cuda/nvvm/libdevice/libdevice.10.bc"), ...]
    find("lib*/libcublas.so.*")                     those of CUDA's folder and of the wheels nvidia-cublas-cu12 and nvidia-cublas
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path


def find(pattern: str) -> list[Path]:
    """The files of this name below CUDA's folders, best first: $CUDA_HOME or $CUDA_PATH, wheels of the environment, where ptxas or nvcc on
    PATH belongs to, the default folder; in a folder the newest version first."""
    found: list[Path] = []
    for folder in _folders():
        found += [path for path in sorted(folder.glob(pattern), key=_version, reverse=True) if path.is_file() and path not in found]
    return found


def _version(path: Path) -> list[int]:
    return [int(part) for part in path.name.split(".") if part.isdigit()]


def _folders() -> Iterator[Path]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if os.environ.get(name):
            yield Path(os.environ[name])
    wheels = importlib.util.find_spec("nvidia")  # a namespace: each wheel has a folder in it, those of CUDA 13 share one
    for place in (wheels.submodule_search_locations if wheels is not None else None) or ():
        yield from sorted((p for p in Path(place).iterdir() if p.is_dir()), reverse=True)
    for tool in ("nvcc", "ptxas"):
        path = shutil.which(tool)
        if path is not None:
            yield Path(path).resolve().parents[1]
    yield Path("/usr/local/cuda")  # NVIDIA's installers' default
