"""Native code and the Python function take turns after some calls; the quicker one answers from then on."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.functions import weighing
from tierup.runtime.functions.weighing import FIRST, LATER

ROUND = len(weighing._TURNS)
X = np.ones(4)
Clock = Callable[[float, float], None]


def f(x: Any, k: float = 2.0) -> Any:
    return np.sin(x) * k


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets what a call takes by native code and by Python, in seconds."""

    def takes(native: float, python: float) -> None:
        def timed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, float]:
            return call(*args, **kwargs), python if call is f else native

        monkeypatch.setattr(weighing, "timed", timed)

    return takes


def by_python(jitted: Any, calls: int, **options: Any) -> int:
    """How many of these calls no program answered."""
    before = jitted.stats().calls
    for _ in range(calls):
        assert (jitted(X, **options) == f(X, **options)).all()
    return calls - (jitted.stats().calls - before)


def test_python_answers_after_the_round_where_it_is_quicker(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted, told = tierup.jit(f), []
    with tierup.events.subscribe(told.append):
        assert by_python(jitted, FIRST) == 0
        assert by_python(jitted, ROUND + 4) > ROUND // 2
    assert by_python(jitted, 10) == 10
    assert [event.reason for event in told if event.kind.value == "plain Python"] == [Reason.PYTHON_IS_QUICKER]
    assert "it takes 5e+05 us a call, what was made of it 1e+06 us" in jitted.explain()


def test_native_code_answers_after_the_round_where_it_is_as_quick(clock: Clock) -> None:
    clock(1.0, 0.96)
    jitted = tierup.jit(f)
    assert by_python(jitted, FIRST + ROUND + 4) == ROUND // 2
    hits = jitted.stats().hits
    assert by_python(jitted, 100) == 0
    assert jitted.stats().hits == hits + 100


def test_one_call_by_python_is_enough_where_native_code_takes_half_the_time(clock: Clock) -> None:
    clock(1.0, 2.5)
    assert by_python(tierup.jit(f), FIRST + 100) == 1


def test_no_call_is_given_to_python_where_tier_0_took_much_longer(clock: Clock) -> None:
    clock(1e-9, 1e-12)
    assert by_python(tierup.jit(f), FIRST + 100) == 0


def test_there_is_another_round_after_ten_times_as_many_calls(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    clock(0.2, 0.5)
    asked = FIRST * (LATER - 1) + ROUND
    assert by_python(jitted, asked) > asked - 2 * ROUND
    hits = jitted.stats().hits
    assert by_python(jitted, 100) <= 8
    assert jitted.stats().hits > hits + 90


def test_calls_without_a_native_entry_and_with_keywords_are_weighed(clock: Clock) -> None:
    clock(1.0, 0.5)
    for options in ({"entry": "python"}, {}):
        jitted = tierup.jit(f, **options)
        by_python(jitted, FIRST + ROUND + 4, k=3.0)
        assert by_python(jitted, 10, k=3.0) == 10


def test_programs_that_must_be_native_or_recorded_or_run_in_tier_0_are_not_weighed(clock: Clock) -> None:
    clock(1.0, 0.5)
    for options in ({"strict": True}, {"optimize": False}, {"profile": False}):
        assert by_python(tierup.jit(f, **options), FIRST + ROUND + 4) == 0
    jitted = tierup.jit(f)
    with tierup.options(strict=True):
        assert by_python(jitted, FIRST + ROUND + 4) == 0


def test_a_function_that_is_reset_is_weighed_anew(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    jitted.reset()
    assert by_python(jitted, FIRST) == 0
    assert by_python(jitted, ROUND + 4) > ROUND // 2


def test_what_a_call_raises_in_a_round_is_what_it_raises(clock: Clock) -> None:
    clock(1.0, 0.5)

    def g(x: Any, i: int) -> Any:
        return x[i] * 2

    jitted = tierup.jit(g)
    for i in range(FIRST + ROUND + 20):
        if i % 3:
            assert jitted(X, i % 4) == 2
        else:
            with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 4"):
                jitted(X, 7)
