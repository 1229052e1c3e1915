"""What holds a function may be decorated as it is: methods of objects, class methods, static methods, properties, partial functions."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tierup


class Scaled:
    def __init__(self, by: float) -> None:
        self.by = by

    @tierup.jit
    @classmethod
    def named(cls, x):
        return x * 2, cls.__name__

    @tierup.jit(max_versions=2)
    @staticmethod
    def plus(x):
        return x + 1

    @tierup.jit
    @property
    def twice(self):
        return self.by * 2

    @tierup.jit
    @functools.cached_property
    def kept(self):
        return [self.by]

    def times(self, x):
        return x * self.by


def weighed(x, by=2.0):
    return x * by


def test_descriptors_stay_what_they_are():
    x, scaled = np.ones(3), Scaled(3.0)
    for _ in range(3):
        assert np.array_equal(Scaled.named(x)[0], x * 2) and scaled.named(x)[1] == "Scaled"
        assert np.array_equal(Scaled.plus(x), x + 1) and np.array_equal(scaled.plus(x), x + 1)
        assert scaled.twice == 6 and scaled.kept is scaled.kept
    with pytest.raises(AttributeError):
        scaled.twice = 3


def test_bound_methods_and_partial_functions_keep_what_they_are_bound_to():
    x, scaled = np.ones(3), Scaled(3.0)
    times, five = tierup.jit(scaled.times), tierup.jit(functools.partial(weighed, by=5.0))
    for by in (3.0, 4.0, 4.0):
        scaled.by = by
        assert np.array_equal(times(x), x * by) and np.array_equal(five(x), x * 5) and np.array_equal(five(x, by=7.0), x * 7)
    assert times.__self__ is scaled and times.__func__.stats().profiled_runs >= 1
    assert five.keywords == {"by": 5.0}
