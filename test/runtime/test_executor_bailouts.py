"""`speculate="bailout"`: assumes values in mid-program, and what goes on where one is lost. The oracle is the undecorated function."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.dialect.ops.reductions import ordering
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import Event, EventKind, log_listener
from tierup.runtime.dispatching.version import Version
from tierup.runtime.functions.function import Function


def leaving(function: Callable[..., Any], **options: Any) -> Function:
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
    if isinstance(want, tuple):
        for g, w in zip(got, want, strict=True):
            assert_close(g, w)
        return
    np.testing.assert_allclose(got, want, rtol=1e-5)
    assert np.asarray(got).dtype == np.asarray(want).dtype


# --- programs. Those with argpartition run in tier 0 between native regions, the others are native as a whole. ---------------------


def straight(x):
    n = int(x[np.argpartition(x, -1)][-1])
    y = np.zeros(n, np.float32) + x[0]
    return np.tanh(y) * 2 + n


def arm(x):
    y = x[np.argpartition(x, -1)]
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
        y = (x + i)[np.argpartition(x + i, -1)]
        for j in range(m):
            y = y * 0.5 + j
            if y[0] > -3:
                total = total + np.tanh(y) * j
            else:
                total = total - y * 2
        total = total * 1.5 + i
    return total


def native_straight(x):
    a = x * 2
    n = int(a.sum())
    y = np.zeros(n, np.float32) + x[0]
    return np.tanh(y) * 2 + n, a + 1


def native_arm(x):
    y = x * 3 - 1
    if y[0] > 0:
        z = np.exp(y) - 1
        w = z * y
    else:
        w = y - 1
        z = np.tanh(w) * 3
    return z + w * x


def native_nested(x, n, m):
    total = x * 0
    for i in range(n):
        y = x + i
        for j in range(m):
            y = y * 0.5 + j
            if y[0] > -3:
                total = total + np.tanh(y) * j
            else:
                total = total - y * 2
        total = total * 1.5 + i
    return total


def native_while(x, n):
    steps = 0
    while x.sum() < n:
        if x[0] < 50:
            x = x * 2 + 1
        else:
            x = x + 100
        steps = steps + 1
    return x * steps


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


KEPT = {
    straight: [f32(1, 3, 2)],
    arm: [f32(3, 1, 2)],
    nested: [f32(2, 1, 3), 2, 3],
    native_straight: [f32(1, 3, 2)],
    native_arm: [f32(3, 1, 2)],
    native_nested: [f32(2, 1, 3), 2, 3],
    native_while: [f32(2, 1), 40],
}
# How often a run with these arguments evaluates the assumption of each program: each has one.
EVALUATIONS = {straight: 1, arm: 1, nested: 2 * 3, native_straight: 1, native_arm: 1, native_nested: 2 * 3, native_while: 4}
LOST = {
    straight: [f32(1, 5, 2)],
    arm: [f32(-3, 1, 2)],
    nested: [f32(2, -6, 3), 2, 3],
    native_straight: [f32(1, 5, 2)],
    native_arm: [f32(-3, 1, 2)],
    native_nested: [f32(-9, 1, 3), 2, 3],
    native_while: [f32(2, 1), 400],
}


@pytest.mark.parametrize("function", KEPT, ids=lambda f: f.__name__)
def test_an_assumption_is_kept_then_lost_then_kept(function: Callable[..., Any]) -> None:
    f = leaving(function)
    for _ in range(3):
        result, events = events_of(f, *KEPT[function])
        assert_close(result, function(*KEPT[function]))
        assert not bailouts(events)
    assert (f.stats().profiled_runs, f.stats().hits) == (1, 2)
    assert isinstance(f.versions[0], Version) == function.__name__.startswith("native")
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


@pytest.mark.parametrize(
    ("function", "entry"),
    drawn("losses of each assumption", [(function, entry) for function in KEPT for entry in ("native", "python")], 3, lambda row: row[1]),
    ids=lambda v: getattr(v, "__name__", v),
)
def test_each_assumption_lost_at_each_evaluation(function: Callable[..., Any], entry: str) -> None:
    """In straight code, arms and nested loops, whichever entry checks the arguments' guards; and the rest of the program speculates in its turn."""
    arguments = KEPT[function]
    want = function(*arguments)
    with tierup.options(testing=True):
        f = leaving(function, entry=entry)
        for _ in range(2):
            f(*arguments)
        (executor,) = f._executors
        continuations = executor.continuations(f.versions[0])
        lost: dict[int, int] = {}
        for index in range(len(continuations.code.assumptions)):
            for evaluation in count():
                before = f.stats()
                with tierup.testing.faults(guard=f"{function.__name__}:bailout{index}", evaluation=evaluation):
                    got, events = events_of(f, *arguments)
                assert_close(got, want)
                if not bailouts(events):
                    break
                assert f.stats().bailouts == before.bailouts + 1
                assert f.stats().hits == before.hits + 1
                lost[index] = evaluation + 1
    assert lost == {0: EVALUATIONS[function]}
    assert f.stats().profiled_runs == 1
    got, events = events_of(f, *arguments)
    assert_close(got, want)
    assert not bailouts(events), "an assumption that fails by force is not dropped"


def test_a_failed_assumption_is_told_with_what_was_expected_and_the_line() -> None:
    f = leaving(straight)
    for _ in range(2):
        f(*KEPT[straight])
    (lost,) = bailouts(events_of(f, *LOST[straight])[1])
    assert (lost.expected, lost.actual, lost.reason) == ("int=3", "int=5", Reason.ASSUMPTION_FAILED)
    assert f"test_executor_bailouts.py:{straight.__code__.co_firstlineno + 1}" in lost.line
    assert "went on in tier 0" in lost.action


def test_what_goes_on_is_compiled_when_it_comes_again() -> None:
    f = leaving(arm)
    for _ in range(2):
        f(*KEPT[arm])
    told = [bailouts(events_of(f, *LOST[arm])[1])[0].action for _ in range(3)]
    assert told[0] == "went on in tier 0"
    assert told[2].startswith("went on natively")


def test_an_assumption_that_is_lost_too_often_is_dropped_and_never_made_again() -> None:
    f = leaving(arm)
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


def test_what_a_version_that_is_made_again_evicts_is_told_and_never_assumption_on_again() -> None:
    f, other = leaving(native_arm), f32(3, 1, 2, 5)
    for x in (KEPT[native_arm][0],) * 3 + (other,) * 3:
        assert_close(f(x), native_arm(x))
    assert len(f.versions) == 2
    for _ in range(2):
        f(*LOST[native_arm])
    with tierup.options(max_versions=1):
        _, events = events_of(f, *LOST[native_arm])
    assert [(e.kind, e.guard) for e in events if e.kind is EventKind.EVICTED] == [(EventKind.EVICTED, "x: f32[4]")]
    assert len(f.versions) == 1
    compiles = f.stats().compiles
    f(other)
    (made,) = (v.guards for v in f.versions if v.guards != "x: f32[3]")  # no second version for f32[4]: the next more general one
    assert made == "x: f32[s0]" and f.stats().compiles == compiles + 1


@pytest.mark.parametrize("function", [straight, native_straight], ids=lambda f: f.__name__)
def test_assumptions_that_always_fail_cost_a_bounded_number_of_compiles(function: Callable[..., Any]) -> None:
    f = leaving(function)
    rng = np.random.default_rng(0)
    compiles = []
    for _ in range(60):
        x = f32(1, *rng.integers(2, 40, size=2))
        assert_close(f(x), function(x))
        compiles.append(f.stats().compiles)
    assert compiles[-1] == compiles[29], compiles
    assert f.stats().bailouts <= 6


def test_a_program_without_assumptions_in_mid_program_is_the_versioned_one() -> None:
    @tierup.jit(speculate="bailout")
    def f(x):
        return np.tanh(x) * 2 + x.sum()

    for _ in range(4):
        f(f32(1, 2, 3))
    (version,) = f.versions
    assert version.speculation.kind == "static"
    assert (f.stats().hits, f.stats().bailouts) == (3, 0)


def test_an_exception_after_a_failed_assumption_is_the_programs_own() -> None:
    def late(x, i):
        y = x[np.argpartition(x, -1)]
        n = int(y[-1])
        z = np.zeros(n, np.float32) + y[0]
        return z[i] * 2

    f = leaving(late)
    for _ in range(3):
        assert_close(f(f32(1, 4, 2), 3), late(f32(1, 4, 2), 3))
    for _ in range(2):
        with pytest.raises(IndexError, match=r"return z\[i\]"):
            f(f32(1, 2, 2), 3)


def test_arguments_are_written_once_and_after_all_else() -> None:
    def write(x, y):
        x[0] = x[0] + 1
        n = int(y[np.argpartition(y, -1)][-1])
        z = np.zeros(n, np.float32) + x[0]
        x[1] = z.sum()
        return z

    f = leaving(write)
    for y in (f32(1, 3), f32(1, 3), f32(1, 3), f32(1, 5), f32(1, 5), f32(1, 5), f32(1, 7), f32(1, 3)):
        got, want = f32(1, 2, 3), f32(1, 2, 3)
        assert_close(f(got, y), write(want, y))
        assert_close(got, want)
    assert f.stats().bailouts >= 2


def test_live_values_are_handed_over_as_they_are() -> None:
    """In tier 0 the very arrays; from native code arrays of the kernel's own memory, an argument as itself. Nobody copies."""
    for function in (arm, native_arm):
        f = leaving(function)
        for _ in range(2):
            f(*KEPT[function])
        (executor,) = f._executors
        continuations = executor.continuations(f.versions[0])
        seen: list[tuple[Any, ...]] = []
        rest = continuations._executor(0)
        call = rest.call
        rest.call = lambda live, call=call, seen=seen: seen.append(live) or call(live)
        (x,) = LOST[function]
        assert_close(f(x), function(x))
        (live,) = seen
        assert any(value is x for value in live), "the argument"
        arrays = [v for v in live if isinstance(v, np.ndarray) and v is not x]
        assert arrays and not any(np.shares_memory(v, x) for v in arrays)
        if function is native_arm:
            assert all(type(v.base).__name__ == "_Allocated" for v in arrays), "memory that the kernel allocated"


def test_nothing_that_ran_before_the_bailout_runs_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting is done in tier 0, where its kernel is counted: as often as in the program, wherever an assumption fails."""
    sorts: list[int] = []
    plain = ordering.numpy_argpartition.tier0
    monkeypatch.setattr(ordering.numpy_argpartition, "tier0", lambda *operands: sorts.append(1) or plain(*operands))
    arguments = KEPT[nested]
    with tierup.options(testing=True):
        f = leaving(nested, bailout_depth=1)
        for _ in range(2):
            f(*arguments)
        for evaluation in range(EVALUATIONS[nested]):
            sorts.clear()
            with tierup.testing.faults(guard="nested:bailout0", evaluation=evaluation):
                _, events = events_of(f, *arguments)
            assert bailouts(events)
            assert len(sorts) == arguments[1], f"lost at evaluation {evaluation}"


def test_calls_of_many_threads_lose_and_keep_assumptions_at_once() -> None:
    for function in (arm, native_arm):
        f = leaving(function, weigh=False)
        for _ in range(3):
            f(*KEPT[function])
        wrong: list[str] = []

        def work(seed: int, f: Function = f, function: Callable[..., Any] = function, wrong: list[str] = wrong) -> None:
            for i in range(40):
                (x,) = (LOST if (i + seed) % 3 == 0 else KEPT)[function]
                if not np.allclose(f(x), function(x), rtol=1e-5):
                    wrong.append(f"thread {seed}, call {i}")

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong
        stats = f.stats()
        assert stats.calls == 3 + 4 * 40, f.explain()
        assert stats.bailouts > 0


def test_what_goes_on_has_one_level_less_of_assumptions() -> None:
    """With `bailout_depth=1` a continuation makes no version; with more it is compiled, and may speculate in its turn."""

    def two(x):
        y = x * 2
        z = np.exp(y) if y[0] > 0 else y - 1
        w = z + x
        return w * 2 if w[1] > 0 else w - 3

    kept, lost = f32(1, 2, 3), f32(-1, 2, 3)
    for depth in (1, 20):
        f = leaving(two, bailout_depth=depth)
        for _ in range(2):
            f(kept)
        for _ in range(2):
            assert_close(f(lost), two(lost))
        (executor,) = f._executors
        (rest,) = executor.continuations(f.versions[0]).executors.values()
        assert len(rest.versions) == (depth > 1), rest.history.events
        if depth > 1:
            assert rest.continuations(rest.versions[0]) is not None, "the second branch is assumed in there"
            both = f32(-1, -2, 3)
            got, events = events_of(f, both)
            assert_close(got, two(both))
            assert [e.function for e in bailouts(events)] == ["two", rest.program.name], "a continuation that bails out itself"


def test_plan_and_explain_show_the_assumptions() -> None:
    f = leaving(native_arm)
    for arguments in (KEPT, KEPT, KEPT, LOST):
        f(*arguments[native_arm])
    assert "tierup.bailout" in f.plan("guarded")
    assert "profiled = #tierup.profiled<bool=true>" in f.plan("profiled")
    assert "tierup.bailout" in f.plan("specialized")
    assert "assumption: the condition (aten.Bool.Tensor) is bool=true at " in f.explain()
    assert "held in 2 calls, failed in 1" in f.explain()


def test_an_assumption_on_a_branch_leaves_the_arm_that_is_not_taken_out() -> None:
    f = leaving(native_arm)
    for _ in range(2):
        f(*KEPT[native_arm])
    code = f.plan("specialized")
    assert "torch.aten.exp" in code
    assert "torch.prim.If" not in code
    assert "torch.aten.tanh" not in code


def test_a_program_that_is_split_is_cut_for_other_sizes_anew() -> None:
    """What its bailouts prove holds for arguments of the sizes that it was cut for; others are answered elsewhere, and then cut for too."""
    f = leaving(arm)
    for x in (f32(3, 1, 2),) * 3 + (f32(3, 1),) * 3 + (f32(3, 1, 2), f32(3, 1), f32(5), f32(), f32(4, 3, 2, 1)):
        if x.size:
            assert_close(f(x), arm(x))
    (executor,) = f._executors
    assumptions = {split.guards: len(executor.continuations(split).code.assumptions) for split in f.versions}
    assert assumptions == {"x: f32[3]": 1, "x: f32[2]": 1, "x: f32[s0]": 1}


@pytest.mark.parametrize("function", drawn("assumptions of the first call", KEPT, 2), ids=lambda f: f.__name__)
def test_without_profiled_runs_the_first_calls_own_arguments_are_assumption_on(function: Callable[..., Any]) -> None:
    """Native as a whole: at once. A program to be cut needs types in mid-program, so that its first run records."""
    f, arguments = leaving(function, num_profiled_runs=0), KEPT[function]
    for _ in range(4):
        assert_close(f(*arguments), function(*arguments))
    s, is_cut = f.stats(), "argpartition" in function.__code__.co_names
    assert (s.hits, s.profiled_runs, s.versions) == (4 - is_cut, is_cut, 1), f.explain()


def test_without_profiled_runs_a_program_is_cut_after_a_compile_in_the_background_too() -> None:
    f = leaving(arm, num_profiled_runs=0, compile="background")
    for _ in range(6):
        assert_close(f(*KEPT[arm]), arm(*KEPT[arm]))
        assert f.wait(200)
    assert f.stats().hits == 3, f.explain()


def test_without_profiled_runs_a_first_call_that_raises_leaves_the_next_to_record() -> None:
    def chosen(x, i):
        return np.tanh(x[np.argpartition(np.tanh(x) * 2, -1)])[i] * 2

    f = leaving(chosen, num_profiled_runs=0)
    for _ in range(2):
        with pytest.raises(IndexError):
            f(f32(1, 2, 3), 7)
    for _ in range(3):
        assert_close(f(f32(1, 2, 3), 1), chosen(f32(1, 2, 3), 1))
    assert f.stats().hits == 2


def test_a_size_that_varies_is_left_open_and_not_assumption_on_again() -> None:
    def masked(x):
        y = x[x > 0]
        return np.tanh(y) * 2 + y.sum()

    f = leaving(masked)
    for x in (f32(1, 2, -1),) * 3 + (f32(1, -2, -1), f32(1, 2, 3), f32(1, -2, -1)):
        assert_close(f(x), masked(x))
    assert f.stats().bailouts == 3
    for x in (f32(1, 2, -1), f32(-1, -2, -1), f32(1, 2, 3)):
        got, events = events_of(f, x)
        assert_close(got, masked(x))
        assert not events, "native, and no bailout"
    assert f.stats().bailouts == 3


def test_options_take_effect_at_the_next_call() -> None:
    f = tierup.jit(native_arm)
    for _ in range(3):
        f(*KEPT[native_arm])
    assert f.stats().hits == 2
    with tierup.options(speculate="bailout"):
        for _ in range(2):
            f(*KEPT[native_arm])
        assert_close(f(*LOST[native_arm]), native_arm(*LOST[native_arm]))
        assert f.stats().bailouts == 1
    before = f.stats()
    assert_close(f(*LOST[native_arm]), native_arm(*LOST[native_arm]))
    assert (f.stats().hits, f.stats().bailouts) == (before.hits + 1, before.bailouts)


def test_results_that_are_views_stay_views_when_an_assumption_is_lost() -> None:
    def views(x, i):
        y = x[1:]
        z = y * 2 if x[0] > 0 else y - 1
        w = x.reshape(-1)[: z.shape[0]]
        return y, z, w, x

    for entry in ("native", "python"):
        f = leaving(views, entry=entry)
        for first in (1, 1, 1, -1, -1, 1):
            x = f32(first, 2, 3)
            got, want = f(x, 1), views(x, 1)
            assert_close(got, want)
            assert [np.shares_memory(g, x) for g in got] == [np.shares_memory(w, x) for w in want]
            assert got[3] is x
        assert isinstance(f.versions[0], Version)
        assert f.stats().bailouts == 2


@pytest.mark.parametrize("function", [native_straight, straight], ids=lambda f: f.__name__)
def test_versions_are_made_again_in_the_background_too(function: Callable[..., Any]) -> None:
    f = leaving(function, compile="background")
    for _ in range(5):
        f(*KEPT[function])
        assert f.wait(200)
    rng = np.random.default_rng(0)
    for _ in range(30):
        x = f32(1, *rng.integers(2, 40, size=2))
        assert_close(f(x), function(x))
    for _ in range(3):  # what was lost is asked for, and cut
        assert f.wait(200)
        f(*KEPT[function])
    assert f.wait(200)
    before = f.stats()
    assert before.bailouts >= 3
    assert_close(f(*KEPT[function]), function(*KEPT[function]))
    assert f.stats().hits == before.hits + 1, f.explain()


def test_the_log_shows_bailouts(capsys: pytest.CaptureFixture[str]) -> None:
    f = leaving(native_arm)
    with tierup.events.subscribe(log_listener("bailouts")):
        for arguments in (KEPT, KEPT, LOST):
            f(*arguments[native_arm])
    (line,) = capsys.readouterr().err.splitlines()
    assert "native_arm: bailout; the condition (aten.Bool.Tensor) expected bool=true, got bool=false" in line
    assert "-> went on in tier 0" in line


def test_what_the_program_copies_is_a_copy_after_a_lost_assumption() -> None:
    def copies(x):
        w = x.copy()
        y = np.exp(x)
        z = y.copy()
        kept = x[x > 0]
        return w, y, z, np.tanh(kept) * 2

    f = leaving(copies)
    for _ in range(3):
        f(np.array([1, 2, -3, 4], np.float32))
    for _ in range(3):  # then the assumption is widened
        x = np.array([1, -2, -3, 4], np.float32)
        before = f.stats().bailouts
        w, y, z, kept = f(x)
        assert f.stats().bailouts == before + 1
        assert_close((w, y, z, kept), copies(x))
        arrays = [x, w, y, z, kept]
        assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[i + 1 :])


def test_what_a_kernel_writes_of_an_argument_of_other_sizes_than_it_assumes_has_room() -> None:
    """The version of any sizes assumes inside that the array has those of the calls before, and leaves; but it has written its result, of
    the sizes that it assumes, by then."""

    @tierup.jit(speculate="bailout", weigh=False)
    def f(x: np.ndarray) -> np.ndarray:
        x[[0, -3], 1] = 2.0
        return x

    def raised(x: np.ndarray) -> str:
        try:
            f(x)
        except IndexError as e:
            return str(e)
        return ""

    for dtype in (bool, float):
        for _ in range(3):
            assert np.count_nonzero(f(np.zeros((700, 900), dtype))) == 2
    for _ in range(20):
        around = [np.zeros((2, 3), bool) for _ in range(200)]
        assert raised(around[100]) == "index -3 is out of bounds for axis 0 with size 2"
        assert not any(map(np.any, around))
    assert f.stats().raised > 2, f.explain()


def test_a_copy_that_lives_on_behind_a_lost_assumption_is_no_memory_of_an_argument() -> None:
    """On the other path the result is the argument itself, so that native code keeps the copy only where somebody can tell."""

    @tierup.jit(speculate="bailout", weigh=False)
    def f(x: np.ndarray, y: np.ndarray, i: int) -> Any:
        v = y.copy() if i > 1 else y
        w = x.copy() if 0 < i < 3 else x
        return np.hstack([x, x]), v, w

    for i in (3, 3, 3, 2, 2, 1, 0, 3):
        x, y = np.ones(4), np.ones(4)
        _, v, w = f(x, y, i)
        assert np.shares_memory(v, y) == (i <= 1)
        assert np.shares_memory(w, x) == (not 0 < i < 3)
    assert f.stats().bailouts, f.explain()
