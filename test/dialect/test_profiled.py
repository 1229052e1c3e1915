"""Laws of the profiled-type lattice, checked on generated facts and arrays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierup.dialect.base import dtypes
from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import TOP, UNDEFINED, Profiled, ProfiledScalar

_DTYPES = st.sampled_from([None, dtypes.f32, dtypes.i64, dtypes.bool_, dtypes.bf16])
_SIZE = st.sampled_from([None, 0, 1, 2, 3, "s0", "s1"])
_FLAG = st.sampled_from([None, True, False])


@st.composite
def facts(draw: st.DrawFn) -> Profiled:
    if draw(st.integers(0, 9)) == 0:
        return UNDEFINED
    sizes = draw(st.none() | st.lists(_SIZE, max_size=3).map(tuple))
    strides = None
    if sizes is not None and draw(st.booleans()):
        strides = tuple(draw(st.lists(st.sampled_from([None, 1, 2, 3, 6]), min_size=len(sizes), max_size=len(sizes))))
    defined = draw(st.sampled_from([None, True]))
    return Profiled(draw(_DTYPES), draw(st.sampled_from([None, "cpu"])), sizes, strides, draw(st.sampled_from([None, False])), defined)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray | None:
    if draw(st.integers(0, 9)) == 0:
        return None
    shape = tuple(draw(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3)))
    array = np.zeros(shape, draw(st.sampled_from([np.float32, np.int64, np.bool_])))
    for axis in range(array.ndim):
        array = array[(slice(None),) * axis + (slice(None, None, draw(st.sampled_from([1, 2, -1]))),)]
    return array.T if draw(st.booleans()) else array


@st.composite
def facts_of(draw: st.DrawFn, array: np.ndarray | None) -> Profiled:
    """Facts that hold of `array`: some of what was seen, with symbols for some sizes."""
    seen = Profiled.of(array)
    sizes, strides = seen.sizes, seen.strides
    if sizes is not None:
        sizes = tuple(draw(st.sampled_from([n, None, f"s{n}" if n >= 2 else n])) for n in sizes)
        sizes = draw(st.sampled_from([sizes, None]))
        strides = strides if sizes is not None and draw(st.booleans()) else None
    keep = draw(st.lists(st.booleans(), min_size=4, max_size=4))
    known = (seen.dtype, seen.device, seen.requires_grad, seen.defined)
    dtype, device, grad, defined = (fact if kept else None for fact, kept in zip(known, keep, strict=True))
    return Profiled(dtype, device, sizes, strides, grad, defined)


@st.composite
def below(draw: st.DrawFn, upper: Profiled) -> Profiled:
    """Facts that say at least what `upper` says."""
    other = draw(facts())
    if upper == TOP or other == UNDEFINED or upper.defined is False:
        return other if upper == TOP else upper
    known = upper.sizes
    sizes = other.sizes if known is None else tuple(draw(_SIZE) if size is None else size for size in known)
    strides = upper.strides if upper.strides is not None else other.strides if sizes == other.sizes else None
    names = ("dtype", "device", "requires_grad", "defined")
    filled = {n: getattr(other if getattr(upper, n) is None else upper, n) for n in names}
    return Profiled(sizes=sizes, strides=strides, **filled)


scalars = st.one_of(st.booleans(), st.integers(), st.floats(), st.sampled_from([0, 0.0, -0.0, False, math.nan, 1, 1.0, True]))
scalar_facts = st.one_of(scalars.map(ProfiledScalar.of), st.sampled_from([None, "int", "float", "bool"]).map(ProfiledScalar))


@given(facts(), facts())
def test_join_is_commutative(a: Profiled, b: Profiled) -> None:
    assert a.join(b) == b.join(a)


@given(facts(), facts(), facts())
def test_join_is_associative(a: Profiled, b: Profiled, c: Profiled) -> None:
    assert a.join(b).join(c) == a.join(b.join(c))


@given(facts())
def test_join_is_idempotent_and_top_absorbs(a: Profiled) -> None:
    assert a.join(a) == a
    assert a.join(TOP) == TOP


@given(facts(), facts())
def test_join_is_an_upper_bound_of_both(a: Profiled, b: Profiled) -> None:
    assert a <= a.join(b)
    assert b <= a.join(b)


@given(facts(), st.data())
def test_join_is_the_least_upper_bound(c: Profiled, data: st.DataObject) -> None:
    a, b = data.draw(below(c)), data.draw(below(c))
    assert a <= c
    assert b <= c
    assert a.join(b) <= c


@given(arrays(), arrays())
def test_what_was_seen_matches_itself_and_every_join(a: np.ndarray | None, b: np.ndarray | None) -> None:
    seen = Profiled.of(a)
    assert seen.matches(a)
    assert seen.join(Profiled.of(b)).matches(a)
    assert seen.join(Profiled.of(b)).matches(b)


@given(arrays(), facts(), st.data())
def test_matches_is_monotone(array: np.ndarray | None, other: Profiled, data: st.DataObject) -> None:
    a = data.draw(facts_of(array))
    assert a.matches(array)
    assert a.join(other).matches(array)


@given(arrays(), arrays())
def test_what_was_seen_of_one_matches_another_only_when_they_look_alike(a: np.ndarray | None, b: np.ndarray | None) -> None:
    if a is None or b is None:
        assert Profiled.of(a).matches(b) == (a is None and b is None)
        return
    alike = a.dtype == b.dtype and a.shape == b.shape
    if alike and a.size:
        alike = all(s == t for s, t, n in zip(a.strides, b.strides, a.shape, strict=True) if n != 1)
    assert Profiled.of(a).matches(b) == alike


@given(facts())
def test_text_round_trips(a: Profiled) -> None:
    assert Profiled.parse(str(a)) == a
    assert profiled.parse(str(a)) == a


@given(scalar_facts, scalar_facts, scalar_facts)
def test_scalar_join_laws(a: ProfiledScalar, b: ProfiledScalar, c: ProfiledScalar) -> None:
    assert a.join(b) == b.join(a)
    assert a.join(b).join(c) == a.join(b.join(c))
    assert a.join(a) == a
    assert a <= a.join(b)


@given(scalar_facts, scalars)
def test_scalar_matches_is_monotone(b: ProfiledScalar, value: float) -> None:
    for a in (ProfiledScalar.of(value), ProfiledScalar(type(value).__name__), ProfiledScalar()):
        assert a.matches(value)
        assert a.join(b).matches(value)


@given(scalar_facts)
def test_scalar_text_round_trips(a: ProfiledScalar) -> None:
    assert ProfiledScalar.parse(str(a)) == a
    assert profiled.parse(str(a)) == a


def test_text_form_reads_as_documented() -> None:
    seen = Profiled.of(np.zeros((2, 3, 1), np.float32))
    assert str(seen) == "f32[2,3,1] strides=[3,1,?] device=cpu requires_grad=false defined"
    assert str(TOP) == "?[*]"
    assert str(UNDEFINED) == "?[*] undefined"
    assert str(Profiled(dtypes.f32, sizes=("s0", None, 4))) == "f32[s0,?,4]"
    assert str(Profiled.of(np.float32(3).reshape(()))) == "f32[] strides=[] device=cpu requires_grad=false defined"


def test_a_symbol_is_at_least_two_and_the_same_size_wherever_it_stands() -> None:
    square = Profiled(sizes=("s0", "s0"))
    assert square.matches(np.zeros((3, 3)))
    assert not square.matches(np.zeros((3, 4)))
    assert not square.matches(np.zeros((1, 1)))
    assert not square.matches(np.zeros((0, 0)))
    bound: dict[str, int] = {}
    assert square.matches(np.zeros((3, 3)), symbols=bound)
    assert not Profiled(sizes=("s0",)).matches(np.zeros(4), symbols=bound)


def test_a_site_that_saw_a_tensor_and_none_assumes_nothing() -> None:
    seen = Profiled.of(np.zeros(3)).join(Profiled.of(None))
    assert seen == TOP
    assert not Profiled(dtypes.f64).matches(None)


def test_foreign_dtypes_are_not_known_and_never_match_a_known_one() -> None:
    for array in (np.zeros(2, object), np.zeros(2, ">f4"), np.zeros(2, np.longdouble)):
        assert Profiled.of(array).dtype is None
        assert not Profiled(dtypes.f32).matches(array)


def test_strides_that_are_no_multiple_of_the_item_are_unknown() -> None:
    packed = np.zeros(4, np.dtype([("a", "i1"), ("b", "f4")]))["b"]
    assert Profiled.of(packed).strides == (None,)
    assert not Profiled(sizes=(4,), strides=(1,)).matches(packed)


def test_torch_types_say_as_much_as_is_known() -> None:
    assert Profiled(dtypes.i64, sizes=(2, None, "s0")).torch_type() == "!torch.vtensor<[2,?,?],si64>"
    assert Profiled(dtypes.f32).torch_type() == "!torch.vtensor<*,f32>"
    assert Profiled(sizes=()).torch_type(value_semantics=False) == "!torch.tensor<[],unk>"
    assert TOP.torch_type() == "!torch.vtensor"
    assert ProfiledScalar("int", 3).torch_type() == "!torch.int"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("f32", "expected number, int, float or bool"),
        ("f31[2]", "'f31' is no element type"),
        ("f32[2;3]", "expected <dtype>\\[<sizes>\\]"),
        ("f32[2] colour=red", "expected strides"),
        ("f32[2] strides=[1] strides=[1]", "stated twice"),
        ("f32[2] strides=[1,2]", "same rank"),
        ("f32[2] undefined", "undefined tensor has neither"),
        ("f32[2,]", "expected a size"),
        ("int=x", "invalid literal"),
        ("bool=1", "expected true or false"),
        ("number=1", "expected number"),
    ],
)
def test_malformed_text_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        profiled.parse(text)


def test_observe_takes_arrays_none_python_numbers_and_lists_only() -> None:
    assert profiled.observe(np.zeros(2)) == Profiled.of(np.zeros(2))
    assert profiled.observe(None) == UNDEFINED
    assert profiled.observe(True) == ProfiledScalar("bool", True)
    assert profiled.observe([1]) == Profiled(defined=True)  # of a list only that it is there
    assert profiled.join(Profiled(), ProfiledScalar()) is None


def test_float_facts_compare_bits() -> None:
    assert not ProfiledScalar.of(0.0).matches(-0.0)
    assert ProfiledScalar.of(math.nan).matches(math.nan)
    assert not ProfiledScalar.of(1).matches(1.0)
    assert not ProfiledScalar.of(1).matches(True)
