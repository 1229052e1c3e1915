"""`speculate="bailout"`: bets on values in mid-program, and what goes on where one is lost. The oracle is the undecorated function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.reasons import Reason
from tierup.runtime.events import Event, EventKind
from tierup.runtime.function import Function


def bailing(function: Callable[..., Any], **options: Any) -> Function:
    return tierup.jit(function, speculate="bailout", **options)


def events_of(function: Function, *arguments: Any) -> tuple[Any, list[Event]]:
    """A call's result, and what happened in it."""
    seen: list[Event] = []
    with tierup.events.subscribe(seen.append):
        result = function(*arguments)
    return result, seen


def bailouts(events: list[Event]) -> list[Event]:
    return [e for e in events if e.kind is EventKind.BAILOUT]


def assert_close(got: Any, want: Any) -> None:
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert np.asarray(got).dtype == np.asarray(want).dtype


# --- programs: sort has no native code, so these run in tier 0 between native regions ------------------------------------


def straight(x):
    n = int(np.sort(x)[-1])
    y = np.zeros(n, np.float32) + x[0]
    return np.tanh(y) * 2 + n


def arm(x):
    y = np.sort(x)
    if y[0] > 0:
        z = np.exp(y) - 1
        w = z * y
    else:
        w = y - 1
        z = np.tanh(w) * 3
    return z + w * x


def nested(x, n, m):
    total = x * 0
    for i in range(n):
        y = np.sort(x + i)
        for j in range(m):
            y = y * 0.5 + j
            if y[0] > -3:
                total = total + np.tanh(y) * j
            else:
                total = total - y * 2
        total = total * 1.5 + i
    return total


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


KEPT = {straight: [f32(1, 3, 2)], arm: [f32(3, 1, 2)], nested: [f32(2, 1, 3), 2, 3]}
LOST = {straight: [f32(1, 5, 2)], arm: [f32(-3, 1, 2)], nested: [f32(2, -6, 3), 2, 3]}


@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_a_bet_is_kept_then_lost_then_kept(function: Callable[..., Any]) -> None:
    f = bailing(function)
    for _ in range(3):
        result, events = events_of(f, *KEPT[function])
        assert_close(result, function(*KEPT[function]))
        assert not bailouts(events)
    assert (f.stats().profiled_runs, f.stats().hits) == (1, 2)
    for _ in range(2):
        result, events = events_of(f, *LOST[function])
        assert_close(result, function(*LOST[function]))
        assert bailouts(events), f.explain()
    before = f.stats()
    result, events = events_of(f, *KEPT[function])
    assert_close(result, function(*KEPT[function]))
    assert not bailouts(events)
    assert f.stats().hits == before.hits + 1
    assert f.stats().bailouts == before.bailouts >= 2


def test_a_lost_bet_is_told_with_what_was_expected_and_the_line() -> None:
    f = bailing(straight)
    for _ in range(2):
        f(*KEPT[straight])
    (lost,) = bailouts(events_of(f, *LOST[straight])[1])
    assert (lost.expected, lost.actual, lost.reason) == ("int=3", "int=5", Reason.BET_LOST)
    assert f"test_bailing.py:{straight.__code__.co_firstlineno + 1}" in lost.line
    assert "went on in tier 0" in lost.action


def test_what_goes_on_is_compiled_when_it_comes_again() -> None:
    f = bailing(arm)
    for _ in range(2):
        f(*KEPT[arm])
    told = [bailouts(events_of(f, *LOST[arm])[1])[0].action for _ in range(3)]
    assert told[0] == "went on in tier 0"
    assert told[2].startswith("went on natively")


def test_a_bet_that_is_lost_too_often_is_dropped_and_never_made_again() -> None:
    f = bailing(arm)
    for _ in range(2):
        f(*KEPT[arm])
    for _ in range(3):
        f(*LOST[arm])
    assert f.stats().bailouts == 3
    for arguments in (LOST[arm], KEPT[arm]) * 4:
        result, events = events_of(f, *arguments)
        assert_close(result, arm(*arguments))
        assert not bailouts(events)
    assert f.stats().bailouts == 3


def test_bets_that_always_fail_cost_a_bounded_number_of_compiles() -> None:
    f = bailing(straight)
    rng = np.random.default_rng(0)
    compiles = []
    for _ in range(60):
        x = f32(1, *rng.integers(2, 40, size=2))
        assert_close(f(x), straight(x))
        compiles.append(f.stats().compiles)
    assert compiles[-1] == compiles[29], compiles
    assert f.stats().bailouts <= 6


def test_a_program_without_bets_in_mid_program_is_the_versioned_one() -> None:
    @tierup.jit(speculate="bailout")
    def f(x):
        return np.tanh(x) * 2 + x.sum()

    for _ in range(4):
        f(f32(1, 2, 3))
    (version,) = f.versions
    assert version.bet.kind == "static"
    assert (f.stats().hits, f.stats().bailouts) == (3, 0)


def test_an_exception_after_a_lost_bet_is_the_programs_own() -> None:
    def late(x, i):
        y = np.sort(x)
        n = int(y[-1])
        z = np.zeros(n, np.float32) + y[0]
        return z[i] * 2

    f = bailing(late)
    for _ in range(3):
        assert_close(f(f32(1, 4, 2), 3), late(f32(1, 4, 2), 3))
    for _ in range(2):
        with pytest.raises(IndexError, match=r"return z\[i\]"):
            f(f32(1, 2, 2), 3)


def test_arguments_are_written_once_and_after_all_else() -> None:
    def write(x, y):
        x[0] = x[0] + 1
        n = int(np.sort(y)[-1])
        z = np.zeros(n, np.float32) + x[0]
        x[1] = z.sum()
        return z

    f = bailing(write)
    for y in (f32(1, 3), f32(1, 3), f32(1, 3), f32(1, 5), f32(1, 5), f32(1, 5), f32(1, 7), f32(1, 3)):
        got, want = f32(1, 2, 3), f32(1, 2, 3)
        assert_close(f(got, y), write(want, y))
        assert_close(got, want)
    assert f.stats().bailouts >= 2
