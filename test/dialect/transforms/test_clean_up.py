"""Clean-up passes keep results, errors, written arguments and what shares memory with what, on random programs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from random_programs import programs
from rewrite_harness import assert_kept

_EXAMPLES = settings(max_examples=settings.default.max_examples // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
PASSES = ("tierup-dce", "tierup-cse", "tierup-constant-propagation", "tierup-constant-pooling", "tierup-canonicalize-outputs")


def calls() -> list[list[object]]:
    """Two arrays, and one array as both."""
    x, y = np.array([0.5, -1.0, 2.0]), np.array([1.5, 0.0, -0.25])
    return [[x, y, 1, True], [x, x, 0, False]]


@pytest.mark.parametrize("name", PASSES)
@_EXAMPLES
@given(text=programs())
def test_a_pass_keeps_what_a_program_does(name: str, text: str) -> None:
    assert_kept(text, name, calls())


@_EXAMPLES
@given(text=programs())
def test_all_passes_keep_what_a_program_does(text: str) -> None:
    assert_kept(text, "tierup-constant-propagation,tierup-constant-pooling,tierup-cse,tierup-dce", calls())
