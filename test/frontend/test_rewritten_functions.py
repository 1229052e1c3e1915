"""Functions that are written once more for programs give NumPy's bits, and raise what it raises, whatever the values are."""

from __future__ import annotations

import linecache
import textwrap

import numpy as np
import pytest
from sampling import drawn

import tierup

BODIES = {
    "points": "return np.linspace(r, 7, n), np.linspace(0, 1, n, endpoint=False), np.linspace(r, r, n), np.linspace(2, -1, n, dtype=np.int32)",
    "points of arrays": "return np.linspace(x, 1, n), np.linspace(x[0], y, 4, axis=-1), np.linspace(0, x[1], 5, retstep=True)",
    "points on a curve": "return np.logspace(r, 2, n), np.geomspace(r, 9.5, n), np.geomspace(-3.0, -r, 4), np.logspace(0, n, 5, base=2)",
    "histogram": "return np.histogram(x), np.histogram(x, n, (-1, r)), np.histogram(x * 2, 4, (0.0, 3.0), density=True)",
    "weighted histogram": "return np.histogram(x, 5, weights=y), np.histogram(x, n, (-2, 2), weights=x)",
    "histogram between edges": "return np.histogram(x, [-3, -0.5, 0, r, 2]), np.histogram(x, np.sort(y)), np.histogram_bin_edges(x, n)",
    "correlate": "return np.correlate(x, y), np.correlate(x, y[:3], 'full'), np.correlate(y[2:], x, 'same'), np.correlate(x, k * 0.5)",
    "convolve": "return np.convolve(x, y[n:]), np.convolve(y[:2], x, 'valid'), np.convolve(x[:4], y, 'same'), np.convolve(x, r)",
}  # fmt: skip

SPECIAL = (np.nan, -0.0, 0.0, np.inf, -np.inf, 1.0)
DATA = {
    "f8": lambda rng, size: rng.standard_normal(size) * 2,
    "f4": lambda rng, size: (rng.standard_normal(size) * 2).astype("f4"),
    "special": lambda rng, size: rng.choice([*SPECIAL, *rng.standard_normal(4)], size),
    "equal": lambda rng, size: np.full(size, 1.5),
    "i4": lambda rng, size: rng.integers(-5, 6, size).astype("i4"),
    "u1": lambda rng, size: rng.integers(0, 256, size).astype("u1"),
    "?": lambda rng, size: rng.random(size) < 0.5,
    "strided": lambda rng, size: (rng.standard_normal(2 * size) * 2)[::2],
    "reversed": lambda rng, size: (rng.standard_normal(size) * 2)[::-1],
}
CASES = [(name, kind) for name in BODIES for kind in DATA]


def function_of(body: str):
    source = "def f(x, y, m, k, n, r):\n" + textwrap.indent(body, "    ")
    name = f"<{abs(hash(body))}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"np": np}
    exec(compile(source, name, "exec"), space)
    return space["f"]


def arguments(kind: str, size: int, seed: int) -> tuple:
    """Two vectors, a matrix of five columns, indices into the vectors, and two numbers."""
    rng = np.random.default_rng(seed)
    x, y, m = DATA[kind](rng, size), DATA[kind](rng, size), DATA[kind](rng, 5 * size).reshape(size, 5)
    return x, y, m, rng.integers(0, max(size, 1), size // 2), 3 + seed % 3, 0.75


ROUNDED = ("points on a curve",)  # by our powers and logarithms, which have bounds of their own


def bits(found: object) -> list:
    """What it is: kinds, dtypes, shapes, and bytes, of which those of a NaN are one."""
    if isinstance(found, (tuple, list)):
        return [type(found), *(bits(f) for f in found)]
    x = np.asarray(found)
    return [type(found), x.dtype, x.shape, (np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" else x).tobytes()]


def is_near(found: object, wanted: object) -> bool:
    """The same, up to some roundings of floats."""
    if isinstance(wanted, (tuple, list)):
        return type(found) is type(wanted) and len(found) == len(wanted) and all(map(is_near, found, wanted))
    a, b = np.asarray(found), np.asarray(wanted)
    if b.dtype.kind != "f" or a.dtype != b.dtype or a.shape != b.shape:
        return bits(found) == bits(wanted)
    return type(found) is type(wanted) and np.allclose(a, b, rtol=64 * float(np.finfo(b.dtype).eps), atol=0, equal_nan=True)


def outcome(function, given: tuple) -> object:
    with np.errstate(all="ignore"):
        try:
            return function(*given)
        except Exception as e:  # noqa: BLE001 - any that NumPy raises is an answer
            return next(c.__name__ for c in type(e).__mro__ if c.__module__ in ("builtins", "numpy.exceptions")), str(e)


def assert_same(name: str, found: object, wanted: object) -> None:
    if name not in ROUNDED:
        assert bits(found) == bits(wanted)
    elif not is_near(found, wanted):
        raise AssertionError(f"{found} and not {wanted}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", drawn("rewritten", CASES, 40, kind=lambda case: case[0]), ids=lambda c: f"{c[0]}-{c[1]}")
def test_the_bits_are_numpys(case: tuple[str, str]) -> None:
    name, kind = case
    function = function_of(BODIES[name])
    jitted = tierup.jit(function)
    for seed, size in enumerate((7, 7, 7, 7, 20, 1, 0, 20, 2)):
        given, mine = arguments(kind, size, seed), arguments(kind, size, seed)
        assert_same(name, outcome(jitted, mine), outcome(function, given))
        assert bits(mine) == bits(given)


@pytest.mark.parametrize("name", BODIES)
def test_native_code_gives_them(name: str) -> None:
    function = function_of(BODIES[name])
    jitted = tierup.jit(function, strict=True)
    with np.errstate(all="ignore"):
        for seed in (0, 3, 6):
            assert_same(name, jitted(*arguments("f8", 9, seed)), function(*arguments("f8", 9, seed)))
    assert jitted.stats().hits
