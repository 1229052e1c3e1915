"""The truth and the element of an array of which only the run knows that it has one element: of others they are Python's errors."""

from __future__ import annotations

import numpy as np
import pytest

import tierup


def truth(x, n):
    return 2.0 if x[:n] else 1.0


def truth_of_new(x, n):
    return x.sum() if np.zeros(n) + 1 else x.max()


def element(x, n):
    return x[:n].item() + 1


def of_mask(x, n):
    return x[x > n].item() * 2


def in_a_loop(x, n):
    c = 0
    for i in range(len(x)):
        if x[i : i + n]:
            c += 1
    return c


def of_rows(x, n):
    return float(x.reshape(1, -1)[:, :n].item())


@pytest.mark.parametrize("program", [truth, truth_of_new, element, of_mask, in_a_loop, of_rows], ids=lambda p: p.__name__)
def test_an_array_of_another_number_of_elements_has_no_truth_and_no_element(program):
    f = tierup.jit(program, weigh=False)
    x = np.array([0.5, 1.5, 2.5])
    for n in (1, 1, 2, 1, 0, 2, 3, 0, 1, -1, 2, 0):
        try:
            want = program(x, n)
        except ValueError as e:
            with pytest.raises(ValueError, match=str(e)[:30]):
                f(x, n)
        else:
            assert f(x, n) == want
    assert f.stats().hits >= 6 or program is of_mask  # whose rows have no native code
