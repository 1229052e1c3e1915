"""`last_executed_plan`: which plan a thread ran last, whichever way the call went."""

import gc
import threading

import numpy as np
import pytest

import tierup


def scale(x):
    return x * 2 + 1


def shift(x):
    return x - 3


def ranks(x, w):
    y = np.tanh(x @ w) * 2
    z = np.argpartition(y, -1, axis=1)
    return np.exp(z) - 1


def gathered(x, i):
    return x[i]


def in_thread(call):
    """What `call` gives in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(call()))
    thread.start()
    thread.join()
    return found[0]


X = np.ones(4, np.float32)


def hot(function, **options):
    f = tierup.jit(function, **options)
    f(X)
    f(X)
    return f


def test_a_thread_that_ran_nothing_has_no_last_plan():
    assert in_thread(tierup.last_executed_plan) is None


@pytest.mark.parametrize("entry", ["native", "python"])
def test_it_follows_the_calls_from_tier_0_to_a_version(entry):
    f = tierup.jit(scale, entry=entry)
    f(X)
    first = tierup.last_executed_plan()
    assert (first.function, first.tier, first.version) == ("scale", "tier 0", None)
    f(X)
    f(X)
    plan = tierup.last_executed_plan()
    assert f.stats().hits == 2
    assert (plan.function, plan.tier, plan.guards) == ("scale", "native", "x: f32[4]")
    assert plan.version is f.versions[0]
    assert str(plan) == "scale: native; x: f32[4]"


def test_a_direct_native_hit_is_seen_between_calls_of_tier_0():
    f, g = hot(scale), hot(shift)
    for _ in range(3):
        f(X)
        assert tierup.last_executed_plan().version is f.versions[0]
        g(X)
        assert tierup.last_executed_plan().version is g.versions[0]
        with tierup.options(optimize=False):
            f(X)
        assert (tierup.last_executed_plan().function, tierup.last_executed_plan().tier) == ("scale", "tier 0")


def test_two_versions_of_a_function_are_told_apart():
    f = hot(scale)
    y = np.ones(7, np.float32)
    f(y)
    f(y)
    assert len(f.versions) == 2
    f(X)
    assert tierup.last_executed_plan().guards == "x: f32[4]"
    f(y)
    assert tierup.last_executed_plan().guards == "x: f32[7]"


def test_each_thread_has_a_plan_of_its_own():
    f, g = hot(scale), hot(shift)
    f(X)

    def other():
        before = tierup.last_executed_plan()
        g(X)
        return before, tierup.last_executed_plan().function

    for _ in range(20):  # more threads than one after another in the same memory
        assert in_thread(other) == (None, "shift")
    assert tierup.last_executed_plan().function == "scale"


def test_many_threads_at_once_do_not_overwrite_one_another():
    functions = [hot(scale), hot(shift)]
    barrier, wrong = threading.Barrier(16), []

    def work(number):
        f = functions[number % 2]
        f(X)
        barrier.wait()
        plan = tierup.last_executed_plan()
        if plan is None or plan.version is not f.versions[0]:
            wrong.append((number, plan))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_a_split_program_names_its_regions():
    f, a = tierup.jit(ranks), np.eye(8, dtype=np.float32)
    for _ in range(4):
        f(a, a)
    plan = tierup.last_executed_plan()
    assert (plan.function, plan.tier) == ("ranks", "split")
    assert plan.regions == ("ranks, region 0", "ranks, region 1")
    assert plan.version is f.versions[0]


def test_it_keeps_no_function_alive():
    f = hot(scale)
    f(X)
    assert tierup.last_executed_plan() is not None
    del f
    gc.collect()
    assert tierup.last_executed_plan() is None
    g = tierup.jit(shift)
    g(X)
    del g
    gc.collect()
    assert tierup.last_executed_plan() is None


def test_a_call_that_raises_leaves_what_ran_before_it():
    f = hot(scale)
    g = tierup.jit(gathered)
    for _ in range(3):
        g(X, 1)
    f(X)
    with pytest.raises(IndexError):
        g(X, 99)
    assert tierup.last_executed_plan().function == "scale"


def test_a_call_that_native_code_hands_over_is_neither_optimised_nor_an_exception():
    """A result that is a view of the argument on one path and an array of its own on the other has no native form on the first."""

    def chosen(x, c):
        return x[:] if c and x[0] > 0 else x * 2

    jitted, x = tierup.jit(chosen), np.ones(3)
    for _ in range(3):
        assert jitted(x, False)[0] == 2
    assert np.shares_memory(jitted(x, True), x)
    assert tierup.last_executed_plan().tier == "tier 0"
    assert "raise the exception" not in jitted.explain()
    assert "tier 0 gave the result" in jitted.explain()
    with tierup.assert_optimized():
        assert jitted(x, False)[0] == 2
        with pytest.raises(tierup.NotOptimized, match="tier 0 gave the result"):
            jitted(x, True)


def test_an_assertion_lets_exceptions_through():
    def item(x, i):
        x[0] = 5
        return x[i]

    jitted = tierup.jit(item)
    for _ in range(3):
        jitted(np.ones(3), 1)
    x = np.ones(3)
    with tierup.assert_optimized(), pytest.raises(IndexError):
        jitted(x, 7)
    assert x[0] == 5  # what is written before the exception


@pytest.mark.parametrize(("options", "runs"), [({}, 2), ({"speculate": "bailout"}, 1)], ids=["splits", "bailouts"])
def test_a_run_that_records_is_tier_0s(options, runs):

    def ranks(x):
        return np.exp(np.argpartition(np.tanh(x) * 2, -1)) - 1

    scale, sorting = tierup.jit(lambda x: x * 2), tierup.jit(ranks, **options)
    for _ in range(runs):
        scale(X), scale(X)
        sorting(X)
        assert (tierup.last_executed_plan().function, tierup.last_executed_plan().tier) == ("ranks", "tier 0")
