"""Compiled code on disk: the same request on the same machine is compiled once. `store.py` keeps it, `keys.py` says by what it is found.

What is kept says of its program's places (`places.py`) where they were; who finds it is given it with its own.

Free of MLIR: a program whose artifacts are all here runs without it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar, cast

from tierup.lowering.artifacts import encoding
from tierup.lowering.artifacts.places import Placed, moved, moved_text, placed
from tierup.lowering.base.abi import Artifact, Request
from tierup.lowering.objects import keys, store

if TYPE_CHECKING:
    from tierup.lowering.artifacts.gpu import CudaArtifact
    from tierup.lowering.compiling.driver import Keep

A = TypeVar("A", str, "Artifact", "CudaArtifact")


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
    return kept(key(request, where), where, Artifact)


def put(request: Request, made: Artifact) -> None:
    """Keep an artifact. Where that cannot be it is reported, and nothing else happens."""
    if store.usable():
        where = placed(request.ir)
        keep(key(request, where), where, made)


def kept(name: str, where: Placed, kind: type[A]) -> A | None:
    """What was kept of a compile, or of a text that was made, under a name, for the program there."""
    payload = store.read(name)
    if payload is None:
        return None
    try:
        places, value = encoding.loads(payload)
        is_one = isinstance(value, kind)
        if len(places) != len(where.places):
            said = f"it has {len(places)} places, and the program {len(where.places)}"
        elif not is_one:
            said = f"it holds no {kind.__name__}"
        else:
            return cast("A", moved_text(value, places, where.places) if kind is str else moved(value, places, where.places))
    except (TypeError, ValueError) as e:
        said = str(e)
    store.report(f"the entry {name} cannot be read: {said}; it is compiled anew")
    return None


def keep(name: str, where: Placed, made: str | Artifact | CudaArtifact) -> None:
    """Keep what was made of the program there."""
    store.write(name, encoding.dumps((where.places, made)))


def obtain(request: Request, keep_stages: Keep | None = None) -> tuple[Artifact, bool]:
    """(artifact, whether it came from disk): what `compile` gives, kept for the next process. Raises what `compile` does.

    `keep_stages` is given the texts of the stages, see `compile`'s `keep`; code from disk has none.
    """
    found = get(request)
    if found is not None:
        return found, True
    from tierup.lowering.compiling.compile import compile  # here: loads MLIR

    made = compile(request, keep=keep_stages)
    put(request, made)
    return made, False
