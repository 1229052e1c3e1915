"""Elementwise ops, views and indexing as kernels, on the emulated device, against NumPy. No kernel here has run on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulated_programs import agrees, emulated
from sampling import drawn

RNG = np.random.default_rng(7)


def f32(*sizes: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(sizes).astype(np.float32)


def of(dtype: str, *sizes: int) -> np.ndarray[Any, Any]:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return RNG.random(sizes) > 0.5
    if kind.kind in "iu":
        return RNG.integers(0 if kind.kind == "u" else -9, 9, sizes).astype(kind)
    return RNG.standard_normal(sizes).astype(kind)


@pytest.mark.parametrize("n", drawn("lengths of rows", [1, 2, 31, 32, 33, 255, 257, 1025], 3))
def test_rows_of_any_length_have_their_tails(n: int) -> None:
    (outcome,) = agrees(lambda x, y: x * y + 1, (f32(3, n), f32(n)))
    assert outcome.reads == 0
    agrees(lambda x, y: x - y, (f32(n), f32(n)))


def test_one_kernel_serves_all_sizes() -> None:
    a, b = agrees(lambda x, y: x * y + 1, (f32(3, 5), f32(5)), (f32(2, 1025), f32(1025)), dynamic=True)
    assert a.launches == b.launches and len(a.launches) == 1


@pytest.mark.parametrize("rank", range(6))
def test_ranks_broadcasts_transposes_and_strides(rank: int) -> None:
    sizes = (3, 2, 5, 1, 4)[:rank]
    x, y = f32(*sizes), f32(*[1 if i % 2 else n for i, n in enumerate(sizes)])
    agrees(lambda x, y: np.maximum(x, 0) + y, (x, y))
    if rank:
        agrees(lambda x: x.T * 2, (x,))
        backwards = f32(*[2 * n for n in sizes])[(slice(None, None, -2),) * rank].T
        assert backwards.strides != np.ascontiguousarray(backwards).strides
        agrees(lambda x: x * 2, (backwards,))


@pytest.mark.parametrize("sizes", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_sizes_of_0(sizes: tuple[int, ...]) -> None:
    x, y = f32(*sizes), f32(2, *sizes[1:])
    agrees(lambda x: x * 2 + 1, (x,))
    agrees(lambda x, y: np.concatenate([x, y]), (x, y))
    agrees(lambda x: x.sum(), (x,))
    agrees(lambda x: x.sum(0), (x,))
    agrees(lambda x: x.sum(-1), (x,))


DTYPES = ["?", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8"]


@pytest.mark.parametrize("dtype", drawn("dtypes side by side", DTYPES, 2))
def test_dtypes_side_by_side(dtype: str) -> None:
    def ops(x, y):
        return x + y, x * y, x < y, x == y, np.where(x > y, x, y), x.astype("f8"), x.astype("i4"), x.astype("?"), x.astype("f4")

    bound = {"f2": 2e-3}.get(dtype, 1e-6)
    agrees(ops, (of(dtype, 5, 7), of(dtype, 7)), rtol=bound, atol=bound)


def test_numpys_integer_division_and_shifts() -> None:
    x, y = of("i4", 3, 5), RNG.integers(1, 5, 5).astype(np.int32)
    agrees(lambda x, y: x // y, (x, y))
    agrees(lambda x, y: x % y, (x, y))
    agrees(lambda x, y: (x & y, x ^ y, x << y, x >> y), (x, y))


def test_math_is_within_the_documented_bounds() -> None:
    x = f32(2, 9)
    agrees(lambda x: (np.exp(x), np.tanh(x), np.log(np.abs(x)), np.sqrt(np.abs(x)), np.log1p(np.abs(x)), x**3), (x,), rtol=1e-6, atol=1e-7)
    agrees(lambda x: (np.exp(x), np.sqrt(np.abs(x)), np.expm1(x)), (x.astype("f8"),), rtol=1e-14, atol=1e-15)


def put(x, i, v):
    x = x.copy()
    x[i] = v
    return x


def put_more_than_once(x, i, v):
    x = x.copy()
    np.add.at(x, i, v)
    return x


def set_parts(x):
    x = x.copy()
    x[1:3] = x[0:2] * 2
    x[:, 0] = 7
    return x


def set_where(x):
    x = x.copy()
    x[x > 0] = 1
    return x


PLACES = np.array([1, 2, -3, 2])

MOVEMENT: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "gather rows": (lambda x, i: x[i], (f32(50, 9), PLACES)),
    "gather columns": (lambda x, i: x[:, i], (f32(50, 9), PLACES)),
    "gather elements": (lambda x, i, j: x[i, j], (f32(50, 9), PLACES, PLACES)),
    "embedding": (lambda w, i: w[i], (f32(50, 9), RNG.integers(0, 50, (3, 4)))),
    "take_along_axis": (lambda x, i: np.take_along_axis(x, i, 1), (f32(3, 9), RNG.integers(0, 9, (3, 4)))),
    "index_put": (put, (f32(50, 9), PLACES, f32(4, 9))),
    "index_put adds": (put_more_than_once, (f32(50, 9), PLACES, f32(4, 9))),
    "parts are set": (set_parts, (f32(5, 9),)),
    "a mask is set": (set_where, (f32(5, 9),)),
    "concatenate": (lambda x, y: np.concatenate([x, y], 1), (f32(5, 9), f32(5, 2))),
    "stack": (lambda x, y: np.stack([x, y], 1), (f32(5, 9), f32(5, 9))),
    "stack of many": (lambda x, y: np.stack([x * 2, y] * 20, 1), (f32(5, 3), f32(5, 3))),
    "pad": (lambda x: np.pad(x, ((1, 2), (0, 3))), (f32(5, 9),)),
    "slice": (lambda x: x[1:4, ::2] * 2, (f32(5, 9),)),
    "roll": (lambda x: np.roll(x, 2, 1), (f32(5, 9),)),
    "flip": (lambda x: x[::-1] * 1, (f32(5, 9),)),
    "where": (lambda c, x, y: np.where(c, x, y), (of("?", 5, 9), f32(5, 9), f32(9))),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), (f32(5, 9),)),
    "tril": (lambda x: np.tril(x), (f32(5, 9),)),
    "outer": (lambda x, y: x[:, None] * y, (f32(5), f32(9))),
    "repeat": (lambda x: np.repeat(x, 2, 0), (f32(5, 9),)),
    "arange": (lambda x: x + np.arange(9), (f32(5, 9),)),
    "a list of numbers": (lambda x: x + np.array([1.0, 2.0, 3.0]), (f32(5, 3),)),
}


@pytest.mark.parametrize("name", drawn("movement", list(MOVEMENT), 2))
def test_movement(name: str) -> None:
    function, values = MOVEMENT[name]
    (outcome,) = agrees(function, values)
    assert outcome.reads == 0  # checks of indices are kernels: the host waits for none


def test_an_index_out_of_range_sets_the_status() -> None:
    good, bad = emulated(lambda x, i: x[i], (f32(5, 3), np.array([0, 4])), (f32(5, 3), np.array([0, 5])))
    assert (good.status, bad.status) == (0, 1)
