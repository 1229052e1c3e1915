"""Compiled code on disk: the same request on the same machine is compiled once. `store.py` keeps it, `keys.py` says by what it is found.

What is kept says of its program's places (`places.py`) where they were; who finds it is given it with its own.

Free of MLIR: a program whose artifacts are all here runs without it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar

from tierup.lowering.abi import Artifact, Request
from tierup.lowering.artifacts import encoding
from tierup.lowering.artifacts.places import Place, Placed, moved, moved_text, placed
from tierup.lowering.objects import keys, store

if TYPE_CHECKING:
    from tierup.lowering.artifacts.gpu import CudaArtifact
    from tierup.lowering.driver import Keep

A = TypeVar("A", "Artifact", "CudaArtifact")


def key(request: Request, where: Placed | None = None) -> str:
    """The name of a request's entry. `where`: its program, where that is known."""
    program = (where or placed(request.ir)).text
    parts = (program if field.name == "ir" else repr(getattr(request, field.name)) for field in fields(request))
    return keys.name_of("code", keys.environment(), *parts)


def get(request: Request) -> Artifact | None:
    """The artifact of an equal request, None when there is none, or none that may be used."""
    if not store.usable():
        return None
    where = placed(request.ir)
    return artifact(key(request, where), where, Artifact)


def put(request: Request, made: Artifact) -> None:
    """Keep an artifact. Where that cannot be it is reported, and nothing else happens."""
    if store.usable():
        where = placed(request.ir)
        keep(key(request, where), where, made)


def artifact(name: str, where: Placed, kind: type[A]) -> A | None:
    """What was kept of a compile under a name, for the program there."""
    found = _read(name, where)
    if found is None:
        return None
    value, places = found
    if isinstance(value, kind):
        return moved(value, places, where.places)
    store.report(f"the entry {name} holds no {kind.__name__}; it is compiled anew")
    return None


def text(name: str, where: Placed) -> str | None:
    """What was kept of a text that was made of the program there."""
    found = _read(name, where)
    if found is None:
        return None
    value, places = found
    if isinstance(value, str):
        return moved_text(value, places, where.places)
    store.report(f"the entry {name} holds no text; it is compiled anew")
    return None


def keep(name: str, where: Placed, made: str | Artifact | CudaArtifact) -> None:
    """Keep what was made of the program there."""
    store.write(name, encoding.dumps((where.places, made)))


def _read(name: str, where: Placed) -> tuple[object, tuple[Place, ...]] | None:
    """(what was kept, the places of the program that it was made of)."""
    payload = store.read(name)
    if payload is None:
        return None
    try:
        places, value = encoding.loads(payload)
        if len(places) == len(where.places):
            return value, places
        said = f"it has {len(places)} places, and the program {len(where.places)}"
    except (TypeError, ValueError) as e:
        said = str(e)
    store.report(f"the entry {name} cannot be read: {said}; it is compiled anew")
    return None


def obtain(request: Request, keep_stages: Keep | None = None) -> tuple[Artifact, bool]:
    """(artifact, whether it came from disk): what `compile` gives, kept for the next process. Raises what `compile` does.

    `keep_stages` is given the texts of the stages, see `compile`'s `keep`; code from disk has none.
    """
    kept = get(request)
    if kept is not None:
        return kept, True
    from tierup.lowering.compile import compile  # here: loads MLIR

    made = compile(request, keep=keep_stages)
    put(request, made)
    return made, False
