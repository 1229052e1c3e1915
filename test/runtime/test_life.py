"""The life of a profiling executor: options that take effect at the next call, also when versions exist; the simple executor; where
the ancestors' life cycle has a trap, what is right."""

import threading
import warnings

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import table
from tierup.runtime.compiling import version as compile_version


def scale(x):
    return x * 2 + 1


def ranks(x, w):
    y = np.tanh(x @ w) * 2
    z = np.argpartition(y, -1, axis=1)
    return np.exp(z) - 1


def ranked(x):
    return np.exp(np.argpartition(np.tanh(x) * 2, -1))


def f32(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)


X = f32(4)


def hot(function=scale, *arguments, **options):
    """A function with a version for its arguments."""
    f, arguments = tierup.jit(function, **options), arguments or (X,)
    for _ in range(4):
        f(*arguments)
    assert f.is_optimized
    return f


def delta(f, *arguments):
    """The counts that a call adds: (hits, misses, profiled, interpreted, compiles)."""
    a = f.stats()
    np.testing.assert_allclose(f(*arguments), f.__tierup_function__(*arguments), rtol=1e-5)
    b = f.stats()
    return (b.hits - a.hits, b.misses - a.misses, b.profiled_runs - a.profiled_runs, b.interpreted - a.interpreted, b.compiles - a.compiles)


HIT, MISS, PROFILED, INTERPRETED, COMPILED = (1, 0, 0, 0, 0), (0, 1, 0, 0, 0), (0, 0, 1, 0, 0), (0, 0, 0, 1, 0), (1, 0, 0, 0, 1)


def seen(f, *arguments):
    """The events of a call."""
    events = []
    with tierup.events.subscribe(events.append):
        f(*arguments)
    return [(e.kind, e.reason) for e in events]


# --- is_optimized -------------------------------------------------------------------------------------------------------


def test_a_function_is_optimised_once_it_has_a_plan_and_no_longer_after_a_reset():
    f = tierup.jit(scale)
    assert not f.is_optimized
    f(X)
    assert not f.is_optimized
    f(X)
    assert f.is_optimized
    f.reset()
    assert not f.is_optimized


def test_a_split_program_is_optimised():
    assert hot(ranks, f32(3, 3), f32(3, 3)).is_optimized


# --- each option, on a function that has a version ----------------------------------------------------------------------


def test_optimize_off_takes_effect_on_the_next_call_also_when_a_version_exists():  # section 12, 6
    f = hot()
    with tierup.options(optimize=False):
        assert delta(f, X) == INTERPRETED
        assert tierup.last_executed_plan().tier == "tier 0"
    assert delta(f, X) == HIT


def test_optimize_off_never_records_however_often_it_is_called():
    f = tierup.jit(scale)
    with tierup.options(optimize=False):
        for n in range(2, 12):
            f(f32(n))
    assert f.stats().interpreted == 10
    for executor in f._executors:
        assert not any(kind.maker.log.seen() or kind.versions or kind.splits for kind in executor._kinds.values())
    assert delta(f, X) == PROFILED


def test_profile_off_records_nothing_and_keeps_versions():  # section 12, 6
    f, y = hot(), f32(6)
    with tierup.options(profile=False):
        assert delta(f, X) == HIT
        for _ in range(3):
            assert delta(f, y) == INTERPRETED
    assert delta(f, y) == MISS  # not seen before
    assert delta(f, y) == COMPILED


def test_profile_off_before_the_first_version_makes_none():
    f = tierup.jit(scale, profile=False)
    assert [delta(f, X) for _ in range(3)] == [INTERPRETED] * 3


def test_more_profiled_runs_concern_a_live_function_too():
    f, y = hot(), f32(6)
    with tierup.options(num_profiled_runs=3):
        assert [delta(f, y) for _ in range(4)] == [MISS, MISS, MISS, COMPILED]
    assert delta(f, y) == HIT


def test_no_profiled_runs_assumption_on_the_next_unseen_call_of_a_live_function():
    f = hot()
    with tierup.options(num_profiled_runs=0):
        assert delta(f, f32(6)) == COMPILED


def test_no_profiled_runs_compile_in_the_first_call():
    f = tierup.jit(scale, num_profiled_runs=0)
    assert [delta(f, X), delta(f, X)] == [COMPILED, HIT]


def test_shapes_that_vary_while_profiling_are_optimised_all_the_same():
    """The ancestor's merged profile of varying shapes suits no static strategy: it never fused again, and said nothing."""
    f = tierup.jit(scale, num_profiled_runs=3)
    kinds = [delta(f, f32(n)) for n in (4, 6, 6, 6, 6, 9, 9, 9, 9)]
    assert kinds[:3] == [PROFILED] * 3
    assert COMPILED in kinds
    assert kinds[-1] == HIT


def test_a_wider_strategy_takes_effect_on_a_function_that_had_used_up_its_own():
    f = tierup.jit(scale)
    with tierup.options(fusion_strategy=[("static", 1)]), warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        for _ in range(3):
            f(X)
        assert [delta(f, f32(6)) for _ in range(3)] == [MISS] * 3
    with tierup.options(fusion_strategy=[("static", 2)]):
        assert delta(f, f32(6)) == COMPILED
    assert delta(f, f32(6)) == HIT


def test_a_narrower_strategy_stops_new_versions_and_keeps_those_there_are():
    f = hot()
    with tierup.options(fusion_strategy=[("static", 1)]), warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        assert [delta(f, f32(6)) for _ in range(3)] == [MISS] * 3
        assert delta(f, X) == HIT


@pytest.mark.parametrize("change", [{"bailout_depth": 0}, {"fusion_strategy": []}, {"fusion_strategy": [("static", 0)]}], ids=str)
def test_depth_0_runs_the_simple_plan_on_a_live_function_and_keeps_its_versions(change):
    f, y = hot(), f32(6)
    with tierup.options(**change):
        assert delta(f, X) == HIT
        assert [delta(f, y) for _ in range(4)] == [INTERPRETED] * 4
    assert delta(f, y) == MISS  # depth 0 recorded nothing


def test_depth_0_keeps_the_splits_of_a_live_function_and_makes_none():
    a = f32(3, 3)
    f = hot(ranks, a, a)
    with tierup.options(bailout_depth=0):
        assert delta(f, a, a)[0] == 1
        b = a.astype(np.float64)
        assert [delta(f, b, b) for _ in range(3)] == [INTERPRETED] * 3
    assert delta(f, b, b) in (MISS, INTERPRETED)  # not seen before
    assert len(f.versions) == 1


@pytest.mark.parametrize("change", [{"bailout_depth": 0}, {"fusion_strategy": []}, {"fusion_strategy": [("static", 0)]}], ids=str)
def test_at_depth_0_nothing_is_profiled_ever(change):
    f = tierup.jit(scale, **change)
    assert [delta(f, f32(n)) for n in (4, 4, 4, 6, 6)] == [INTERPRETED] * 5
    assert not f.is_optimized
    (executor,) = f._executors
    (kind,) = executor._kinds.values()
    assert not kind.maker.log._seen
    assert Reason.DEPTH_EXHAUSTED.sentence in f.explain()


def test_at_depth_0_the_graph_that_needs_no_record_runs():
    def folded(x):
        return x * (2 + 3) + x * (2 + 3)

    f = tierup.jit(folded, bailout_depth=0)
    f(X)
    (kind,) = f._executors[0]._kinds.values()
    made = kind.simple.made
    assert made.graph != f.graph
    assert made.graph.count("aten.mul") == 1 < f.graph.count("aten.mul")  # common subexpressions are one
    assert made.tier0.source != f.source()
    ran, call = [], made.tier0.call
    made.tier0.call = lambda *leaves: ran.append(leaves) or call(*leaves)
    np.testing.assert_array_equal(f(X), folded(X))
    assert len(ran) == 1


def test_at_depth_0_an_error_is_the_pristine_programs():
    def pick(x, i):
        return x[i] * 2

    f, g = tierup.jit(pick, bailout_depth=0), tierup.jit(pick, optimize=False)
    errors = []
    for function in (f, g):
        with pytest.raises(IndexError) as caught:
            function(X, 9)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_fewer_versions_evict_at_the_next_addition():
    f = hot()
    for n in (6, 8):
        with tierup.options(num_profiled_runs=0, fusion_strategy=[("static", 9)]):
            f(f32(n))
    assert len(f.versions) == 3
    with tierup.options(max_versions=1, num_profiled_runs=0, fusion_strategy=[("static", 9)]):
        found = seen(f, f32(10))
    assert [k for k, _ in found].count(EventKind.EVICTED) == 3
    assert [v.guards for v in f.versions] == ["x: f32[10]"]


def test_fewer_graphs_drop_others_at_the_next_graph():
    f = hot()
    f(f32(2, 2))
    assert len(f._executors) == 2
    with tierup.options(max_graphs=1):
        assert delta(f, X) == HIT
        f(f32(2, 2, 2))
    assert len(f._executors) == 1


def test_another_entry_takes_effect_on_the_next_call():
    f = hot()
    with tierup.options(entry="python"):
        assert delta(f, X) == HIT
    (kind,) = f._executors[0]._kinds.values()
    assert [table.counts().hits for table in (kind.table._tables["python"],)] == [1]


@pytest.mark.parametrize("change", [{"level": 1}, {"threads": 2}], ids=str)
def test_options_that_code_depends_on_have_versions_of_their_own(change):
    f = hot()
    with tierup.options(**change):
        assert delta(f, X)[0] == 0  # the version was compiled for other options
        assert delta(f, X) == COMPILED
        assert delta(f, X) == HIT
    assert delta(f, X) == HIT
    assert len(f.versions) == 2


def test_strict_takes_effect_on_a_program_that_is_split():
    a = f32(3, 3)
    f = hot(ranks, a, a)
    with tierup.options(strict=True), pytest.raises(tierup.NotOptimized, match="np.argpartition: has no native code"):
        f(a, a)
    assert delta(f, a, a)[0] == 1


def test_every_option_is_tried_on_a_live_function():
    """The table of options, and where each is shown to take effect at the next call: a new one needs its test."""
    here = {
        "optimize", "profile", "num_profiled_runs", "fusion_strategy", "bailout_depth", "max_versions", "entry", "level", "threads",
        "strict", "release_graphs", "release_delay", "max_graphs",
    }  # fmt: skip
    # have one choice, or test files of their own
    elsewhere = {"speculate", "compile", "executor", "backend", "target", "testing", "libraries", "tf32", "worker", "compile_limit",
                 "compile_budget", "weigh", "cache", "pickle_code"}  # fmt: skip
    assert {name for name, _, _ in table()} <= here | elsewhere


# --- assert_optimized ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bailout_depth": 0}, Reason.DEPTH_EXHAUSTED),
        ({"fusion_strategy": []}, Reason.DEPTH_EXHAUSTED),
        ({"optimize": False}, Reason.OPTIMIZE_OFF),
        ({"profile": False}, Reason.PROFILE_OFF),
    ],
    ids=str,
)
def test_assert_optimized_does_not_pass_silently_where_options_keep_a_call_in_tier_0(change, reason):  # section 12, 8
    f = tierup.jit(scale)
    with tierup.options(**change):
        for _ in range(2):
            with tierup.assert_optimized(), pytest.raises(tierup.NotOptimized, match=reason.sentence):
                f(X)


def test_assert_optimized_fails_alike_in_every_tier_without_compiling_again():  # section 12, 8
    a = f32(3, 3)
    f = tierup.jit(ranks)
    messages, compiled = [], []
    for _ in range(3):
        with tierup.assert_optimized(), pytest.raises(tierup.NotOptimized) as caught:
            f(a, a)
        messages.append(str(caught.value))
        compiled.append(len([e for e in f._executors[0].history.events if e.kind is EventKind.GAVE_UP]))
    for _ in range(4):  # profiled, cut, native regions
        f(a, a)
    with tierup.assert_optimized(), pytest.raises(tierup.NotOptimized) as caught:
        f(a, a)
    assert {*messages, str(caught.value)} == {messages[0]}
    assert compiled == [1, 1, 1]


def test_assert_optimized_lets_a_call_pass_that_a_version_answers():
    f = hot()
    with tierup.assert_optimized():
        assert delta(f, X) == HIT


def test_assert_optimized_says_when_the_strategy_is_used_up():
    f = hot(scale, fusion_strategy=[("static", 1)])
    with tierup.assert_optimized(), pytest.raises(tierup.NotOptimized, match=Reason.DEPTH_EXHAUSTED.sentence):
        f(f32(9))


# --- release ------------------------------------------------------------------------------------------------------------


def test_release_lets_go_of_what_only_compiling_needs_and_versions_go_on():
    f = hot()
    found = []
    with tierup.events.subscribe(found.append):
        assert f.release()
    assert [e.kind for e in found] == [EventKind.RELEASED]
    (executor,) = f._executors
    assert executor.program.released
    assert compile_version._values.cache_info().currsize == 0
    assert all(not kind.maker.log._seen for kind in executor._kinds.values())
    with pytest.raises(RuntimeError, match=r"reset\(\) builds it again"):
        f.graph  # noqa: B018
    assert delta(f, X) == HIT
    assert f.plan("specialized")
    assert not f.release()  # nothing is left to let go


def test_a_miss_after_a_release_runs_in_tier_0_with_a_reason_of_its_own():
    f = hot()
    f.release()
    for _ in range(4):
        assert delta(f, f32(6)) == MISS
    assert Reason.RELEASED.sentence in f.explain()
    assert len(f.versions) == 1


def test_options_that_need_new_code_find_none_after_a_release_and_raise_nothing():
    f = hot()
    f.release()
    with tierup.options(level=1):
        assert [delta(f, X) for _ in range(3)] == [INTERPRETED] * 3
    with tierup.options(bailout_depth=0):
        assert delta(f, f32(6)) == INTERPRETED


def test_nothing_is_released_before_there_is_a_version():
    f = tierup.jit(scale)
    assert not f.release()
    f(X)
    assert not f.release()
    assert delta(f, X) == COMPILED


def test_reset_after_a_release_builds_the_graph_again():  # section 12, 13
    f = hot()
    graph = f.graph
    f.release()
    f.reset()
    assert [delta(f, X) for _ in range(3)] == [PROFILED, COMPILED, HIT]
    assert f.graph == graph


def test_reset_after_a_release_works_for_a_loaded_file_that_is_gone(tmp_path):  # section 12, 13
    file = tmp_path / "scale.mlir"
    file.write_text(
        "func.func @main(%x: !torch.vtensor) -> !torch.vtensor {\n"
        "  %two = torch.constant.int 2\n"
        "  %0 = torch.aten.mul.Scalar %x, %two : !torch.vtensor, !torch.int -> !torch.vtensor\n"
        "  return %0 : !torch.vtensor\n}\n"
    )
    f = tierup.load(file)
    graph = f.graph
    for round in range(2):
        np.testing.assert_array_equal(f(X), X * 2)
        np.testing.assert_array_equal(f(X), X * 2)
        assert f.stats().hits == 1
        assert f.graph == graph
        assert f.release()
        file.unlink(missing_ok=True)
        f.reset()


def test_release_of_a_split_program_keeps_its_regions_running():
    a = f32(3, 3)
    f = hot(ranks, a, a)
    f.release()
    (split,) = f.versions
    assert not split.code.graph + split.code.profiled + split.code.guarded
    assert all(region.program.released for region in split.regions)
    with pytest.raises(RuntimeError, match="released"):
        f.plan("guarded")
    before = f.stats()
    np.testing.assert_allclose(f(a, a), ranks(a, a), rtol=1e-5)
    assert (f.stats().hits, f.stats().fallbacks) == (before.hits + 1, before.fallbacks)
    b = f32(5, 5)
    for _ in range(3):
        np.testing.assert_allclose(f(b, b), ranks(b, b), rtol=1e-4)
    assert f.stats().fallbacks > before.fallbacks
    assert f.stats().compiles == before.compiles


def test_release_graphs_without_a_delay_releases_in_the_call_that_compiles():
    f = tierup.jit(scale, release_graphs=True, release_delay=0)
    f(X)
    assert not f._executors[0].program.released
    assert delta(f, X) == COMPILED
    assert f._executors[0].program.released
    assert delta(f, X) == HIT


def test_release_graphs_without_a_delay_lets_regions_be_compiled_first():
    a = f32(3, 3)
    f = tierup.jit(ranks, release_graphs=True, release_delay=0)
    for _ in range(4):
        f(a, a)
    assert f._executors[0].program.released
    assert f.stats().fallbacks == 0
    assert delta(f, a, a)[0] == 1


def test_release_graphs_waits_for_the_delay_though_all_calls_are_native(monkeypatch):
    """No call has to come by: a function whose calls are all native runs no Python."""
    done = threading.Event()
    f = tierup.jit(scale, release_graphs=True, release_delay=0.05)
    with tierup.events.subscribe(lambda e: done.set() if e.kind is EventKind.RELEASED else None):
        f(X)
        f(X)
        assert done.wait(200)
    assert f._executors[0].program.released
    assert delta(f, X) == HIT


def test_a_new_version_starts_the_delay_anew():
    f = tierup.jit(scale, release_graphs=True, release_delay=3600, num_profiled_runs=0)
    f(X)
    first = _due(f)
    f(f32(6))
    assert _due(f) > first
    assert not f._executors[0].program.released


def _due(f):
    from tierup.runtime.dispatching.releasing import waiting

    return waiting._due[f._executors[0]]


@pytest.mark.parametrize("what", ["reset", "release"])
def test_a_plan_that_runs_is_not_freed(what):  # section 12, 13
    def long(x):
        for _ in range(40):
            x = np.sin(x) + np.cos(x)
        return x

    x = np.linspace(0, 1, 300_000, dtype=np.float32)
    f = tierup.jit(long, num_profiled_runs=0)
    expected, results, entered = f(x), [], threading.Event()

    def work():
        entered.set()
        for _ in range(3):
            results.append(f(x))

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    for _ in range(20):
        getattr(f, what)()
    thread.join()
    assert len(results) == 3
    for result in results:
        np.testing.assert_allclose(result, expected, rtol=1e-5)


# --- regions ------------------------------------------------------------------------------------------------------------


def test_regions_take_depth_and_strategy_from_their_function_not_from_the_moment():  # section 12, 19
    f = tierup.jit(ranked, fusion_strategy=[("static", 1)])
    with tierup.options(fusion_strategy=[("dynamic", 9)], bailout_depth=20), warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        for n in (4, 4, 4, 6, 6, 8, 8):
            np.testing.assert_allclose(f(f32(n)), ranked(f32(n)), rtol=1e-5)
    (split,) = f.versions
    assert {tuple(v.speculation.kind for v in region.versions) for region in split.regions} == {("static",)}
