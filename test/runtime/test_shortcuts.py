"""Shortcuts: what the long way says of a call, a function written for one graph says as well, or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tierup
from tierup.runtime.arguments.hidden import Access, Constant, HiddenInput
from tierup.runtime.arguments.trees import CallShape, Leaf, Output, OutputNode, OutputUnion, unflatten
from tierup.runtime.functions.graphs import shortcuts

LEAVES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from(["a", "b", ""]),
    st.sampled_from([np.float32(1), np.int64(2), np.bool_(True), np.float64(3)]),
    st.integers(0, 3).map(lambda rank: np.zeros((2,) * rank)),
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from(["x", "y", 1, None, (1, 2)]), inner, max_size=3),
    ),
    max_leaves=8,
)


def shape_of(*values: Any) -> tuple[CallShape, list[Any]]:
    return CallShape.of({f"p{i}": v for i, v in enumerate(values)})


@given(st.lists(TREES, max_size=3), st.lists(TREES, max_size=3))
def test_a_matcher_takes_just_the_calls_of_its_shape(values: list[Any], others: list[Any]) -> None:
    shape, leaves = shape_of(*values)
    match = shortcuts.matcher(shape, ())
    assert match is not None
    found = match(*values)
    assert found is not None and len(found) == len(leaves)
    for got, want in zip(found, leaves, strict=True):
        assert type(got) is type(want) and (got is want or isinstance(want, np.ndarray) and got.dtype == want.dtype and got == want)
    if len(others) == len(values):
        other, _ = shape_of(*others)
        assert (match(*others) is not None) == (other == shape)


class Sub(np.ndarray):
    pass


@pytest.mark.parametrize("value", [np.zeros(2).view(Sub), 2**63, [np.zeros(2)], np.zeros((2, 2)), 1.0, object()], ids=lambda v: type(v).__name__)
def test_what_is_not_as_expected_goes_the_long_way(value: Any) -> None:
    match = shortcuts.matcher(shape_of(np.zeros(2))[0], ())
    assert match is not None and match(value) is None
    integer = shortcuts.matcher(shape_of(3)[0], ())
    assert integer is not None and integer(value) is None and integer(True) is None and integer(-(2**63)) == (-(2**63),)


def test_the_keys_of_a_dict_and_their_order_count() -> None:
    match = shortcuts.matcher(shape_of({"a": 1, "b": 2})[0], ())
    assert match is not None and match({"a": 3, "b": 4}) == (3, 4)
    for other in ({"b": 2, "a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1}, {"a": 1, "c": 2}, [1, 2]):
        assert match(other) is None


class Model:
    def __init__(self, w: Any, rate: float = 2.0) -> None:
        self.w, self.rate, self.config = w, rate, {"k": [3.0]}

    @tierup.jit
    def step(self, x: Any) -> Any:
        return [self.scaled(x) * self.rate * self.config["k"][0]]

    @tierup.jit
    def scaled(self, x: Any) -> Any:
        return x * self.w


def test_methods_and_what_they_read() -> None:
    model, x = Model(np.ones(3)), np.ones(3)
    for rate in (2.0, 2.0, 2.0, 4.0, 4.0, 2.0):
        model.rate = rate
        assert model.step(x)[0].tolist() == [3 * rate] * 3
    model.w = np.full(3, 2.0)  # another array: read at each call
    assert model.step(x)[0].tolist() == [12.0] * 3
    model.w = np.float32(2)
    assert model.step(x)[0].tolist() == [12.0] * 3
    model.w = np.ones((2, 3))
    assert model.step(x)[0].shape == (2, 3)
    model.config["k"][0] = 1.0
    assert model.step(x)[0].tolist() == [[2.0] * 3] * 2
    other = Model(np.zeros(3))
    other.scaled = model.scaled  # another object's method
    other.config["k"] = [1.0]
    assert other.step(x)[0].shape == (2, 3)
    del model.w
    for _ in range(3):
        with pytest.raises(AttributeError, match="w"):
            model.step(x)


def test_a_matcher_reads_hidden_inputs_and_constants_of_objects() -> None:
    model, x = Model(np.ones(3)), np.ones(3)
    shape, _ = shape_of(model, x)
    read = Access("argument", "p0")
    hidden = HiddenInput(read.attribute("w"), Leaf("array", 1))
    match = shortcuts.matcher(shape, (Constant(read.attribute("rate"), "value", 2.0),), (hidden,))
    assert match is not None and match(model, x) == (x, model.w) and match(x, model) is None
    model.rate = float("2.0")  # equal, another object
    found = match(model, x)
    assert found is not None and found[1] is model.w
    for name, value in (("rate", 2), ("rate", 3.0), ("w", [1.0]), ("w", np.ones((1, 1)))):
        changed = Model(np.ones(3))
        setattr(changed, name, value)
        assert match(changed, x) is None
    del model.w
    assert match(model, x) is None


def test_arrays_of_a_closure_are_read_at_each_call() -> None:
    held = np.ones(3)

    @tierup.jit
    def f(xs: Any) -> Any:
        return [x * held for x in xs]  # noqa: F821 - it is deleted below

    for k in (1.0, 1.0, 1.0, 2.0, 3.0):
        held = np.full(3, k)
        assert f([np.ones(3)])[0].tolist() == [k] * 3
    held = 4.0  # type: ignore[assignment]  # that is the test
    assert f([np.ones(3)])[0].tolist() == [4.0] * 3
    del held
    with pytest.raises(NameError, match="held"):
        f([np.ones(3)])


def test_results_are_what_unflatten_gives() -> None:
    array, scalar = Output("array"), Output("array", decays=True)
    tree = OutputNode("dict", (OutputNode("tuple", (scalar, Output("int"))), OutputNode("list", (array, Output("const", value="c"))), OutputNode("tuple", ())), ("a", 3, None))  # fmt: skip
    results = (np.array(1.5), 7, np.array(2.5))
    found, wanted = shortcuts.finisher(tree)(results), unflatten(tree, results)
    assert found == wanted and type(found["a"][0]) is np.float64 and found[3][0] is results[2] and type(found[3]) is list
    union = OutputUnion((scalar, Output("const")))
    assert shortcuts.finisher(union)((0, np.array(1.0))) == 1.0
    assert shortcuts.finisher(Output("const"))(()) is None
    for leaf, result in ((scalar, np.array(1.5)), (scalar, np.ones(2)), (array, np.array(1.5)), (Output("int"), 3)):
        one, wanted = shortcuts.finisher(leaf)((result,)), unflatten(leaf, (result,))
        assert type(one) is type(wanted) and (one is result) == (wanted is result)
    assert shortcuts.finisher(Output("dtype"))((6,)) == np.float32


RATE = 2.0


def test_very_large_trees_go_the_long_way() -> None:
    many = [np.ones(i % 50) for i in range(shortcuts._MOST_LEAVES + 1)]
    assert shortcuts.matcher(shape_of(many)[0], ()) is None
    tree = OutputNode("list", (Output("array"),) * len(many))
    assert shortcuts.finisher(tree)(many) == many


def test_constants_are_asked_at_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    factor = {"k": 3.0}

    @tierup.jit
    def f(xs: Any, n: Any) -> Any:
        return [x * RATE * factor["k"] for x in xs], len(xs)

    x = np.ones(3)
    for _ in range(4):
        assert f([x, x], 1)[0][1].tolist() == [6, 6, 6]
    monkeypatch.setitem(globals(), "RATE", 5.0)
    for _ in range(3):
        assert f([x, x], 1)[0][1].tolist() == [15, 15, 15]
    factor["k"] = 1.0
    monkeypatch.setitem(globals(), "len", lambda xs: 77)
    for _ in range(3):
        assert f([x, x], 1)[1] == 77
    monkeypatch.delitem(globals(), "len")
    for _ in range(3):
        found, count = f([x, x], 1)
        assert found[0].tolist() == [5, 5, 5] and count == 2


def test_a_list_in_the_place_of_starred_arguments_is_not_them() -> None:
    @tierup.jit
    def f(x: Any, *rest: Any) -> Any:
        return x * len(rest), rest

    x = np.ones(2)
    for _ in range(3):
        assert f(x, 1.5)[1] == (1.5,)
    for _ in range(3):
        assert f(x, (1.5,))[1] == ((1.5,),)


def test_the_kinds_of_a_parameter_take_turns() -> None:
    @tierup.jit
    def f(p: Any) -> Any:
        return p[0] * 2 if isinstance(p, tuple) else p["a"] * 3

    x = np.ones(2)
    for _ in range(4):
        assert f((x,)).tolist() == [2, 2]
        assert f({"a": x}).tolist() == [3, 3]
        assert f({"a": 1}) == 3
        assert f({"a": np.float32(1)}) == 3
    assert f.stats().calls == 16
