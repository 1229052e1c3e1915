"""What sorts, searches and counts gives NumPy's bits, also of -0.0 among 0.0, in every layout and mode."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.lowering.externals import numpy_sorts

DTYPES = ("f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "?")
SPECIAL = (np.nan, -0.0, 0.0, np.inf, -np.inf, 1.0)
LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
}
MODES = ({}, {"level": 0}, {"optimize": False}, {"speculate": "bailout"})


def sorts(x):
    return np.sort(x), np.sort(x, kind="stable"), np.sort(x, axis=0), np.sort(x, axis=None), x[:1] + 1


def argsorts(x):
    return (
        np.argsort(x),
        x.argsort(stable=True),
        x.argsort(0, stable=True),
        np.argsort(x.T, axis=None),
        np.take_along_axis(x, np.argsort(x, axis=0), 0),
    )


def in_place(x):
    y = x * 2
    y.sort()
    x.sort(axis=0)
    x[1:].sort(kind="stable")
    return y[..., :2], x


def partitions(x):
    x.partition(0, axis=-1)
    return np.partition(x * 2, (1, 2), axis=0), np.argpartition(x, 1, axis=0)


def searches(x):
    a = np.sort(x, axis=None)
    return (
        np.searchsorted(a, x.T),
        a.searchsorted(x[0], side="right"),
        np.searchsorted(x[:, 0], 0.5),
        np.searchsorted(a * 2, x[:2], "right"),
    )


def bins(x):
    falling = np.sort(x[:, 0])[::-1]
    return np.digitize(x, [-2, 0, 3.5]), np.digitize(x[0], falling, right=True), np.digitize(x, x[0, :1])


def counts(x):
    k = np.argsort(x, axis=0).ravel()
    return np.bincount(k), np.bincount(k, x.ravel()), np.bincount(k[:3].astype(np.uint8), x[0, :3], minlength=9) * 2


def medians(x):
    return np.median(x), np.median(x, axis=0), np.median(x[:, 0]) + 1, np.median(x, axis=1, keepdims=True)


def quantiles(x):
    y = x * 1.0 if x.dtype == np.bool_ else x
    return np.percentile(y, 30), np.quantile(y, [0, 0.5, 0.99], axis=0), np.percentile(y[0], 75.0, method="higher"), np.quantile(y, 1)


def lines(x):
    xp = np.array([-3.0, -1.0, 0.5, 0.5, 2.0, 4.0])
    return (
        np.interp(x, xp, xp * xp),
        np.interp(x[0], np.sort(x[:, 0]), x[:, -1]),
        np.interp(0.25, xp, xp, left=-1, right=7),
        np.interp(x, xp, xp, period=3.5),
    )


def uniques(x):
    return (
        np.unique(x),
        np.unique(x[0], return_counts=True),
        np.unique(x, return_index=True, return_inverse=True),
        np.unique(x * 2, return_inverse=True),
    )


PROGRAMS = (sorts, argsorts, in_place, partitions, searches, bins, counts, medians, quantiles, lines, uniques)
CASES = [(p, dtype, layout, mode) for p in PROGRAMS for dtype in DTYPES for layout in LAYOUTS for mode in range(len(MODES))]


def array(shape: tuple[int, ...], dtype: str, layout: str) -> np.ndarray:
    rng = np.random.default_rng([*shape, DTYPES.index(dtype)])
    x = rng.integers(-5, 6, shape).astype("f8")
    if np.dtype(dtype).kind == "f":
        x = np.where(rng.random(shape) < 0.4, rng.choice(SPECIAL, shape), x)
    return LAYOUTS[layout](np.abs(x).astype(dtype) if dtype == "u1" else x.astype(dtype))


def bits(found: object) -> list[object]:
    if isinstance(found, tuple):
        return [b for f in found for b in bits(f)]
    x = np.asarray(found)
    return [type(found), x.dtype, x.shape, (np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" else x).tobytes()]


def raised(function, x):
    try:
        return bits(function(x))
    except Exception as e:  # noqa: BLE001 - any that NumPy raises is an answer
        return type(e), str(e)


@pytest.mark.parametrize(
    "case",
    drawn("sorting", CASES, 72, kind=lambda case: case[0].__name__),
    ids=lambda c: f"{c[0].__name__}-{c[1]}-{c[2]}-{c[3]}",
)
def test_the_bits_are_numpys(case: tuple) -> None:
    program, dtype, layout, mode = case
    jitted = tierup.jit(program, **MODES[mode])
    for shape in ((3, 40), (3, 40), (3, 40), (5, 7), (5, 7), (1, 4), (4, 0), (17, 3)):
        given, mine = array(shape, dtype, layout), array(shape, dtype, layout)
        assert raised(jitted, mine) == raised(program, given)
        assert bits(mine) == bits(given)
    assert jitted.stats().hits or "optimize" in MODES[mode] or dtype == "f2" or program is uniques  # of halves some arithmetic is tier 0's


def test_a_sort_is_native_and_leaves_its_operand_alone() -> None:
    x = np.array([3.0, 1.0, 2.0])
    f = tierup.jit(lambda x: np.sort(x), strict=True)
    for _ in range(3):
        assert f(x).tolist() == [1, 2, 3] and x.tolist() == [3, 1, 2]
    assert f.stats().hits == 2


REFUSED = (
    lambda x: np.sort(x, 1), lambda x: np.sort(x[0]), lambda x: np.argsort(x, -2), lambda x: np.sort(x, kind="no"), lambda x: x[0].sort(),
    lambda x: np.argsort(x[0]), lambda x: np.partition(x, 9), lambda x: np.sort(x, None, "stable", stable=True), lambda x: np.searchsorted(x[None], 1), lambda x: np.searchsorted(x, 1, side="no"),
    lambda x: np.bincount(x), lambda x: np.bincount(-x.astype(int)), lambda x: np.bincount(x.astype(int), x[1:]), lambda x: np.digitize(1, x),
    lambda x: np.bincount(x.astype(int), minlength=-1), lambda x: np.bincount(x.astype(int)[None]), lambda x: np.median(x, axis=1), lambda x: np.percentile(x, 101), lambda x: np.quantile(x > 1, 0.5),
    lambda x: np.quantile(x, [0.1, -1]), lambda x: np.quantile(x, 0.5, method="no"),
    lambda x: np.interp(x, x, x[1:]), lambda x: np.interp(x, x[:0], x[:0]), lambda x: np.interp(x, x, x, period=0), lambda x: np.interp(x, x, x),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_numpy_refuses_is_refused_alike(number: int) -> None:
    program = REFUSED[number]
    jitted = tierup.jit(program)
    for _ in range(3):
        x = np.array([3.0, 1.0, 2.0])
        assert raised(jitted, x) == raised(program, x)


def test_a_numpy_without_these_loops_has_its_sorts_in_tier_0(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_sorts, "_FIRST", {"sort": 0, "argsort": 0})
    monkeypatch.setattr(numpy_sorts, "_api", lambda: (ctypes.c_void_p * 366)(*[GIVES_A_TABLE] * 366))
    numpy_sorts._address.cache_clear()

    @tierup.jit
    def f(x):
        return np.sort(x) * 2 + np.tanh(x)

    x = np.array([3.0, 1.0, np.nan, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(f(x), f.__wrapped__(x))
    assert not f.stats().hits and "this NumPy has no sort of float64" in f.explain()
    numpy_sorts._address.cache_clear()


EMPTY_TABLE = (ctypes.c_void_p * 39)()
_gives = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(lambda dtype: ctypes.addressof(EMPTY_TABLE))
GIVES_A_TABLE = ctypes.cast(_gives, ctypes.c_void_p).value


def test_partitions_in_a_loop_are_native_and_refused_as_numpys_are() -> None:
    def middle(x, n, k):
        total = x[0] * 0
        for i in range(n):
            total = total + np.partition(x * i, k)[k] + np.partition(x.reshape(2, -1), (1, -2))[0, 1]
        return total

    f, x = tierup.jit(middle, strict=True), np.array([3.0, -0.0, np.nan, 0.0, 1.0, -2.0])
    for k in (2, 2, -1, 0):
        assert f(x, 5, k).tobytes() == middle(x, 5, k).tobytes()
    assert f.stats().hits == 3
    with pytest.raises(ValueError, match=r"kth\(=6\) out of bounds \(6\)"):
        f(x, 5, 6)
    assert f.stats().bailouts == 1
