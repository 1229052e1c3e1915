"""Where in the user's files a program stands: no part of what it is.

    placed(text)    text without lines and files, and these apart: Placed(text='... "0":1:4 ...', places=(("f.py", 12), ...))

Code that is kept on disk is found by the program alone: lines that were put in above a function, or another folder that the same file is
in, change nothing of it. Each file and line is known by the order in which the text first names it, so equal texts have their
places in the same order, and what was kept for one (`moved`, `moved_text`) is put in terms of the places of the other.

Free of MLIR: texts are read token by token, and never taken apart but here, at locations (`"file":line:column`), which no other syntax of
MLIR's looks like. In a string literal, an error's message, `file:line` is such a place where the file is one that a location names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import unescaped
from tierup.lowering.base.abi import Artifact, ErrorSite, ExitSite

if TYPE_CHECKING:
    from tierup.lowering.artifacts.gpu import CudaArtifact

Place = tuple[str, int]  # a file, as MLIR spells it in a text, and a line
_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)"(?::(\d+)(:\d+))?', re.DOTALL)

A = TypeVar("A", "Artifact", "CudaArtifact")


@dataclass(frozen=True)
class Placed:
    """A text whose locations are numbers, and the file and line that each number is."""

    text: str
    places: tuple[Place, ...]


def placed(text: str) -> Placed:
    """A text with numbers for the user's places, the same for programs that differ in their places alone, and the places."""
    numbers: dict[Place, int] = {}
    named = _named_in(text)

    def number(found: re.Match[str]) -> str:
        if found[2] is None:  # MLIR prints no NUL
            return named.sub(lambda at: f"\0{numbers.setdefault((at[1], int(at[2])), len(numbers))}\0", found[0]) if named else found[0]
        place = (found[1], int(found[2]))
        return f'"{numbers.setdefault(place, len(numbers))}":1{found[3]}'

    return Placed(_STRING.sub(number, text), tuple(numbers))


def _named_in(text: str) -> re.Pattern[str] | None:
    """What finds `file:line` of the files that a text's locations name; None where there are none."""
    files = {found[1] for found in _STRING.finditer(text) if found[2] is not None}
    return re.compile(f"({'|'.join(map(re.escape, sorted(files, reverse=True)))}):(\\d+)") if files else None


def moved_text(text: str, old: tuple[Place, ...], new: tuple[Place, ...]) -> str:
    """A text made of a program at `old`, as it would have been made of the same program at `new`."""
    if old == new:
        return text
    where = dict(zip(old, new, strict=True))
    named = _named_in(text)

    def there(file: str, line: str) -> Place:
        return where.get(at := (file, int(line)), at)

    def move(found: re.Match[str]) -> str:
        if found[2] is None:
            return named.sub(lambda at: "{}:{}".format(*there(at[1], at[2])), found[0]) if named else found[0]
        file, line = there(found[1], found[2])
        return f'"{file}":{line}{found[3]}'

    return _STRING.sub(move, text)


def moved(artifact: A, old: tuple[Place, ...], new: tuple[Place, ...]) -> A:
    """As `moved_text`, for what a compile gave."""
    if old == new:
        return artifact
    where = {(unescaped(f), line): (unescaped(to), at) for (f, line), (to, at) in zip(old, new, strict=True)}
    made = replace(
        artifact,
        error_sites=tuple(ErrorSite(site.op, _moved(site.location, where)) for site in artifact.error_sites),
        exits=tuple(ExitSite(site.index, site.op, _moved(site.location, where), site.live) for site in artifact.exits),
    )
    if not isinstance(made, Artifact):
        host = made.host
        origins = {name: _moved(origin, where) for name, origin in host.origins.items()}
        return replace(made, host=replace(host, origins=origins, reads={n: _moved(read, where) for n, read in host.reads.items()}))
    return made


def _moved(described: str, where: Mapping[Place, Place]) -> str:
    """`file:line:column`, behind what stands there (`tanh at `) or alone."""
    found = re.fullmatch(r"(.* at |)(.+):(\d+)(:\d+)", described, re.DOTALL)
    if found is None or (at := (found[2], int(found[3]))) not in where:
        return described
    file, line = where[at]
    return f"{found[1]}{file}:{line}{found[4]}"

