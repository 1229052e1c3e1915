"""`executor="specializing"`: a plan per argument spec, its code, and the bound on plans."""

import threading

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind
from tierup.runtime.executors.specialized_plan import MOST_VERSIONS


def scale(x):
    return x * 2 + 1


def product(x, w):
    return np.tanh(x @ w) * 2 + 1


def ranks(x, w):
    y = np.tanh(x @ w) * 2
    z = np.argpartition(y, -1, axis=1)
    return np.exp(z) - 1


def repeated(x, n: int):
    for _ in range(n):
        x = x * 2 + 1
    return x


def filled(n: int):
    return np.zeros(n) + 1


def picked(x, i):
    return x[i] * 2


def step(w, g):
    w -= 0.5 * g


def both(a, b):
    a += b
    b += a


def twice(x):
    return x * (2 + 3) + x * (2 + 3)


def f32(*shape):
    return np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape) / 7


X = f32(4)


def specializing(function, **options):
    return tierup.jit(function, executor="specializing", **options)


def check(f, *arguments):
    """A call, compared with the undecorated function."""
    np.testing.assert_allclose(f(*arguments), f.__tierup_function__(*arguments), rtol=1e-5)


def cache(f):
    return f.stats().plan_cache_hits, f.stats().plan_cache_misses


def specs(f):
    return [spec for executor in f._executors for spec, _, _ in executor.plans]


# --- which plan answers -------------------------------------------------------------------------------------------------


def test_one_plan_serves_all_sizes_natively_from_the_first_call():
    f = specializing(product)
    for n, k, m in ((4, 3, 5), (7, 2, 9), (12, 30, 4)):
        check(f, f32(n, k), f32(k, m))
    s = f.stats()
    assert (s.hits, s.profiled_runs, s.interpreted, s.misses, s.compiles) == (3, 0, 0, 0, 1)
    assert cache(f) == (2, 1)
    assert specs(f) == ["x: f32[rank 2], w: f32[rank 2]"]
    assert f.versions[0].guards == "x: f32[s0, s1], w: f32[s2, s3]"


def test_another_dtype_or_rank_is_another_plan():
    f = specializing(scale)
    for x in (f32(4), f32(4).astype(np.float64), f32(2, 2), np.arange(4), f32(9)):
        check(f, x)
    assert cache(f) == (1, 4)
    assert set(specs(f)) == {"x: f64[rank 1]", "x: f32[rank 2]", "x: i64[rank 1]", "x: f32[rank 1]"}


def test_sizes_0_and_1_and_strides_have_code_of_their_own_in_the_same_plan():
    f = specializing(product)
    check(f, f32(4, 4), f32(4, 4))
    for x, w in ((f32(1, 4), f32(4, 1)), (f32(0, 4), f32(4, 3)), (f32(8, 4)[::2], f32(4, 4).T)):
        before = f.stats()
        check(f, x, w)
        assert (f.stats().hits, f.stats().compiles) == (before.hits + 1, before.compiles + 1)
        check(f, x, w)
        assert (f.stats().hits, f.stats().compiles) == (before.hits + 2, before.compiles + 1)
    assert cache(f) == (6, 1)


def test_values_of_numbers_are_in_no_spec():
    f = specializing(repeated)
    for n in (3, 0, 9, -1, 17):
        check(f, X, n)
    assert cache(f) == (4, 1)
    assert f.stats().compiles == 1


def test_a_size_that_hangs_on_a_number_has_code_per_value_up_to_a_bound():
    f = specializing(filled)
    for n in range(2, 2 + 3 * MOST_VERSIONS):
        check(f, n)
    assert cache(f) == (3 * MOST_VERSIONS - 1, 1)
    assert f.stats().compiles <= MOST_VERSIONS
    assert f.stats().hits + f.stats().interpreted == f.stats().calls


def test_nothing_is_profiled_and_no_event_says_so():
    f, found = specializing(scale), []
    with tierup.events.subscribe(found.append):
        for n in range(2, 9):
            f(f32(n))
    assert {e.kind for e in found} == {EventKind.COMPILED}


def test_options_of_profiling_have_no_part_in_it():
    f = specializing(scale, profile=False, num_profiled_runs=100, fusion_strategy=[], bailout_depth=0)
    check(f, X)
    assert (f.stats().hits, f.stats().compiles) == (1, 1)


def test_a_graph_under_a_plan_is_optimised_for_the_spec():
    f = specializing(twice)
    check(f, X)
    assert f.graph.count("aten.mul") == 2
    assert f.plan("specialized").count("aten.mul") == 1


# --- the bound ----------------------------------------------------------------------------------------------------------

DTYPES = (np.float32, np.float64, np.int32, np.int64)


def test_beyond_the_bound_the_plan_used_longest_ago_goes():
    f, found = specializing(scale, max_versions=2), []
    a, b, c = (np.ones(3, d) for d in DTYPES[:3])
    with tierup.events.subscribe(found.append):
        for x in (a, b, a, c):  # b was used longest ago
            check(f, x)
    assert specs(f) == ["x: f32[rank 1]", "x: i32[rank 1]"]
    assert [(e.guard, e.reason) for e in found if e.kind is EventKind.EVICTED] == [("x: f64[rank 1]", Reason.PLAN_EVICTED)]
    before = cache(f)
    check(f, a)
    assert cache(f) == (before[0] + 1, before[1])
    check(f, b)
    assert cache(f) == (before[0] + 1, before[1] + 1)


def test_a_smaller_bound_takes_effect_at_the_next_plan():
    f = specializing(scale)
    for d in DTYPES[:3]:
        f(np.ones(3, d))
    with tierup.options(max_versions=1):
        f(np.ones(3, DTYPES[3]))
    assert specs(f) == ["x: i64[rank 1]"]
    assert len(f.versions) == 1


def test_counts_of_plans_that_went_are_kept():
    f = specializing(scale, max_versions=1)
    for _ in range(3):
        for d in DTYPES:
            f(np.ones(3, d))
    s = f.stats()
    assert (s.calls, s.hits, s.versions) == (12, 12, 1)
    assert cache(f) == (0, 12)
    assert tuple(f.counters().values()) == (1, 12, 0, 12)


# --- a program that is not native as a whole ---------------------------------------------------------------------------


def test_an_op_without_native_code_leaves_the_groups_around_it_native():
    f = specializing(ranks)
    for n in (4, 4, 6, 9):
        check(f, f32(n, n), f32(n, n))
    s = f.stats()
    assert (s.calls, s.hits, s.interpreted, s.fallbacks) == (4, 4, 0, 0)
    (split,) = f.versions
    assert [(region.stats().hits, len(region.versions)) for region in split.regions] == [(4, 1), (4, 1)]
    assert "np.argpartition" in f.explain()
    assert tierup.last_executed_plan().tier == "split"


def test_strict_refuses_what_is_not_native_as_a_whole():
    f = specializing(ranks)
    a = f32(3, 3)
    for _ in range(2):
        with tierup.options(strict=True), pytest.raises(tierup.NotOptimized, match="np.argpartition"):
            f(a, a)
    check(f, a, a)


def test_assert_optimized_passes_a_plan_that_is_native():
    f = specializing(scale)
    with tierup.assert_optimized():
        check(f, X)


# --- as the program does it ---------------------------------------------------------------------------------------------


def test_an_error_is_raised_as_in_tier_0():
    f, g = specializing(picked), tierup.jit(picked, optimize=False)
    check(f, X, 1)
    errors = []
    for function in (f, g):
        with pytest.raises(IndexError) as caught:
            function(X, 99)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    check(f, X, 2)


def test_written_arguments_are_written():
    f = specializing(step)
    for n in (4, 6):
        w, expected, g = f32(n), f32(n), f32(n)
        step(expected, g)
        f(w, g)
        np.testing.assert_array_equal(w, expected)
    assert f.stats().hits == 2


def test_written_arguments_that_overlap_run_as_the_program_does():
    f = specializing(both)
    memory, expected = f32(6), f32(6)
    for _ in range(2):
        both(expected[:-1], expected[1:])
        f(memory[:-1], memory[1:])
        np.testing.assert_array_equal(memory, expected)
    assert f.stats().interpreted == 2
    a, b, c, d = f32(5), f32(5) + 1, f32(5), f32(5) + 1
    f(a, b)
    both(c, d)
    np.testing.assert_array_equal([a, b], [c, d])
    assert f.stats().hits == 1


def test_an_argument_that_no_code_takes_runs_in_tier_0_and_makes_no_plan():
    f, x = specializing(scale), np.zeros(13, np.uint8)[1:].view(np.float32)  # misaligned
    for _ in range(2):
        np.testing.assert_array_equal(f(x), np.ones(3, np.float32))
    assert (f.stats().interpreted, cache(f), specs(f)) == (2, (0, 2), [])


# --- optimize=False -----------------------------------------------------------------------------------------------------


def test_without_optimising_a_plan_has_the_required_passes_only():
    f = specializing(twice, optimize=False)
    for n in (4, 5):
        check(f, f32(n))
    s = f.stats()
    assert (s.interpreted, s.compiles, s.hits) == (2, 0, 0)
    assert cache(f) == (1, 1)
    assert not f.is_optimized
    assert Reason.OPTIMIZE_OFF in {executor.history.last_reason for executor in f._executors}


def test_optimising_is_switched_on_and_off_at_the_next_call():
    f = specializing(product)
    a = f32(3, 3)
    check(f, a, a)
    with tierup.options(optimize=False):
        check(f, a, a)
        assert (f.stats().hits, f.stats().interpreted) == (1, 1)
    check(f, a, a)
    assert (f.stats().hits, f.stats().interpreted) == (2, 1)
    assert cache(f) == (1, 2)


# --- the life of a function ---------------------------------------------------------------------------------------------


def test_the_executor_is_chosen_at_each_call_not_when_the_function_is_made():
    """The ancestor's was fixed at construction."""
    f = tierup.jit(scale)
    for _ in range(3):
        check(f, X)
    assert (f.stats().hits, f.stats().compiles) == (2, 1)
    with tierup.options(executor="specializing"):
        check(f, f32(9))
        assert (f.stats().hits, f.stats().compiles, *cache(f)) == (3, 2, 0, 1)
    check(f, X)
    assert (f.stats().hits, f.stats().compiles, *cache(f)) == (4, 2, 0, 1)


def test_reset_drops_the_plans():
    f = specializing(scale)
    check(f, X)
    f.reset()
    assert not f.is_optimized
    check(f, X)
    assert cache(f) == (0, 1)


def test_after_a_release_plans_go_on_and_no_new_one_is_made():
    f = specializing(scale)
    check(f, X)
    assert f.release()
    check(f, f32(8))
    check(f, X.astype(np.float64))
    check(f, f32(1))
    s = f.stats()
    assert (s.hits, s.interpreted, s.compiles) == (2, 2, 1)
    assert Reason.RELEASED.sentence in f.explain()


def test_a_background_compile_answers_in_tier_0_meanwhile():
    f = specializing(scale, compile="background")
    check(f, X)
    assert f.stats().interpreted + f.stats().hits == 1
    assert f.wait(200)
    check(f, f32(7))
    assert f.stats().hits >= 1
    assert f.stats().compiles == 1


@pytest.mark.parametrize("entry", ["native", "python"])
def test_both_entries_run_a_plans_code(entry):
    f = specializing(scale, entry=entry)
    for n in (4, 5):
        check(f, f32(n))
    assert f.stats().hits == 2


def test_explain_and_last_plan_tell_of_plans():
    f = specializing(scale)
    check(f, X)
    check(f, X)
    text = f.explain()
    assert "plan cache: 1 hit, 1 miss" in text
    assert "plan for (x: f32[rank 1]): optimised, native, 2 native calls" in text
    assert str(tierup.last_executed_plan()) == "scale: native; x: f32[s0]"


def test_threads_share_plans():
    f, wrong = specializing(scale, max_versions=2, weigh=False), []
    arrays = [np.ones(n, d) for d in DTYPES[:3] for n in (3, 5)]

    def work(seed):
        order = np.random.default_rng(seed).permutation(np.tile(np.arange(len(arrays)), 4))
        for i in order:
            if not np.array_equal(f(arrays[i]), scale(arrays[i])):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    s = f.stats()
    assert not wrong
    assert s.calls == 4 * 24 == sum(cache(f))
    assert len(specs(f)) <= 2
