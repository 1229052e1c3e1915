"""Streams and costs: they measure what they say. No times are asserted."""

from __future__ import annotations

import pytest

from benchmarks import dispatch, streams


@pytest.mark.parametrize("case", streams.CASES, ids=lambda c: c.name)
def test_a_stream_of_sizes_needs_few_compiles_and_few_calls_wait(case):
    row = streams.measure(case, calls=40)
    assert 1 <= row.compiles <= streams.MOST_COMPILES and row.waited <= row.compiles
    assert row.numpy > 0 and row.ours > 0


def test_costs_of_misses_and_bailouts_are_of_misses_and_bailouts():
    rows = list(dispatch.measure(("miss", "bailout"), 2))  # it asserts what each call was
    assert [row.title.split()[0] for row in rows] == ["miss", "tier", "NumPy,", "bailout"]


def test_new_versions_are_made_in_the_call():
    assert len(list(dispatch.measure(("respecialise",), 2))) == 2
