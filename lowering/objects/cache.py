"""Compiled code on disk: the same request on the same machine is compiled once. `store.py` keeps it, `keys.py` says by what it is found.

What is kept says of its program's places (`places.py`) where they were; who finds it is given it with its own.

Free of MLIR: a program whose artifacts are all here runs without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from tierup.lowering.abi import Artifact, Request
from tierup.lowering.objects import encoding, keys, places, store

if TYPE_CHECKING:
    from tierup.lowering.cuda.artifact import CudaArtifact

A = TypeVar("A", "Artifact", "CudaArtifact")


def key(request: Request) -> str:
    """The name of a request's entry."""
    parts = (places.placed(request.ir).text if f.name == "ir" else repr(getattr(request, f.name)) for f in fields(request))
    return keys.name_of("code", keys.environment(), *parts)


def get(request: Request) -> Artifact | None:
    """The artifact of an equal request, None when there is none, or none that may be used."""
    return artifact(key(request), request, Artifact) if store.usable() else None


def put(request: Request, made: Artifact) -> None:
    """Keep an artifact. Where that cannot be it is reported, and nothing else happens."""
    if store.usable():
        keep(key(request), request, made)


def artifact(name: str, request: Request, kind: type[A]) -> A | None:
    """What was kept of a compile under a name, for a request of the same name."""
    found = _read(name, request.ir)
    if found is None:
        return None
    value, old, new = found
    if isinstance(value, kind):
        return places.moved(value, old, new)
    store.report(f"the entry {name} holds no {kind.__name__}; it is compiled anew")
    return None


def keep(name: str, request: Request, made: Artifact | CudaArtifact) -> None:
    store.write(name, encoding.dumps((places.placed(request.ir).places, made)))


def text(name: str, graph: str) -> str | None:
    """What was kept of a text that was made of a graph."""
    found = _read(name, graph)
    if found is None:
        return None
    value, old, new = found
    if isinstance(value, str):
        return places.moved_text(value, old, new)
    store.report(f"the entry {name} holds no text; it is compiled anew")
    return None


def keep_text(name: str, graph: str, made: str) -> None:
    store.write(name, encoding.dumps((places.placed(graph).places, made)))


def _read(name: str, graph: str) -> tuple[object, tuple[places.Place, ...], tuple[places.Place, ...]] | None:
    """(what was kept, its places, those of this graph)."""
    payload = store.read(name)
    if payload is None:
        return None
    new = places.placed(graph).places
    try:
        old, value = encoding.loads(payload)
        if len(old) == len(new):
            return value, old, new
        said = f"it has {len(old)} places, and the program {len(new)}"
    except (TypeError, ValueError) as e:
        said = str(e)
    store.report(f"the entry {name} cannot be read: {said}; it is compiled anew")
    return None


def obtain(request: Request, dump: Callable[[str, str], None] | None = None) -> tuple[Artifact, bool]:
    """(artifact, whether it came from disk): what `compile` gives, kept for the next process. Raises what `compile` does.

    `dump` is given the texts of the stages, see `compile`'s `keep`; code from disk has none.
    """
    kept = get(request)
    if kept is not None:
        return kept, True
    from tierup.lowering.compile import compile  # here: loads MLIR

    made = compile(request, keep=dump)
    put(request, made)
    return made, False
