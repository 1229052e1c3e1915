"""A NumPy scalar times a list or tuple is no product: an int repeats it, others raise; an array of rank 0 multiplies. Plain Python is the oracle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup


def on_the_left(v):
    return v[0] * [1, 2]


def on_the_right(v):
    return (1, 2) * v.sum(), 3


def of_elements(v):
    return v[-1] * [v[0], v[1]]


def by_a_name(v):
    x = v.max(axis=0)
    x *= [1, 2]
    return x


def a_list_by_a_name(v):
    x = [1, v]
    x *= v[0]
    return x


def into_an_element(v):
    v[-1] *= [1, 2]
    return v


def into_an_element_of_a_place_that_the_run_finds(v):
    v[v.argmax() % 2] *= (1, 2)
    return v


def into_an_element_of_zeros(v):
    w = np.zeros(2)
    w[0] *= [1, 2]
    return w, v


def of_a_shape(v):
    return v.max() * v.shape


def of_none(v):
    return v[0] * []


def in_a_branch(v):
    if v.ndim > 1:
        return v * [1, 2]
    return v[1] * [1, 2]


def by_constants(v):
    return [v] * np.uint8(2), (1, 2) * np.int64(2), v.shape * np.int32(2)


def by_a_constant_float(v):
    return [v] * np.float64(2)


def where_an_array_has_rank_0(v):
    return v.reshape(-1)[:1].reshape(()) * [1, 2], np.array(3) * (1, 2)


def by_a_function(v):
    return np.multiply(v.sum(), [1, 2])


def with_other_operators(v):
    return v[0] + [1, 2], [1, 2] + v[0], v[0] / (1, 2)


PROGRAMS = [f for f in list(globals().values()) if getattr(f, "__module__", None) == __name__]
DTYPES = ("uint8", "int64", "float32", "float64", "bool", "complex128")


def outcome(f: Callable[[Any], Any], v: np.ndarray) -> str:
    try:
        with np.errstate(all="ignore"):
            return f"{f(v)!r} {v!r}"
    except Exception as e:  # noqa: BLE001 - whatever it is
        return f"{type(e).__name__}: {e} {v!r}"


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("dtype", drawn("dtypes of repeated sequences", DTYPES, 2))
@pytest.mark.parametrize("optimize", [False, True])
def test_numpys_scalars_repeat_sequences_and_arrays_multiply(program: Callable[[Any], Any], dtype: str, optimize: bool) -> None:
    of_one_dim, of_two = np.array([2, 3]).astype(dtype), np.array([[2, 3], [4, 5]]).astype(dtype)
    f = tierup.jit(program, optimize=optimize)
    for v in (of_one_dim, of_two, of_one_dim, of_one_dim):
        assert outcome(f, v.copy()) == outcome(program, v.copy())
        f.wait(60)


def both_names(v):
    x = [v]
    y = x
    x *= 2
    return len(y), x is y


def in_a_loop(v):
    x = [1]
    y = x
    for _ in range(3):
        x *= 2
    return len(y), v


@pytest.mark.parametrize("program", [both_names, in_a_loop])
def test_a_list_repeated_in_place_is_the_list_of_all_its_names(program: Callable[[Any], Any]) -> None:
    v = np.ones(2)
    assert outcome(tierup.jit(program), v) == outcome(program, v)


def sequence_of_one(v, value):
    v[0] = [1]
    return value


def sequence_of_one_added(v, value):
    v[0] += (1,)
    return value


def sequence_of_two(v, value):
    v[0] = (1, 2)
    return value


def array_of_any_rank(v, value):
    v[0] = value
    return v


def array_added(v, value):
    v[0] += value
    return v


VALUES = (np.array([1]), np.ones((1, 1)), np.zeros(0), np.array([1.5, 2]), np.array(2))


@pytest.mark.parametrize("program", [sequence_of_one, sequence_of_one_added, sequence_of_two, array_of_any_rank, array_added])
@pytest.mark.parametrize("dtype", DTYPES)
def test_an_element_refuses_sequences_and_arrays_as_its_dtype_does(program: Callable[[Any, Any], Any], dtype: str) -> None:
    f = tierup.jit(program, optimize=False)
    for value in VALUES:
        wanted, got = np.ones(2, dtype), np.ones(2, dtype)
        assert outcome(lambda v, value=value: f(v, value), got) == outcome(lambda v, value=value: program(v, value), wanted)
