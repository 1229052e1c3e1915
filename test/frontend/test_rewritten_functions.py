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
    "unique": "return np.unique(x), np.unique(m), np.unique(x, return_counts=True), np.unique(y, return_index=True, return_inverse=True)",
    "unique with NaNs": "return np.unique(x, equal_nan=False), np.unique(x, return_counts=True, equal_nan=False)",
    "sets": "return np.isin(x, y[:3]), np.isin(m, x, invert=True), np.union1d(x, y), np.intersect1d(x, y[:4]), np.setdiff1d(x, y[2:])",
    "sets of what is in one": "return np.setxor1d(x, y), np.isin(k, x), np.isin(k, [0, 2, 5]), np.isin(k, k[1:3] + 1, invert=True), np.isin(k.astype('u1'), [3, -900, 7**12])",
    "medians": "return np.median(m, axis=(0, 1)), np.median(m, (1, 0), keepdims=True), np.quantile(m, [0.2, r], (0, 1), keepdims=True)",
    "nanmedian": "return np.nanmedian(m, axis=0), np.nanmedian(m, 1, keepdims=True), np.nanmedian(m), np.nanmedian(m[:, 2:], (0, 1))",
    "choose": "return np.choose(k % 3, (k, y[:k.size] * 2, 7)), np.choose(k, (x[:k.size], k), mode='clip'), np.choose(k, [1, 2.5], mode='wrap')",
    "choose of too few": "return np.choose(k, (x[:1], k))",
    "compress": "return np.compress(x > 0, y), np.compress([True, False, True], m, axis=1), np.compress(y[:2] > 0, m)",
    "put": "np.put(x, k - 1, y[:2], mode='clip')\nnp.put(y, k + 3, k[:1].astype(y.dtype), mode='wrap')\nreturn None",
    "put out of range": "np.put(x, k + 3, y)",
    "place": "np.place(x, x > 0, y[:3])\nnp.putmask(m, m < 0, y[:2])\nnp.place(y, y > 9, y[:0])\nreturn None",
    "place of other sizes": "np.place(x, m > 0, y[:3])",
    "piecewise": "return np.piecewise(x, [x < 0, x > 0.5], [1, 2, r]), np.piecewise(m, [m > 0], [np.abs])",
    "delete": "return np.delete(x, k), np.delete(m, 1, axis=1), np.delete(x, x > 0), np.delete(m, -1), np.delete(m, [0, -1], 1)",
    "insert": "return np.insert(x, 1, y[:2]), np.insert(m, -2, 7), np.array_split(x, 3), np.array_split(m, [1, 3], axis=1)",
    "trim_zeros": "return np.trim_zeros(x) * 1, np.trim_zeros(np.floor(x / 2)) + 0, np.trim_zeros(y * 0).size, np.trim_zeros(x, 'b') * 2",
    "index in the flat array": "return np.ravel_multi_index((k, k % 4), (20, 4)), np.unravel_index(k, (5, 4, 1)), np.unravel_index(k[:2], 20)",
    "index in no array": "return np.ravel_multi_index((k, k % 4), (2, 4))",
    "bits": "return np.packbits(x > 0), np.unpackbits(np.packbits(m > 0, bitorder='little')), np.unpackbits(k.astype(np.uint8), bitorder='little')",
    "diagonals": "return np.diagflat(m), np.diagflat(x, -1), np.tri(n, 5, -1), np.tril_indices(n), np.triu_indices(4, 1, n)",
    "powers": "return np.vander(x), np.vander(x, n, increasing=True), np.polyval(y, x)",
    "powers in float64": "return np.float_power(x, 2), np.float_power(y, x)",
    "turns": "return np.rot90(m) * 1, np.rot90(m, 2) + 1, np.rot90(m, -1, (1, 0)).copy(), np.rot90(m * 2, 3)",
    "differences": "return np.diff(x, 2), np.diff(m, 3, 0), np.ediff1d(m), np.ediff1d(x, to_begin=x[:1], to_end=[x[0], 1])",
    "correlation coefficients": "return np.corrcoef(x, y), np.corrcoef(m), np.corrcoef(m, rowvar=False), np.isreal(x)",
    "ranges of floats": "return np.arange(0.5, 3, r), np.arange(r), np.arange(5, r, -0.25, dtype=np.float32), np.arange(1.5, 0.0), np.arange(n * 0.1), np.arange(-0.0, n), np.arange(9.0, n, -1)",
    "grids": "return np.mgrid[0:n, 0:2:r], np.mgrid[-2:n], np.ogrid[0:3, n:1:-1], np.mgrid[0:3, 0:2], np.r_[x, y], np.c_[x, y, m], x[np.s_[1:n]]",
    "windows": "return np.bartlett(n), np.hanning(8), np.hamming(n + 2), np.blackman(5)",
    "polynomials": "return np.polyfit(x, y, 2), np.unwrap(x), np.sinc(x)",
    "roots and divisors": "return np.cbrt(x), np.gcd(k, 6), np.lcm(k[:, None], k * 2), np.gcd(np.floor(y).astype('i2'), 12)",
    "parts of floats": "return np.modf(x * 1.0), np.modf(m / 2)",
    "products along an axis": "return np.vecdot(m, m[0]), np.matvec(m, m[1]), np.vecmat(x, m), np.linalg.vecdot(m, m)",
    "running extremes": "return np.maximum.accumulate(x), np.minimum.accumulate(m), np.minimum.accumulate(m, axis=1)",
    "running extremes of a number": "return np.maximum.accumulate(n * 1.0)",
    "reductions where a mask holds": (
        "return np.sum(x, where=y > 0), np.mean(m, axis=0, where=m > 0), np.max(m, axis=1, where=m < 1, initial=-2), "
        "np.min(x, where=x > 0, initial=9.0)"
    ),
    "order of several keys": "return np.lexsort((x, y)), np.lexsort([k]), np.lexsort((m, m[::-1]), axis=0), np.lexsort((x > 0, x))",
    "order of keys of other shapes": "return np.lexsort((x, m))",
    "ramps": "return np.pad(x, 2, mode='linear_ramp'), np.pad(m, ((1, 2), (0, n)), mode='linear_ramp', end_values=(4, -1.5))",
    "padded with statistics": "return np.pad(x, (n, 1), 'median'), np.pad(m, 1, 'median'), np.pad(m, ((1, 2), (0, 3)), 'minimum'), np.pad(x, 1, 'maximum')",
    "padded with means": "return np.pad(x, (n, 1), 'mean'), np.pad(m, ((1, 2), (0, 3)), 'mean')",
    "padded with two numbers": "return np.pad(x, (1, 2), constant_values=(3, 4.5)), np.pad(m, 1, constant_values=(1, 2))",
    "histogram of pairs": "return np.histogram2d(x, y), np.histogram2d(x, y, (3, n)), np.histogram2d(x, y, [3, [-1, 0, r]], density=True)",
    "weighted histogram of pairs": "return np.histogram2d(x, y, 3, ((-1, 1), (0, 2.0)), weights=y)",
    "set bits": (
        "return np.bitwise_count(k), np.bitwise_count(k.astype('u1') - 2), np.bitwise_count(-k[:1] * 2**60 - 1), np.bitwise_count((k - 5).astype('i2')), "
        "np.bitwise_count(k > 2), np.bitwise_count((k * 9**7).astype('u8')), np.bitwise_count(np.int64(n) - 9), np.bitwise_count((k - 4).astype('i4'))"
    ),
    "reduced in turn": (
        "return np.subtract.reduce(x * 1.0), np.subtract.reduce(m * 1.0, axis=1), np.logical_xor.reduce(m, axis=-1, keepdims=True), "
        "np.bitwise_and.reduce(k), np.bitwise_or.reduce(k), np.bitwise_xor.reduce(x > 0), np.logical_xor.reduce(x)"
    ),
    "subtract.at": "np.subtract.at(x, k, y[0])\nnp.subtract.at(m, (k, 1), y[: k.size])\nreturn None",
    "subtract.at of other dtypes": "c = k * 0\nnp.subtract.at(c, k % max(k.size, 1), k.astype('u1'))\nnp.multiply.at(c, c > n, np.int8(-7))\nreturn c",
    "at": (
        "np.maximum.at(x, -1 - k, y[: k.size])\nnp.multiply.at(m, (slice(1, None), k % 5), x[:1])\nnp.minimum.at(y, y > 0, y[:1])\n"
        "np.fmax.at(m, (k[:, None], k % 5), y[0])\nb = x > 0\nnp.logical_xor.at(b, k, y[: k.size] > 0)\nreturn b"
    ),
    "at out of range": "np.maximum.at(x, k + 18, 1)",
    "at of values that do not fit": "np.minimum.at(m, k, m[None, :1, :4])",
    "reduceat": (
        "return np.add.reduceat(x, k), np.add.reduceat(x > 0, k), np.multiply.reduceat(m, k, axis=-2), np.maximum.reduceat(m, [0, 3, 1], 1), "
        "np.minimum.reduceat(x[::-1], k.astype('u1')), np.logical_or.reduceat(x, k), np.fmin.reduceat(y, k), np.bitwise_or.reduceat(k * 6, [0, -1 + k.size])"
    ),
    "reduceat in other dtypes": "return np.subtract.reduceat(m * 1.5, k), np.add.reduceat(m, k, dtype=np.float32), np.bitwise_xor.reduceat(k, [0, 0, 1])",
    "reduceat out of range": "return np.add.reduceat(x, k + 18)",
    "reduceat of numbers": "return np.add.reduceat(x[0], k)",
}  # fmt: skip

REFUSED = ("order of keys of other shapes", "running extremes of a number", "choose of too few", "put out of range", "place of other sizes", "index in no array", "at out of range", "at of values that do not fit", "reduceat out of range", "reduceat of numbers")
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


ROUNDED = ("padded with means", "points on a curve", "correlation coefficients", "windows", "polynomials", "powers in float64", "roots and divisors", "products along an axis", "reductions where a mask holds", "running extremes")  # by our powers and logarithms, which have bounds of their own; which zero is larger is not said


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
    return type(found) is type(wanted) and np.allclose(a, b, rtol=64 * float(np.finfo(b.dtype).eps), atol=256 * float(np.finfo(b.dtype).eps), equal_nan=True)


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
@pytest.mark.parametrize("case", drawn("rewritten", CASES, -(-len(CASES) // 10)), ids=lambda c: f"{c[0]}-{c[1]}")
def test_the_bits_are_numpys(case: tuple[str, str]) -> None:
    name, kind = case
    function = function_of(BODIES[name])
    jitted = tierup.jit(function)
    for seed, size in enumerate((7, 7, 7, 20, 1, 0, 20)):
        given, mine = arguments(kind, size, seed), arguments(kind, size, seed)
        assert_same(name, outcome(jitted, mine), outcome(function, given))
        assert bits(mine) == bits(given)


OF_NUMBERS = (
    lambda x: np.corrcoef(x[0]), lambda x: np.corrcoef(x[0], x[1]), lambda x: np.corrcoef(np.array(2.5), 1), lambda x: np.split(x[0], 2),
    lambda x: np.split(x, [1], 3), lambda x: np.real(bool(x[0])), lambda x: np.real(float(x[0])), lambda x: np.real(len(x)),
    lambda x: (x[2].min(initial=1), np.max(x[2], axis=-1, initial=7, keepdims=True), np.max(float(x[2]), initial=-1), np.maximum.reduce(x[2], initial=9)),
    lambda x: np.min(x[2], axis=1, initial=1),
)  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", OF_NUMBERS)
def test_numbers_in_an_arrays_place_give_what_numpy_gives(function) -> None:
    jitted, x = tierup.jit(function, strict=True), np.arange(4.0)
    for _ in range(3):
        found, wanted = outcome(jitted, (x,)), outcome(function, (x,))
        assert bits(found) == bits(wanted)


TO_A_NUMBER = (lambda n: np.arange(n), lambda n: np.arange(n.sum()), lambda n: np.arange(0, n, n), lambda n: np.mgrid[:n])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", TO_A_NUMBER)
def test_a_range_to_a_number_of_numpys_has_its_dtype(function) -> None:
    jitted = tierup.jit(function, weigh=False)
    for dtype in map(np.dtype, ("?", "i1", "i8", "u8", "f4", "f8")):
        for number in (np.array(3, dtype), dtype.type(3)):
            for _ in range(2):
                assert bits(outcome(jitted, (number,))) == bits(outcome(function, (number,)))


LEFT = (
    lambda x: np.diff(x, 0), lambda x: np.meshgrid(x, x, copy=False), lambda x: np.isin(x, x, kind="table"), lambda x: np.linspace(0, 1, -1), lambda x: np.put(x, [1, 0], [5, 6]),
    lambda x: np.unravel_index(x.astype(int), ()), lambda x: np.arange(0.0, 1.0, 0.0), lambda x: np.fft.rfftfreq(8) * x[0], lambda x: np.correlate(x, x, "none"),
    lambda x: np.vecdot(x * 1j, x + 1j), lambda x: np.isreal(x * 1j), lambda x: np.correlate(x, x * 1j), lambda x: np.unique(x * 1j),
    lambda x: np.arange(start=4), lambda x: np.arange(None, 3), lambda x: np.arange(3, None), lambda x: np.arange(stop=4), lambda x: np.arange(),
    lambda x: np.arange(np.datetime64("2020-01-30"), np.datetime64("2020-02-02")), lambda x: np.arange(np.timedelta64(5, "D")), lambda x: np.arange("4"),
    lambda x: np.arange(0, 3j), lambda x: np.arange([0, 1]), lambda x: np.arange(x[:1], 4), lambda x: np.arange(1, 2, 3, None, 4),
    lambda x: np.r_[x.sum()], lambda x: np.r_[x[0]], lambda x: np.r_[np.array(3.0)], lambda x: np.c_[x.sum()], lambda x: np.r_[2.5], lambda x: np.r_[x[:, None] * x],
    lambda x: np.arange("1066-10-16", "1066-10-19", dtype=np.datetime64),
    lambda x: np.arange(0, x[1], np.inf), lambda x: np.arange(0, x[1], -np.inf), lambda x: np.arange(0, -1, np.inf), lambda x: np.arange(0, 2e-16, 1.7e308),
    lambda x: np.arange(0.0, 0.0, np.inf), lambda x: np.arange(0, x[1], np.inf, dtype=np.float32), lambda x: np.arange(x[1], np.nan),
    lambda x: np.partition(x, 2, kind="none"), lambda x: np.argpartition(x, 2, kind="none"), lambda x: np.partition(x, 2.5), lambda x: np.partition(x, 2, kind="introselect"),
    lambda x: np.delete(x, [True, False, True, False]), lambda x: np.delete(x, [True, False]), lambda x: np.delete(x, True), lambda x: np.delete(x, 1.0),
    lambda x: np.delete(x, [1.0]), lambda x: np.delete(x, range(2)), lambda x: np.delete(x, (0, 1)), lambda x: np.delete(x, 7), lambda x: np.delete(x[None], [0, 7], 1),
    lambda x: np.delete(x, slice(1, 3)), lambda x: np.delete(x, []), lambda x: np.delete(x, np.array([])),
    lambda x: np.piecewise(np.array(3), np.array(3) > 3, [4, 0]), lambda x: np.piecewise(5, [True, False], [1, 0]), lambda x: np.piecewise(x, x > 1, [1, 5]),
    lambda x: np.piecewise(x, True, [1]), lambda x: np.piecewise(x[2], [x[2] > 1], [1, 5]), lambda x: np.piecewise(x, [], [1]),
    lambda x: np.choose([0], (1000, np.array([1], np.uint8))), lambda x: np.choose([0, 1], (x[:2].astype(np.float32), 2.5)), lambda x: np.choose([0, 1], [[1, 2], [3, 4.5]]),
    lambda x: np.choose([0, 1], (x[:2].astype(np.int8), True)), lambda x: np.choose([0, 1], (x[:2].astype(np.int8), 7)), lambda x: np.choose([1], (2, 2.5)),
    lambda x: np.choose([0, 1], (x[:2].astype(np.float32), np.float64(2))),
    lambda x: np.put(x[:0], 1, 3, mode="clip"), lambda x: np.put(x[:0], [], [], mode="wrap"), lambda x: np.put(x[:0], [0], 3, mode="wrap"), lambda x: np.put(x[:0], [0], [], mode="wrap"), lambda x: np.put(x, [0], [], mode="wrap"),
    lambda x: np.putmask(a=x, mask=x > 1, values=[7.0]), lambda x: np.putmask(x, values=[7.0], mask=x > 1), lambda x: np.putmask(values=[1], mask=[True]),
    lambda x: np.ravel_multi_index(([0], [0]), (2**62, 2)), lambda x: np.unravel_index([1], (2**32 - 1, 2**31 + 1)), lambda x: np.ravel_multi_index(([0], [0]), (2**61, 2)),
    lambda x: np.digitize([1, 2, 3], [1, 2, 3 + 1j]), lambda x: np.digitize(x, x * 1j), lambda x: np.digitize(x * 1j, x), lambda x: np.digitize(x, x[:2]),
    lambda x: np.zeros(3, ">i4"), lambda x: x.astype(">f8"), lambda x: x.reshape(form=(2, 2)), lambda x: x.sum(aix=0),
    lambda x: np.maximum.accumulate(x, axis=None), lambda x: np.add.accumulate(x[None], axis=None),
    lambda x: np.array_split(x, x[3]), lambda x: np.split(x, np.sum(x > 1)), lambda x: np.hsplit(x, np.array(0)), lambda x: np.nonzero(x[0]), lambda x: np.vander(x, x[2]),
)  # fmt: skip


@pytest.mark.parametrize("number", range(len(LEFT)))
def test_what_is_left_to_numpy_is_answered_by_it(number: int) -> None:
    """By constants alone, too: what hands a call to NumPy is no message of its exception."""
    jitted = tierup.jit(LEFT[number])
    for _ in range(3):
        given, mine = np.arange(4.0), np.arange(4.0)
        assert_same("", outcome(jitted, (mine,)), outcome(LEFT[number], (given,)))
        assert bits(mine) == bits(given)


@pytest.mark.parametrize("name", drawn("rewritten and native", [name for name in BODIES if name not in REFUSED], 4))
def test_native_code_gives_them(name: str) -> None:
    function = function_of(BODIES[name])
    jitted = tierup.jit(function, strict=True)
    with np.errstate(all="ignore"):
        for seed in (0, 3, 6):
            assert_same(name, jitted(*arguments("f8", 9, seed)), function(*arguments("f8", 9, seed)))
    assert jitted.stats().hits


def without_nans(x):
    return np.nanmax(x), np.nanmin(x, axis=0), np.nanmax(x, axis=1, keepdims=True), np.fmax.reduce(x), np.nanmin(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_extremes_without_nans_are_numpys_of_infinities_largest_numbers_and_nothing_but_nans(dtype):
    largest, decorated = np.finfo(dtype).max, tierup.jit(without_nans)
    nan, inf = np.nan, np.inf
    for rows in (
        [[1, 2], [nan, 3]], [[1, 2], [nan, 3]], [[1, nan], [2, 3]], [[nan, nan], [nan, nan]], [[nan, -inf], [nan, nan]],
        [[1, inf], [nan, -inf]], [[-largest, nan], [largest, -inf]], [[inf, inf], [-inf, -inf]], [[-largest, nan], [-inf, -largest]],
    ):  # fmt: skip
        x = np.array(rows, dtype)
        for ours, numpys in zip(decorated(x), without_nans(x), strict=True):
            assert type(ours) is type(numpys) and ours.dtype == numpys.dtype
            np.testing.assert_array_equal(ours, numpys)
    assert decorated.stats().hits >= 5
