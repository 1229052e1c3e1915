"""Reading and writing parts of arrays: as NumPy."""

import itertools
import re

import numpy as np
import pytest
from frontend_oracle import check
from hypothesis import given, settings
from hypothesis import strategies as st
from running import function_of
from sampling import drawn

import tierup

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def basic(x, i, j):
    return (
        x[0],
        x[-1],
        x[i],
        x[i, j],
        x[i, :, -1],
        x[1:],
        x[:, 1:3],
        x[..., 0],
        x[..., 1:, ::2],
        x[None],
        x[:, None, 0],
        x[i][j],
        x[:, i],
        x[1:1],
        x[:100],
        x[-100:],
        x[...],
    )


def test_integers_slices_new_axes_and_ellipsis():
    check(basic, X, 1, -2)


def negative_steps(x, a, b):
    y = x + 0.0
    return y[::-1] * 1, y[:, ::-2] * 1, y[:, 2:0:-1] * 1, y[:, a:b:-1].copy(), y[:, :b:-1].copy(), y[:, a::-1] * 1, y[..., ::-1, 0]


@given(a=st.integers(-5, 5), b=st.integers(-5, 5))
@settings(max_examples=30, deadline=None)
def test_negative_steps(a, b):
    check(negative_steps, X, a, b)


def slices(x, a, b):
    return x[:, a:b], x[:, a:b:2], x[:, :a], x[:, b:], x[:, a:][:, :b]


@given(a=st.integers(-5, 5), b=st.integers(-5, 5))
@settings(max_examples=30, deadline=None)
def test_slice_bounds_clamp(a, b):
    check(slices, X, a, b)


def index_arrays(x, i, j):
    return (
        x[[0, 1]], x[i], x[:, j], x[i, j], x[i, :, j], x[0, :, j], x[:, 0, j], x[i, None, j], x[1:, i], x[..., [0, 1]], x[[[0], [1]], [0, 1]],
        x[np.array([0, 1]), 1], x[i][:, j], x[-1, [0, -1]],
    )  # fmt: skip


def test_index_arrays():
    check(index_arrays, X, np.array([0, 1, -1]), np.array([2, 0, 1]), unranked=False)


def index_by_parameter(x, i):
    return x[i], x[1:][:, i]


@pytest.mark.parametrize("i", [np.array([1, 0]), np.array([[0], [1]]), np.int64(1), np.array(0), np.zeros((0,), np.int64)], ids=str)
def test_an_index_that_is_a_parameter(i):
    check(index_by_parameter, X[:, :2], i)


def masks(x, m):
    return x[x > 5], x[m], x[:, x[0, :, 0] > 3], x[x[:, :, 0] > 2], x[m & (x > 3)], x[x > 100]


def test_masks():
    check(masks, X, X % 2 == 0)


def positions(x):
    i = np.argmax(x[0, 0])
    return x[0, 0, i], x[0, 0, i - 1], x[:, :, i]


def test_positions_from_argmax_are_integers():
    check(positions, X)


def too_far(x, i):
    return x[i]


def too_many(x):
    return x[0, 0, 0, 0]


def too_many_slices(x):
    return x[:, :, :, :]


def float_index(x):
    return x[1.5]


@pytest.mark.parametrize("i", [2, -3, np.array([0, 2]), np.array([True, False, True])], ids=str)
def test_index_out_of_range_raises_index_error(i):
    assert isinstance(check(too_far, X, i), IndexError)


@pytest.mark.parametrize("function", [too_many, too_many_slices, float_index])
def test_wrong_indices_raise_index_error(function):
    assert isinstance(check(function, X), IndexError)


# --- writing -------------------------------------------------------------------------------------------------------------


def writes(x, v):
    x[0] = x[1]
    x[:, 1] += 2
    x[1, 1, 1] = 7
    x += 1
    x[:, ::2] *= 3
    x[..., -1] = v
    x[1, :2] = [[1, 2, 3, 4], [5, 6, 7, 8]]
    x[0, 0, 0] = True
    return x.sum()


@pytest.mark.parametrize("v", [5, 2.5, np.float64(1.5), np.arange(3.0)], ids=str)
def test_writes_are_seen_by_the_caller(v):
    check(writes, X, v)
    check(writes, X.astype(np.int32), v)


def scattered(x, m, i):
    x[m] = 0
    x[i, 0] = -1
    x[m] += 1
    x[:, [0, 2]] = 9
    x[i] -= 1
    x[0, :, [0, 1]] = 3.5
    np.add.at(x, i, 1)
    return x


def test_writes_through_index_arrays():
    check(scattered, X, X > 10, np.array([0, 0]), unranked=False)
    check(scattered, X.astype(np.int16), X > 10, np.array([1, 0]), unranked=False)


def swapped(v):
    t = v[0]
    v[0] = v[1]
    v[1] = t
    v[2], v[3] = v[3], v[2]
    s = v[2]
    s += 10
    w = v[1:]
    w *= 2
    return v, s


@pytest.mark.parametrize("v", [np.arange(4.0), np.arange(8.0).reshape(4, 2)], ids=["elements are copies", "rows are views"])
def test_elements_are_copies_and_rows_are_views(v):
    check(swapped, v)


def views(x):
    row = x[0]
    row += 1
    flat = x.reshape(-1)
    flat[0] = 100
    t = x.T
    t[0, 0] = -5
    copy = x.flatten()
    copy[1] = 77
    first, second = x
    first *= 2
    for r in x:
        r -= 1
    return x.sum(), copy


def test_views_share_memory():
    check(views, X[0, :2])


def operators(x, y):
    x += y
    x -= 1
    x *= 2
    x /= 4
    x //= 0.5
    x %= 3
    x **= 2
    return x


def int_operators(x):
    x += 3
    x //= 2
    x %= 5
    x **= 2
    x &= 7
    x |= 8
    x ^= 1
    x <<= 1
    x >>= 1
    return x


def test_in_place_operators():
    check(operators, X, X[0])
    check(operators, X.astype(np.float64), 2.5)
    check(int_operators, np.arange(10))
    check(int_operators, np.arange(10, dtype=np.uint8))


def add_float(x):
    x += 0.5
    return x


def floor_by_float(x):
    x //= 0.5
    return x


def element_by_float(x):
    x[0] += 0.7
    x[1] = 2.9
    return x


def grow(x, y):
    x += y
    return x


def test_in_place_operators_keep_the_dtype_or_refuse():
    assert isinstance(check(add_float, np.arange(4)), TypeError)
    assert isinstance(check(floor_by_float, np.arange(4)), TypeError)
    check(element_by_float, np.arange(4))
    assert isinstance(check(grow, np.zeros(3), np.zeros((2, 3))), ValueError)
    check(grow, np.zeros(3, np.float32), np.ones(3))


def scalar_in_place(x):
    s = x.sum()
    t = s
    s += 0.5
    return s, t


def test_in_place_operator_on_a_numpy_scalar_makes_a_new_one():
    check(scalar_in_place, np.arange(4))
    check(scalar_in_place, np.arange(4, dtype=np.float32))


def built(n):
    out = np.empty((3, n))
    for i in range(3):
        out[i] = i
    out[:, 1] = out[:, 0]
    counts = np.zeros(n, dtype=int)
    counts[1:] += 1
    out.fill(out[2, 0])
    return out, counts


def test_arrays_made_in_the_function_are_written():
    check(built, 4)


def overlapping(x):
    x[1:] = x[:-1]
    x[:, :-1] += x[:, 1:]
    return x


def test_overlapping_writes():
    check(overlapping, X[0])


def sorted_(v):
    for i in range(len(v) - 1):
        for j in range(len(v) - 1 - i):
            if v[j] > v[j + 1]:
                v[j], v[j + 1] = v[j + 1], v[j]
    return v


def test_bubble_sort():
    check(sorted_, np.array([3, 1, 2, 5, 4]))


def views_of_a_scalar(x):
    s = np.sum(x)
    a, b, c, d, e = s.ravel(), s[...], s[None], np.expand_dims(s, 0), s.reshape(1, 1)
    a += 1
    b += 2
    c *= 3
    d[0] = 7
    e -= 1
    return s, a, b, c, d, e


def views_of_a_part(x, y):
    a, b = x[0].reshape(-1), y[...]
    a += 1
    b += 2
    return a, b


def test_a_view_of_a_scalar_is_an_array_of_its_own():
    check(views_of_a_scalar, X)
    check(views_of_a_scalar, X[0, 0, 0])
    check(views_of_a_part, np.arange(3.0), np.array(2.5))


def rows_written_through_numbers_of_an_array(x, rows):
    for row in rows:
        part = x[row]
        part += 1
    x[rows.max()].fill(2)
    first = x[rows[0], 1:]
    first *= 3
    last = x[..., rows[-1]]
    last -= 1
    x[0, 0, 0] = 50
    return x, last.sum()


def part_at(x, i):
    return x[i]


def written_at(x, i):
    part = x[i]
    part[...] = 7
    return x


PICKS = [np.int64(1), np.int8(1), np.array(1), 1, np.bool_(True), np.array(True), np.array([True, False]), np.array([1, 0], np.int32)]


@pytest.mark.parametrize("options", [{}, {"executor": "specializing"}, {"speculate": "bailout"}, {"bailout_depth": 0}], ids=str)
def test_numpys_integers_pick_views_as_pythons_do(options):
    """An array of rank 0 or a bool gives a copy. What `rows` is, integers or bools, a graph is made for."""
    f = tierup.jit(rows_written_through_numbers_of_an_array, **options)
    for rows in [np.array([0, 1])] * 4 + [np.array([True, False])] * 2 + [np.array([1, 0, 1], np.int8)] * 3:
        mine, expected = X.copy(), X.copy()
        assert np.array_equal(f(mine, rows)[1], rows_written_through_numbers_of_an_array(expected, rows)[1])
        assert np.array_equal(mine, expected)
    assert options == {"bailout_depth": 0} or f.stats().hits >= 4, f.explain()
    for function in part_at, written_at:
        g = tierup.jit(function, **options)
        for i in PICKS + PICKS:
            mine, expected = X[:2].copy(), X[:2].copy()
            result, wanted = g(mine, i), function(expected, i)
            assert np.array_equal(result, wanted) and np.array_equal(mine, expected)
            assert np.shares_memory(result, mine) == np.shares_memory(wanted, expected), i


def element_at(x, i, j):
    return x[i, j]


def elements_at(x, i, j):
    row = x[i] * 2
    return row[j], [x[i][j], x.T[j, i]], x[i, j] + 1


@pytest.mark.parametrize("function", [element_at, elements_at])
def test_one_version_returns_elements_at_places_that_differ_in_each_call(function):
    f, x = tierup.jit(function), np.arange(12.0).reshape(3, 4)
    for i, j in np.ndindex(3, 4):
        given, wanted = f(x, i, j), function(x, i, j)
        assert repr(given) == repr(wanted)
    assert (f.stats().hits, f.stats().compiles) == (11, 1), f.explain()


def first_part(x):
    return x[0]


def all_of(x):
    return x[:]


def behind_the_first(x):
    return x[1:]


def by_two(x):
    return x[0, 1]


def by_a_list(x):
    return x[[0, 0]]


def with_a_dim(x):
    return x[None]


def by_nothing(x):
    return x[()]


@pytest.mark.parametrize("function", [first_part, all_of, behind_the_first, by_two, by_a_list, with_a_dim, by_nothing])
def test_an_index_into_a_scalar_raises_what_numpy_raises(function):
    f = tierup.jit(function)
    for x in np.float64(2.0), np.float32(2.0):
        try:
            wanted = function(x)
        except IndexError as e:
            for _ in range(3):
                with pytest.raises(IndexError, match=re.escape(str(e))):
                    f(x)
        else:
            assert np.array_equal(f(x), wanted)


@pytest.mark.parametrize("index", drawn("float indices", [
    "x[i]", "x[i, 0]", "x[0, i]", "x[i:]", "x[0:i]", "x[..., i]", "x[None, i]", "x[0][i]", "x[[1.0]]", "x[np.mean(x)]", "x[x.sum() * 1.0]", "x[i * 1.0]",
], 3))  # fmt: skip
def test_a_float_as_an_index_is_refused_with_numpys_text(index, tmp_path):
    function = function_of(f"def f(x, i):\n    return {index}\n", tmp_path)
    jitted = tierup.jit(function)
    for i in (np.float64(1), np.float32(1), np.array(1.0), np.array([1.0])):
        for _ in range(2):
            x = np.arange(6.0).reshape(2, 3)
            with pytest.raises((IndexError, TypeError)) as theirs:
                function(x, i)
            with pytest.raises((IndexError, TypeError)) as ours:
                jitted(x, i)
            assert (type(ours.value), str(ours.value)) == (type(theirs.value), str(theirs.value))


@pytest.mark.parametrize("index", ["x[1][i]", "x.sum()[i, 0]", "x[..., 0][i]", "x[i, i]"])
def test_too_many_index_arrays_are_refused_with_numpys_text(index, tmp_path):
    function = function_of(f"def f(x, i):\n    return {index}\n", tmp_path)
    jitted = tierup.jit(function, weigh=False)
    for x, i in itertools.product((np.ones(3), np.ones(3, bool)), (np.ones(2), np.ones((2, 2)), np.array([1]), np.array([[1]]), np.array([True]))):
        for _ in range(2):
            with pytest.raises(IndexError) as theirs:
                function(x, i)
            with pytest.raises(IndexError) as ours:
                jitted(x, i)
            assert str(ours.value) == str(theirs.value)


def reads(x, i, j):
    return x[i, j]


def reads_from_both_ends(x, i, j):
    return x[i, 1:, ..., j]


def reads_a_new_axis(x, i, j):
    return x[None, i, None, j]


def writes_there(x, i, j):
    x[i, j] += 3
    return x


@pytest.mark.parametrize("function", [reads, reads_from_both_ends, reads_a_new_axis, writes_there], ids=lambda f: f.__name__)
def test_an_item_of_an_index_that_is_out_of_range_is_said_to_be_so_in_numpys_words(function):
    made = tierup.jit(function)
    for shape in ((3, 4), (3, 4), (4, 3, 5), (3,), ()):
        for i, j in ((1, 1), (1, 9), (9, 1), (0, -6), (9, 9)):
            raised = []
            for f in (function, made):
                try:
                    f(np.zeros(shape), i, j)
                    raised.append(None)
                except IndexError as e:
                    raised.append(str(e))
            assert raised[0] == raised[1]
