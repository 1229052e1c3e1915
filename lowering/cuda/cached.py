"""Code for a device on disk, beside that for the CPU (`lowering/objects/cache.py`): the same request and target are compiled once."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from pathlib import Path

from tierup.lowering.abi import Request
from tierup.lowering.cuda.artifact import CudaArtifact
from tierup.lowering.cuda.assembling import libdevice
from tierup.lowering.objects import cache

_log = logging.getLogger("tierup.cache")


def get(request: Request, target: str, *, libraries: bool = True) -> CudaArtifact | None:
    """The artifact of an equal request for this target, None when there is none, or none that is whole. `libraries`: whether it may be
    linked with NVIDIA's libdevice, where that is installed: code with it, and with another one, is other code."""
    return _read(_name(request, target, libdevice.find() if libraries else None), target)


def _read(name: str, target: str) -> CudaArtifact | None:
    payload = cache.read(name) if cache.enabled() else None
    if payload is None:
        return None
    try:
        artifact = pickle.loads(payload)
    except Exception as e:  # noqa: BLE001 - whatever an old or foreign pickle raises
        _log.warning("code for %s cannot be read: %r; it is compiled anew", target, e)
        return None
    return artifact if isinstance(artifact, CudaArtifact) else None


def obtain(
    request: Request, target: str, keep: Callable[[str, str], None] | None = None, *, libraries: bool = True
) -> tuple[CudaArtifact, bool]:
    """(artifact, whether it came from disk). Raises what `compile` does; `keep` is given the texts of the stages."""
    library = libdevice.find() if libraries else None
    name = _name(request, target, library)
    kept = _read(name, target)
    if kept is not None:
        return kept, True
    from tierup.lowering.cuda.compile import compile  # here: loads MLIR

    artifact = compile(request, target, keep=keep, library=library)
    cache.write(name, pickle.dumps(artifact, protocol=5))
    return artifact, False


def _name(request: Request, target: str, library: Path | None) -> str:
    return cache.name_of("device", target, libdevice.digest(library), cache.key(request))
