"""Which versions earlier processes had of a graph, or a plan has, so that the first call of a process has code where theirs had some.

    start = Start(program)
    start.fitting(flat, options)    what a version of theirs was made of whose guards these arguments keep; what has no code is `drop`ped
                                    first those that the program came with (given.py)
    start.keep(version's, options)  a version of ours, for processes to come

What is kept says which code to look for, and is none: that is on disk under names of its own (`code/plans.py`), and where it is gone calls
are profiled as in a first process. Only what was kept before this process began counts: within one, the same calls make the same versions.

Free of MLIR.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tierup.dialect.base import switches
from tierup.dialect.base.records import dataclass
from tierup.lowering.artifacts import cache, encoding
from tierup.lowering.artifacts.places import placed
from tierup.lowering.base.abi import ArgumentSpec
from tierup.lowering.objects import keys, store
from tierup.lowering.objects.keys import Key, Part
from tierup.runtime.arguments import guards
from tierup.runtime.base.options import Options
from tierup.runtime.code import plans
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.programs.program import Program
from tierup.runtime.programs.speculations import Speculation

_OPTIONS = (*Options.CODE, "fusion_strategy", "bailout_depth")  # by which it is decided what versions there are
_KINDS = ("static", "dynamic", "symbolic")  # of versions, the most special first
_KEPT = 16  # versions of a graph, the newest


@dataclass(frozen=True)
class Kept:
    """A version of an earlier process: what it was made of, its guards, with values where code needs them, and when it was kept."""

    speculation: Speculation
    specs: tuple[ArgumentSpec, ...]
    time: float = 0.0
    origin: str = "an earlier process"
    is_given: bool = False  # it came with the program

    def plain(self) -> tuple[Any, ...]:
        """As data that can be kept."""
        of = self.speculation
        return self.time, of.kind, of.specs, of.generalised, self.specs


def key(program: Program, options: Options, found: Sequence[Kept] = ()) -> Key:
    """What is kept of a program under options is found by this. `found`: what is kept. Raises NotCompiled where its graph was released."""
    parts = (
        Part("graph", f"{program.entry}\n{placed(program.graph).text}"),
        Part("options", ", ".join(f"{name}={getattr(options, name)!r}" for name in _OPTIONS)),
    )
    return Key("start", f"{program.entry}:{_spelled(found)}", (*parts, *keys.environment()))


class Start:
    """Of one program, for one choice of options that code depends on."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._given: list[Kept] | None = None
        self._earlier: list[Kept] | None = None  # not read yet
        self._missed = ""

    @property
    def missed(self) -> str:
        """What is told of a profiled call, which none of what earlier processes had served; "" where they had nothing."""
        return self._missed

    def fitting(self, flat: tuple[Any, ...], options: Options) -> Iterator[Kept]:
        """Of the versions that the program came with, then of those that earlier processes had, those whose guards these arguments keep,
        the most special first."""
        given = self._program.given(options)
        if given is not None:
            if self._given is None:
                own = [Kept(version.speculation, version.specs, origin=given.origin, is_given=True) for version in given.versions]
                self._given = sorted(own, key=_how_special)
            yield from self._kept_by(flat, self._given)
            if not given.learns:
                return
        if self._earlier is None:
            self._earlier = self._read_earlier(options)
            said = f"; earlier processes had versions for {_spelled(self._earlier)}"
            self._missed = said if self._earlier else "" if given is None else f"; {given.origin} has none for it"
        yield from self._kept_by(flat, self._earlier)

    def _kept_by(self, flat: tuple[Any, ...], found: Sequence[Kept]) -> Iterator[Kept]:
        yield from (kept for kept in tuple(found) if self.fits(kept.specs, flat))

    def fits(self, specs: tuple[ArgumentSpec, ...], flat: tuple[Any, ...]) -> bool:
        """Whether arguments keep the guards of a version."""
        written = [i for i, parameter in enumerate(self._program.tier0.parameters) if parameter.written]
        return not isinstance(guards.bind(specs, flat, written, on_device=True), guards.Mismatch)

    def drop(self, kept: Kept) -> None:
        """Look no more for code that is not there, or stands among the versions by now."""
        for found in (self._given, self._earlier):
            if found and kept in found:
                found.remove(kept)

    def keep(self, speculation: Speculation, specs: tuple[ArgumentSpec, ...], options: Options) -> None:
        """Keep which version this process has, where it is not kept already."""
        given = self._program.given(options)
        if given is not None and given.of(specs) is not None or not usable(options):
            return
        try:
            before = _read(key(self._program, options))
            if any(kept.specs == specs for kept in before):
                return
            found = [Kept(speculation, specs, time.time()), *before][:_KEPT]
            by = key(self._program, options, found)
        except (NotCompiled, OSError):  # it was released meanwhile; or files that the key is made of cannot be read, which was reported
            return
        store.write(by.name, encoding.dumps(tuple(kept.plain() for kept in found)), by.description(), everywhere=True)

    def _read_earlier(self, options: Options) -> list[Kept]:
        if not usable(options):
            return []
        try:
            by = key(self._program, options)
        except OSError as e:  # of the files that the key is made of
            store.report(f"what earlier processes had is not looked up: {e}")
            return []
        found = [kept for kept in _read(by) if kept.time < plans.BEGAN]
        return sorted(found, key=_how_special)


def usable(options: Options) -> bool:
    """Whether what earlier processes had counts, and what this one has is kept."""
    return plans.uses_disk(options) and switches.is_on("TIERUP_START")


def _how_special(kept: Kept) -> int:
    return _KINDS.index(kept.speculation.kind)


def _spelled(found: Iterable[Kept]) -> str:
    return " or ".join(cache.spelled(kept.specs) for kept in found)


def _read(by: Key) -> list[Kept]:
    payload = store.read(by.name, everywhere=True)
    if payload is None:
        return []
    try:
        return [Kept(Speculation(of, kind, generalised), specs, at) for at, kind, of, generalised, specs in encoding.loads(payload)]
    except (TypeError, ValueError) as e:
        store.report(f"the entry {by.name} cannot be read: {e}; calls are profiled")
        return []
