"""Something runs out in a step beside the compile of a version: in a recording graph, a cut, a plan, a continuation, a gradient. Tier 0
answers, an event says so, and it is tried again: in the end there is what there is where nothing runs out."""

import errno
import os

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.errors import NotDifferentiable
from tierup.runtime.base.events import EventKind
from tierup.runtime.compiling.processes import in_process
from tierup.runtime.executors.gradients import pair

X, W = np.linspace(-1, 1, 8, dtype=np.float32), np.eye(4, dtype=np.float32)


def chain(x):
    return np.tanh(x) * 2


def sorted_between(x):
    y = np.tanh(x) * 2
    z = np.argpartition(y, -1)
    return np.exp(z) - 1


def sized(x):
    n = int(np.abs(x).sum())
    y = np.zeros(n, np.float32) + x[0]
    return np.tanh(y) * 2


def sized_and_sorted(x):
    n = int(np.abs(x).sum())
    y = np.argpartition(np.zeros(n, np.float32) + x[0], -1)
    return np.tanh(y * 2) + np.exp(y)


BAILOUT, SPECIALIZING = {"speculate": "bailout"}, {"executor": "specializing"}
CASES = [
    ("regions.instrument", sorted_between, {}),
    ("regions.split", sorted_between, {}),
    ("version.produce", sorted_between, {}),
    ("version.produce", chain, {}),
    ("bailouts.instrument", sized, BAILOUT),
    ("bailouts.guarded", sized, BAILOUT),
    ("bailouts.instrument", sized_and_sorted, BAILOUT),
    ("bailouts.split", sized_and_sorted, BAILOUT),
    ("specialized.specialize", chain, SPECIALIZING),
    ("version.produce", chain, SPECIALIZING),
    ("specialized.regions", sorted_between, SPECIALIZING),
    ("version.produce", sorted_between, SPECIALIZING),
]


class RunsOut:
    """The `times` first runs of a step fail."""

    def __init__(self, monkeypatch, step, times=2):
        self.left, run = times, in_process.run
        module, _, name = step.partition(".")

        def failing(asked_module, asked, *arguments, **keywords):
            if asked == name and asked_module.endswith(f".{module}") and self.left:
                self.left -= 1
                raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
            return run(asked_module, asked, *arguments, **keywords)

        monkeypatch.setattr(in_process, "run", failing)


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.setenv("TIERUP_CACHE", "0")
    monkeypatch.setenv("TIERUP_WORKER", "0")


def all_events(function):
    return [e for top in function._executors for executor in top.with_parts() for e in executor.history.events]


def called(function, options, calls):
    f = tierup.jit(function, **options)
    for _ in range(calls):
        np.testing.assert_allclose(f(X), function(X), rtol=1e-6)
        assert f.wait(200)
    return f


@pytest.mark.parametrize(("step", "function", "options"), CASES, ids=lambda v: v if isinstance(v, str) else getattr(v, "__name__", str(v)))
@pytest.mark.parametrize("how", [{}, {"compile": "background"}], ids=["blocking", "background"])
def test_what_runs_out_in_a_step_postpones_it(monkeypatch, step, function, options, how):
    whole = called(function, options | how, 8)
    if how and step == "version.produce":
        from tierup.lowering.base.errors import WorkerUnavailable
        from tierup.runtime.compiling.processes import placement

        def unavailable(*_, **__):
            raise WorkerUnavailable("no processes here")

        monkeypatch.setattr(placement, "elsewhere", unavailable)
    fails = RunsOut(monkeypatch, step)
    f = called(function, options | how, 20)
    assert not fails.left
    postponed = [e for e in all_events(f) if e.kind is EventKind.POSTPONED]
    assert [e.reason for e in postponed] == [Reason.NO_RESOURCES] * 2, f.explain()
    assert [e.reason for e in all_events(f) if e.kind is EventKind.GAVE_UP] == [e.reason for e in all_events(whole) if e.kind is EventKind.GAVE_UP]
    before = f.stats()
    f(X)
    assert f.stats().hits == before.hits + 1 and f.stats().fallbacks == before.fallbacks, f.explain()
    assert [len(e.splits) for e in f._executors] == [len(e.splits) for e in whole._executors]
    assert all(region.versions for e in f._executors for split in e.splits for region in split.regions)


@pytest.mark.parametrize("how", [{}, {"compile": "background"}], ids=["blocking", "background"])
def test_the_simple_plan_is_made_again(monkeypatch, how):
    fails = RunsOut(monkeypatch, "specialized.insensitive")
    f = called(chain, {"bailout_depth": 0} | how, 8)
    assert not fails.left and [e.kind for e in all_events(f)].count(EventKind.POSTPONED) == 2
    assert all(kind.simple.made is not kind.program for e in f._executors for kind in e._kinds.values())


def test_what_goes_on_where_an_assumption_is_lost_is_made_again(monkeypatch):
    f = called(sized, BAILOUT, 4)
    fails = RunsOut(monkeypatch, "bailouts.continuation")
    other = X[::-1] * 1.3
    for _ in range(4):
        np.testing.assert_allclose(f(other), sized(other), rtol=1e-6)
    assert not fails.left and [e.kind for e in all_events(f)].count(EventKind.POSTPONED) == 2
    assert not [e for e in all_events(f) if e.kind is EventKind.GAVE_UP]


def test_a_gradient_is_made_by_a_later_call(monkeypatch):
    f = tierup.jit(lambda x: np.tanh(x) * 2)
    f(X)
    (executor,) = f._executors
    fails = RunsOut(monkeypatch, "gradients.split")
    for _ in range(2):
        with pytest.raises(NotDifferentiable, match="ran out.*call it again"):
            pair.forward(executor, (X,), (0,))
    assert not fails.left
    (result,), pullback = pair.forward(executor, (X,), (0,))
    (gradient,) = pullback([np.ones_like(result)])
    np.testing.assert_allclose(gradient, 2 * (1 - np.tanh(X) ** 2), rtol=1e-5)
    assert [e.kind for e in executor.history.events].count(EventKind.POSTPONED) == 2
