"""Events and `explain()` are in the user's words: call numbers of the function, NumPy's names, names of the program, the `def`'s line."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tierup
from tierup.dialect import optable
from tierup.dialect.optable.words import numpys_name, numpys_names
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.functions.verdict import words

AS_PRINTED = True


@tierup.jit(
    weigh=False,
)
def sorted_apart(x, doubled):
    y = np.argpartition(x[1:], 3)
    return y * 2 + x[:-1] if doubled else y


def test_calls_are_numbered_through_all_graphs_and_regions_of_a_function():
    heard: list[Event] = []
    line = sorted_apart.__wrapped__.__code__.co_firstlineno + 3  # of the `def`
    with tierup.events.subscribe(heard.append):
        for x in (np.ones(8), np.ones(8), np.ones(8), np.ones((8, 8)), np.ones(8, np.float32)):
            sorted_apart(x, True)
    numbers = [(event.call, event.kind, event.function) for event in heard]
    assert (3, EventKind.COMPILED, "sorted_apart, region 0") in numbers
    assert (4, EventKind.PROFILED, "sorted_apart") in numbers
    assert [call for call, _, _ in numbers] == sorted(call for call, _, _ in numbers)
    assert {event.line for event in heard if event.kind is EventKind.PROFILED} == {f"{__file__}:{line}"}
    told = sorted_apart.explain(details=True)
    assert "in tier 0: np.argpartition at" in told and "[np.argpartition: has no native code]" in told
    assert f"np.argpartition at {line + 1}:9: i64[7], x: f64[8]: static" in told and "arg0" not in told and "aten." not in told


def test_dtypes_are_spelled_alike_on_both_sides_of_a_guard():
    @tierup.jit
    def f(x):
        return np.tanh(x) + 0.25

    for dtype in (np.float64, np.float64, np.float32, np.uint16):
        f(np.ones(3, dtype))
    misses = [event for event in f._executors[0].history.events if event.kind is EventKind.MISS]
    assert [(event.expected, event.actual) for event in misses] == [("f64", "f32"), ("f64", "u16")]


@pytest.mark.parametrize(
    ("op", "name"),
    [("tierup.sort", "np.sort"), ("aten.select.int", "an index"), ("torch.aten.add.Tensor", "np.add"), ("aten.tanh", "np.tanh"),
     ("tierup.linalg_solve", "np.linalg.solve"), ("tierup.math_sin", "math.sin"), ("aten.mul_.Tensor", "np.multiply"),
     ("aten.cat", "np.concatenate"), ("aten.conv2d", "aten.conv2d"), ("tierup.stop_gradient", "tierup.stop_gradient"),
     ("torch.prim.RaiseException", "a raise"), ("prim.Uninitialized", "an array that one path has not")],
)  # fmt: skip
def test_ops_have_numpys_names_where_numpy_has_one(op: str, name: str) -> None:
    assert numpys_name(op) == name and numpys_names(f"x: {op}, at f.py:3") == f"x: {name}, at f.py:3"


def test_every_name_that_is_said_to_be_numpys_is() -> None:
    for op in optable.table():
        name = numpys_name(op)
        if name.startswith("np."):
            found = np
            for part in name.split(".")[1:]:
                found = getattr(found, part)
            assert callable(found)


def test_explain_says_no_more_than_a_few_lines_that_differ_in_numbers_alone():
    lines = ["f: 9 calls", *(line for i in range(20) for line in (f"  region {i}: 3 hits", f"    in tier 0: sort at a.py:{i}", "    cut")), "  last"]
    found = words.without_repeats(lines)
    assert found[:4] == lines[:4]
    assert found[13:] == ["  ... and 16 more like these: explain(details=True)", "  last"]


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc"), st.integers(0, 99)), max_size=60), st.integers(2, 5))
def test_lines_stay_in_order_and_each_that_goes_is_counted(drawn, most):
    lines = [f"{'  ' * depth}{word} {number}" for depth, word, number in drawn]
    found = words.without_repeats(lines, most)
    kept = [line for line in found if "more like these" not in line]
    rest = iter(lines)
    assert all(line in rest for line in kept)
    if all(depth == 0 for depth, *_ in drawn):
        assert len(lines) - len(kept) == sum(int(line.split()[2]) for line in found if "more like these" in line)
    assert words.without_repeats(found, most) == found or len(found) < len(lines)
