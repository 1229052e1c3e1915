"""Every second graph of the corpus through a named pipeline, each through another one: a further run changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
import test_corpus
from corpus import HERE, PROGRAMS, Keywords, Program

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import PassFailure, named_pipelines, pipeline

assert test_corpus.MODULES  # importing them filled PROGRAMS

# As in test/dialect/test_pipelines.py; docs/pipelines.md says why.
SETTLED_BY_TWO = {
    "pre-autodiff-1.7", "pre-autodiff-2.x", "diff-graph", "diff-graph-bailouts", "legacy-optimize", "1.7-without-te", "1.7-without-te-gradients",
}  # fmt: skip
# Those that the default compile goes on with take what the one before leaves: test/lowering/pipelines has them.
OF_A_COMPILE = ("refine", "specialise", "prepare-", "compile-", "lower-", "cut-")
PIPELINES = [name for name in named_pipelines() if not name.startswith(OF_A_COMPILE) and name != "final-strict"]
CASES = [(program, PIPELINES[i % len(PIPELINES)]) for i, program in enumerate(PROGRAMS[::2])]


def graph(program: Program) -> str:
    """The program's text. Of some only a call's arguments say which are numbers."""
    if program.mlir:
        return (HERE / program.mlir).read_text()
    f = tierup.jit(program.function)
    try:
        return str(f.graph)
    except tierup.UnsupportedSyntax:
        *arguments, last = program.inputs(np.random.default_rng(0), program.sizes[0])
        f(*arguments, **last) if isinstance(last, Keywords) else f(*arguments, last)
        return str(f.graph)


@pytest.mark.parametrize(("program", "name"), CASES, ids=lambda p: p if isinstance(p, str) else p.name)
def test_a_further_run_of_a_pipeline_changes_nothing(program: Program, name: str) -> None:
    module, steps = parse_module(graph(program)), pipeline(name)
    try:
        for _ in range(2 if name in SETTLED_BY_TWO else 1):
            steps.run(module)
    except PassFailure as e:  # a write that is no value, a program that raises
        assert name in ("to-values", "profile", "profile-assumptions", "versioned"), e
        return
    settled = str(module)
    steps.run(module)
    assert str(module) == settled
