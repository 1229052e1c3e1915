"""NumPy's functions and array methods in a decorated function: as NumPy."""

import math
from itertools import product

import numpy as np
import pytest
from frontend_oracle import check
from sampling import drawn

import tierup

F32 = np.linspace(-3, 3, 12, dtype=np.float32).reshape(3, 4)
F64 = np.linspace(0.5, 2, 12).reshape(3, 4)
I32 = np.arange(-5, 7, dtype=np.int32).reshape(3, 4)
I8 = np.arange(-5, 7, dtype=np.int8).reshape(3, 4)
U8 = np.arange(12, dtype=np.uint8).reshape(3, 4)
F16 = F64.astype(np.float16)
BOOL = I32 % 2 == 0
ARRAYS = {"f32": F32, "f64": F64, "i32": I32, "i8": I8, "u8": U8, "f16": F16, "bool": BOOL}
ANY = pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
NUMBERS = pytest.mark.parametrize("x", [v for k, v in ARRAYS.items() if k != "bool"], ids=[k for k in ARRAYS if k != "bool"])


def elementary(x):
    return (
        np.exp(x),
        np.exp2(x),
        np.expm1(x),
        np.log1p(x),
        np.sqrt(x),
        np.sin(x),
        np.cos(x),
        np.tan(x),
        np.tanh(x),
        np.sinh(x),
        np.cosh(x),
        np.arctan(x),
    )


def logarithms(x):
    return np.log(x), np.log2(x), np.log10(x), np.arcsinh(x), np.arccosh(x), np.arcsin(x), np.arccos(x), np.arctanh(x)


def rounding(x):
    return np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.sign(x), np.abs(x), np.square(x), np.negative(x)


def predicates(x):
    return np.isnan(x), np.isinf(x), np.isfinite(x), np.logical_not(x), np.logical_and(x, x > 1), np.logical_or(x, 0), np.logical_xor(x, x)


@ANY
@pytest.mark.parametrize("function", [elementary, logarithms, predicates])
def test_elementwise(function, x):
    check(function, x)


@NUMBERS
def test_rounding_and_signs(x):
    check(rounding, x)


def rounded(x):
    return np.round(x), x.round()


@NUMBERS
def test_round(x):
    check(rounded, x)


def pairs(x, y):
    return (
        np.maximum(x, y),
        np.minimum(x, 1),
        np.maximum(0.5, x),
        np.add(x, y),
        np.power(x, 2),
        np.floor_divide(x, 2),
        np.mod(x, 3),
        np.true_divide(x, 4),
        *np.divmod(x, 3),
        *np.divmod(7, y),
        *divmod(x, y),
    )


@NUMBERS
@pytest.mark.parametrize("y", [F32, I32], ids=["f32", "i32"])
def test_two_operands(x, y):
    check(pairs, x, y)


def float_pairs(x, y):
    return (
        np.arctan2(x, y),
        np.copysign(x, y),
        np.fmax(x, y),
        np.fmin(x, 1),
        np.fmod(x, 2),
        np.logaddexp(x, y),
        np.fabs(x),
        np.reciprocal(y),
    )


def test_two_float_operands():
    check(float_pairs, F32, F64)
    check(float_pairs, F32, F32 + 5)


def choices(x):
    return (
        np.where(x > 0, x, 0), np.where(x > 0, 1.5, x), np.where(x > 0, 1, 0), np.where(x > 0, x, x * 2), np.where(x, x, -1),
        np.clip(x, 1, 3), x.clip(1), np.clip(x, None, 2), np.clip(x, 0.5, 2.5), np.clip(x, x * 0, 2),
    )  # fmt: skip


@NUMBERS
def test_where_and_clip(x):
    check(choices, x)


def nan_to_num(x):
    return np.nan_to_num(x), np.nan_to_num(x, nan=3.0)


def test_nan_to_num():
    check(nan_to_num, np.array([1, np.nan, np.inf, -np.inf], np.float32))


def whole(x):
    return (
        x.sum(),
        np.sum(x),
        x.mean(),
        np.prod(x),
        x.max(),
        np.min(x),
        x.argmax(),
        np.argmin(x),
        x.any(),
        np.all(x),
        x.std(),
        np.var(x),
        x.cumsum(),
    )


def along(x):
    return (
        x.sum(axis=0), x.sum(1), x.mean(-1), np.prod(x, axis=1), x.max(axis=1), x.min(axis=0, keepdims=True), x.argmax(axis=1), np.argmin(x, 0),
        x.any(axis=0), np.all(x, axis=-1), x.std(axis=0), np.var(x, axis=1), np.cumsum(x, axis=1), x.sum(axis=(0, 1)), x.max(axis=(0, -1)),
        x.sum(axis=1, keepdims=True), x.mean(axis=(0, 1), keepdims=True), x.sum(keepdims=True), np.count_nonzero(x), np.count_nonzero(x, axis=0),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["f32", "f64", "i32", "i8"])
@pytest.mark.parametrize("function", [whole, along])
def test_reductions(function, name):
    check(function, ARRAYS[name])


def options(x):
    return (
        x.sum(dtype=np.float64),
        np.mean(x, axis=0, dtype="float64"),
        x.var(ddof=1),
        x.std(axis=1, ddof=1),
        np.sum(x, axis=0, dtype=int),
        np.ptp(x, axis=1),
    )


def test_reduction_options():
    check(options, F32)


def norms(x):
    return np.linalg.norm(x), np.linalg.norm(x, axis=1), np.linalg.norm(x, axis=0, keepdims=True), np.linalg.norm(x[0])


@pytest.mark.parametrize("name", ["f32", "i32"])
def test_norm(name):
    check(norms, ARRAYS[name])


def shaped(x):
    return (
        x.reshape(2, 6), x.reshape((4, -1)), x.reshape(-1), np.reshape(x, (4, 3)), x.ravel(), x.flatten(), x.T, x.transpose(1, 0), np.transpose(x, (1, 0)),
        x.swapaxes(0, 1), np.expand_dims(x, 0), x[None].squeeze(0), np.squeeze(x[:, None]), np.broadcast_to(x, (2, 3, 4)), np.moveaxis(x[None], 0, -1),
        x.mT, x.copy(), np.ascontiguousarray(x.T),
    )  # fmt: skip


def joined(x):
    return (
        np.concatenate([x, x]), np.concatenate((x, x * 2.5), axis=1), np.concatenate([x, x], axis=None), np.stack([x, x]), np.stack((x, x), axis=-1),
        np.vstack([x, x[0]]), np.hstack([x[0], x[1]]), np.hstack([x, x]), np.split(x, 3), np.split(x, 2, axis=1), np.split(x, [1, 3], axis=1),
    )  # fmt: skip


def moved(x):
    return (
        np.tile(x, 2), np.tile(x, (2, 1, 2)), np.repeat(x, 2), x.repeat(2, axis=1), np.flip(x).copy(), np.flip(x, 1).copy(), np.flipud(x).copy(), np.roll(x, 1), np.roll(x, -1, axis=1),
        np.pad(x, 1), np.pad(x, ((0, 1), (2, 0)), constant_values=3), np.tril(x), np.triu(x, 1), np.diagonal(x), np.trace(x), np.diff(x), np.diff(x, axis=0),
        np.sort(x), np.sort(x, axis=0),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["f32", "i8"])
@pytest.mark.parametrize("function", [shaped, joined, moved])
def test_shape_and_movement(function, name):
    check(function, ARRAYS[name], unranked=False)


def taken(x, index):
    return np.take(x, index, axis=0), np.take(x, index), x.take(index, axis=-1), np.take_along_axis(x, index[None] % 3, axis=0)


def found(x):
    return np.nonzero(x > 1), np.where(x > 1), np.flatnonzero(x > 1), x.nonzero()


def test_taking_and_finding():
    check(taken, F32, np.array([0, 2, -1, 1]), unranked=False)
    check(found, I32, unranked=False)


def products(x, y):
    return (
        x @ y.T,
        np.dot(x, y.T),
        np.matmul(x, y.T),
        np.outer(x[0], y[1]),
        np.dot(x[0], y[1]),
        np.dot(x, y[0]),
        np.dot(2, x),
        np.vdot(x, y),
        x.dot(y[0]),
        np.inner(x[0], y[0]),
    )


@pytest.mark.parametrize("y", [F32, F64, I32], ids=["f32", "f64", "i32"])
def test_products(y):
    check(products, F32, y, unranked=False)


def factories(n):
    return (
        np.zeros(3), np.ones((2, 2), np.float32), np.full(2, 7), np.full((2,), 1.5), np.full(2, True), np.full((2, 3), 1, np.int8), np.arange(5), np.arange(1, 2, 0.25),
        np.arange(3.0), np.arange(5, 0, -2), np.arange(n), np.arange(0, n, 2, dtype=np.float32), np.eye(3), np.eye(2, 3, dtype=np.int32), np.identity(2),
        np.linspace(0, 1, 5), np.linspace(0, 1, n), np.zeros((n, 2)), np.zeros(n, dtype=bool), np.empty(0),
    )  # fmt: skip


def test_factories():
    check(factories, 4, unranked=False)


def literals():
    return (
        np.array([1, 2, 3]), np.array([[1.0, 2], [3, 4]]), np.array([True, False]), np.array(3.5), np.array([1, 2], dtype=np.float32), np.array([]),
        np.float32(2.5), np.int8(3), np.float64(0.1), np.bool_(True), np.asarray([1.5, 2]), np.array((1, 2)),
    )  # fmt: skip


def test_literals_are_fresh_arrays():
    check(literals, unranked=False)


def conversions(x):
    return (
        np.zeros_like(x), np.ones_like(x, dtype=np.int32), np.full_like(x, 3), np.empty_like(x).shape, x.astype(np.int64), x.astype(float), x.astype("float64"),
        np.array(x), np.asarray(x), np.asarray(x, np.float64), np.array([x[0], x[1]]), np.array([x.sum(), 1.5]), np.float64(x[0, 0]), np.float32(x),
        np.zeros((2,), x.dtype), np.zeros(x.shape + (2,)), np.array(x, dtype=x.dtype),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["f32", "f64", "i32", "i8"])
def test_conversions(name):
    check(conversions, ARRAYS[name], unranked=False)


def square_root(n, f):
    return math.sqrt(f), math.floor(f), math.ceil(f), math.floor(n)


@pytest.mark.parametrize("f", [2.25, 0.5, -0.5, -3.0])
def test_math_functions_on_python_floats(f):
    check(square_root, 3, f, unranked=False)


def bad_shapes(x):
    return x @ x


def bad_axis(x):
    return x.sum(axis=5)


def bad_reshape(x):
    return x.reshape(5, 5)


def bad_squeeze(x):
    return np.squeeze(x, 0)


def bad_split(x):
    return np.split(x, 5)


def bad_concatenate(x):
    return np.concatenate([x, x[0]])


def bad_broadcast(x):
    return x + x[:, :3]


def empty_maximum(x):
    return x[:0].max()


@pytest.mark.parametrize(
    "function", [bad_shapes, bad_axis, bad_reshape, bad_squeeze, bad_split, bad_concatenate, bad_broadcast, empty_maximum]
)
def test_errors_are_those_of_numpy(function):
    assert isinstance(check(function, F32, unranked=False), Exception)


def floats_of_integers(x):
    return np.fabs(x), np.degrees(x) * 0, np.radians(x) * 0, np.rint(x)  # the dtype alone of what is rounded once more


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int16, np.int32, np.int64, np.float16, np.float32])
def test_functions_that_compute_with_floats_make_the_float_of_numpy(dtype):
    check(floats_of_integers, np.arange(4).astype(dtype))


def plus(x):
    return +x


def test_plus_is_a_copy_and_raises_for_bools():
    check(plus, np.array([1.0, -0.0, np.nan]))
    assert isinstance(check(plus, np.array([True, False])), TypeError)


@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=["tier 0", "compiled"])
def test_indices_of_take_are_ints_or_bools_and_nothing_is_taken_at_none(options):
    @tierup.jit(**options)
    def taken(x, index):
        return np.take(x, index), np.take(x, ())

    x = np.arange(4.0)
    for index in (np.array([True, False]), np.array([3, 0], np.uint8), np.array([-1])):
        for _ in range(3):
            got = taken(x, index)
            np.testing.assert_array_equal(got[0], np.take(x, index))
            assert got[1].shape == (0,) and got[1].dtype == x.dtype
    for index in (np.array([1.0, 0.0]), np.array([])):
        for _ in range(3):
            with pytest.raises(TypeError):
                taken(x, index)


@pytest.mark.parametrize(
    ("axis", "options"), drawn("indices of take", list(product((0, 1, -1, None), ({"optimize": False}, {}))), 4, lambda row: bool(row[1]))
)
def test_take_asks_an_index_only_where_numpy_picks_an_element_with_it(options, axis):
    def taken(x, index):
        return np.take(x, index, axis)

    jitted = tierup.jit(**options)(taken)
    for shape in ((2, 3), (0, 3), (3, 0), (0, 0), (2, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 3), (4, 5, 3)):
        for index in (np.array([7]), np.array([[0, -1]]), np.array(-9), 1, 1.5, np.float64(0.5)):
            x = np.arange(np.prod(shape)).reshape(shape)
            want, got = outcome_of(taken, x, index), [outcome_of(jitted, x, index) for _ in range(3)]
            for one in got:
                assert type(one) is type(want), (shape, index)
                np.testing.assert_array_equal(one, want) if not isinstance(want, Exception) else None
    assert options or jitted.stats().hits > 10


def outcome_of(function, *args):
    try:
        return function(*args)
    except Exception as e:  # noqa: BLE001 - an exception is a result
        return e


def test_rank_0_repeats_along_its_one_axis_and_fill_takes_a_sequence_as_numpy_does():
    @tierup.jit
    def repeated(x):
        return np.repeat(x, 3, axis=0), x.repeat(2, axis=-1)

    for _ in range(3):
        three, two = repeated(np.array(5))
        np.testing.assert_array_equal(three, [5, 5, 5])
        np.testing.assert_array_equal(two, [5, 5])

    @tierup.jit
    def filled(x):
        x.fill([0, 1])

    for x in (np.zeros(3, bool), np.arange(4), np.ones(2), np.array(3.0)):
        want, got = x.copy(), x.copy()
        errors = outcome_of(want.fill, [0, 1]), outcome_of(filled, got)
        assert type(errors[0]) is type(errors[1])
        np.testing.assert_array_equal(got, want)
