"""Bounds of sizes: what is said of all values of the symbols holds for each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim

S, T = dims.symbol("s0"), dims.symbol("s1")


def made() -> st.SearchStrategy[Dim]:
    leaves: st.SearchStrategy[Dim] = st.one_of(st.sampled_from([S, T]), st.integers(-4, 6))
    pairs = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, dims.minimum, dims.maximum]
    return st.recursive(leaves, lambda inner: st.builds(lambda f, a, b: f(a, b), st.sampled_from(pairs), inner, inner), max_leaves=5)


@given(made(), st.integers(2, 9), st.integers(2, 9))
def test_no_size_is_below_its_bound(size: Dim, s: int, t: int) -> None:
    value = dims.evaluate(size, {"s0": s, "s1": t})
    assert all(value >= bound for bound in range(-30, 31) if dims.at_least(size, bound))


def test_the_smaller_of_two_sizes_is_bounded_by_both_and_the_larger_by_one() -> None:
    assert dims.at_least(dims.minimum(S, T), 2) and not dims.at_least(dims.minimum(S, T), 3)
    assert dims.at_least(dims.minimum(S + 3, 7), 5) and dims.at_least(dims.minimum(S, T) * T + 1, 5)
    assert dims.at_least(dims.maximum(S - T, 1), 1) and not dims.at_least(dims.maximum(S - T, 0), 1)
    assert not dims.at_least(dims.minimum(S - T, 4), -9)
