"""Ordinary programs run decorated as they do undecorated, call after call, in every mode: results, what is printed, arguments, exceptions."""

from __future__ import annotations

import copy

import daily_programs
import everyday_programs
import list_programs
import mixed_programs
import numpy as np
import order_programs
import pytest
import python_programs
from outcomes import PROGRAMS, outcome, same
from sampling import drawn

import tierup

MODES = {"default": {}, "no compiling": {"optimize": False}, "speculating in mid-program": {"speculate": "bailout"}}
CASES: list[tuple[str, str]] = []
for table, one_of in (
    (everyday_programs.PROGRAMS, 12), (mixed_programs.PROGRAMS, 12), (order_programs.PROGRAMS, 36), (python_programs.PROGRAMS, 36), (daily_programs.PROGRAMS, 36),
    (list_programs.PROGRAMS, 8),
):  # fmt: skip
    CASES += drawn("everyday programs", [(name, mode) for name in table for mode in MODES], one_of, lambda case: case[1])


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_program_does_what_it_does_undecorated(name, mode):
    function, arguments_of = PROGRAMS[name]
    jitted = tierup.jit(function, **MODES[mode])
    for seed in (1, 1, 1, 2, 1, 4, 2):
        given = [arguments_of(np.random.default_rng(seed)) for _ in range(2)]
        want, got = outcome(function, given[0]), outcome(jitted, given[1])
        same(got, want)
        same(given[1], given[0], "arguments")


def test_copies_of_arguments_are_what_programs_get():
    function, arguments_of = PROGRAMS["heat_with_progress"]
    arguments = arguments_of(np.random.default_rng(1))
    before = copy.deepcopy(arguments)
    tierup.jit(function)(*arguments)
    same(arguments, before)
