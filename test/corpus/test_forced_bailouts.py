"""Programs of the corpus that lose each of their assumptions in mid-program at each evaluation, against the undecorated function.

`make test` takes the first evaluations of each, with the rest of the program in tier 0; `make exhaustive` all, and there the rest is
profiled, compiled and speculates in its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from corpus import HERE, PROGRAMS, Program
from corpus_modes import Step, one_call
from sampling import IS_EXHAUSTIVE
from test_corpus import MODULES

import tierup
from tierup.frontend.jit import jit, load
from tierup.runtime.bailouts.continuations import Continuations
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.functions.function import Function

assert MODULES  # importing them has added their rows to PROGRAMS

# How many assumptions are lost at the least. In all others types follow from the arguments' and branches are few: `make exhaustive` looks.
ASSUMING = {
    "branch_on_sum": 1,
    "nested_ifs": 2,
    "early_return": 2,
    "break_and_continue": 3,
    "while_with_counter": 1,
    "conditional_expression": 1,
    "mlir_branches": 1,
    "compress_by_mask": 2,
    "write_in_branch": 1,
}


def compiled(program: Program) -> Function:
    """The program after calls that record and compile."""
    function = load(HERE / program.mlir) if program.mlir else jit(program.function)
    for number in range(3):
        one_call(program, function, Step(program.inputs, program.sizes[0]), number, f"{program.name}, call {number}")
    return function


def guarded(function: Function) -> Iterator[Continuations]:
    """The guarded programs behind its versions."""
    for executor in function._executors:
        found = (executor.continuations(version) for version in executor.all_versions)
        yield from (continuations for continuations in found if continuations is not None)


def losses(program: Program, function: Function, continuations: Continuations, most: int) -> int:
    """Fail every assumption at every evaluation, at most at the first `most`; how many were lost."""
    lost = 0
    entry = continuations.code.entry
    for index in range(len(continuations.code.assumptions)):
        for evaluation in count():
            seen: list[Event] = []
            where = f"{program.name}, assumption {index} of @{entry} lost at evaluation {evaluation}"
            before = function.stats()
            site = f"{continuations.name}:bailout{index}"
            with tierup.testing.faults(guard=site, evaluation=evaluation), tierup.events.subscribe(seen.append):
                one_call(program, function, Step(program.inputs, program.sizes[0], raises=None), 0, where)
            bailouts = [event for event in seen if event.kind is EventKind.BAILOUT]
            if not bailouts:
                break
            lost += 1
            assert bailouts[0].line == continuations.code.assumptions[index].place, where
            assert function.stats().hits == before.hits + 1, where
            assert function.stats().bailouts == before.bailouts + 1, f"{where}: {function.stats()}\n{function.explain()}"
            if evaluation + 1 >= most:
                break
    return lost


def lose_all(program: Program) -> int:
    """How many assumptions were lost, at all evaluations; each time the results, writes and views were those of the undecorated function."""
    depth, most = (20, 1000) if IS_EXHAUSTIVE else (1, 4)
    with tierup.options(speculate="bailout", bailout_depth=depth, testing=True):
        function = compiled(program)
        return sum(losses(program, function, continuations, most) for continuations in list(guarded(function)))


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.name in ASSUMING], ids=lambda p: p.name)
def test_each_assumption_lost_at_each_evaluation(program: Program) -> None:
    assert lose_all(program) >= ASSUMING[program.name]


@pytest.mark.parametrize("program", [p for p in PROGRAMS if IS_EXHAUSTIVE and p.name not in ASSUMING], ids=lambda p: p.name)
def test_the_other_programs_assume_nothing_in_mid_program(program: Program) -> None:
    assert lose_all(program) == 0, f"{program.name} assumes something in mid-program: it belongs into ASSUMING"
