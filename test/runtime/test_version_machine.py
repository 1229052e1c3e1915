"""Call sequences at random: results as NumPy's, compiles within the stated bound, the same calls always giving the same versions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from sampling import examples

import tierup
from tierup.runtime.base.events import EventKind

pytestmark = pytest.mark.filterwarnings("ignore::tierup.RecompileLimitWarning")


def program(x, y):
    return np.where(x > y, x - y, x * 2 + y)


class Calls(RuleBasedStateMachine):
    """One function, called, reset and asked under changing options; its twin is called alike and must come to the same versions."""

    @initialize(
        most=st.integers(1, 3), runs=st.integers(0, 2), entry=st.sampled_from(["native", "python"]),
        strategy=st.sampled_from([(("static", 1), ("dynamic", 1)), (("static", 2), ("dynamic", 2)), (("dynamic", 2),), (("static", 3),)]),
    )  # fmt: skip
    def make(self, most, runs, entry, strategy) -> None:
        options = {"max_versions": most, "num_profiled_runs": runs, "entry": entry, "fusion_strategy": strategy, "level": 0}
        self.f, self.twin = tierup.jit(program, **options), tierup.jit(program, **options)
        self.most, self.depth, self.is_dynamic = most, sum(n for _, n in strategy), any(k == "dynamic" for k, _ in strategy)
        self.speculations: list[tuple[int, str]] = []
        self.calls = 0

    @rule(n=st.sampled_from([0, 1, 2, 3, 5, 8]), m=st.sampled_from([1, 4, 6]), broadcast=st.booleans(), dtype=st.sampled_from(["f4", "f8"]))
    def call(self, n, m, broadcast, dtype) -> None:
        rng = np.random.default_rng(n * m)
        x, y = rng.normal(size=(n, m)).astype(dtype), rng.normal(size=(1 if broadcast else n, m)).astype(dtype)
        with tierup.events.subscribe(self.note):
            got = self.f(x, y)
        want = program(x, y)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6)
        self.twin(x, y)
        self.calls += 1

    def note(self, event) -> None:
        if event.kind in (EventKind.COMPILED, EventKind.GENERALISED):
            self.speculations.append((len(self.f._executors), event.action.split(" version for ")[1].split(" in ")[0]))

    @rule()
    def reset(self) -> None:
        self.f.reset(), self.twin.reset()
        self.speculations.clear()
        self.calls = 0

    @invariant()
    def counts_are_disjoint_and_compiles_bounded(self) -> None:
        if not hasattr(self, "f"):
            return
        s = self.f.stats()
        assert s.calls == s.hits + s.misses + s.profiled_runs + s.interpreted == self.calls
        bound = self.depth + (self.most if self.is_dynamic else 0)
        assert s.compiles <= bound and s.versions <= self.most

    @invariant()
    def no_assumption_is_made_twice(self) -> None:
        if hasattr(self, "f"):
            assert len(set(self.speculations)) == len(self.speculations), self.speculations

    @invariant()
    def the_same_calls_give_the_same_versions(self) -> None:
        if hasattr(self, "f"):
            assert [(v.guards, v.call) for v in self.f.versions] == [(v.guards, v.call) for v in self.twin.versions]
            assert self.f.stats() == self.twin.stats()


Calls.TestCase.settings = settings(max_examples=examples(8), stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck))
TestCalls = Calls.TestCase


def test_a_guard_that_always_fails_costs_a_bounded_number_of_compiles():
    """A storm: no call looks like one before it."""
    f = tierup.jit(program, fusion_strategy=[("static", 2), ("dynamic", 2)], max_versions=3, level=0)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        for _ in range(300):
            rows, columns = (int(n) for n in rng.integers(0, 40, 2))
            dtype = rng.choice(["f4", "f8"])
            x = rng.normal(size=(rows, columns)).astype(dtype)
            x = x if rng.random() < 0.5 else np.asfortranarray(x)
            np.testing.assert_allclose(f(x, x[:1]), program(x, x[:1]), rtol=1e-6)
    assert f.stats().compiles <= 4 + 3
