"""A call whose loops run long in tier 0 is left there, and begins anew in native code: once for all that it does, as if nothing had run."""

import itertools
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import running
from numpy_programs import numpy_program

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind
from tierup.runtime.compiling.processes import placement
from tierup.runtime.executors import leaving
from tierup.runtime.interpreter import tier0

X = np.linspace(0.0, 1.0, 100)


@pytest.fixture(autouse=True)
def third_poll(monkeypatch):
    """A run is left when its loops look at the clock for the third time: in round 32 of the first."""
    ticks = itertools.count()
    monkeypatch.setattr(leaving, "patience", lambda program: 2.5)
    monkeypatch.setattr(tier0, "time", SimpleNamespace(thread_time=lambda: next(ticks)))


def total(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * 2.0
    return s


def add_to_each(x):
    for i in range(len(x)):
        x[i] += 1.0


def halved(x, n: int):
    k = 0
    while x[k] < n:
        x[k] *= 0.5
        k += 1
    return k


def left(f):
    events = [e for executor in f._executors for e in executor.history.events]
    return [e.call for e in events if e.kind is EventKind.COMPILING and e.reason is Reason.RUNS_LONG]


def test_the_first_call_is_answered_by_native_code_and_counts_as_a_hit():
    f = tierup.jit(total)
    assert f(X) == total(X) and f(X) == total(X)
    stats = f.stats()
    assert (stats.hits, stats.profiled_runs, stats.misses, stats.compiles) == (2, 0, 0, 1), f.explain()
    assert left(f) == [1] and "begins anew in native code" in f.explain()


def test_a_call_of_other_types_is_answered_by_native_code_too():
    f = tierup.jit(total)
    for x in (X, X.astype(np.float32), np.arange(60)):
        assert f(x) == total(x)
    assert f.stats().hits == 3 and f.stats().misses == 0 and left(f) == [1, 2, 3], f.explain()


@pytest.mark.parametrize("step", [1, 2, -1])
def test_what_a_run_has_written_when_it_is_left_is_put_back(step):
    x, want = X.copy(), X.copy()
    f = tierup.jit(add_to_each)
    for _ in range(2):
        f(x[::step])
        add_to_each(want[::step])
        np.testing.assert_array_equal(x, want)
    assert left(f) == [1]


def test_arrays_that_overlap_are_put_back_as_they_were():
    def shift(x, y):
        for i in range(len(x)):
            x[i] += y[i]
            y[i] -= 0.25

    x, want = X.copy(), X.copy()
    tierup.jit(shift)(x[:-1], x[1:])
    shift(want[:-1], want[1:])
    np.testing.assert_array_equal(x, want)


def test_an_exception_of_a_call_that_was_left_is_that_of_python_with_what_it_has_written():
    x, want = X.copy(), X.copy()
    f = tierup.jit(halved)
    for array, function in ((x, f), (want, halved)):
        with pytest.raises(IndexError, match="index 100 is out of bounds"):
            function(array, 2)
    np.testing.assert_array_equal(x, want)
    assert left(f) == [1]


def test_a_program_without_native_code_runs_in_tier_0_from_its_beginning(monkeypatch):
    monkeypatch.setenv("TIERUP_CACHE", "0")
    monkeypatch.setenv("TIERUP_WORKER", "1")
    monkeypatch.setattr(placement, "COMPILER", ("compile_functions", "raising"))
    x, want = X.copy(), X.copy()
    f = tierup.jit(add_to_each)
    for _ in range(2):
        f(x)
        add_to_each(want)
    np.testing.assert_array_equal(x, want)
    assert f.stats().hits == 0 and left(f), f.explain()


@pytest.mark.parametrize("options", [{"compile": "background"}, {"speculate": "bailout"}, {"optimize": False}, {"profile": False}], ids=str)
def test_calls_that_may_have_no_version_at_once_are_not_left(options):
    f = tierup.jit(total, **options)
    assert f(X) == total(X) and not left(f)


def test_a_loop_that_acts_is_not_left():
    def grouped(x):
        found = {}
        for i in range(len(x)):
            found[i % 3] = found.get(i % 3, 0.0) + x[i]
        print(len(x), end="")
        return found

    f = tierup.jit(grouped)
    assert f(X) == pytest.approx(grouped(X)) and not left(f)


def test_threads_whose_first_calls_are_left_wait_for_one_compile():
    f, found = tierup.jit(total), []
    threads = [threading.Thread(target=lambda: found.append(f(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [total(X)] * 4 and f.stats().compiles == 1, f.explain()


def test_generated_programs_that_are_left_in_every_loop_do_what_numpy_does(tmp_path: Path):
    tally = running.Tally()
    for number in range(12):
        program = numpy_program(f"left {number}", 8)
        try:
            found = running.check(program, {}, tmp_path, tally)
        except running.Refused:
            continue
        assert found is None, f"{found.what}\n{program.source}"
    assert tally.calls > 20
