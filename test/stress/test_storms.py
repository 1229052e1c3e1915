"""A few forks and signals in the midst of compiles, of the many that `make soak` tries; and that what is wrong would be seen."""

import os

import pytest
import storms
from sampling import IS_EXHAUSTIVE, SEED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.parametrize("words", [("forks", str(SEED), "60" if IS_EXHAUSTIVE else "3"), ("signals", str(SEED), "0.02", "0.3", "4")])
def test_programs_that_are_disturbed_while_they_compile_get_right_results(words):
    found = storms.Found()
    storms.program(found, *words)
    assert (found.programs, found.wrong, found.crashed) == (1, 0, 0), found.told
    assert found.calls > 0


def test_a_program_that_ends_otherwise_is_counted():
    found = storms.Found()
    storms.program(found, "forks", "0", "many")
    assert found.crashed == 1 and "ValueError" in found.told[0]
