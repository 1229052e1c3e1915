"""Slow functions of every kind that `explain()` knows: its verdict names the cause, the line and the remedy, and the times add up.

The clock here is the CPU time of the thread: on a busy machine another process may have the core anywhere, between two looks at the clock, too.
"""

import linecache
import re
from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.account import times
from tierup.runtime.functions.verdict import words

AS_PRINTED = True
SCALE, AXIS = 1.0, 0
NAMES: list[str] = []


class Clock:
    """Sums up what calls of a function take, as whoever calls it sees it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        start = thread_time()
        try:
            return function(*args, **kwargs)
        finally:
            self.seconds += thread_time() - start


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    times._of_clock.cache_clear()
    monkeypatch.setattr(times, "perf_counter", thread_time)
    yield Clock()
    times._of_clock.cache_clear()


def line_of(function: Any) -> str:
    code = function.__wrapped__.__code__
    return f"{code.co_filename}:{code.co_firstlineno + 1}"  # of the `def`, behind one decorator


def source(place: str) -> str:
    name, _, line = place.partition(".py:")
    return linecache.getline(f"{name}.py", int(line.partition(":")[0])).strip()


def said_of(function: Any) -> str:
    """The verdict, as `explain()` has it, in one line."""
    lines = function.explain().splitlines()
    assert lines[1].startswith("  time: ")
    assert all(len(line) <= words.WIDTH for line in lines)
    begin = next(i for i, line in enumerate(lines) if line.startswith("  Slow"))
    end = next(i for i, line in enumerate(lines) if i > begin and not line.startswith("    "))
    return " ".join(line.strip() for line in lines[begin:end])


def cause_of(function: Any, finder: Callable[..., Any]) -> words.Cause:
    """What this finder finds, among others of which one may have taken longer."""
    assert finder in words.FINDERS
    [found] = finder(function._facts())
    assert found.seconds > 0
    return found


def adds_up(function: Any, clock: Clock) -> None:
    """The times of all parts, and what the calls took: no part is missing and none counted twice. On a busy machine the way into a call and out
    of it, which is no part's, takes several times as long as else."""
    assert sum(function.times_by_part.values()) == pytest.approx(clock.seconds, rel=0.25, abs=0.04)


def test_an_argument_whose_dtype_drifts(clock: Clock) -> None:
    @tierup.jit
    def step(x, a):
        return x * a + 1

    x = np.linspace(0, 1, 64)
    for i in range(60):
        clock.call(step, x.astype([np.float64, np.float32, np.int64][i % 3]), [2, 2.5][i % 2])
    said = said_of(step)
    assert said.startswith("Slow because dtypes drift from call to call: `x` is ") and line_of(step) in said
    assert "f64 in " in said and "f32 in " in said and "i64 in " in said and "`a` is " in said and "float in " in said
    assert "Do: give each argument one dtype before the call: x = np.asarray(x, np.float64) and a = float(a)." in said  # which hold them all
    adds_up(step, clock)


def test_a_list_whose_numbers_are_ints_now_and_floats_then(clock: Clock) -> None:
    @tierup.jit
    def pairs(xs):
        n = 0
        for i in range(len(xs)):
            for j in range(i + 1, len(xs)):
                if xs[i] + xs[j] > 1:
                    n += 1
        return n

    for i in range(20):
        clock.call(pairs, [[1, 2.5][i % 2]] * 40)
    assert "Do: give each argument one dtype before the call: xs = [float(v) for v in xs]." in said_of(pairs)


def test_arrays_of_ever_other_ranks(clock: Clock) -> None:
    @tierup.jit
    def norm(x):
        return (x * x).sum()

    for i in range(24):
        clock.call(norm, np.ones((2,) * (1 + i % 6)))
    said = said_of(norm)
    assert said.startswith("Slow because `x` has another number of dimensions from call to call, 1 to 6, and each makes a graph with versions")
    assert line_of(norm) in said and "Do: give it one number of dimensions before the call" in said


def test_a_list_that_grows(clock: Clock) -> None:
    @tierup.jit
    def mean_of(history):
        total = np.zeros(8)
        for each in history:
            total = total + each
        return total / len(history)

    history = []
    for i in range(40):
        history.append(np.full(8, float(i)))
        clock.call(mean_of, history)
    said = said_of(mean_of)
    assert said.startswith("Slow because the list `history` has another length from call to call, 1 to 40, and each makes a graph: 40 graphs")
    assert line_of(mean_of) in said and "Do: pass one array in its place, `np.array(history)`" in said
    explained = mean_of.explain()
    assert "... and 35 graphs more, with 35 calls" in explained and "all 40 differ in len(history), 1 to 40" in explained
    assert explained.count("graph for (") == 5 and "too seldom" not in explained
    assert mean_of.explain(details=True).count("graph for (") == 40
    adds_up(mean_of, clock)


def test_values_from_outside_that_change(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    @tierup.jit
    def scaled(x):
        y = x + 1
        return y.sum(axis=AXIS) * SCALE

    x = np.ones((4, 4, 4))
    for i in range(30):
        monkeypatch.setitem(globals(), "AXIS", i % 3)
        monkeypatch.setitem(globals(), "SCALE", 1.0 + i)
        clock.call(scaled, x)
    said = said_of(scaled)
    assert said.startswith("Slow because `AXIS` and `SCALE`, read from outside, changed between calls")
    place = said.partition("; at ")[2].partition(". Do: ")[0]
    assert source(place) == "return y.sum(axis=AXIS) * SCALE"
    assert "Do: keep `AXIS` fixed" in said and "others as arguments" in said
    adds_up(scaled, clock)


def test_a_function_that_is_decorated_again_and_again(clock: Clock) -> None:
    def solve(x: np.ndarray, k: float) -> Any:
        @tierup.jit
        def inner(v):
            return np.tanh(v) * k

        clock.call(inner, x)
        return inner

    for i in range(12):
        clock.seconds = 0.0
        inner = solve(np.ones(8), float(i))
    said = said_of(inner)
    assert said.startswith("Slow because `inner` was decorated 12 times at the same line") and line_of(inner) in said
    assert "Do: decorate it once, at the top of the module" in said
    adds_up(inner, clock)


def test_a_keyword_whose_values_make_graphs(clock: Clock) -> None:
    @tierup.jit
    def moved(x, *, mode="a", shift=0.0):
        return x + len(mode) if mode < "c" else x * shift

    x = np.ones(8)
    for i in range(96):
        clock.call(moved, x, mode="abcdefghijkl"[i % 12], shift=2.0)
    said = said_of(moved)
    assert said.startswith("Slow because `mode` has 12 values from call to call ('a', 'b', 'c', 'd' and 8 more), and each makes a graph")
    assert line_of(moved) in said and "Do: make a function for each value" in said
    adds_up(moved, clock)


def test_arrays_that_lie_with_gaps(clock: Clock) -> None:
    @tierup.jit
    def summed(a, b):
        return (a * b + 1).sum()

    a, b = np.ones((400, 400)), np.ones((400, 400))
    for _ in range(40):
        clock.call(summed, a[:, ::2], b[:, ::2])
        clock.call(summed, a, b)
    found = cause_of(summed, words.arguments.strided_layouts)
    assert "`a` has gaps" in found.what and "a call" in found.what and "times what rows take an element" in found.what
    assert found.remedy == "lay it out in rows before the loop: a = np.ascontiguousarray(a) and b = np.ascontiguousarray(b)"
    assert found.line == line_of(summed)
    adds_up(summed, clock)


def test_an_op_without_native_code_in_a_loop(clock: Clock) -> None:
    @tierup.jit
    def ranked(x):
        y = x
        for _ in range(x.shape[0]):
            p = np.argpartition(y, 3)
            y = y + p * 0.1
        return y

    for _ in range(12):
        clock.call(ranked, np.random.default_rng(0).random(20))
    said = said_of(ranked)
    assert said.startswith("Slow because `np.argpartition` in a loop of some 20 rounds a call has no native code, so tier 0 runs it")
    assert source(said.partition("; at ")[2].partition(". Do: ")[0]) == "p = np.argpartition(y, 3)"
    assert "Do: use np.argsort or np.partition, or take it out of the loop" in said
    adds_up(ranked, clock)


def test_a_loop_that_is_written_out(clock: Clock) -> None:
    @tierup.jit
    def layers(x):
        y = x
        for scale, shift in [(0.1 * k, k) for k in range(30)]:
            y = np.tanh(y * scale + shift)
        return y

    for _ in range(3):
        clock.call(layers, np.ones(16))
    said = said_of(layers)
    assert said.startswith("Slow because a loop is written out, all 30 rounds of it")
    assert source(said.partition("; at ")[2].partition(". Do: ")[0]).startswith("for scale, shift in ")
    assert "Do: loop over an array or a range(n)" in said
    adds_up(layers, clock)


def test_very_many_leaves(clock: Clock) -> None:
    @tierup.jit
    def stepped(params, lr):
        return {k: v - lr * v for k, v in params.items()}

    params = {f"w{i}": np.ones((2, 2)) for i in range(60)}
    for _ in range(4):
        params = clock.call(stepped, params, 0.1)
    said = said_of(stepped)
    assert said.startswith("Slow because each call brings 61 arrays and numbers, of which `params` has 60") and line_of(stepped) in said
    assert "Do: put arrays of one shape into one array, `np.array(list(params.values()))`" in said
    assert "version: params: 60 arrays f64[2, 2], lr: float: static" in stepped.explain()
    adds_up(stepped, clock)


def test_a_dict_whose_keys_differ_from_call_to_call(clock: Clock) -> None:
    @tierup.jit
    def total(scores):
        t = 0.0
        for v in scores.values():
            t += v
        return t

    for i in range(12):
        clock.call(total, {f"user{i}": 1.0, f"item{i}": 2.0})
    said = said_of(total)
    assert said.startswith("Slow because the dict `scores` has other keys from call to call, and each set of keys makes a graph: 12 graphs")
    assert "Do: pass the values as an array, `np.array(list(scores.values()))`" in said and line_of(total) in said
    adds_up(total, clock)


def test_leaves_of_several_kinds_are_put_together_by_kind(clock: Clock) -> None:
    @tierup.jit
    def stepped(params):
        return [{"w": p["w"] * 0.9, "b": p["b"] * 0.9} for p in params]

    params = [{"w": np.ones((3, 3)), "b": np.ones(3)} for _ in range(20)]
    for _ in range(4):
        params = clock.call(stepped, params)
    assert "`np.array([each['w'] for each in params])`" in said_of(stepped)
    assert "version: params: 20 arrays f64[3, 3] and 20 arrays f64[3]: static" in stepped.explain()
    adds_up(stepped, clock)


def test_calls_in_which_the_user_raises(clock: Clock) -> None:
    @tierup.jit
    def checked(x, limit):
        s = x.sum()
        if s > limit:
            raise ValueError("too large")
        return s / limit

    for i in range(200):
        try:
            clock.call(checked, np.ones(50), 10.0 if i % 3 else 100.0)
        except ValueError:
            pass
    said = said_of(checked)
    assert "the check of a raise failed in " in said and "ValueError: too large" in said and "NumPy's own functions" not in checked.explain()
    assert source(said.partition("; at ")[2].partition(". Do: ")[0]) == 'raise ValueError("too large")'
    assert "Do: test for it before the call, or give a result that says so" in said


def test_an_option_that_keeps_calls_in_tier_0(clock: Clock) -> None:
    @tierup.jit(optimize=False)
    def summed(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * 2
        return s

    for _ in range(6):
        clock.call(summed, np.ones(500))
    said = said_of(summed)
    assert said.startswith("Slow because tier 0 answered 6 calls: the option optimize is off; at ") and "Do: leave optimize=False out" in said
    adds_up(summed, clock)


def test_what_python_answers_at_once_is_timed_and_counted(clock: Clock) -> None:
    @tierup.jit
    def counted(text):
        return {c: text.count(c) * ord(c) for c in text}

    for i in range(200):
        clock.call(counted, f"number {i} of the world" * 20)
    said = said_of(counted)
    assert counted.elsewhere is not None and counted.explain().startswith("counted: 200 calls, which go to the undecorated function at once")
    assert said.startswith("Slow because Python runs what is not translated: iterating over a string")
    assert source(said.partition("; at ")[2].partition(". Do: ")[0]).startswith("return {c: ")
    assert "Do: pass the codes of its characters as an array, np.frombuffer(text.encode(), np.uint8)" in said
    adds_up(counted, clock)


def test_statements_of_python_between_regions_are_timed_apart_from_these(clock: Clock) -> None:
    @tierup.jit
    def mixed(x):
        for i in range(20):
            x = np.tanh(x) + i
            NAMES.append(str(i))
        return x

    for _ in range(100):
        clock.call(mixed, np.ones(2000))
    said = said_of(mixed)
    assert said.startswith("Slow because Python runs what is not translated: ") and "too little work" not in mixed.explain()
    seconds = mixed._facts().seconds
    assert seconds["Python"] > 0
    assert sum(seconds.values()) == pytest.approx(clock.seconds, rel=0.25, abs=0.04)


def test_a_recursive_function_of_pythons_is_timed_once(clock: Clock) -> None:
    @tierup.jit
    def depth(tree):
        return 1 + max([depth(each) for each in tree.children], default=0)

    class Tree:
        def __init__(self, levels: int) -> None:
            self.children = [Tree(levels - 1) for _ in range(3)] if levels else []

    tree = Tree(6)
    for _ in range(30):
        assert clock.call(depth, tree) == 7
    assert sum(depth._facts().seconds.values()) == pytest.approx(clock.seconds, rel=0.25, abs=0.04)


def test_many_arguments_of_their_own_are_not_told_to_be_put_together(clock: Clock) -> None:
    """As PyTorch's graphs have, to which each parameter is an argument."""
    @tierup.jit
    def total(
        a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9,
        c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, d0, d1, d2, d3, d4, d5, d6, d7, d8, d9,
    ):  # fmt: skip
        left = a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9
        return left + c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + d0 + d1 + d2 + d3 + d4 + d5 + d6 + d7 + d8 + d9

    for _ in range(4):
        clock.call(total, *[np.ones((2, 2))] * 40)
    assert "np.array(" not in total.explain()
    adds_up(total, clock)


def test_a_check_that_fails_call_after_call(clock: Clock) -> None:
    @tierup.jit(weigh=False)  # else Python answers most of these calls
    def picked(x, i):
        y = x + 1
        return y[i] * 2

    x = np.ones(10)
    clock.call(picked, x, 1), clock.call(picked, x, 2)
    for k in range(200):
        with pytest.raises(IndexError):
            clock.call(picked, x, 10 + k % 3)
    said = said_of(picked)
    assert said.startswith("Slow because the check of an index failed in 200 calls")
    assert "IndexError: index 1" in said and "is out of bounds for axis 0 with size 10" in said
    assert source(said.partition("; at ")[2].partition(". Do: ")[0]) == "return y[i] * 2"
    assert "Do: look at the index before the call" in said and "np.clip" in said
    assert "= 1 hit + 200 raised + 0 misses" in picked.explain().splitlines()[0]
    adds_up(picked, clock)


def test_calls_with_too_little_work() -> None:
    @tierup.jit(weigh=False)  # by chance Python may be as quick
    def add(a, b):
        return a + b

    total = 0.0
    for _ in range(20_000):
        total = add(total, 1.0)
    said = said_of(add)
    assert said.startswith("Slow because each of 199") or said.startswith("Slow because each of 20000 calls has too little work for a call")
    assert f"{__file__}:" in said and "Do: put the loop around it into the function" in said
    assert 20_000 / 2.5 < add.times.native.calls <= 20_000  # what samples stand for: one is taken of the next calls, at most 1.5 times as many as there were


def test_more_kinds_of_arguments_than_versions(clock: Clock) -> None:
    @tierup.jit(fusion_strategy=(("static", 2),), max_versions=2, weigh=False)
    def squashed(x):
        return np.tanh(x) * 2

    with pytest.warns(tierup.RecompileLimitWarning):
        for k in range(120):
            clock.call(squashed, np.ones(2 + k % 30))
    said = said_of(squashed)
    assert "calls came with more kinds of arguments than the limits on versions allow" in said and line_of(squashed) in said
    assert "fusion_strategy: 2 static, max_versions: 2" in said and 'Do: raise max_versions and fusion_strategy with a ("dynamic", 10)' in said
    adds_up(squashed, clock)


def test_a_version_that_is_slower_than_tier_0() -> None:
    @tierup.jit
    def slow(x):
        return x + 1

    for _ in range(20):
        slow(np.ones(100_000))
    [executor] = slow._executors
    executor.history.seconds_in_tier0 = 1e-7  # as if tier 0 were that quick
    found = cause_of(slow, words.code.slower_than_tier0)
    assert "takes" in found.what and "tier 0 took 0.1 us" in found.what and found.line == line_of(slow)
    assert "leave this function undecorated" in found.remedy


@pytest.mark.parametrize(
    ("order", "said", "remedy"),
    [("C", "`a` is read down its columns", "run over the last index of a"), ("F", "`a` is in Fortran order", "a = np.ascontiguousarray(a)")],
)
def test_an_array_that_is_read_against_its_order(clock: Clock, order: str, said: str, remedy: str) -> None:
    @tierup.jit
    def down(a):
        total = 0.0
        for j in range(a.shape[1]):
            for i in range(a.shape[0]):
                total += a[i, j]
        return total

    @tierup.jit
    def along(a):
        return (a - a.mean(axis=1, keepdims=True)) / a.std(axis=1, keepdims=True)

    slow = down if order == "C" else along
    a = np.asarray(np.ones((300, 300)), order=order)  # type: ignore[call-overload]
    for _ in range(12):
        clock.call(slow, a)
    found = cause_of(slow, words.arguments.strided_layouts)
    assert said in found.what and "a call" in found.what and remedy in found.remedy and found.line == line_of(slow)
    other = along if order == "C" else down
    for _ in range(3):
        other(np.ones((300, 300)) if order == "C" else np.ones((30, 30), order="F"))
    assert not list(words.arguments.strided_layouts(other._facts()))


def test_a_function_that_is_slow_at_first_alone(clock: Clock) -> None:
    @tierup.jit
    def once(x):
        return np.tanh(x) * 3

    for _ in range(3):
        clock.call(once, np.ones(16))
    assert re.match(r"Slow in its first calls alone: they (import modules \(.*|build graphs \(.*)?compile \(", said_of(once))
    assert "too seldom" not in once.explain()
    adds_up(once, clock)


def test_a_first_call_that_takes_long_in_tier_0_is_said_to(clock: Clock) -> None:
    @tierup.jit
    def total(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i]
        return s

    for _ in range(20):
        clock.call(total, np.ones(50))
    total._facts().times[0].seconds[times.TIER0] += 5.0
    assert re.match(r"Slow in its first calls alone: they .*run in tier 0 \(5", said_of(total)), total.explain()


def test_a_reset_forgets_the_times() -> None:
    @tierup.jit
    def f(x):
        return np.tanh(x) * 1.2345678

    for _ in range(3):
        f(np.ones(16))
    assert f.times_by_part["graphs"] > 0 and f.times_by_part["tier 0"] > 0
    assert f.times.graphs == 1
    f.reset()
    assert not sum(f.times_by_part.values()) and f.times.graphs == 0


def test_what_no_call_waits_for_is_counted_apart() -> None:
    @tierup.jit(compile="background")
    def f(x):
        return np.tanh(x) * 7.654321

    for _ in range(4):
        f(np.ones(16))
    assert f.wait(60)
    f(np.ones(16))
    assert f.times.background is not None and f.times.background.by_part[times.COMPILING] >= 0
    assert f.times.background.by_part[times.LOADING] > 0 or f.times_by_part[times.LOADING] > 0


def test_nested_blocks_are_the_inner_parts() -> None:
    account = times.Times()
    with times.During(times.OVERHEAD, account):
        with times.During(times.TIER0):
            with times.During(times.NATIVE):
                pass
        assert times.since_call() > 0
    assert all(account.seconds[part] > 0 for part in (times.OVERHEAD, times.TIER0, times.NATIVE))
    before = dict(account.seconds)
    with times.During(times.TIER0):  # no call
        pass
    assert account.seconds == before and times.since_call() == 0


def test_samples_stand_for_the_calls_before_them() -> None:
    samples = times.Samples(2e-6)
    assert samples.untimed() == 0
    samples.add(1e-6, 1, 1)
    samples.add(2e-6, 100, 1)
    assert samples.seconds == pytest.approx(201e-6) and samples.of_version(1) == pytest.approx(1.5e-6) and samples.of_version(2) is None
    assert 50 <= samples.untimed() <= 150  # a hundredth of the time, at most, goes to it
    samples.add(1.0, 1000, 1)  # another process had the core
    assert samples.seconds == pytest.approx(201e-6 + 1 + 999 * 2e-6)
    assert samples.untimed() == 0
