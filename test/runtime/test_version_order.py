"""The order of versions, who must go, and what becomes of it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.runtime.arguments import guards
from tierup.runtime.base.events import EventKind
from tierup.runtime.dispatching.version import Version
from tierup.runtime.dispatching.version_table import VersionTable
from tierup.runtime.programs.speculations import Speculation

STATIC = {"num_profiled_runs": 0, "fusion_strategy": [("static", 99)], "bailout_depth": 99, "level": 0}


def scale(x):
    return x * 2 + 1


def shift(x, n: int):
    return x + n


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def call(f, *arguments, times=1):
    for _ in range(times):
        np.testing.assert_array_equal(f(*arguments), f.__tierup_function__(*arguments))


def tried(f):
    """The guards of the versions in the order in which the tables that have them try them, which is one order."""
    (executor,) = f._executors
    (kind,) = executor._kinds.values()
    wanted = [v.guards for v in kind.table.order()]
    for table in kind.table._tables.values():
        guards_of = {v.record: v.guards for v in kind.table.versions}
        assert [guards_of[r] for r in table.versions] == wanted
    if kind.table._direct is not None:
        by_serial = {v.record.serial: v.guards for v in kind.table.versions}
        assert [by_serial[r.serial] for r in kind.table._direct.table.versions] == wanted
    return wanted


@pytest.mark.parametrize("entry", ["native", "python"])
def test_a_version_that_is_called_more_is_tried_before_the_others_from_the_next_addition_on(entry):
    f = tierup.jit(scale, **STATIC, entry=entry)
    for n in (3, 4, 5):
        call(f, ones(n))
    assert tried(f) == ["x: f32[5]", "x: f32[4]", "x: f32[3]"]
    call(f, ones(3), times=50)
    call(f, ones(6))
    assert tried(f) == ["x: f32[6]", "x: f32[3]", "x: f32[5]", "x: f32[4]"]


def test_misses_bring_the_order_up_to_date_without_an_addition():
    f = tierup.jit(scale, num_profiled_runs=0, fusion_strategy=[("static", 2)], level=0)
    call(f, ones(3)), call(f, ones(4))
    assert tried(f)[0] == "x: f32[4]"
    call(f, ones(3), times=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tierup.RecompileLimitWarning)
        call(f, ones(5), times=16)
    assert tried(f)[0] == "x: f32[3]"


def test_a_version_for_special_sizes_stands_before_one_that_takes_them_too():
    f = tierup.jit(scale, level=0)
    for n in (4, 4, 6, 6, 9, 11):
        call(f, ones(n))
    call(f, ones(11), times=1000)
    call(f, ones(1)), call(f, ones(1))
    assert tried(f)[-1] == "x: f32[s0]"
    before = {v.guards: f._executors[0].hits(v) for v in f.versions}
    call(f, ones(4))
    assert {v.guards for v in f.versions if f._executors[0].hits(v) > before[v.guards]} == {"x: f32[4]"}


def test_what_was_called_much_but_not_lately_must_go():
    f = tierup.jit(scale, **STATIC, max_versions=2)
    call(f, ones(3), times=3000)
    for n in (4, 5, 6):
        call(f, ones(n), times=40)
    assert {v.guards for v in f.versions} == {"x: f32[5]", "x: f32[6]"}


def test_what_is_called_all_the_time_stays():
    f = tierup.jit(scale, **STATIC, max_versions=2)
    for n in (4, 5, 6, 7, 8):
        call(f, ones(3), times=40)
        call(f, ones(n))
    assert {v.guards for v in f.versions} == {"x: f32[3]", "x: f32[8]"}


def test_more_shapes_than_versions_end_in_a_symbolic_version():
    f = tierup.jit(scale, max_versions=2, num_profiled_runs=0, level=0)
    for _ in range(5):
        for n in (3, 4, 5):
            call(f, ones(n), times=2)
    s = f.stats()
    assert s.compiles <= 4 and "x: f32[s0]" in [v.guards for v in f.versions]
    before = f.stats()
    for n in (3, 4, 5, 77):
        call(f, ones(n))
    assert f.stats().hits - before.hits == 4


def test_kinds_of_arguments_that_outnumber_the_versions_end_in_tier_0_and_it_is_said_why():
    f = tierup.jit(scale, max_versions=2, num_profiled_runs=0, level=0)
    kinds = (np.float32, np.float64, np.int32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(8):
            for kind in kinds:
                call(f, ones(3, dtype=kind))
    assert f.stats().compiles <= 6, "one static and one symbolic version for each kind"
    assert [w.category for w in caught] == [tierup.RecompileLimitWarning] and "max_versions" in str(caught[0].message)
    assert Reason.EVICTED.sentence in f.explain()


def test_an_evicted_assumption_is_not_made_again_but_a_more_general_one():
    f = tierup.jit(scale, max_versions=1, num_profiled_runs=0, fusion_strategy=[("static", 1), ("dynamic", 9)], level=0)
    for dtype in (np.float32, np.float64, np.float32):
        call(f, ones(3, 1, dtype=dtype))
    made = [e.action for e in f._executors[0].history.events if e.kind in (EventKind.COMPILED, EventKind.GENERALISED)]
    assert [a.split(" version for ")[1].split(" in ")[0] for a in made] == ["x: f32[3, 1]", "x: f64[3, 1]", "x: f32[s0, 1]"]


def test_many_kinds_of_arguments_get_one_symbolic_version_each():
    f = tierup.jit(scale, level=0)
    kinds = [ones(3, 4, dtype=name) for name in "float32 float64 int8 int16 int32 int64 uint8 float16".split()]
    kinds += [ones(4, 3, dtype=name).T for name in ("float32", "float64")]
    for x in kinds:
        call(f, x, times=2)
    assert [v.guards for v in f.versions if v.speculation.kind == "symbolic"] == ["x: f32[s0, s1] columns", "x: f64[s0, s1] columns"]
    assert [v.speculation.kind for v in f.versions[:8]] == ["static"] * 8
    before = f.stats()
    for name in ("float32", "float64"):
        call(f, ones(9, 8, dtype=name).T)
    assert f.stats().hits - before.hits == 2


@pytest.mark.parametrize("entry", ["native", "python"])
def test_sixty_four_static_versions_each_answer_their_own_shape(entry):
    f = tierup.jit(shift, **STATIC, entry=entry, max_versions=64, weigh=False)
    for n in range(2, 66):
        call(f, ones(n), 3)
    assert len(f.versions) == 64
    for n in range(2, 66):
        call(f, ones(n), n)
    assert f.stats().hits == 128 and all(f._executors[0].hits(v) == 2 for v in f.versions)


def test_the_python_entry_looks_at_few_of_many_versions(monkeypatch):
    f = tierup.jit(scale, **STATIC, entry="python", max_versions=64, weigh=False)
    for n in range(2, 66):
        f(ones(n))
    fit, asked = guards.fit, []

    def counting(record: VersionRecord, flat):
        asked.append(record)
        return fit(record, flat)

    monkeypatch.setattr("tierup.runtime.dispatching.dispatch.fit", counting)
    f(ones(2))
    assert len(asked) == 9, "eight in a row, then the one that the hash gives"


def test_two_kinds_of_calls_of_one_function_share_a_table_and_keep_orders_of_their_own():
    f = tierup.jit(scale, **STATIC)
    a, b = (lambda n: ones(n)), (lambda n: 1.0 * n)
    for n in (3, 4):
        f(a(n)), f(b(n))
    for _ in range(30):
        f(a(3))
    call(f, a(5))
    assert f(2.5) == 6.0 and f.stats().misses <= 6


def test_scores_fade_with_ticks_in_which_a_version_was_not_hit():
    table, hits = VersionTable(1, lambda *a: None, lambda *a: None, None, None), {}
    table.hits = lambda version: hits.get(version, 0)
    old, new, newest = (
        Version(Speculation((spec,), "static"), VersionRecord((spec,), (), 0, form=Form.NONE), None, 1, str(spec.sizes))
        for spec in (ArgumentSpec(ArgumentKind.ARRAY, "f32", (n,)) for n in (3, 4, 5))
    )
    table.add(old, 2), table.add(new, 2)
    for version, ticks, many in ((old, 10, 1000), (new, 12, 100)):
        for _ in range(ticks):
            hits[version] = hits.get(version, 0) + many
            table.tick()
    assert hits[old] > 8 * hits[new] and table.order() == (new, old)
    assert table.add(newest, 2) == [old]


SIZES = st.lists(st.tuples(st.sampled_from([1, 3, 4, "s0"]), st.sampled_from([3, 5, "s1"])), min_size=1, max_size=7, unique=True)


@given(SIZES, st.randoms(use_true_random=False))
def test_whatever_the_scores_special_versions_stand_before_those_that_cover_them_and_the_rest_by_score(sizes, random):
    table = VersionTable(1, lambda *a: None, lambda *a: None, None, None)
    for dims in sizes:
        spec = ArgumentSpec(ArgumentKind.ARRAY, "f32", dims)
        open_dims = tuple((0, d) for d, size in enumerate(dims) if isinstance(size, str))
        record = VersionRecord((spec,), (), 0, form=Form.NONE)
        table.add(Version(Speculation((spec,), "dynamic" if open_dims else "static", open_dims), record, None, 1, str(dims)), 99)
        table._scores[record.serial] = random.random()
    order = table.order()
    assert sorted(map(id, order)) == sorted(map(id, table.versions))
    for i, version in enumerate(order):
        assert not any(version.covers(later) for later in order[i + 1 :])
    apart = [v for v in order if not any(v.covers(w) or w.covers(v) for w in order)]
    assert apart == sorted(apart, key=table._score, reverse=True)
