"""Native code against tier 0 on calls drawn at random: every run the same few; `--hypothesis-profile=exhaustive` draws new ones, and many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples
from sweep_calls import draw
from sweep_checks import check

# numbers alone are drawn: what a seed stands for does not shrink, but it names the call that failed for good
SEEDS = st.integers(0, 2**32 - 1)
FEW = settings(max_examples=examples(30))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@FEW
@given(seed=SEEDS)
def test_native_code_does_what_tier_0_does(seed: int) -> None:
    check(*draw(np.random.default_rng(seed)), symbolic=False)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@FEW
@given(seed=SEEDS)
def test_native_code_for_symbolic_sizes_does_what_tier_0_does(seed: int) -> None:
    check(*draw(np.random.default_rng(seed)), symbolic=True)
