"""Code for a device on disk, beside that for the CPU (`lowering/objects/cache.py`): the same request and target are compiled once."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable

from tierup.lowering.abi import Request
from tierup.lowering.cuda.artifact import CudaArtifact
from tierup.lowering.objects import cache

_log = logging.getLogger("tierup.cache")


def get(request: Request, target: str) -> CudaArtifact | None:
    """The artifact of an equal request for this target, None when there is none, or none that is whole."""
    payload = cache.read(_name(request, target)) if cache.enabled() else None
    if payload is None:
        return None
    try:
        artifact = pickle.loads(payload)
    except Exception as e:  # noqa: BLE001 - whatever an old or foreign pickle raises
        _log.warning("code for %s cannot be read: %r; it is compiled anew", target, e)
        return None
    return artifact if isinstance(artifact, CudaArtifact) else None


def obtain(request: Request, target: str, keep: Callable[[str, str], None] | None = None) -> tuple[CudaArtifact, bool]:
    """(artifact, whether it came from disk). Raises what `compile` does; `keep` is given the texts of the stages."""
    kept = get(request, target)
    if kept is not None:
        return kept, True
    from tierup.lowering.cuda.compile import compile  # here: loads MLIR

    artifact = compile(request, target, keep=keep)
    cache.write(_name(request, target), pickle.dumps(artifact, protocol=5))
    return artifact, False


def _name(request: Request, target: str) -> str:
    return cache.name_of("device", target, cache.key(request))
