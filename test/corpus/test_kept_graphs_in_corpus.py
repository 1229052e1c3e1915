"""Graphs that an earlier process kept are those that this one would build: every program does in tier 0 what it does without them."""

from __future__ import annotations

from typing import Any

import corpus_modes
import pytest
import test_corpus  # noqa: F401 - adds the programs
from corpus import PROGRAMS, Program
from sampling import drawn

from tierup.frontend import jit
from tierup.frontend.python.kept.graphs import Graphs
from tierup.runtime.functions.graphs.variant import Built

MODE = corpus_modes.Mode("kept", corpus_modes.interpreted, lambda program: (), {"optimize": False})


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in drawn("kept graphs", [p for p in PROGRAMS if not p.mlir], 12)])
def test_a_program_runs_as_ever_from_graphs_that_were_kept(program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("TIERUP_START", "1")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path))
    kept, built = [], []
    to_keep, front_end = Graphs.to_keep, jit._front_end

    def keeping(self: Graphs, shape: Any, made: Built) -> Any:
        keep = to_keep(self, shape, made)
        if keep is not None:
            keep()
            kept.append(shape)
        return keep

    monkeypatch.setattr(Graphs, "to_keep", keeping)
    monkeypatch.setattr(jit, "_front_end", lambda *given, **more: built.append(program) or front_end(*given, **more))
    corpus_modes.run(program, MODE)
    first, again = len(built), len(kept)
    corpus_modes.run(program, MODE)
    assert len(kept) == again  # each was found
    assert len(built) - first == first - again  # others are built anew
