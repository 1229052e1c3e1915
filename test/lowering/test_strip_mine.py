"""Arrays of two orders in one loop (tierup-strip-mine): every element is met once, whatever is left beside whole strips and blocks."""

import numpy as np
import pytest

import tierup

RNG = np.random.default_rng(5)


def turned(x):
    return np.ascontiguousarray(x.T)


def mixed(x, y):
    return x.T * 2 + y


def channels_first(x):
    return np.ascontiguousarray(np.transpose(x, (0, 3, 1, 2)))


def made(shape, dtype):
    return RNG.integers(-90, 90, shape).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_, np.complex128])
def test_arrays_of_any_sizes_are_turned_whole(dtype):
    f, g = tierup.jit(turned), tierup.jit(mixed)
    for rows, columns in [(256, 256)] * 2 + [(257, 263), (1, 400), (700, 3), (263, 515), (4, 8), (0, 9), (512, 260)]:
        x, y = made((rows, columns), dtype), made((columns, rows), dtype)
        for function, arguments in ((f, (x,)), (g, (x, y))):
            got, want = function(*arguments), function.__tierup_function__(*arguments)
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)
    assert f.stats().hits > 4 and g.stats().hits > (0 if dtype is np.complex128 else 4)


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_with_gaps_and_of_higher_rank_are_turned_whole(order):
    f = tierup.jit(channels_first)
    for shape in [(2, 19, 17, 70)] * 3 + [(1, 33, 31, 37), (3, 9, 300, 9)]:
        x = np.asarray(made(shape, np.float32), order=order)
        np.testing.assert_array_equal(f(x), channels_first(x))
        np.testing.assert_array_equal(f(x[:, ::2]), channels_first(x[:, ::2]))

