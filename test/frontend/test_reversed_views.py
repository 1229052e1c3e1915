"""Reversed views, which are copies in a graph, of arrays that are written: what is read later is what NumPy's view shows then."""

import numpy as np
import pytest

import tierup


def in_a_list(x):
    held = [x[::-1]]
    x += 1
    return held[0] * 1


def in_a_tuple_of_flips(x):
    held = (np.flip(x), 3)
    x += 1
    return held[0] * held[1]


def in_a_dict(x):
    held = {"a": x[1:][::-1]}
    x += 1
    return held["a"] * 1


def appended(x):
    held = []
    held.append(x[::-1])
    x += 1
    return held.pop() * 1


def through_a_comprehension(x):
    held = [part[::-1] for part in (x, x)]
    x += 1
    return np.stack(held)


def _adds(x, y):
    y += 1
    return x * 1


def as_an_argument(x):
    return _adds(x[::-1], x)


def _written(y):
    y += 1
    return y[0]


def beside_a_call_that_writes(x):
    return x[::-1] + _written(x)


def beside_a_call_that_writes_out_of_a_list(x):
    return [x[::-1]][0] + _written(x)


def in_one_of_two_arms(x):
    y = x[::-1] if x.sum() > 3 else x
    x += 1
    return y * 1


def read_before_a_write_in_a_loop(x):
    held, total = (x[::-1],), x * 0
    for _ in range(x.shape[0]):
        total = total + held[0]
        x += 1
    return total


def written_between_two_regions(x):
    try:
        y = x
    except ValueError:
        pass
    held = y * 1, y[::-1]
    turned = y[::-1]
    y += held[0]
    return turned


def handed_on_in_a_dict(x):
    held = {"a": x[::-1], "b": x * 2}
    print(end="")
    x += held["b"]
    return held["a"] * 1


def handed_on_in_a_list(x):
    held = [x * 2]
    held.append(x[::-1])
    print(end="")
    x += held[0]
    return held[1] * 1


FUNCTIONS = [f for name, f in list(globals().items()) if getattr(f, "__module__", "") == __name__ and not name.startswith("_")]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_reversed_view_shows_what_is_written(f):
    decorated = tierup.jit(f, optimize=False)
    for _ in range(2):
        x, y = np.arange(5.0), np.arange(5.0)
        np.testing.assert_array_equal(decorated(y), f(x))
        np.testing.assert_array_equal(y, x)


def test_what_nobody_writes_in_between_stays_translated():
    @tierup.jit(optimize=False, strict=True)
    def f(x):
        total = x[::-1].sum() + np.flip(x)[0]
        x += x[::-1]
        return total, x[::-1] * 2

    x = np.arange(4.0)
    total, doubled = f(x)
    assert total == 9 and x.tolist() == [3, 3, 3, 3] and doubled.tolist() == [6, 6, 6, 6]
