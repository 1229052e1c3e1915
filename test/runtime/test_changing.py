"""Numbers from outside that change: constants of a graph at first, inputs that are read at every call once graphs differ in nothing else."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason

STEP = 0
RATE = 0.5
STRONG = np.float32(1.5)
AXIS = 0
NAME = "a"
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


def stepped(x):
    return np.tanh(x) * STEP + 1


def decayed(x):
    return x * RATE**STEP - STRONG


def chosen(x):
    if STEP % 3 == 0:
        return x + 1
    return x * 2


def selected(x):
    return (x, x * 2, x * 3, x * 4, x * 5)[AXIS] + 1


def named(x):
    return x + 1 if NAME == "a" else x - 1


def inner(x):
    return x * STEP


def outer(x):
    return decorated_inner(x) + STEP


decorated_inner = tierup.jit(inner)


class Model:
    def __init__(self) -> None:
        self.t = 0
        self.rates = [0.5, 0.25]

    @tierup.jit
    def run(self, x):
        return x * self.t + self.rates[1]


def graphs(f):
    return len(f._executors)


@pytest.mark.parametrize("function", [stepped, decayed, chosen, outer])
def test_a_number_that_changes_at_every_call_is_read_from_the_third_graph_on(function, monkeypatch):
    f = tierup.jit(function)
    for step in range(8):
        monkeypatch.setitem(globals(), "STEP", step)
        monkeypatch.setitem(globals(), "RATE", 0.5 + step / 16)
        monkeypatch.setitem(globals(), "STRONG", np.float32(step / 4))
        got, want = f(X), (function(X) if function is not outer else X * STEP + STEP)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
    assert graphs(f) == 1 and (f.stats().calls, f.stats().hits, f.stats().compiles) == (8, 5, 1)
    assert "read at every call, since graphs differed in nothing else:" in f.explain() and "STEP" in f.explain()


def test_it_is_read_without_python_and_its_kind_may_change(monkeypatch):
    f = tierup.jit(stepped)
    for step in (*range(6), 0.5, 1.5, np.float64(2.5), np.int8(3), 2**40, True, 7):
        monkeypatch.setitem(globals(), "STEP", step)
        for _ in range(3):
            got, want = f(X), stepped(X)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)

    def native_hits():
        return sum(direct.table.counts().hits for direct in f._tables.values())

    before = native_hits()
    f(X)
    assert native_hits() == before + 1


def test_what_does_not_fit_in_an_input_makes_a_graph_again(monkeypatch):
    def compared(x):
        return x + 1 if STEP < 10 else x - 1

    f = tierup.jit(compared)
    for step in (0, 1, 2, 3, 2**70, 4, -(2**70)):
        monkeypatch.setitem(globals(), "STEP", step)
        np.testing.assert_array_equal(f(X), compared(X))
    assert graphs(f) == 3


def test_attributes_and_items_are_such_numbers_too():
    model = Model()
    for t in range(6):
        model.t, model.rates[1] = t, t / 2
        np.testing.assert_allclose(Model.run(model, X), X * model.t + model.rates[1], rtol=1e-6, atol=1e-6)
    assert "self.rates[1], self.t" in Model.run.explain()


def test_a_number_with_two_values_keeps_a_graph_for_each_and_explain_tells_them_apart(monkeypatch):
    f = tierup.jit(stepped)
    for _ in range(3):
        for step in (1, 2):
            monkeypatch.setitem(globals(), "STEP", step)
            np.testing.assert_allclose(f(X), stepped(X), rtol=1e-6, atol=1e-6)
    assert graphs(f) == 2
    assert "with STEP = 1" in f.explain() and "with STEP = 2" in f.explain() and "read at every call" not in f.explain()


def test_the_event_names_the_number(monkeypatch):
    f, seen = tierup.jit(stepped), []
    with tierup.events.subscribe(seen.append):
        for step in range(4):
            monkeypatch.setitem(globals(), "STEP", step)
            f(X)
    (told,) = [e for e in seen if e.reason is Reason.NUMBER_CHANGED]
    assert told.guard == "STEP" and "STEP read at every call" in told.action


def test_a_number_that_the_graph_must_know_stays_a_constant_and_is_named_once(monkeypatch):
    f = tierup.jit(selected)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for axis in range(5):
            monkeypatch.setitem(globals(), "AXIS", axis)
            for _ in range(3):
                np.testing.assert_allclose(f(X), selected(X), rtol=1e-6, atol=1e-6)
    (one,) = caught
    assert one.category is tierup.RecompileLimitWarning and one.filename == __file__
    assert "selected" in str(one.message) and "`AXIS`" in str(one.message) and "has to be known" in str(one.message)
    assert graphs(f) == 5


def test_a_constant_of_another_kind_that_keeps_changing_is_named_once(monkeypatch):
    f = tierup.jit(named)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in "abcdefghijkl":
            monkeypatch.setitem(globals(), "NAME", name)
            np.testing.assert_array_equal(f(X), named(X))
    (one,) = caught
    assert "`NAME`" in str(one.message) and "changed 8 times" in str(one.message)


def test_a_structure_that_has_to_know_the_number_gets_it_as_a_constant(monkeypatch):
    def either(x):
        return x * AXIS if x.ndim == 1 else (x, x * 2)[AXIS]

    f = tierup.jit(either)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        for axis in (0, 1, 0, -1, 1):
            monkeypatch.setitem(globals(), "AXIS", axis)
            for x in (X[0], X[0], X, X):
                np.testing.assert_allclose(f(x), either(x), rtol=1e-6, atol=1e-6)
    assert "read at every call" in f.explain() and "with AXIS = 1" in f.explain() and graphs(f) == 3


def test_a_reset_forgets_which_numbers_changed(monkeypatch):
    f = tierup.jit(stepped)
    for step in range(4):
        monkeypatch.setitem(globals(), "STEP", step)
        f(X)
    f.reset()
    f(X)
    assert "read at every call" not in f.explain() and "STEP" not in f.graph.split("@stepped")[1].split("->")[0]


def test_many_threads_call_while_the_number_changes():
    model, wrong = Model(), []
    f = tierup.jit(Model.run.__tierup_function__, weigh=False)

    def work() -> None:
        for _ in range(200):
            got = f(model, X)
            if not any(np.allclose(got, X * t + 0.25, rtol=1e-6, atol=1e-6) for t in range(40)):
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for t in range(40):
        model.t = t
        f(model, X)
    for thread in threads:
        thread.join()
    assert not wrong and graphs(f) == 1
