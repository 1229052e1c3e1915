"""Plans: what a program has become, saved, does the same in a function that has no source and no compiler, natively where the program did."""

from __future__ import annotations

from pathlib import Path

import corpus_modes
import pytest
import test_corpus  # noqa: F401 - adds the programs
from corpus import PROGRAMS, Program
from sampling import drawn

import tierup
from tierup.runtime.code import plans

MODE = corpus_modes.Mode("saved", corpus_modes.growing, lambda program: None)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in drawn("plans", [p for p in PROGRAMS if p.make is None], 32)])
def test_a_plan_does_what_the_function_does(program: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    function = corpus_modes._made(program, MODE)
    corpus_modes._run(program, MODE, function)
    try:
        function.save(tmp_path / "plan")
    except ValueError as e:
        assert "cannot be saved: it reads an array from outside" in str(e)
        return
    monkeypatch.setattr(plans, "has_compiler", lambda: False)
    plan = tierup.load_plan(tmp_path / "plan")
    for number, step in enumerate(corpus_modes.growing(program)):
        before = plan.stats().hits
        corpus_modes.one_call(program, plan, step, number, f"{program.name}, call {number} of its plan ({step.what})")
        if step.what == "call" and not program.by_value:
            assert plan.stats().hits == before + 1, plan.explain()
