"""Long compiles: told when they begin, bounded by `compile_budget`, and what each call took."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account import calls
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.compiling.processes import placement
from tierup.runtime.compiling.scheduling import progress

TELLS_GUESSES = True


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def damped(x):
    return np.tanh(x) * 0.125 + 1.5


@pytest.mark.parametrize("compile", ["blocking", "background"])
def test_a_compile_that_is_long_says_so_when_it_begins(compile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "guess", progress.Guess(first=7.0, of_op=1.0))
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    heard: list[Event] = []
    f = tierup.jit(damped, compile=compile, cache=False)
    with tierup.events.subscribe(heard.append):
        for _ in range(3):
            f(np.ones(3))
            f.wait(60)
    begun = next(event for event in heard if event.kind is EventKind.COMPILING)
    assert begun.action == "begins to compile 3 ops, which takes some 10 s" and begun.call in (2, 3)
    kinds = [event.kind for event in heard]
    assert kinds.index(EventKind.COMPILING) < kinds.index(EventKind.COMPILED)
    assert terminal.getvalue().startswith(f"tierup: compiling damped (3 ops) at {begun.line}, some 10 s ... ")
    assert terminal.getvalue().endswith(" s\n")


def test_a_quick_compile_says_nothing_before_and_neither_where_no_line_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    f = tierup.jit(damped)
    monkeypatch.setattr(progress, "guess", progress.Guess(first=0.1, of_op=0.0))
    f(np.ones(4)), f(np.ones(4))
    monkeypatch.setattr(progress, "guess", progress.Guess(first=9.0))
    monkeypatch.setenv(progress.PROGRESS, "0")
    f(np.ones(5)), f(np.ones(5))
    assert not terminal.getvalue()


def test_a_guess_learns() -> None:
    guess = progress.Guess(first=0.0, of_op=0.01)
    for _ in range(8):
        guess.learn(100, 4.0)
    assert guess.seconds(100) == pytest.approx(4, rel=0.05) and guess.seconds(200) == pytest.approx(8, rel=0.05)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Compiles in the background wait for it."""
    go_on = threading.Event()
    produce: Callable[..., Any] = placement.elsewhere

    def late(*arguments: Any) -> Any:
        assert go_on.wait(60)
        return produce(*arguments)

    monkeypatch.setattr(placement, "elsewhere", late)
    return go_on


def test_beyond_its_budget_a_compile_goes_on_in_the_background(held: threading.Event) -> None:
    f = tierup.jit(damped, compile_budget=0.01, cache=False)
    heard: list[Event] = []
    with tierup.events.subscribe(heard.append):
        for _ in range(4):
            assert (f(np.ones(6)) == damped(np.ones(6))).all()
    assert (f.stats().hits, f.stats().interpreted) == (0, 3)
    assert [event.reason for event in heard if event.kind is EventKind.POSTPONED] == [Reason.OVER_BUDGET]
    held.set()
    assert f.wait(60)
    f(np.ones(6))
    assert f.stats().hits == 1


def test_within_its_budget_a_compile_is_waited_for(held: threading.Event) -> None:
    held.set()
    f = tierup.jit(damped, compile_budget=60, cache=False)
    for _ in range(3):
        f(np.ones(7))
    assert (f.stats().hits, f.stats().profiled_runs) == (2, 1)


def test_what_each_call_took_is_told_by_parts_that_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[calls.Call] = []
    f = tierup.jit(damped)
    with calls.heard(told.append), calls.heard(calls.log):
        for _ in range(40):
            f(np.ones(8))
    first, second = told[:2]
    assert first.function == "damped" and first.place == f.times.place and first.parts["graphs"] > 0
    assert second.parts["compiling"] + second.parts.get("loading code", 0) > 0
    for call in told:
        assert sum(call.parts.values()) == pytest.approx(call.seconds, rel=1e-3, abs=1e-6)
    assert any(set(call.parts) == {"native code"} for call in told[2:])
    assert [call.start for call in told] == sorted(call.start for call in told)
    assert capsys.readouterr().err.splitlines()[0].startswith(f"tierup: damped at {f.times.place}: ")
    f(np.ones(8, np.float32))
    assert len(told) < 42 and told[-1].start < f.times.recent[-1][0] + calls.SINCE_1970
