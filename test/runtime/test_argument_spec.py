"""Argument specs: what they tell apart, and what not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierup.runtime.arguments.argument_spec import ABSENT, UNDEFINED, CallSpec, ScalarSpec, TensorSpec, TreeSpec, spec_of

X = np.ones((2, 3), np.float32)


def test_sizes_and_strides_do_not_count():
    assert spec_of([X]) == spec_of([np.ones((5, 0), np.float32)]) == spec_of([np.ones((3, 2), np.float32).T[::2]])
    assert hash(spec_of([X])) == hash(spec_of([np.ones((5, 7), np.float32)]))


@pytest.mark.parametrize("other", [np.ones((2, 3)), np.ones(6, np.float32), 1.0, None, (X,), [X], {"a": X}], ids=repr)
def test_dtype_rank_kind_presence_and_structure_count(other):
    assert spec_of([X]) != spec_of([other])


def test_a_wanted_gradient_counts():
    assert spec_of([X, X], [True, False]) != spec_of([X, X]) != spec_of([X, X], [False, True])
    assert spec_of([X, X], [False, False]) == spec_of([X, X])


def test_gradients_go_depth_first_and_must_be_as_many_as_the_arrays():
    spec = spec_of([(X, 1), [X]], [True, False])
    wanted = TensorSpec("f32", 2, requires_grad=True)
    assert spec.arguments == (TreeSpec("tuple", (wanted, ScalarSpec("int"))), TreeSpec("list", (TensorSpec("f32", 2),)))
    for gradients in ([True], [True, True, True]):
        with pytest.raises(ValueError, match="gradients"):
            spec_of([X, X], gradients)


def test_values_of_numbers_do_not_count_but_their_kinds():
    assert spec_of([1, 2.0, True]) == spec_of([7, -0.0, False])
    assert len({spec_of([v]) for v in (1, 1.0, True)}) == 3


def test_an_absent_optional_is_not_an_undefined_tensor():
    assert spec_of([None]).arguments == (ABSENT,)
    assert ABSENT != UNDEFINED


def test_tuples_lists_and_dicts_of_the_same_items_differ():
    assert len({spec_of([v]) for v in ((X, X), [X, X], {0: X, 1: X}, {1: X, 0: X}, (X, (X,)))}) == 5


def test_a_foreign_byte_order_is_another_dtype():
    assert spec_of([np.ones(2, ">f4")]) != spec_of([np.ones(2, "<f4")])


def test_it_is_spelled_with_the_arguments_names():
    assert spec_of([X, 3, None, [X]]).describe(("x", "n", "bias", "parts")) == "x: f32[rank 2], n: int, bias: None, parts: list(f32[rank 2])"


leaves = st.one_of(
    st.sampled_from([None, 1, 2.5, False]),
    st.tuples(st.sampled_from([np.float32, np.int64]), st.lists(st.integers(0, 3), max_size=3)).map(lambda t: np.zeros(t[1], t[0])),
)
trees = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple), max_leaves=6)


def _reference(value):
    """What a spec holds, said plainly."""
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.str, value.ndim)
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(_reference, value))
    return type(value).__name__


@given(st.lists(trees, max_size=3), st.lists(trees, max_size=3))
def test_specs_are_equal_just_when_dtypes_ranks_kinds_and_structure_are(a, b):
    assert (spec_of(a) == spec_of(b)) == ([_reference(v) for v in a] == [_reference(v) for v in b])
    assert isinstance(spec_of(a), CallSpec)
    assert spec_of(a) == spec_of(a)
    assert hash(spec_of(a)) == hash(spec_of(a))
