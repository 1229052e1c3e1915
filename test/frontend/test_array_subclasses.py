"""Subclasses of numpy.ndarray, and objects that answer NumPy's calls themselves, have rules of their own: Python runs what computes with them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tierup


class Metres(np.ndarray):
    """Keeps its class through operations, and has a sum of its own."""

    def sum(self, axis=None, dtype=None, out=None):
        return f"{np.asarray(self).sum()} m"


class Unwilling(np.ndarray):
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return f"no {ufunc.__name__}"


class Duck:
    dtype = np.dtype(complex)

    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)

    def __array_function__(self, function, types, args, kwargs):
        return f"duck's {function.__name__}"


FROM_OUTSIDE = SimpleNamespace(array=np.ones(3))


def added(x: Any) -> Any:
    return x + 1, np.add(x, 1)


def summed(x: Any) -> Any:
    return np.sum(x) if isinstance(x, np.ndarray) else 0, np.iscomplexobj(x)


def of_a_list(xs: Any) -> Any:
    return xs[0] * 2 - 1


def from_outside(x: Any) -> Any:
    return np.tanh(np.ones(3)) * FROM_OUTSIDE.array


KINDS = {
    "units": np.ones(3).view(Metres), "unwilling": np.ones(3).view(Unwilling), "matrix": np.ones((3, 1)).view(np.matrix),
    "masked": np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False]), "mapped": np.ones(3).view(np.memmap), "duck": Duck(),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", [added, summed, of_a_list, from_outside], ids=lambda f: f.__name__)
def test_what_computes_with_a_kind_of_array_of_its_own_is_pythons(function, kind):
    """Also when plain arrays came before, and were compiled for."""
    jitted = tierup.jit(function, bailout_depth=0)
    for value in (np.ones(3), np.ones(3), np.ones(3), KINDS[kind], KINDS[kind], np.ones(3)):
        FROM_OUTSIDE.array = value
        outcomes = []
        for call in (function, jitted):
            try:
                outcomes.append(call([value] if function is of_a_list else value))
            except (TypeError, ValueError) as e:
                outcomes.append(str(e))
        np.testing.assert_equal(outcomes[1], outcomes[0])
        if kind != "mapped":
            assert type(outcomes[1]) is type(outcomes[0])


def test_a_call_that_an_object_answers_itself_is_left_to_it():
    def concatenated(x: Any, y: Any) -> Any:
        return np.concatenate([x, y], axis=None), np.reshape(y, (3, 1))

    jitted = tierup.jit(concatenated)
    for _ in range(2):
        assert jitted(Duck(), Duck()) == concatenated(Duck(), Duck()) == ("duck's concatenate", "duck's reshape")


def test_numbers_among_what_is_flattened_have_no_dtype():
    def flattened(x: Any) -> Any:
        return np.concatenate([x, 1.0], axis=None)

    jitted = tierup.jit(flattened)
    for x in (np.float32(1), np.ones(2, np.float16), np.ones(2, int)):
        assert jitted(x).dtype == flattened(x).dtype


STRINGS = np.array(["b", "abc", "a"], np.dtypes.StringDType())


def test_arrays_of_strings_of_any_length_are_pythons():
    def sorted_beside(x: Any, y: Any) -> Any:
        return np.lexsort((x,)), x[::-1].tolist(), y * 2, STRINGS[1]

    jitted = tierup.jit(sorted_beside)
    for _ in range(3):
        np.testing.assert_equal(jitted(STRINGS, np.ones(3)), sorted_beside(STRINGS, np.ones(3)))


SWAPPED = SimpleNamespace(array=np.arange(3, dtype=">f4"))


def test_arrays_in_foreign_byte_order_are_pythons_and_stay_so():
    """Among calls with native ones, which have graphs, before or after them; written, too."""
    read = tierup.jit(lambda x: (x + 1, x[1:], x.dtype, SWAPPED.array[1:], np.zeros_like(x)))

    def writes(x):
        x[0] = 7
        return x

    written, first = tierup.jit(writes), tierup.jit(lambda x: (np.sort(x), x.dtype))
    for dtype in ("<f8", "<f8", ">f8", "<f8", ">i4", ">c8", "<c8"):
        x = np.arange(3, dtype=dtype)
        assert [getattr(v, "dtype", v) for v in first(x)] == [x.dtype, x.dtype]
    for dtype in (">f8", "<f8", ">f8", "<i2", ">i2", "<f8", "<f8"):
        x = np.arange(4, dtype=dtype)
        assert [getattr(v, "dtype", v) for v in read(x)] == [(x + 1).dtype, x.dtype, x.dtype, np.dtype(">f4"), x.dtype]
        assert written(x) is x and x.tolist() == [7, 1, 2, 3] and x.dtype == dtype
    assert "convert it, for example to float64" in read.explain()
