"""What a function hands to another, or two ways of a branch to what follows, whatever kind of value: slices, iterators, methods, items."""

from __future__ import annotations

import numpy as np
import pytest

import tierup


def taken(x, s):
    return x[s] * 2


def summed(values):
    t = 0.0
    for v in values:
        t = t + v
    return t


def called(method):
    return method() + 1


def counted(n):
    return range(n)


def a_slice(x, n):
    return taken(x, slice(0, n)), taken(x, (slice(n), None))


def a_range(x, n):
    return summed(range(n)) + x


def a_range_that_is_returned(x, n):
    t = 0
    for i in counted(n):
        t = t + x[i]
    return t


def an_iterator(x, n):
    return summed(reversed(x)), summed(a * n for a in x)


def a_method(x, n):
    return called(x.sum) * n


def one_of_two_slices(x, n):
    s = slice(0, n)
    if n > 2:
        s = slice(1, n)
    return x[s], taken(x, s)


def an_item_behind_a_name_of_two_kinds(x, n):
    v = 1.0
    if n > 2:
        v = x
    elif n > 1:
        v = 2
    last = x.ravel()[-1].item()
    return {"last": last, "both": [last, (last,)]}, v if n > 5 else 3


def an_item_of_either(x, n):
    v = x[0].item()
    if n > 2:
        v = x[1].item()
    return v, [v]


def an_item_of_the_last_round(x, n):
    v = x[0].item()
    for i in range(n):
        v = x[i].item()
    return v


@pytest.mark.parametrize("function", [
    a_slice, a_range, a_range_that_is_returned, an_iterator, a_method, one_of_two_slices, an_item_behind_a_name_of_two_kinds, an_item_of_either,
    an_item_of_the_last_round,
], ids=lambda f: f.__name__)  # fmt: skip
@pytest.mark.parametrize("options", [{"optimize": False}, {"level": 0}], ids=str)
def test_what_is_handed_over_is_what_python_hands_over(function, options):
    jitted = tierup.jit(function, **options)
    for x in (np.arange(1.0, 5), np.arange(1, 5), np.ones(4, bool)):
        for n in (3, 3, 1, 2, 0, 3):
            want, got = function(x, n), jitted(x, n)
            np.testing.assert_equal(got, want)
            assert repr(got) == repr(want)
