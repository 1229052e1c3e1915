"""The speculation log: which bet answers which sequence of calls."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tierup.dialect.reasons import Reason
from tierup.runtime.options import Options
from tierup.runtime.signature import signature_of
from tierup.runtime.strategy import Bet, SpeculationLog


def sig(*shapes, dtype=np.float32):
    return signature_of(tuple(np.zeros(s, dtype) for s in shapes))


def play(calls, options=None):
    """The proposal at each call, made bets noted, refused calls recorded; calls that a bet fits are left out."""
    log, out, bets = SpeculationLog(), [], []
    options = options or Options()
    for call in calls:
        if any(fits(b, call) for b in bets):
            out.append("hit")
            continue
        proposal = log.propose(call, options) if out else Reason.PROFILING
        if isinstance(proposal, Bet):
            log.made(proposal)
            bets.append(proposal)
            out.append(proposal.kind)
        else:
            log.record(call)
            out.append(proposal)
    return out, bets


def fits(bet, call):
    symbols = {}
    for spec, klass, sizes in zip(bet.specs, call.classes, call.sizes, strict=True):
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
    out, bets = play([sig((4, 8))] * 2 + [sig((6, 8))] * 2 + [sig((9, 8)), sig((11, 8))])
    assert out[4:] == ["dynamic", "hit"]
    assert bets[-1].specs[0].sizes == ("s0", 8)


def test_shapes_that_never_come_back_cost_one_compile():
    out, bets = play([sig((n, 8)) for n in range(3, 40)])
    assert out[:3] == [Reason.PROFILING, Reason.NOT_SEEN_BEFORE, "dynamic"]
    assert set(out[3:]) == {"hit"}


def test_equal_sizes_are_not_tied():
    _, bets = play([sig((5, 5)), sig((6, 6)), sig((7, 7))])
    assert bets[-1].specs[0].sizes == ("s0", "s1")


def test_sizes_zero_and_one_stay_static():
    out, bets = play([sig((4, 8)), sig((5, 8)), sig((1, 8)), sig((1, 8))])
    assert out[2:] == [Reason.NOT_SEEN_BEFORE, "static"]
    assert bets[-1].specs[0].sizes == (1, 8)


def test_a_lost_bet_is_not_made_twice():
    log, options = SpeculationLog(), Options()
    call = sig((4,))
    log.record(call)
    first = log.propose(call, options)
    log.made(first)
    assert log.propose(call, options) is Reason.COMPILING
    log.settled(first)
    assert log.propose(call, options) is Reason.SITE_GIVEN_UP


def test_the_strategy_ends():
    options = Options(fusion_strategy=[("static", 1)])
    out, _ = play([sig((4,))] * 2 + [sig((5,))] * 3, options)
    assert out[2:] == [Reason.DEPTH_EXHAUSTED] * 3


def test_zero_profiled_runs_bet_on_the_first_call():
    assert isinstance(SpeculationLog().propose(sig((4,)), Options(num_profiled_runs=0)), Bet)


def test_memory_does_not_grow_with_unseen_shapes():
    log = SpeculationLog()
    for n in range(500):
        log.record(sig((n,)))
    assert len(log._seen) <= 64


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_every_bet_fits_the_call_it_was_made_for(shapes):
    log, options = SpeculationLog(), Options()
    for shape in shapes:
        call = sig(shape)
        proposal = log.propose(call, options)
        if isinstance(proposal, Bet):
            assert fits(proposal, call)
            log.made(proposal)
        else:
            log.record(call)
