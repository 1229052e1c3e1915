"""Code for a device on disk, beside that for the CPU (`lowering/artifacts/cache.py`): the same request and target are compiled once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tierup.lowering.artifacts import cache
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.artifacts.places import Placed, placed
from tierup.lowering.base.abi import Request
from tierup.lowering.cuda.assembling import libdevice
from tierup.lowering.objects import store
from tierup.lowering.objects.keys import Key, Part

if TYPE_CHECKING:
    from tierup.lowering.compiling.driver import Keep


def get(request: Request, target: str, *, libraries: bool = True) -> CudaArtifact | None:
    """The artifact of an equal request for this target, None when there is none, or none that may be used. `libraries`: whether it may be
    linked with NVIDIA's libdevice, where that is installed: code with it, and with another one, is other code."""
    return _read(request, target, libdevice.find() if libraries else None)


def _read(request: Request, target: str, library: Path | None) -> CudaArtifact | None:
    if not store.usable():
        return None
    where = placed(request.ir)
    return cache.kept(_key(request, where, target, library), where, CudaArtifact)


def obtain(
    request: Request, target: str, keep: Keep | None = None, *, libraries: bool = True, cached: bool = True
) -> tuple[CudaArtifact, bool]:
    """(artifact, whether it came from disk). Raises what `compile` does; `keep` is given the texts of the stages. `cached`: whether it may
    come from disk and be kept there."""
    library = libdevice.find() if libraries else None
    kept = _read(request, target, library) if cached else None
    if kept is not None:
        return kept, True
    from tierup.lowering.cuda.compile import compile  # here: loads MLIR

    artifact = compile(request, target, keep=keep, library=library)
    if cached and store.usable():
        where = placed(request.ir)
        cache.keep(_key(request, where, target, library), where, artifact)
    return artifact, False


def _key(request: Request, where: Placed, target: str, library: Path | None) -> Key:
    code = cache.key(request, where)
    return Key("device", code.about, (Part("target", target), Part("libdevice", libdevice.digest(library)), *code.parts))
