"""What the runtime compiles is what `tierup-opt` makes of the recorded program: the default compile is a named pipeline and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import corpus_modes
import pytest
import test_corpus  # noqa: F401 - adds the programs
from corpus import PROGRAMS, Program
from sampling import drawn

from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import text_of
from tierup.dialect.mlir import ir
from tierup.lowering.compiling.compile import lowered_module
from tierup.lowering.compiling.driver import Driver
from tierup.runtime.code.plans import CompilerOutput
from tierup.runtime.compiling import version
from tierup.tools.opt import __main__ as opt

WAYS: dict[str, dict[str, Any]] = {"versions": {}, "bailouts": {"speculate": "bailout"}}


@pytest.mark.parametrize(
    ("program", "way"),
    [pytest.param(program, way, id=f"{way}-{program.name}") for way in WAYS for program in drawn(f"compile {way}", PROGRAMS, 48)],
)
def test_the_pipeline_makes_of_a_recorded_program_what_the_runtime_compiles(
    program: Program, way: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    produce, tried = version._produce, []
    before, after = tmp_path / "recorded.mlir", tmp_path / "compiled.mlir"

    def producing(graph: str, entry: str, arguments: Any, options: Any) -> CompilerOutput:
        made = produce(graph, entry, arguments, options)
        before.write_text(version.recorded(graph, entry, arguments, made.request.threads))
        assert opt.main([str(before), "--tierup-pipeline=compile-cpu", "--mlir-print-debuginfo", "-o", str(after)]) == 0
        with thread_context(), ir.Location.unknown():
            tried.append(text_of(lowered_module(made.request, Driver())).rstrip() == after.read_text().rstrip())
        return made

    monkeypatch.setattr(version, "_produce", producing)
    corpus_modes.run(program, corpus_modes.Mode(way, corpus_modes.cut, lambda program: None, {"level": 0, "worker": False, **WAYS[way]}))
    assert all(tried) and (tried or not program.native)
