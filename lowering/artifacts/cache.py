"""Compiled code on disk: the same request on the same machine is compiled once. `store.py` keeps it, `keys.py` says by what it is found.

What is kept says of its program's places (`places.py`) where they were; who finds it is given it with its own.

Free of MLIR: a program whose artifacts are all here runs without it.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, TypeVar, cast

from tierup.lowering.artifacts import encoding
from tierup.lowering.artifacts.places import Placed, moved, moved_text, placed
from tierup.lowering.base.abi import ArgumentSpec, Artifact, Layout, Request
from tierup.lowering.objects import keys, store
from tierup.lowering.objects.keys import Key, Part

if TYPE_CHECKING:
    from tierup.lowering.artifacts.gpu import CudaArtifact
    from tierup.lowering.compiling.driver import Keep

A = TypeVar("A", str, "Artifact", "CudaArtifact")


def key(request: Request, where: Placed | None = None) -> Key:
    """What a request's entry is found by. `where`: its program, where that is known."""
    program = (where or placed(request.ir)).text
    others = [f for f in fields(request) if f.name not in ("ir", "entry", "arguments")]
    parts = (
        Part("program", f"{request.entry}\n{program}"),
        facts(request.arguments),
        Part("options", ", ".join(f"{f.name}={getattr(request, f.name)!r}" for f in others)),
    )
    return Key("code", kernel_name(request.entry, request.arguments), (*parts, *keys.environment()))


def facts(arguments: tuple[ArgumentSpec, ...]) -> Part:
    """What was assumed of arguments, as a part of a key."""
    return Part("facts", repr(arguments), spelled(arguments))


def kernel_name(entry: str, arguments: tuple[ArgumentSpec, ...]) -> str:
    """`layer:f32[s0,8],int=3`: what profilers call a version's code."""
    return f"{entry}:{spelled(arguments)}"


def spelled(arguments: tuple[ArgumentSpec, ...]) -> str:
    """`f32[s0,8],int=3`; behind an array's sizes the order of its memory, where that is not C's: `f32[4,8]strided`."""
    return ",".join(map(_spelled, arguments))


def _spelled(spec: ArgumentSpec) -> str:
    if spec.dtype:
        return f"{spec.dtype}[{','.join(map(str, spec.sizes))}]{'' if spec.layout is Layout.CONTIGUOUS else spec.layout.value}"
    return spec.kind.value if spec.value is None else f"{spec.kind.value}={spec.value}"


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


def kept(by: Key, where: Placed, kind: type[A]) -> A | None:
    """What was kept of a compile, or of a text that was made, for the program there."""
    payload = store.read(by.name, everywhere=True)
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
    store.report(f"the entry {by.name} cannot be read: {said}; it is compiled anew")
    return None


def keep(by: Key, where: Placed, made: str | Artifact | CudaArtifact) -> None:
    """Keep what was made of the program there."""
    store.write(by.name, encoding.dumps((where.places, made)), by.description(), everywhere=True)


def obtain(request: Request, keep_stages: Keep | None = None, *, cached: bool = True) -> tuple[Artifact, bool]:
    """(artifact, whether it came from disk): what `compile` gives, kept for the next process. Raises what `compile` does.

    `keep_stages` is given the texts of the stages, see `compile`'s `keep`; code from disk has none. `cached`: whether it may come from disk
    and be kept there.
    """
    found = get(request) if cached else None
    if found is not None:
        return found, True
    from tierup.lowering.compiling.compile import compile  # here: loads MLIR

    made = compile(request, keep=keep_stages)
    if cached:
        put(request, made)
    return made, False
