"""A few seconds of the stress that `make stress` does for ten minutes; and that it would see what is wrong."""

import random

import pytest
from sampling import IS_EXHAUSTIVE, SEED
from stress import INPUTS, Slot, Stress, chain, run

from tierup.runtime.faults import faults

SECONDS = 20 if IS_EXHAUSTIVE else 4


@pytest.mark.filterwarnings("ignore::tierup.runtime.base.errors.RecompileLimitWarning")
def test_many_threads_under_faults_get_right_results_and_counts():
    assert run(SECONDS, SEED) > 0
    assert not faults.active


def test_a_wrong_result_fails_the_stress(monkeypatch):
    stress = Stress(SEED, 1)
    slot = Slot(chain, {})
    slot.plain = lambda x: chain(x) + 1
    monkeypatch.setitem(INPUTS, slot.plain, INPUTS[chain])
    stress.slots = [slot]
    stress._work(random.Random(0), float("inf"))
    assert "Not equal to tolerance" in stress.errors[0]


def test_calls_that_are_not_counted_fail_the_stress():
    stress = Stress(SEED, 1)
    stress.slots, stress.counted = [Slot(chain, {})], True
    stress.slots[0].calls = 1
    stress._look(0)
    assert "1 calls and 0 that raised" in stress.errors[0]
