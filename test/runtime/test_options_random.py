"""Random programs under every option set that chooses another executor or other passes: tier 0 of the pristine graph is the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from graph_oracle import Runner
from graph_stages import build
from sampling import IS_EXHAUSTIVE, SEED
from test_executor_bailouts_random import assert_same, drawn, gives_leaves

from tierup.dialect.language.text import parse_module
from tierup.runtime.base.options import Overrides
from tierup.runtime.executors.executor import Executor
from tierup.runtime.interpreter.translate import translate
from tierup.runtime.programs import program as executed

ENTRY = "f"
SETS: dict[str, dict[str, Any]] = {
    "default": {},
    "no versions": {"bailout_depth": 0},
    "no strategy": {"fusion_strategy": []},
    "dynamic": {"fusion_strategy": [("dynamic", 12)]},
    "bailout": {"speculate": "bailout"},
    "specializing": {"executor": "specializing"},
    "not optimised": {"optimize": False},
}
COMPILES = ("default", "dynamic", "bailout", "specializing")
MANY = 400 if IS_EXHAUSTIVE else 48


@pytest.mark.parametrize("chosen", SETS)
def test_a_random_program_gives_what_tier_0_gives(chosen: str) -> None:
    start = (SEED * len(SETS) + list(SETS).index(chosen)) * 10_000
    count = MANY // 8 if chosen in COMPILES else MANY  # which takes a tenth of a second, and two thirds
    for seed in range(start, start + count):
        if gives_leaves(drawn(seed)):
            runs(seed, SETS[chosen])


def runs(seed: int, options: dict[str, Any]) -> Executor:
    """Call a program with two argument lists, each three times, then with others: of other shapes, and one array for two arguments."""
    program = drawn(seed)
    text = build(program, "graph")
    module = parse_module(text)
    tier0 = translate(module, ENTRY)
    names = tuple(parameter.name for parameter in tier0.parameters)
    executor = Executor(executed.Program(ENTRY, text, ENTRY, names, tier0), Overrides({"level": 0, **options}))
    plain = Runner(module)
    for arguments in [call for call in program.calls(2) for _ in range(3)] + program.other_shapes() * 2 + program.overlapping():
        assert_same(executor, plain, arguments, f"seed {seed}, {options}")
    return executor
