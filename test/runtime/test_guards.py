"""Which guard fails, and how it is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tierup.dialect.facts.dims import symbol
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, ResultKind, ResultSpec
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.runtime.arguments.guards import Mismatch, bind, explain, extent, first_mismatch, overlaps_itself


def array(*sizes: int | str, dtype: str = "f32", layout: Layout = Layout.CONTIGUOUS) -> ArgumentSpec:
    return ArgumentSpec(ArgumentKind.ARRAY, dtype, sizes, layout)


READ_ONLY = np.zeros(4, np.float32)
READ_ONLY.flags.writeable = False
BASE = np.zeros((4, 6), np.float32)


@pytest.mark.parametrize(("spec", "arg", "reason", "what", "expected", "actual"), [
    (array(4), [1.0], Reason.WRONG_TYPE, "type", "numpy.ndarray", "list"),
    (array(4), np.ma.zeros(4, np.float32), Reason.WRONG_TYPE, "type", "numpy.ndarray", "MaskedArray"),
    (array(4), np.zeros(4), Reason.WRONG_DTYPE, "dtype", "f32", "f64"),
    (array(4), np.zeros(4, ">f4"), Reason.WRONG_DTYPE, "dtype", "f32", ">f4"),
    (array(4), np.zeros((4, 1), np.float32), Reason.WRONG_RANK, "rank", "1", "2"),
    (array(2, 4), np.zeros((2, 5), np.float32), Reason.WRONG_SIZE, "dim 1", "4", "5"),
    (array("s0", "s0"), np.zeros((2, 5), np.float32), Reason.UNEQUAL_SIZES, "dim 1", "s0 = 2", "5"),
    (array("s0"), np.zeros(1, np.float32), Reason.SMALL_SIZE, "dim 0", "s0 >= 2", "1"),
    (array(4, 3), BASE[:, ::2], Reason.WRONG_LAYOUT, "strides", "contiguous", "(24, 8)"),
    (array(4), READ_ONLY, Reason.READ_ONLY, "flags", "writeable", "read-only"),
    (array(2), np.zeros(9, np.uint8)[1:].view(np.float32), Reason.MISALIGNED, "alignment", "a multiple of 4 bytes", "misaligned"),
    (array("s0", layout=Layout.STRIDED), np.lib.stride_tricks.as_strided(BASE, (3,), (0,)),
     Reason.OVERLAP, "overlap", "no two elements share memory", "strides (0,)"),
    (ArgumentSpec(ArgumentKind.INT), True, Reason.WRONG_TYPE, "type", "int", "bool"),
    (ArgumentSpec(ArgumentKind.INT), 2**63, Reason.WRONG_VALUE, "value", "an int of 64 bits", str(2**63)),
    (ArgumentSpec(ArgumentKind.FLOAT, value=0.0), -0.0, Reason.WRONG_VALUE, "value", "0.0", "-0.0"),
    (ArgumentSpec(ArgumentKind.BOOL, value=True), False, Reason.WRONG_VALUE, "value", "True", "False"),
])  # fmt: skip
def test_the_first_guard_that_fails_is_named(spec: ArgumentSpec, arg: Any, reason: Reason, what: str, expected: str, actual: str) -> None:
    good = (ArgumentSpec(ArgumentKind.INT), 1)
    found = first_mismatch([good[0], spec], [good[1], arg], written=[1] if spec.kind is ArgumentKind.ARRAY else [])
    assert found == Mismatch(1, reason, what, expected, actual)
    assert str(found) == f"argument 1: {what} expected {expected}, got {actual}"


def test_nothing_is_said_when_all_guards_hold() -> None:
    assert first_mismatch([array("s0", "s1"), array("s1")], [BASE, np.zeros(6, np.float32)]) is None
    symbols = bind([array("s0", "s1", layout=Layout.STRIDED)], [BASE[:, ::2]])
    assert symbols == {"s0": 4, "s1": 3, "stride0_0": 6, "stride0_1": 2}


def test_the_number_of_arguments_is_a_guard() -> None:
    found = first_mismatch([array(4)], [])
    assert found is not None and (found.argument, found.what, found.expected, found.actual) == (-1, "count", "1", "0")


def test_overlap_names_the_other_argument() -> None:
    x = np.zeros(8, np.float32)
    found = first_mismatch([array("s0"), ArgumentSpec(ArgumentKind.INT), array("s1")], [x[:5], 1, x[4:]], written=[0])
    assert found is not None and found.reason is Reason.OVERLAP and found.actual == "shared with argument 2"
    assert first_mismatch([array("s0"), array("s1")], [x[:4], x[4:]], written=[0]) is None


def test_impossible_result_sizes_are_explained() -> None:
    s = symbol("s0")
    record = VersionRecord((array("s0"),), (ResultSpec(ResultKind.BUFFER, "f32", (s - 5,)),), address=0, form=Form.SINGLE)
    found = explain(record, [np.zeros(3, np.float32)])
    assert found is not None and found.reason is Reason.PROGRAM_RAISES and found.actual == "s0 + -5 = -2"
    assert explain(record, [np.zeros(5, np.float32)]) is None


@st.composite
def views(draw: st.DrawFn) -> np.ndarray:
    base = np.zeros(draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=6)), np.int16)
    return base[draw(hnp.basic_indices(base.shape, allow_newaxis=True))] if draw(st.booleans()) else base.T  # type: ignore[no-any-return]


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(views())
def test_extents_are_numpys(x: Any) -> None:
    if type(x) is np.ndarray and x.size:
        assert extent(x) == np.lib.array_utils.byte_bounds(x)
    if type(x) is np.ndarray:
        assert not overlaps_itself(x)  # indexing makes no element twice


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(-6, 6)), min_size=1, max_size=3))
def test_memory_shared_within_an_array_is_always_found(dims: list[tuple[int, int]]) -> None:
    base = np.zeros(200, np.int32)[100:]
    x = np.lib.stride_tricks.as_strided(base, [n for n, _ in dims], [4 * s for _, s in dims])
    addresses = {sum(i * s for i, (_, s) in zip(index, dims, strict=True)) for index in np.ndindex(x.shape)}
    if len(addresses) < x.size:
        assert overlaps_itself(x)
