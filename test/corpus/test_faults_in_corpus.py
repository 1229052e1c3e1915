"""The corpus under `tierup.testing.faults`: every guard lost in turn, at every evaluation, in both styles of speculation; and every program with a
compiler that fails, at every stage. The oracle is the undecorated function.

`make test` takes a sample, the same in each run unless TIERUP_SEED says otherwise; `make exhaustive` takes all.
"""

from __future__ import annotations

import random
from itertools import count

import numpy as np
import pytest
from corpus import HERE, PROGRAMS, Program
from corpus_modes import Step, growing, one_call
from sampling import IS_EXHAUSTIVE, SEED
from test_corpus import MODULES

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.jit import jit, load
from tierup.lowering.base import faults as stages
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.functions.function import Function

assert MODULES  # importing them has added their rows to PROGRAMS

STYLES = ("versioned", "bailout")
PROGRAMS_SAMPLED, SITES_SAMPLED = 12, 4  # one program of so many; so many losses of each


def sampled(kind: str, one_of: int) -> list[Program]:
    """The programs that a test runs: all, or a sample that hangs on the seed and the kind of test."""
    chosen = random.Random(f"{SEED} {kind}").sample(PROGRAMS, len(PROGRAMS) // one_of)
    return PROGRAMS if IS_EXHAUSTIVE else sorted(chosen, key=PROGRAMS.index)


def made(program: Program) -> Function:
    return load(HERE / program.mlir) if program.mlir else jit(program.function)


def call(program: Program, function: Function, where: str, seed: int = 0) -> None:
    one_call(program, function, Step(program.inputs, program.sizes[0], raises=None), seed, f"{where}, seed {SEED}")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("program", sampled("guards", PROGRAMS_SAMPLED), ids=lambda p: p.name)
def test_each_guard_lost_at_each_evaluation(program: Program, style: str) -> None:
    with tierup.options(speculate=style, testing=True):
        function = made(program)
        for number in range(4):
            call(program, function, f"{program.name}, call {number}", number)
        if not function.is_optimized:
            assert not program.native or program.by_value
            return
        with tierup.testing.faults() as seen:
            call(program, function, f"{program.name}, to see its sites")
        assert lose_all(program, function, seen.sites, random.Random(f"{SEED} {program.name} {style}"))


def lose_all(program: Program, function: Function, sites: dict[str, int], chance: random.Random) -> int:
    """Lose every guard at every evaluation, or a sample; how many were lost. A call is right after each as well."""
    lost = 0
    for site, times in sites.items():
        for evaluation in range(times) if times else count():  # native code does not say how often it comes by
            if not IS_EXHAUSTIVE and (lost >= SITES_SAMPLED or (evaluation and times and chance.random() < 0.7)):
                break
            now = lose(program, function, site, evaluation)
            call(program, function, f"{program.name}, after {site} was lost at evaluation {evaluation}")
            lost += now
            if not now and not times:
                break
    return lost


def lose(program: Program, function: Function, site: str, evaluation: int) -> int:
    """Lose a guard; how often it was lost. A loss shows in the counts: no program hides that it left its fast path."""
    where = f"{program.name}, {site} lost at evaluation {evaluation}"
    before, seen = function.stats(), []
    with tierup.testing.faults(guard=site, evaluation=evaluation) as injected, tierup.events.subscribe(seen.append):
        call(program, function, where)
    if not injected.fired:
        return 0
    assert injected.fired == [f"{site}, evaluation {evaluation}"], where
    after = function.stats()
    assert after.calls == before.calls + 1, where
    shown = [after.misses - before.misses, after.fallbacks - before.fallbacks, after.bailouts - before.bailouts]
    anew = after.compiles - before.compiles  # a guard that was lost may be reason enough for another version
    assert any(shown) or anew or ", from " in site, f"{where}: {after}\n{function.explain()}"
    return 1


FAILURES = [
    pytest.param(program, stage, id=f"{program.name}-{stage}")
    for number, program in enumerate(sampled("stages", 10))
    for stage in (stages.STAGES if IS_EXHAUSTIVE else stages.STAGES[number % len(stages.STAGES) :][:1])
]


@pytest.mark.parametrize(("program", "stage"), FAILURES)
def test_a_compiler_that_fails_at_a_stage_leaves_the_program_right(program: Program, stage: str) -> None:
    function, seen = made(program), []
    with tierup.testing.faults(compiler=stage, always=True) as injected, tierup.events.subscribe(seen.append):
        for number, step in enumerate(growing(program)):
            step.raises = None
            one_call(program, function, step, number, f"{program.name}, call {number} ({step.what}) with a compiler that fails at {stage}")
    check_nothing_was_made(function, seen, bool(injected.fired))
    for number in range(3):
        call(program, function, f"{program.name}, with a compiler that works again", number)
    function.reset()
    for number in range(4):
        call(program, function, f"{program.name}, after a reset", number)
    assert function.is_optimized or not program.native or program.by_value


def check_nothing_was_made(function: Function, seen: list[Event], failed: bool) -> None:
    compiles = [e for e in seen if e.kind in (EventKind.COMPILED, EventKind.GENERALISED)]
    assert not compiles and function.stats().compiles == 0, f"{compiles}\n{function.explain()}"
    gave_up = [e for e in seen if e.kind is EventKind.GAVE_UP and e.reason is Reason.COMPILE_FAILED]
    assert bool(gave_up) == failed, function.explain()


@pytest.mark.parametrize("stage", stages.OTHERS)
def test_a_compiler_that_fails_beside_the_versions_leaves_the_program_right(stage: str) -> None:
    """Recording in mid-program, cutting, going on where an assumption was lost, the simple and the specialising executor."""

    def ranked(x):
        n = int(x[np.argpartition(x, -1)][-1])
        y = np.zeros(n, np.float32) + x[0]
        return np.tanh(y) * 2 + np.exp(y)

    x, other = np.array([1, 3, 2], np.float32), np.array([1, 7, 2], np.float32)
    fired = []
    for options in ({}, {"speculate": "bailout"}, {"bailout_depth": 0}, {"executor": "specializing"}):
        f, seen = jit(ranked, **options), []
        with tierup.testing.faults(compiler=stage, always=True) as injected, tierup.events.subscribe(seen.append):
            for argument in (x, x, x, x, other, other, x):
                np.testing.assert_allclose(f(argument), ranked(argument), rtol=1e-5, atol=1e-5)
        assert any(e.reason is Reason.COMPILE_FAILED for e in seen) == bool(injected.fired), f.explain()
        fired += injected.fired
    assert fired
