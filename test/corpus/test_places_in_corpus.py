"""Code on disk is found by what a program is, not by where it stands: so nothing of what is made of it may hang on files and lines."""

from __future__ import annotations

from typing import Any

import corpus_modes
import pytest
import test_corpus  # noqa: F401 - adds the programs
from corpus import PROGRAMS, Program
from sampling import drawn

from tierup.lowering.artifacts.places import moved_text, placed
from tierup.runtime.code.plans import CompilerOutput
from tierup.runtime.compiling import version

WAYS: dict[str, dict[str, Any]] = {"versions": {}, "bailouts": {"speculate": "bailout"}}


@pytest.mark.parametrize(
    ("program", "way"),
    [pytest.param(program, way, id=f"{way}-{program.name}") for way in WAYS for program in drawn(f"places {way}", PROGRAMS, 32)],
)
def test_what_is_made_of_a_program_that_was_moved_is_what_was_made_moved(
    program: Program, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    produce, tried = version._produce, []

    def producing(graph: str, entry: str, arguments: Any, options: Any) -> CompilerOutput:
        made = produce(graph, entry, arguments, options)
        here = placed(graph).places
        there = tuple((f"/elsewhere/{number % 3}.py", 10_000 - line) for number, (_, line) in enumerate(here))  # the last line is first now
        moved = moved_text(graph, here, there)
        assert placed(moved).text == placed(graph).text
        specialised = version.specialise(version.to_values(moved), entry, arguments)
        tried.append(specialised == moved_text(made.request.ir, here, there))
        return made

    monkeypatch.setattr(version, "_produce", producing)
    corpus_modes.run(program, corpus_modes.Mode(way, corpus_modes.cut, lambda program: None, {"level": 0, **WAYS[way]}))
    assert all(tried) and (tried or not program.native)
