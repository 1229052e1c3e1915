"""Calls that a version's guards take and its code has no answer for: no hits, no exceptions, and versions for the values they come with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind

WAYS = {
    "default": {},
    "python entry": {"entry": "python"},
    "bailouts": {"speculate": "bailout"},
    "specializing": {"executor": "specializing"},
}

COUNTS = "hits", "misses", "profiled_runs", "interpreted"


def chosen(x, c):
    return x[:] if c else x * 2


def doubled(x, n):
    for _ in range(n):
        x = x * 2
    return x


def by_mode(x, mode, step):
    if mode == 1:
        return x[:]
    if mode == 2:
        return x[1:]
    return x[1:] * step


def chosen_of_two(x, n, m):
    y = x + 1
    return x if n == m else (y if n > m else y[:1])


def doubled_or_given(x, n, m):
    for i in range(n):
        if i >= m:
            x = x * 2
    return x


def either(x, y, first):
    return (x if first else y), x + y


def copied_or_written(x, i):
    x[-1] = x[-1]
    return x.copy() if i < 0 else x


def joined_or_written(x, i):
    x[-1] = x[-1]
    return np.concatenate([x]) if i < 0 else x


def replay(function, calls, **options):
    """Which tier answered each call, by what `stats()` counted: h(it), m(iss), p(rofiled), i(nterpreted). Results are those of Python, and the
    same memory."""
    jitted, tiers, before = tierup.jit(function, **options), "", tierup.jit(function).stats()
    for call, rest in enumerate(calls, 1):
        x = np.arange(4.0)
        got, wanted = jitted(x, *rest), function(x, *rest)
        np.testing.assert_array_equal(got, wanted)
        assert np.shares_memory(got, x) == np.shares_memory(wanted, x)
        assert (got is x) == (wanted is x)
        now = jitted.stats()
        assert now.calls == call
        tiers += "".join(name[0] for name in COUNTS if getattr(now, name) > getattr(before, name))
        assert (tierup.last_executed_plan().tier == "native") == (tiers[-1] == "h")
        before = now
    return jitted, tiers


@pytest.mark.parametrize("function", [copied_or_written, joined_or_written])
@pytest.mark.parametrize("way", ["default", "python entry"])
def test_a_copy_of_what_is_written_to_an_argument_lies_apart_from_it(function, way):
    _, tiers = replay(function, [(-1,), (-1,), (-1,), (1,)], fusion_strategy=[("static", 1)], **WAYS[way])
    assert tiers == "phhh"


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_comes_back_has_a_version_and_gives_the_view(way):
    jitted, tiers = replay(chosen, [(c,) for c in (False, False, True, True, True, False, True)], **WAYS[way])
    first = "h" if way == "specializing" else "p"
    assert tiers == first + "hmhhhh"
    stats = jitted.stats()
    assert (stats.compiles, stats.versions, stats.bailouts) == (2, 2, 0)
    told = jitted.explain()
    assert "c: bool = True" in told
    assert "handed over: 1 call: native code has no answer for these values, and tier 0 gave the result" in told
    assert "exception" not in told
    assert "error" not in told


def test_a_kind_of_call_that_is_always_handed_over_has_its_version_in_the_third_call():
    _, tiers = replay(chosen, [(True,)] * 5)
    assert tiers == "pmhhh"


def test_a_loop_that_runs_no_round_gives_the_argument_itself_natively():
    jitted, tiers = replay(doubled, [(n,) for n in (2, 2, 3, 0, 0, 0, 2)])
    assert tiers == "phhmhhh"
    assert "n: int = 0" in jitted.explain()


def test_only_values_that_calls_have_in_common_are_assumption_on():
    calls = [(mode, step) for step, mode in enumerate((3, 3, 1, 1, 1, 3, 1))]
    jitted, tiers = replay(by_mode, calls)
    assert tiers == "phmhhhh"
    assert "mode: int = 1, step: int:" in jitted.explain()


def test_values_in_turn_have_a_version_each():
    calls = [(mode, step) for step, mode in enumerate((3, 3, 1, 2, 1, 2, 1, 2, 3))]
    jitted, tiers = replay(by_mode, calls)
    assert tiers == "phmmhhhhh"
    assert jitted.stats().compiles == 3


def test_values_that_do_not_help_are_assumption_on_once():
    """What decides is in the array."""

    def positive(x, step):
        return x[:] if x.sum() > 0 else x * step

    jitted, tiers = replay(positive, [(step,) for step in (1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4)])
    assert tiers == "p" + "m" * 11
    assert jitted.stats().compiles == 2
    assert "native code has no answer" in jitted.explain()


def test_what_calls_without_an_answer_count_as_stays_when_versions_go():
    jitted = tierup.jit(chosen, max_versions=1)
    x, y = np.ones(3), np.ones(3, np.float32)
    for array, c in [(x, True)] * 4 + [(y, False)] * 3 + [(x, True)] * 2:
        assert np.shares_memory(jitted(array, c), array) == c
    stats = jitted.stats()
    assert stats.calls == 9
    assert stats.bailouts == 0
    assert all(count >= 0 for count in (stats.hits, stats.misses))


def test_a_call_that_is_handed_over_is_a_miss_and_one_that_raises_is_neither_miss_nor_hit():
    def item(x, c, i):
        return x[:] if c else x[i] * x

    heard = []
    jitted = tierup.jit(item)
    x = np.ones(3)
    jitted(x, False, 0), jitted(x, False, 0)
    with tierup.events.subscribe(heard.append):
        jitted(x, True, 0)
        with pytest.raises(IndexError):
            jitted(x, False, 9)
    assert [(e.kind, e.reason, e.call) for e in heard] == [
        (EventKind.HANDED_OVER, Reason.HANDED_OVER, 3),
        (EventKind.ERROR_EXIT, Reason.ERROR_SITE, 4),
    ]
    stats = jitted.stats()
    assert (stats.hits, stats.misses, stats.raised, stats.bailouts) == (2, 1, 1, 1)
    assert stats.calls == sum(stats.by_answer.values()) == 4 and stats.by_answer["hits"] == 1
    assert "item: 4 calls = 1 hit + 1 raised + 1 miss + 1 profiled" in jitted.explain() and "native, 1 hit and 1 that raised, compiled" in jitted.explain()


def test_static_strategies_are_taken_at_their_word():
    jitted, tiers = replay(chosen, [(False,), (False,), (True,), (True,), (True,)], fusion_strategy=[("static", 1)])
    assert tiers == "phmmm"
    assert jitted.stats().compiles == 1


def test_one_of_two_arguments_is_given_as_it_is():
    jitted, x, y = tierup.jit(either), np.ones(3), np.zeros(3)
    for call in range(8):
        first = call % 2 == 0
        assert jitted(x, y, first)[0] is (x if first else y)
    assert "bool = True" in jitted.explain()


@pytest.mark.parametrize("way", WAYS)
def test_results_that_are_one_on_some_paths_stay_misses(way):
    """What has no code for the values either: both results are one array."""

    def twice(x, c):
        y = x + 1
        return y, (y if c else y * 2)

    jitted = tierup.jit(twice, **WAYS[way])
    for c, size in [(False, 4)] * 2 + [(True, 4)] * 4 + [(False, 1), (False, 4)] * 2:
        first, second = jitted(np.ones(size), c)
        assert (first is second) == c
        assert second[0] == (2 if c else 4)
    stats = jitted.stats()
    assert stats.calls == 10
    assert stats.misses >= 4
    assert jitted.stats().hits >= 3
    assert stats.bailouts == 0
    with tierup.assert_optimized():
        jitted(np.ones(4), False)


CALLS = st.lists(st.tuples(st.sampled_from([1, 3, 4]), st.integers(0, 3), st.integers(0, 2)), max_size=14)


@given(CALLS, st.sampled_from([by_mode, chosen_of_two, doubled_or_given]), st.sampled_from(sorted(WAYS)), st.integers(1, 4))
@settings(max_examples=examples(8))
def test_whatever_comes_each_call_counts_once_and_gives_what_python_gives(calls, function, way, most):
    jitted = tierup.jit(function, max_versions=most, **WAYS[way])
    for number, (size, *rest) in enumerate(calls, 1):
        x = np.arange(1.0, size + 1)
        got, wanted = jitted(x, *rest), function(x, *rest)
        np.testing.assert_array_equal(got, wanted)
        assert (got is x) == (wanted is x)
        stats = jitted.stats()
        assert stats.calls == number
        assert stats.bailouts == 0


def test_explain_says_why_calls_are_handed_over_and_what_helps():
    def by_array(x):
        return x[1:] if x.sum() > 0 else x[1:] * 2

    def copied(x):
        return x.copy() if x.sum() > 0 else x * 2

    for program, misses in ((by_array, 4), (copied, 0)):
        f = tierup.jit(program)
        for x in (-np.ones(3), -np.ones(3), *[np.ones(3)] * 4):
            f(x)
        assert f.stats().misses == misses and f.versions
        assert ("return a copy there (`x.copy()`" in f.explain()) is bool(misses)
        assert "when ints and bools decide" not in f.explain()
    g = tierup.jit(chosen)
    for c in (False, False, True):
        g(np.ones(3), c)
    assert "when ints and bools decide" in g.explain()
