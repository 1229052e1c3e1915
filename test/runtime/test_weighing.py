"""Native code and the Python function take turns after some calls; the quicker one answers from then on."""

import gc
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.islands import worth
from tierup.runtime.account.times import Times
from tierup.runtime.functions import weighing
from tierup.runtime.functions.weighing import FIRST, LATER

ROUND = len(weighing._TURNS)
X = np.ones(4)
Clock = Callable[[float, float], None]
_TIMED = weighing.timed


def taking(seconds: Callable[[Any], float]) -> Callable[..., Any]:
    """What stands for `weighing.timed`: a call of `call` takes `seconds(call)`."""

    def timed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], note: Callable[[float], None]) -> Any:
        return _TIMED(call, args, kwargs, lambda _: note(seconds(call)))

    return timed


def f(x: Any, k: float = 2.0) -> Any:
    return np.sin(x) * k


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets what a call takes by native code and by Python, in seconds."""

    def takes(native: float, python: float) -> None:
        monkeypatch.setattr(weighing, "timed", taking(lambda call: python if call is f else native))

    return takes


def by_python(jitted: Any, calls: int, **options: Any) -> int:
    """How many of these calls the Python function answered."""
    before = jitted.stats()
    for _ in range(calls):
        assert (jitted(X, **options) == f(X, **options)).all()
    after = jitted.stats()
    assert after.calls - before.calls == calls
    assert f" + {after.python} by Python; " in jitted.explain() if after.python else "by Python" not in jitted.explain()
    return after.python - before.python


def test_python_answers_after_the_round_where_it_is_quicker(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted, told = tierup.jit(f), []
    with tierup.events.subscribe(told.append):
        assert by_python(jitted, FIRST) == 0
        assert by_python(jitted, ROUND + 4) > ROUND // 2
    assert by_python(jitted, 10) == 10
    assert [event.reason for event in told if event.kind.value == "plain Python"] == [Reason.PYTHON_IS_QUICKER]
    why = "it takes 5e+05 us a call, what was made of it 1e+06 us, which answers with the option weigh=False"
    assert f"runs as plain Python: {why}" in jitted.explain() and told[-1].action == why


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


def test_no_call_is_given_to_python_where_tier_0_took_much_longer(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock(1e-3, 1e-12)
    for tier0, calls in ((0.165, 0), (0.163, 100)):
        monkeypatch.setattr(weighing.Weighed, "seconds_in_tier0", tier0)
        jitted = tierup.jit(f)
        assert by_python(jitted, FIRST + 100) == by_python(jitted, 100) == calls or calls and jitted.elsewhere is not None


def test_no_call_is_given_to_python_where_native_code_takes_a_microsecond_or_two(clock: Clock) -> None:
    clock(1.9e-6, 1e-12)
    for entry in ("native", "python"):
        jitted = tierup.jit(f, entry=entry)
        assert by_python(jitted, FIRST + 100) == 0 and jitted.elsewhere is None


@pytest.mark.parametrize(("python", "wins"), [(2.7e-6, True), (2.8e-6, False)])
def test_python_has_to_make_up_for_the_counting_of_its_calls(python: float, wins: bool, clock: Clock) -> None:
    clock(3e-6, python)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    assert (by_python(jitted, 10) == 10) is wins


def called_in_python(call: Callable[[], Any]) -> list[str]:
    """The names of the Python functions that run in a call of `call`."""
    names: list[str] = []
    sys.setprofile(lambda frame, event, _: names.append(frame.f_code.co_name) if event == "call" else None)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names[1:]


@pytest.mark.parametrize("pytorch", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [((X,), {}), ((X, 3.0), {}), ((X,), {"k": 2}), ((), {"k": True, "x": X}), ((0.5,), {}), ((X, np.float64(2)), {}),
     (([[0.5, 1.0], [2.0, 3.0]],), {}), (([(X, [0.5] * 4)],), {"k": 1j}), ((X, Fraction(1, 2)), {})],
)  # fmt: skip
def test_no_line_of_python_runs_before_the_python_function_but_to_look_for_tensors_where_pytorch_is_there(
    arguments: tuple[tuple[Any, ...], dict[str, Any]], pytorch: bool, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    args, kwargs = arguments
    before, is_known = jitted.calls_in_python, not any(isinstance(a, (np.generic, complex, Fraction)) for a in (*args, *kwargs.values()))
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    if pytorch:
        monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    names = called_in_python(lambda: jitted(*args, **kwargs))
    names = names[: names.index("f") + 1]
    assert names == ["f"] if is_known or not pytorch else names[0] == "_answer"
    assert jitted.calls_in_python == before + 1
    assert called_in_python(lambda: jitted(*args, **kwargs))[0] == "f"  # its class is known now
    np.testing.assert_array_equal(jitted(*args, **kwargs), f(*args, **kwargs))
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        jitted(X, no_such=1)
    with tierup.options(strict=True):
        assert called_in_python(lambda: jitted(X))[-1] != "f"
    assert called_in_python(lambda: jitted(X)) == ["f"]


def test_what_dicts_and_deep_lists_hold_is_looked_at_for_tensors(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    monkeypatch.setitem(sys.modules, "torch", ModuleType("torch"))
    deep: Any = 1.0
    for _ in range(10):
        deep = [deep]
    for argument, is_known in (({"a": [{}, {"b": 1.0}], "c": {}}, True), ({"a": [{}, {"b": Fraction(1)}]}, False), (deep, False)):
        names = called_in_python(lambda it=argument: _tried(jitted, it))
        assert ("_answer" not in names) is is_known and "f" in names


def _tried(call: Any, argument: Any) -> None:
    with suppress(TypeError):
        call(argument)


def test_a_function_that_python_answers_goes_when_nothing_refers_to_it(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    weak = weakref.ref(jitted)
    del jitted
    gc.collect()
    assert weak() is None


@pytest.mark.parametrize("regions_won", ["native", "python"])
def test_a_function_translated_in_part_is_weighed_as_a_whole_once_its_regions_are_settled(
    regions_won: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A region may be quicker than its statements called as a function, and the whole slower than the Python function."""

    def g(x: Any) -> Any:
        y = np.sin(x) * 2
        print(end="")
        return y + 1

    took = {"whole": 0.5}
    monkeypatch.setattr(worth, "timed", taking(lambda call: 1.0 if hasattr(call, "explain") is (regions_won == "python") else 0.5))
    monkeypatch.setattr(weighing, "timed", taking(lambda call: took["whole"] if call is g else 1.0))
    jitted = tierup.jit(g)

    def answered_by_python(calls: int) -> int:
        before = jitted.calls_in_python
        for _ in range(calls):
            assert (jitted(X) == np.sin(X) * 2 + 1).all()
        return jitted.calls_in_python - before

    answered_by_python(20 + ROUND)
    assert answered_by_python(10) == 10
    text = jitted.explain()
    assert "runs as plain Python: it takes 5e+05 us a call" in text and "the argument `end` of print" in text and "region at" in text
    with tierup.options(weigh=False):
        assert answered_by_python(3) == 0
    with tierup.options(strict=True), pytest.raises(UnsupportedSyntax):
        jitted(X)
    assert answered_by_python(5) == 5
    took["whole"] = 2.0
    answered_by_python(FIRST + ROUND + 20)
    assert answered_by_python(10) == 0
    jitted.reset()
    assert answered_by_python(3) == 0 and "plain Python" not in jitted.explain()


def test_there_is_another_round_after_ten_times_as_many_calls(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    clock(0.2, 0.5)
    asked = FIRST * LATER + ROUND
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
    for options in ({"strict": True}, {"optimize": False}, {"profile": False}, {"weigh": False}, {"weigh": False, "entry": "python"}):
        assert by_python(tierup.jit(f, **options), FIRST + ROUND + 4) == 0
    jitted = tierup.jit(f)
    for option in ({"strict": True}, {"weigh": False}):
        with tierup.options(**option):
            assert by_python(jitted, FIRST + ROUND + 4) == 0


@pytest.mark.parametrize("option", [{"weigh": False}, {"strict": True}, {"optimize": False}])
def test_options_under_which_python_does_not_answer_hold_for_the_next_call(clock: Clock, option: dict[str, Any]) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + ROUND + 4)
    with tierup.options(**option):
        assert by_python(jitted, FIRST + ROUND) == 0
    assert by_python(jitted, 10) == 10
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + 4)  # in the middle of a round
    with tierup.options(**option):
        assert by_python(jitted, 10) == 0


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


def test_calls_that_raise_are_weighed_as_others_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Native code leaves such a call to tier 0, which takes a hundred times as long as Python to raise."""

    def g(x: Any, i: int) -> Any:
        return x[i] * 2

    monkeypatch.setattr(weighing, "timed", taking(lambda call: 0.5 if call is g else 1.0))
    jitted = tierup.jit(g)
    assert jitted(X, 1) == jitted(X, 1) == 2
    for _ in range(FIRST + ROUND + 10):
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            jitted(X, 7)
    assert jitted.elsewhere is not None and jitted.calls_in_python > ROUND // 2


def test_a_signal_in_a_round_leaves_the_turn_to_be_taken(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + 4)
    assert jitted._round is not None
    jitted._python, left = None, list(jitted._round._turns)

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    jitted._round._plain = interrupted
    with pytest.raises(KeyboardInterrupt):
        for _ in range(3):
            jitted(X)
    assert jitted._round._turns[0] == "P" and len(jitted._round._turns) > len(left) - 3


def test_a_region_whose_calls_raise_is_raced_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "timed", taking(lambda call: 1.0 if hasattr(call, "explain") else 0.5))

    def g(x: Any, i: int) -> Any:
        y = 0.0
        try:
            y = np.sin(x) * 2
            y = float(y[i])
        except IndexError:
            print(end="")
        return y

    jitted = tierup.jit(g)
    for i in [0, 1, 0, 1, *[7] * 40]:
        np.testing.assert_array_equal(jitted(X, i), g(X, i))
    assert 0 < jitted.stats().raised <= worth._LAPS  # then Python answers


def test_what_is_translated_in_part_stays_so_after_many_strict_calls() -> None:
    def g(x: Any) -> Any:
        s = x.sum() * 2
        print(end="")
        return np.sin(x) + s

    jitted = tierup.jit(g)
    jitted(X)
    driver = jitted.elsewhere
    assert driver is not None
    with tierup.options(strict=True):
        for _ in range(FIRST + 4):
            with pytest.raises(UnsupportedSyntax, match="the argument `end` of print"):
                jitted(X)
    assert jitted.elsewhere is driver


@pytest.mark.parametrize("entry", ["native", "python"])
def test_a_region_that_native_code_has_won_is_raced_again_after_ten_times_as_many_calls(entry: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments grow, and NumPy may have the better kernel for large ones; so may the function as a whole."""
    native, whole = [0.5], [2.0]

    def g(x: Any) -> Any:
        y = np.sin(x) * 2
        print(end="")
        return y

    monkeypatch.setattr(worth, "timed", taking(lambda call: native[0] if hasattr(call, "explain") else 1.0))
    monkeypatch.setattr(weighing, "timed", taking(lambda call: whole[0] if call is g else 1.0))
    jitted = tierup.jit(g, entry=entry)

    def answered(calls: int) -> tuple[int, int]:
        """By native code, and as a whole by Python."""
        before = jitted.stats()
        for _ in range(calls):
            assert (jitted(X) == np.sin(X) * 2).all()
        after = jitted.stats()
        return after.hits - before.hits, after.python - before.python

    answered(40)
    assert answered(FIRST * LATER - 60) == (FIRST * LATER - 60, 0)
    native[0] = 2.0
    answered(100)
    assert answered(10) == (0, 0)  # the region's statements, in the function's own code
    native[0], whole[0] = 0.5, 2.0
    answered(FIRST * LATER * LATER)
    whole[0] = 0.5
    answered(2 * FIRST * LATER * LATER)
    assert answered(10) == (0, 10)


@pytest.mark.parametrize("weigh", [True, False])
def test_regions_are_weighed_under_the_same_option(weigh: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "timed", taking(lambda _: 1e-7))

    def g(x: Any) -> Any:
        y = x * 2
        print(end="")
        return y + 1

    jitted = tierup.jit(g, weigh=weigh)
    for _ in range(20):
        assert (jitted(X) == X * 2 + 1).all()
    assert ("less time than a call of native code" in jitted.explain()) is weigh
    assert (jitted.stats().hits > 20) is not weigh


def test_a_round_waits_for_what_is_compiled_and_recorded(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f, num_profiled_runs=FIRST + 20)
    assert by_python(jitted, FIRST + 100) == 0 and jitted.stats().hits
    jitted = tierup.jit(f)
    with monkeypatch.context() as compiling:
        compiling.setattr(weighing.Weighed, "wait", lambda *_: False)
        assert by_python(jitted, 2 * FIRST + 10) == 0
    assert by_python(jitted, FIRST) > 0


@pytest.mark.parametrize("entry", ["native", "python"])
@pytest.mark.parametrize("python", [0.5, 0.96])
def test_calls_of_many_threads_take_turns_and_each_is_answered_once(clock: Clock, entry: str, python: float) -> None:
    """Each side has its six turns, though some take longer than others' whole rounds, and each call adds 1 to an array of its own."""
    turns: list[str] = []
    count = threading.local()

    def g(x: Any) -> Any:
        x += 1
        return x * 2

    def slow(x: Any) -> Any:
        turns.append("P")
        together.wait(0.01)  # others come in meanwhile
        return g(x)

    together = threading.Event()
    jitted = tierup.jit(g, entry=entry)
    jitted._python = slow
    times = Counter[str]()

    def seconds(call: Callable[..., Any]) -> float:
        side = "P" if call is slow else "N"
        times[side] += 1
        return python if side == "P" else 1.0

    wrong: list[int] = []
    done: list[int] = []

    def work(seed: int) -> None:
        count.x = np.zeros(4)
        for i in range(1, FIRST):
            if not (jitted(count.x) == 2 * i).all() or not (count.x == i).all():
                wrong.append(i)
        done.append(seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weighing, "timed", taking(seconds))
        jitted(np.zeros(4)), jitted(np.zeros(4))
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong and sorted(done) == [0, 1, 2, 3]
    assert times == {"N": ROUND // 2, "P": ROUND // 2}
    assert (jitted.elsewhere is not None) is (python < 0.95)
    if python > 0.95:
        assert len(turns) == ROUND // 2


def test_calls_inside_a_timed_call_are_answered_by_the_same_side(monkeypatch: pytest.MonkeyPatch) -> None:
    sides: list[str] = []
    counted: list[str] = []

    class Sides(weighing.Weighed):
        def __init__(self) -> None:
            self.ended: list[Any] = []

        concerns_tensors = staticmethod(lambda *_: False)  # type: ignore[assignment]
        seconds_in_tier0 = seconds_of_raising = 0.0  # type: ignore[assignment]
        times = Times()

        def ours(self) -> Any:
            return lambda n: self.answer("N", n)

        def answer(self, side: str, n: int) -> int:
            sides.append(side)
            return n if n == 0 else turns(n - 1) + 1

        def begin(self, weighing: Any) -> None: ...
        def note_python(self) -> None:
            counted.append("P")

        def settle(self, weighing: Any, python: Any = None) -> None:
            self.ended.append(python)

    monkeypatch.setattr(weighing, "timed", taking(lambda _: 1.0))
    function = Sides()
    turns = weighing.Round(function, lambda n: function.answer("P", n))
    for turn in weighing._TURNS:
        assert turns(3) == 3
        assert sides == [turn] * 4 and counted == [turn] * (4 if turn == "P" else 0)
        sides.clear()
        counted.clear()
    assert function.ended == [None] and turns(0) == 0 and sides == ["N"]


def test_a_reset_in_a_round_ends_it(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + 4)
    ended = jitted._round
    assert ended is not None
    jitted.reset()
    assert by_python(jitted, 10) == 0
    while ended._turns:  # calls that were in it
        ended(X)
    assert jitted.elsewhere is None and by_python(jitted, 10) == 0


def test_a_round_that_does_not_end_gives_way_to_the_next(clock: Clock) -> None:
    clock(1.0, 0.5)
    jitted = tierup.jit(f)
    by_python(jitted, FIRST + 4)
    jitted._round._turns.clear()  # taken by calls that never come back
    assert by_python(jitted, 10) == 0 and jitted.elsewhere is None
    by_python(jitted, FIRST * LATER + ROUND)
    assert by_python(jitted, 10) == 10
