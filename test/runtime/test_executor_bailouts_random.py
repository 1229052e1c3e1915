"""Random programs with assumptions in mid-program and fail each assumption in turn by force: tier 0 of the pristine graph is the oracle."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from graph_oracle import ENTRY, Outcome, Runner, difference
from graph_stages import build
from random_graph_strategy import Program, decode
from sampling import IS_EXHAUSTIVE

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import functions
from tierup.runtime.base.options import Overrides, options
from tierup.runtime.executors.executor import Executor
from tierup.runtime.faults import faults
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.programs import program as executed

MOST = 1000 if IS_EXHAUSTIVE else 2  # evaluations that lose an assumption
# of the first 1500 those whose programs assume something: the types of most follow from their arguments'
SEEDS = [159, 422, 453, 466, 485, 557, 760, 899, 933, 1083, 1220, 1249]


def drawn(seed: int) -> Program:
    """A program of random bytes; any bytes are one."""
    rng = np.random.default_rng(seed)

    def some(count: int) -> bytes:
        return rng.integers(0, 256, count).astype(np.uint8).tobytes()

    return decode(some(16), [some(12) for _ in range(rng.integers(4, 14))], [some(12) for _ in range(rng.integers(0, 3))], some(24))


def executor_of(program: Program) -> tuple[Executor, Runner]:
    """The program under an executor that assumes, and its oracle."""
    text = build(program, "graph")
    module = parse_module(text)
    tier0 = translate(module, ENTRY)
    names = tuple(parameter.name for parameter in tier0.parameters)
    made = executed.Program(ENTRY, text, ENTRY, names, tier0)
    return Executor(made, Overrides({"speculate": "bailout", "level": 1})), Runner(module)


def gives_leaves(program: Program) -> bool:
    """Whether an executor can have the program: front ends flatten tuples and lists."""
    for func in functions(parse_module(build(program, "graph")).operation):
        if ir.StringAttr(func.attributes["sym_name"]).value == ENTRY:
            results = ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results
            return not any(str(t).startswith(("!torch.tuple", "!torch.list")) for t in results)
    return False


def outcome(executor: Executor, arguments: list[Any]) -> Outcome:
    given = copy.deepcopy(arguments)
    try:
        results = faults.run(executor.call, (tuple(given),), {})
    except Exception as e:  # noqa: BLE001 - whatever it is, both sides must raise it
        return Outcome([], e, given, [], False)
    return Outcome(list(results), None, given, [], False)


def assert_same(executor: Executor, plain: Runner, arguments: list[Any], what: str) -> None:
    found = difference(outcome(executor, arguments), plain.call(arguments), rounding=True, sharing=False)
    assert not found, f"{what}, called with {arguments}: {found}\n{executor.program.graph}\n{list(map(str, executor.history.events))}"


def lose_assumptions(executor: Executor, plain: Runner, arguments: list[Any]) -> int:
    """How often assumptions of the executor's versions were lost, each at each evaluation."""
    lost = 0
    for version in executor.all_versions:
        continuations = executor.continuations(version)
        for index in range(len(continuations.code.assumptions)) if continuations is not None else ():
            for evaluation in range(MOST):
                with tierup.testing.faults(guard=f"{continuations.name}:bailout{index}", evaluation=evaluation) as injected:
                    assert_same(executor, plain, arguments, f"assumption {index} lost at evaluation {evaluation}")
                if not injected.fired:
                    break
                lost += 1
    return lost


def calls_and_losses(program: Program) -> int:
    """Call the program, then fail its assumptions; how often that was."""
    with options(testing=True):
        executor, plain = executor_of(program)
        calls = program.calls()[:2]
        for arguments in [call for call in calls for _ in range(3)]:
            assert_same(executor, plain, arguments, "nothing forced")
        return sum(lose_assumptions(executor, plain, arguments) for arguments in calls)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_lose_their_assumptions(seed: int) -> None:
    assert calls_and_losses(drawn(seed)) > 0
