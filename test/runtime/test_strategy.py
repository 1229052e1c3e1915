"""The speculation log: which speculation answers which sequence of calls."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments.signature import signature_of
from tierup.runtime.base.options import Options
from tierup.runtime.programs.speculations import Speculation, without_ints
from tierup.runtime.programs.strategy import SpeculationLog


def sig(*shapes, dtype=np.float32):
    return signature_of(tuple(np.zeros(s, dtype) for s in shapes))


def numbers(*values):
    """A call with an array and ints."""
    return signature_of((np.zeros((4, 8), np.float32), *values))


def play(calls, options=None, sizing=()):
    """The proposal at each call, speculations noted, refused calls recorded; what a call hits. And the assumptions made. Beyond `max_versions` the
    oldest version goes. `sizing`: the int arguments that sizes hang on."""
    log, out, speculations, standing = SpeculationLog(sizing), [], [], []
    options = options or Options()
    for call in calls:
        if any(fits(b, call) for b in standing):
            out.append("hit")
            continue
        proposal = log.propose(call, options) if out else Reason.PROFILING
        if isinstance(proposal, Speculation):
            log.made(proposal, call.classes)
            log.decided(proposal)
            speculations.append(proposal)
            standing.append(proposal)
            if len(standing) > options.max_versions:
                log.evicted(standing.pop(0).specs)
            out.append(proposal.kind)
        else:
            out.append(proposal)
        log.record(call)
    return out, speculations


def fits(speculation, call):
    symbols = {}
    for spec, klass, sizes, value in zip(speculation.specs, call.classes, call.sizes, call.values, strict=True):
        if isinstance(spec.value, int) and spec.value != value or isinstance(spec.value, str) and not 2 <= value <= 1 << 30:
            return False
        if (spec.dtype, len(spec.sizes), spec.layout) != (klass.dtype, klass.rank, klass.layout):
            return False
        for want, got in zip(spec.sizes, sizes, strict=True):
            if isinstance(want, int) and want != got or isinstance(want, str) and (got < 2 or symbols.setdefault(want, got) != got):
                return False
    return True


def test_a_call_that_comes_back_gets_a_static_version():
    assert play([sig((4, 8))] * 3)[0] == [Reason.PROFILING, "static", "hit"]


def test_a_second_shape_gets_a_second_static_version_when_it_comes_back():
    assert play([sig((4, 8))] * 2 + [sig((6, 8))] * 3)[0][2:] == [Reason.NOT_SEEN_BEFORE, "static", "hit"]


def test_a_third_shape_makes_the_dim_that_varied_symbolic():
    out, speculations = play([sig((4, 8))] * 2 + [sig((6, 8))] * 2 + [sig((9, 8)), sig((11, 8))])
    assert out[4:] == ["dynamic", "hit"]
    assert speculations[-1].specs[0].sizes == ("s0", 8)


def test_shapes_that_never_come_back_cost_one_compile():
    out, speculations = play([sig((n, 8)) for n in range(3, 40)])
    assert out[:3] == [Reason.PROFILING, Reason.NOT_SEEN_BEFORE, "dynamic"]
    assert set(out[3:]) == {"hit"}


def test_equal_sizes_are_not_tied():
    _, speculations = play([sig((5, 5)), sig((6, 6)), sig((7, 7))])
    assert speculations[-1].specs[0].sizes == ("s0", "s1")


def test_sizes_zero_and_one_stay_static():
    out, speculations = play([sig((4, 8)), sig((5, 8)), sig((1, 8)), sig((1, 8))])
    assert out[2:] == [Reason.NOT_SEEN_BEFORE, "static"]
    assert speculations[-1].specs[0].sizes == (1, 8)


def test_a_failed_assumption_is_not_made_twice():
    log, options = SpeculationLog(), Options()
    call = sig((4,))
    log.record(call)
    first = log.propose(call, options)
    log.made(first, call.classes)
    assert log.propose(call, options) is Reason.COMPILING
    log.decided(first)
    assert log.propose(call, options) is Reason.SITE_GIVEN_UP


def test_the_strategy_ends():
    options = Options(fusion_strategy=[("static", 1)])
    out, _ = play([sig((4,))] * 2 + [sig((5,))] * 3, options)
    assert out[2:] == [Reason.DEPTH_EXHAUSTED] * 3


def test_beyond_the_strategy_a_kind_of_arguments_gets_one_version_with_all_sizes_open():
    options = Options(fusion_strategy=[("static", 1), ("dynamic", 1)])
    out, speculations = play([sig((n, 8)) for n in (3, 3, 4)] + [sig((5, 9)), sig((6, 9)), sig((7, 11))], options)
    assert out == [Reason.PROFILING, "static", "dynamic", "symbolic", "hit", "hit"]
    assert speculations[-1].specs[0].sizes == ("s0", "s1")


def test_a_size_that_is_one_first_becomes_symbolic_alone():
    _, speculations = play([sig((1, 8)), sig((5, 8)), sig((7, 8))])
    assert [b.specs[0].sizes for b in speculations] == [("s0", 8)]


def test_another_dim_that_varies_later_becomes_symbolic_then_and_the_rest_stay():
    _, speculations = play([sig((n, 8, 2)) for n in (3, 4, 5)] + [sig((5, 9, 2)), sig((6, 7, 2))])
    assert [b.specs[0].sizes for b in speculations] == [("s0", 8, 2), ("s0", "s1", 2)]


def test_ranks_and_dtypes_have_assumptions_of_their_own():
    _, speculations = play([sig(s, dtype=d) for s, d in (((3,), "f4"), ((3,), "f4"), ((3, 3), "f4"), ((3, 3), "f4"), ((3,), "f8"), ((3,), "f8"))])
    assert [(b.specs[0].dtype, b.specs[0].sizes) for b in speculations] == [("f32", (3,)), ("f32", (3, 3)), ("f64", (3,))]


def test_argument_by_argument_only_what_varied_is_open():
    _, speculations = play([sig((n, 8), (8, 4), (4,)) for n in (3, 4, 5)])
    assert [s.sizes for s in speculations[-1].specs] == [("s0", 8), (8, 4), (4,)]


def test_an_evicted_assumption_is_followed_by_more_general_ones_and_then_by_none():
    options = Options(max_versions=1, num_profiled_runs=0)
    out, speculations = play([sig((3, 1), dtype=d) for d in ("f4", "f8") * 4], options)
    assert [(b.kind, b.specs[0].dtype, b.specs[0].sizes) for b in speculations] == [
        ("static", "f64", (3, 1)), ("static", "f32", (3, 1)), ("symbolic", "f64", ("s0", 1)),
    ]  # fmt: skip
    assert out[-2:] == [Reason.DEPTH_EXHAUSTED, "hit"]


def test_zero_profiled_runs_assumption_on_the_first_call():
    assert isinstance(SpeculationLog().propose(sig((4,)), Options(num_profiled_runs=0)), Speculation)


def test_sizes_that_vary_become_symbolic_without_profiled_runs_too():
    out, speculations = play([sig((2, 8))] + [sig((n, 8)) for n in (3, 4, 5, 6)], Options(num_profiled_runs=0))
    assert out == [Reason.PROFILING, "static", "dynamic", "hit", "hit"] and speculations[-1].specs[0].sizes == ("s0", 8)


def test_memory_does_not_grow_with_unseen_shapes():
    log = SpeculationLog()
    for n in range(500):
        log.record(sig((n,)))
    assert len(log._seen) <= 64


def ints(speculation):
    return [spec.value for spec in speculation.specs[1:]]


def test_an_int_that_sizes_hang_on_is_assumed_by_value_and_then_named():
    out, speculations = play([numbers(n) for n in (60, 60, 60, 50, 40, 60)], sizing=[1])
    assert out == [Reason.PROFILING, "static", "hit", "dynamic", "hit", "hit"]
    assert [ints(s) for s in speculations] == [[60], ["s0"]]


def test_an_int_that_differs_in_each_call_costs_one_compile():
    out, speculations = play([numbers(n) for n in range(2, 40)], sizing=[1])
    assert out == [Reason.PROFILING, "dynamic"] + ["hit"] * 36
    assert [ints(s) for s in speculations] == [["s0"]]


def test_what_no_symbol_stands_for_is_left_open_for_all_of_its_kind():
    out, speculations = play([numbers(n) for n in (7, 7, 9, 1, 0, -5, 1 << 40, 8)], sizing=[1])
    assert out[1:] == ["static", "dynamic", "static", "hit", "hit", "hit", "hit"]
    assert [ints(s) for s in speculations] == [[7], ["s0"], [None]]


def test_ints_in_whatever_combination_cost_few_versions():
    calls = [numbers(a, b) for a in (5, 5, 6, 1, 0) for b in (7, 7, 8, 0, 1, -3)]
    _, speculations = play(calls, sizing=[1, 2])
    assert [ints(s) for s in speculations] == [[5, 7], [5, "s0"], [None, None]]


def test_a_huge_int_is_not_assumed():
    _, speculations = play([numbers(1 << 40)] * 3, sizing=[1])
    assert [ints(s) for s in speculations] == [[None]]


def test_an_int_that_no_size_hangs_on_is_left_open():
    out, speculations = play([numbers(3, n) for n in (60, 60, 50)], sizing=[1])
    assert out[1:] == ["static", "hit"] and ints(speculations[0]) == [3, None]


def test_each_int_becomes_a_symbol_on_its_own():
    _, speculations = play([numbers(*n) for n in ((3, 4), (3, 4), (3, 5), (6, 5))], sizing=[1, 2])
    assert [ints(s) for s in speculations] == [[3, 4], [3, "s0"], ["s0", "s1"]]


def test_symbols_of_ints_and_of_sizes_are_apart():
    calls = [signature_of((np.zeros(n, np.float32), 2 * n, np.zeros(n, np.float32))) for n in (3, 4, 5)]
    _, (speculation,) = play(calls, sizing=[1])
    assert [s.sizes or s.value for s in speculation.specs] == [("s0",), "s1", ("s2",)]


def test_what_was_not_seen_is_not_assumed_of_an_int():
    _, speculations = play([numbers(3)] * 2, Options(num_profiled_runs=0), sizing=[1])
    log = SpeculationLog([1])
    assert ints(log.propose(numbers(3), Options(num_profiled_runs=0))) == [None]
    assert ints(speculations[0]) == [3], "the first call was profiled"


def test_a_strategy_of_static_versions_leaves_ints_open():
    out, speculations = play([numbers(n) for n in (3, 3, 4, 5)], Options(fusion_strategy=[("static", 1)]), sizing=[1])
    assert out[1:] == ["static", "hit", "hit"] and ints(speculations[0]) == [None]


def test_ints_whose_assumption_had_no_code_are_left_open_from_then_on():
    log, options = SpeculationLog([1]), Options()
    log.record(numbers(3))
    first = log.propose(numbers(3), options)
    log.made(first, numbers(3).classes)
    log.needs_values(first.specs, without_ints(first.specs))
    log.decided(first)
    log.record(signature_of((np.zeros((5, 5)), 3)))
    assert ints(first) == [3] and ints(log.propose(signature_of((np.zeros((5, 5)), 3)), options)) == [None]


SHAPES = st.tuples(st.sampled_from(["f4", "f8", "i4"]), st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple))
OPTIONS = st.builds(
    Options,
    num_profiled_runs=st.integers(0, 3),
    fusion_strategy=st.lists(st.tuples(st.sampled_from(["static", "dynamic"]), st.integers(0, 4)), max_size=3),
    bailout_depth=st.integers(0, 8),
    max_versions=st.integers(1, 4),
)


@given(st.lists(SHAPES, max_size=60), OPTIONS)
def test_whatever_comes_assumptions_are_bounded_fit_their_calls_and_are_never_repeated(shapes, options):
    calls = [sig(shape, dtype=dtype) for dtype, shape in shapes]
    out, speculations = play(calls, options)
    assert len({b.specs for b in speculations}) == len(speculations), "none twice"
    within = [b for b in speculations if b.kind != "symbolic"]
    assert len(within) <= options.depth and len(speculations) - len(within) <= options.max_versions  # the bound that docs/versions.md states
    assert len(within) == len(speculations) or options.is_dynamic
    made = iter(speculations)
    for call, answer in zip(calls, out, strict=True):
        if answer in ("static", "dynamic", "symbolic"):
            assert fits(next(made), call)
    assert (out, speculations) == play(calls, options), "the same calls, the same speculations"


@given(st.lists(st.tuples(st.integers(-1, 4), st.sampled_from([0, 1, 3, 4])), max_size=60), OPTIONS)
def test_whatever_ints_come_assumptions_are_bounded_and_fit_their_calls(calls, options):
    calls = [signature_of((np.zeros(size), n)) for n, size in calls]
    out, speculations = play(calls, options, sizing=[1])
    assert len({b.specs for b in speculations}) == len(speculations), "none twice"
    assert sum(b.kind != "symbolic" for b in speculations) <= options.depth
    assert sum(b.kind == "symbolic" for b in speculations) <= options.max_versions
    made = iter(speculations)
    assert all(fits(next(made), call) for call, answer in zip(calls, out, strict=True) if answer in ("static", "dynamic", "symbolic"))


@given(st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_shapes_in_turn_that_outnumber_the_versions_end_in_hits(most, rank, profiles):
    """One more shape than versions, round and round."""
    options = Options(max_versions=most, num_profiled_runs=int(profiles))
    out, _ = play([sig((n,) * rank) for n in range(3, 4 + most)] * 12, options)
    assert set(out[-most - 1 :]) == {"hit"}


def test_the_order_of_entries_is_the_order_of_versions():
    dynamic = Options(fusion_strategy=[("dynamic", 12)])
    out, speculations = play([sig((4, 8))] * 2 + [sig((6, 9)), sig((2, 3))], dynamic)
    assert out == [Reason.PROFILING, "dynamic", "hit", "hit"]
    assert speculations[0].specs[0].sizes == ("s0", "s1")
    both = Options(fusion_strategy=[("dynamic", 1), ("static", 1)])
    assert play([sig((4, 8))] * 2 + [sig((4, 1))] * 3, both)[0][1:] == ["dynamic", Reason.NOT_SEEN_BEFORE, "static", "hit"]
    assert play([sig((1,))] * 3, dynamic)[0][1:] == ["static", "hit"], "there is no size to leave open"


def test_a_program_without_code_for_open_sizes_gets_a_static_version_after_all():
    log, options, call = SpeculationLog(), Options(fusion_strategy=[("dynamic", 12)]), sig((4,))
    log.record(call)
    refused = log.propose(call, options)
    log.made(refused, call.classes)
    assert refused.kind == "dynamic"
    assert log.propose(call, options) is Reason.COMPILING
    log.decided(refused)
    assert log.propose(call, options).kind == "static"
