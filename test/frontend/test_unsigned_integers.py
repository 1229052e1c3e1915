"""uint16, uint32 and uint64 in every tier: NumPy undecorated says the bits, the dtypes and the errors."""

import copy
import itertools
from functools import cache

import numpy as np
import pytest
from sampling import drawn

import tierup

UNSIGNED = ("u2", "u4", "u8")
DTYPES = ("u1", *UNSIGNED, "i1", "i2", "i4", "i8", "f2", "f4", "f8", "?")
BINARY = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "floordiv": lambda x, y: x // y,
    "mod": lambda x, y: x % y, "and": lambda x, y: x & y, "or": lambda x, y: x | y, "xor": lambda x, y: x ^ y, "shl": lambda x, y: x << y,
    "shr": lambda x, y: x >> y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y, "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y, "max": lambda x, y: np.maximum(x, y), "min": lambda x, y: np.minimum(x, y),
    "fmod": lambda x, y: np.fmod(x, y), "where": lambda x, y: np.where(x > y, x, y), "both": lambda x, y: np.logical_and(x, y),
}  # fmt: skip
OF_ONE = {
    "signs": lambda x: (-x, ~x, abs(x), np.sign(x), x**2, x**3), "roots": lambda x: np.sqrt(x),
    "casts": lambda x: (x.astype(np.uint16), x.astype(np.uint32), x.astype(np.uint64), x.astype(np.int8), x.astype(np.int64), x.astype(bool)),
    "floats": lambda x: (x.astype(np.float16), x.astype(np.float32), x.astype(np.float64)),
    "sums": lambda x: (x.sum(), x.prod(), x.reshape(-1, 1).sum(axis=0), x.sum(dtype=np.uint16), x.any(), x.all()),
    "scans": lambda x: (x.cumsum(), np.cumprod(x), np.diff(x)), "extremes": lambda x: (x.max(), x.min(), x.argmax(), x.argmin(), np.ptp(x)),
    "order": lambda x: (np.sort(x), np.argsort(x, kind="stable"), np.argsort(x), np.unique(x), np.searchsorted(np.sort(x), x)),
    "choice": lambda x: (np.clip(x, 3, 100), np.where(x > 5, x, 0), x[x > 5], np.nonzero(x)),
    "products": lambda x: (x @ x, x.reshape(1, -1) @ x.reshape(-1, 1), np.outer(x, x)),
    "made": lambda x: (np.zeros_like(x), np.ones(3, x.dtype), np.full(3, 7, x.dtype), np.arange(5, dtype=x.dtype), np.array([1, 2], dtype=x.dtype)),
    "indices": lambda x: (np.arange(256)[x % 7], np.take(np.arange(256), x % 7), np.arange(9)[x[1]]),
    "moves": lambda x: (np.concatenate([x, x]), np.stack([x, x + 1]), np.roll(x, 2), np.pad(x, 2), np.repeat(x, 2), x[::-1].copy()),
    "scalars": lambda x: (x[2] + x[3], x[2] * 2, x[2] / 3, x[2] > x[3], float(x[2]), bool(x[2]), x[3] // x[2]),
    "bounds": lambda x: (x > -1, x < 2**62, x == 9223372036854775807, x != -5, x >= 300, x <= 2.5, x < -(2**62)),
}  # fmt: skip


def elements(dtype, seed=0):
    """The edges of a dtype, and some others."""
    rng, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind.kind == "f":
        return np.concatenate([[0, -1.5, 2.5, 100], rng.normal(size=5) * 10]).astype(kind)
    if kind.kind == "b":
        return rng.integers(0, 2, 9).astype(bool)
    info = np.iinfo(kind)
    edges = np.array([0, 1, info.max, info.min if info.min else info.max - 1], kind)
    return np.concatenate([edges, rng.integers(info.min, info.max, 5, dtype=kind, endpoint=True)])


def outcome(function, *args):
    """What a call gives and leaves of its arguments, or the class and the text of its exception."""
    mine = copy.deepcopy(args)
    try:
        with np.errstate(all="ignore"):
            return [function(*mine), *mine]
    except (TypeError, ValueError, ArithmeticError) as e:
        return type(e), str(e)


def assert_same(got, want, what):
    assert type(got) is type(want), (what, got, want)
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), what
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, what)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype and got.shape == want.shape, (what, got, want)
        assert np.array_equal(got, want, equal_nan=want.dtype.kind == "f"), (what, got, want)
    else:
        assert got == want, (what, got, want)


def agree(function, *args, native=True):
    """Tier 0, then native code; that native code ran, unless the program raises."""
    decorated, want = tierup.jit(function), outcome(function, *args)
    for number in range(3):
        assert_same(outcome(decorated, *args), want, (number, args))
    if native and isinstance(want, list):
        stats = decorated.stats()
        assert stats.hits >= 1 and not stats.interpreted, decorated.explain()
    return decorated


PAIRS = [(op, a, b) for op in BINARY for a, b in itertools.product(DTYPES, repeat=2) if a in UNSIGNED or b in UNSIGNED]


@pytest.mark.parametrize(("op", "a", "b"), drawn("unsigned pairs", PAIRS, 45, kind=lambda row: row[0]))
def test_two_operands_are_promoted_and_computed_as_numpy_does(op, a, b):
    agree(BINARY[op], elements(a, 1), elements(b, 2))


@pytest.mark.parametrize(("name", "dtype"), drawn("unsigned functions", list(itertools.product(OF_ONE, UNSIGNED)), 3, kind=lambda row: row[0]))
def test_functions_of_one_array_give_numpys_bits(name, dtype):
    agree(OF_ONE[name], elements(dtype, 3))


def test_the_last_bit_of_an_exponent_counts():
    agree(lambda x, y: (2**x, x**y), np.array([0, 2, 3, 2**63, 2**63 + 1], np.uint64), np.array([2**63] * 4 + [1], np.uint64))


def add_to(x, y):
    x += y
    return x


WRITES = [(a, b) for a, b in itertools.product(DTYPES, repeat=2) if a in UNSIGNED or b in UNSIGNED]


@pytest.mark.parametrize(("a", "b"), drawn("unsigned writes", WRITES, 12))
def test_in_place_operators_cast_as_numpy_allows(a, b):
    agree(add_to, elements(a, 1), elements(b, 2))


def shift_to(x, y):
    x <<= y
    return x


@pytest.mark.parametrize(("a", "b"), [("u2", "u1"), ("u2", "u4"), ("u4", "i8"), ("u8", "u8"), ("i2", "u2"), ("i4", "u8"), ("u1", "?")])
def test_in_place_operators_without_one_of_torchs_cast_so_too(a, b):
    agree(shift_to, elements(a, 1), np.arange(9).astype(b))


# --- Python's numbers: weak, and refused where the dtype cannot hold them

NUMBERS = (0, 3, -1, 70, 70000, 2**33, 2**63 - 1, -(2**63), 1.5, True, np.uint64(2**63), np.int64(-1), np.uint16(7))


def with_number(x, n):
    return x + n, x * n


def compared(x, n):
    return x < n, x == n, n >= x, x > n, x != n


def bits(x, n):
    return x & n, n | x, x ^ n, x >> n


def assigned(x, n):
    x[1] = n
    return x


def filled(x, n):
    x[:] = n
    return x


ROWS = list(itertools.product((with_number, compared, bits, assigned, filled), ("u1", *UNSIGNED, "i2", "i8", "f4"), NUMBERS))


@pytest.mark.parametrize(("function", "dtype", "number"), drawn("unsigned numbers", ROWS, 32, kind=lambda row: row[0]))
def test_numbers_beside_arrays_are_weak_and_refused_where_they_do_not_fit(function, dtype, number):
    agree(function, elements(dtype, 4), number, native=False)


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8"])
def test_a_number_that_the_run_knows_is_native_beside_every_integer_dtype(dtype):
    """Of the values of one version those that do not fit are tier 0's, and raise."""
    f = tierup.jit(bits)
    x = elements(dtype, 5)
    for number in (1, 2, 3, 4, 5):
        assert_same(f(x, number), bits(x, number), number)
    assert f.stats().hits >= 3
    for number in (-1, 300, 70000, 2**40):
        assert_same(outcome(f, x, number), outcome(bits, x, number), number)


@cache
def numbers_of_elements():
    return tierup.jit(lambda x: (int(x[0]) + 1, x[1].item()))


@pytest.mark.parametrize("value", [0, 2**62, 2**63 - 1, 2**63, 2**64 - 1])
def test_an_element_of_uint64_is_an_int_of_any_size(value):
    f = numbers_of_elements()
    for _ in range(3):
        assert f(np.array([value, value], np.uint64)) == (value + 1, value)


def test_floats_become_unsigned_integers_where_these_hold_them():
    for dtype in UNSIGNED:
        top = np.iinfo(dtype).max
        x = np.array([0.0, 0.5, 1.9, 255.5, top // 2 + 1, float(top) * (1 - 2.0**-52), 65535.0])
        for source in (np.float64, np.float32):
            agree(lambda v: v.astype(dtype), x.astype(source) if source is np.float64 else x[:4].astype(source))


def test_np_add_at_converts_each_sum():
    def count(x, v):
        h = np.full(3, 2**60 + 1, np.uint64)
        np.add.at(h, x, v)
        return h

    for v in (1, np.uint64(1), np.ones(4, np.int64)):
        agree(count, np.array([0, 1, 1, 2], np.uint32), v, native=False)


def test_slices_and_repetitions_take_unsigned_integers():
    agree(lambda x: (x[x[0] : x[1]], x[x[1] :]), np.array([1, 3, 5, 7], np.uint16), native=False)


# --- whole programs

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
BASIS = 0xCBF29CE484222325


def crc_table():
    c = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        c = np.where(c & 1, np.uint32(0xEDB88320) ^ (c >> 1), c >> 1)
    return c


TABLE = crc_table()


def crc32(rows):
    c = np.full(rows.shape[0], 0xFFFFFFFF, np.uint32)
    for i in range(rows.shape[1]):
        c = TABLE[(c ^ rows[:, i]) & 0xFF] ^ (c >> 8)
    return ~c


def fnv1a_32(rows):
    h = np.full(rows.shape[0], 0x811C9DC5, dtype=np.uint32)
    for i in range(rows.shape[1]):
        h = (h ^ rows[:, i]) * np.uint32(16777619)
    return h


def fnv1a_64(rows):
    h = np.zeros(rows.shape[0], np.uint64) + 0xCBF29CE484222325
    for i in range(rows.shape[1]):
        h ^= rows[:, i]
        h *= 0x100000001B3
    return h ^ BASIS


def xorshift(s):
    s = s ^ (s << 13)
    s = s ^ (s >> 7)
    return s ^ (s << 17)


def murmur_32(h):
    h = (h ^ (h >> 16)) * 0x85EBCA6B
    h = (h ^ (h >> 13)) * 0xC2B2AE35
    return h ^ (h >> 16)


def murmur_64(h):
    h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD
    h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53
    return h ^ (h >> 33)


def splitmix(x):
    z = x + GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def rotate(x, k):
    return (x << k) | (x >> (64 - k))


def blend(a, b, alpha):
    return ((a.astype(np.uint32) * alpha + b.astype(np.uint32) * (65535 - alpha)) // 65535).astype(np.uint16)


def gamma(image):
    return np.clip(np.sqrt(image.astype(np.float32) / 65535) * 65535 + 0.5, 0, 65535).astype(np.uint16)


def box(image):
    s = image[:-2].astype(np.uint32) + image[1:-1] + image[2:]
    return (s // 3).astype(np.uint16), image.max() - image, np.minimum(image + np.uint16(5), image)


def histogram(x):
    h = np.zeros(16, np.uint32)
    for i in range(len(x)):
        h[x[i] & 15] += 1
    return h


def draw(dtype, *shape):
    return np.random.default_rng(len(shape)).integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


PROGRAMS = {
    "crc32": (crc32, draw("u1", 4, 30)), "fnv1a 32": (fnv1a_32, draw("u1", 9, 12)), "fnv1a 64": (fnv1a_64, draw("u1", 9, 12)),
    "xorshift 32": (xorshift, draw("u4", 9)), "xorshift 64": (xorshift, draw("u8", 9)), "murmur 32": (murmur_32, draw("u4", 9)),
    "murmur 64": (murmur_64, draw("u8", 9)), "splitmix": (splitmix, draw("u8", 9)), "rotate": (rotate, draw("u8", 9), 13),
    "blend": (blend, draw("u2", 4, 5), draw("u2", 4, 5), 30000), "gamma": (gamma, draw("u2", 4, 5)), "box": (box, draw("u2", 6, 5)),
    "histogram": (histogram, draw("u4", 50)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_whole_programs_are_native(name):
    assert "Python at" not in str(agree(*PROGRAMS[name]).explain())
