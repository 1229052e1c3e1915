"""The measured programs: jitted, each gives what the undecorated function gives, from native code. No times are asserted."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import tierup
from benchmarks import steady
from benchmarks.programs import CASES


def small(case):
    """The case with sizes cut, to be quick; equal sizes stay equal."""
    return dataclasses.replace(case, sizes=tuple(tuple(max(4, n // 16) for n in s) for s in case.sizes))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_program_runs_natively_from_the_second_call(case):
    case = small(case)
    f = tierup.jit(case.function)
    arguments = case.arguments()
    want = case.function(*arguments)
    for _ in range(3):
        steady.agree(f(*arguments), want)
    stats = f.stats()
    assert (stats.calls, stats.hits, stats.profiled_runs, stats.compiles) == (3, 2, 1, 1)


def test_a_wrong_result_has_no_speed():
    with pytest.raises(AssertionError):
        steady.agree(np.float32([1.0, 2.0]), np.float32([1.0, 2.1]))
    with pytest.raises(AssertionError):
        steady.agree(np.float64([1.0]), np.float32([1.0]))
