"""Guards under both entries: what fits, what misses, and that the explanation agrees. Kernels are hand-written LLVM IR."""

from __future__ import annotations

import math
import operator
import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from entry_bench import Bench, f32, increment, scalars_bench
from entry_kernels import INT, array, buffer, muladd, scalar, version

from tierup.dialect.facts.dims import symbol
from tierup.lowering.entry.records import (
    SlowCause,
)
from tierup.runtime.dispatching.dispatch import make_table

# hits and what goes to slow


def test_a_call_that_fits_runs_the_kernel(entry: str) -> None:
    b = Bench(entry, 3, muladd())
    x, y, z = np.random.default_rng(1).normal(size=(3, 17)).astype(np.float32)
    out = b.call(x, y, z)
    np.testing.assert_array_equal(out, x * y + z)
    assert type(out) is np.ndarray and out.dtype == np.float32 and out.flags.owndata and out.flags.c_contiguous and out.flags.writeable
    assert not b.slow.calls and b.table.counts().hits == 1


def test_an_empty_table_misses(entry: str) -> None:
    b = Bench(entry, 1)
    assert b.call(f32(1)) == "slow" and b.table.counts().slow[SlowCause.MISS] == 1


def test_slow_gets_what_the_user_passed(entry: str) -> None:
    b = Bench(entry, 3, muladd())
    x = f32(1, 2)
    assert b.call(x, x) == b.call(x, x, c=x) == b.call() == b.call(x, x, x, x) == b.call(x, x, None) == "slow"
    assert [(len(args), sorted(kwargs)) for args, kwargs in b.slow.calls] == [(2, []), (2, ["c"]), (0, []), (4, []), (3, [])]
    assert b.slow.calls[1][1]["c"] is x
    slow = b.table.counts().slow
    assert (slow[SlowCause.COUNT], slow[SlowCause.KEYWORDS], slow[SlowCause.MISS]) == (3, 1, 1)


def test_calls_through_star_arguments_and_empty_keywords_hit(entry: str) -> None:
    b = Bench(entry, 3, muladd())
    args = (f32(1, 2), f32(3, 4), f32(5, 6))
    np.testing.assert_array_equal(b.call(*args, **{}), f32(8, 14))
    np.testing.assert_array_equal(operator.call(b.call, *args), f32(8, 14))
    np.testing.assert_array_equal(next(map(b.call, *[[a] for a in args])), f32(8, 14))


def test_what_slow_raises_reaches_the_caller(entry: str) -> None:
    def refuse(*args: Any) -> None:
        raise IndexError("no")

    f = make_table(1, refuse, entry=entry).callable()
    with pytest.raises(IndexError, match="no"):
        f(1)


# guards on arrays


@pytest.mark.parametrize("bad", [
    None, 1, 1.0, True, "x", b"x", [1.0, 2.0], (1.0, 2.0), object(), np.float32(1), np.array([None, None]),
    np.ma.masked_array([1.0, 2.0]).astype(np.float32), np.array([1.0, 2.0]),
    np.array([1, 2], np.int32), np.array([1.0, 2.0], ">f4"), np.array([1.0, 2.0], np.float16), np.array([1.0, 2.0], np.complex64),
    np.array([1.0, 2.0], ml_dtypes.bfloat16), np.array(["a", "b"]), np.array([1, 2], "M8[s]"), np.zeros(2, "f4,f4"),
    f32(1, 2, 3, 4)[::2], f32(1, 2)[::-1], np.zeros((2, 1), np.float32), np.float32(1) + np.zeros(()), np.zeros((0,), np.float32), f32(1),
    np.frombuffer(b"x" * 9, np.uint8)[1:].view(np.float32), np.recarray(2, "f4"), range(2), memoryview(b"12345678"),
])  # fmt: skip
def test_another_kind_of_argument_misses(entry: str, bad: Any) -> None:
    b = Bench(entry, 3, muladd())
    good = f32(1, 2)
    for position in range(3):
        args = [good, good, good]
        args[position] = bad
        assert not b.hits(*args)
    assert b.hits(good, good, good)


def test_a_read_only_argument_fits_unless_it_is_written(entry: str) -> None:
    x = f32(1, 2)
    x.flags.writeable = False
    assert Bench(entry, 3, muladd()).hits(x, x, x)
    b = Bench(entry, 2, increment())
    assert not b.hits(x, 0) and x.tolist() == [1, 2]


def test_a_dtype_that_is_equal_but_another_object_fits(entry: str) -> None:
    b = Bench(entry, 3, muladd())
    x = f32(1, 2)
    unpickled = pickle.loads(pickle.dumps(x))
    with_metadata = x.astype(np.dtype("f4", metadata={"a": 1}))
    swapped_twice = x.view(x.dtype.newbyteorder().newbyteorder())
    assert b.hits(unpickled, with_metadata, swapped_twice)


CHARS = {"i64": "lqn", "i32": "i", "u8": "B", "bool": "?", "f64": "d", "f16": "e", "i16": "h", "i8": "b"}


@pytest.mark.parametrize(("dtype", "chars"), CHARS.items())
def test_every_spelling_of_a_dtype_fits(entry: str, dtype: str, chars: str) -> None:
    b = Bench(entry, 1, version("answer", [array("s0", dtype=dtype)], INT))
    for char in chars:
        assert b.hits(np.zeros(3, char))
    for other in "bBhHiIlLefd?":
        assert b.hits(np.zeros(3, other)) == (np.dtype(other) == np.dtype(chars[0]))


def test_bfloat16_fits(entry: str) -> None:
    b = Bench(entry, 1, version("answer", [array("s0", dtype="bf16")], INT))
    assert b.hits(np.zeros(3, ml_dtypes.bfloat16))
    assert not b.hits(np.zeros(3, np.float16)) and not b.hits(np.zeros(3, "V2")) and not b.hits(np.zeros(3, ml_dtypes.float8_e5m2))


def test_static_sizes_fit_exactly(entry: str) -> None:
    b = Bench(entry, 1, version("answer", [array(2, 0, 1, 3)], INT))
    assert b.hits(np.zeros((2, 0, 1, 3), np.float32))
    for shape in [(2, 0, 1, 4), (3, 0, 1, 3), (2, 1, 1, 3), (2, 0, 3), (2, 0, 1, 3, 1)]:
        assert not b.hits(np.zeros(shape, np.float32))


def test_a_symbol_is_one_size_of_at_least_two(entry: str) -> None:
    b = Bench(entry, 2, version("answer", [array("s0", "s1"), array("s1", "s0", 4)], INT))
    assert b.hits(np.zeros((2, 3), np.float32), np.zeros((3, 2, 4), np.float32))
    for n, m, k, j in [(2, 3, 2, 3), (2, 2, 2, 3), (1, 3, 3, 1), (0, 3, 3, 0), (2, 1, 1, 2)]:
        assert not b.hits(np.zeros((n, m), np.float32), np.zeros((k, j, 4), np.float32))


def test_an_int_that_a_symbol_stands_for_fits_from_two_to_a_billion(entry: str) -> None:
    b = Bench(entry, 1, version("answer", [scalar("int", "s0")], INT))
    assert all(b.hits(n) for n in (2, 3, 12345, 1 << 30))
    assert not any(b.hits(n) for n in (1, 0, -1, -(2**63), (1 << 30) + 1, 2**62, 2**63, True, 2.0, np.int64(2)))


def test_the_symbol_of_an_int_is_the_same_number_wherever_it_stands(entry: str) -> None:
    b = Bench(entry, 3, version("answer", [scalar("int", "s0"), array("s0", "s1"), scalar("int", "s1")], INT))
    assert b.hits(2, np.zeros((2, 3), np.float32), 3)
    assert not b.hits(2, np.zeros((3, 3), np.float32), 3) and not b.hits(2, np.zeros((2, 3), np.float32), 4)


def test_an_int_gives_a_result_its_size(entry: str) -> None:
    b = Bench(entry, 1, version("done", [scalar("int", "s0")], buffer("s0", 3, symbol("s0") * 2)))
    assert b.call(4).shape == (4, 3, 8) and b.call(2).shape == (2, 3, 4) and not b.slow.calls


def test_contiguity_is_numpys_own_notion(entry: str) -> None:
    b = Bench(entry, 1, version("answer", [array(1, "s0")], INT), version("answer", [array(0, 3)], INT))
    base = np.zeros((6, 4), np.float32)
    assert b.hits(base[::6])  # the stride of a dim of size 1 does not matter
    assert b.hits(np.zeros((5, 9), np.float32)[5:, ::3])  # nor do those of an empty array
    assert not b.hits(base[:1, ::2])


def test_strided_takes_any_strides_of_whole_elements(entry: str) -> None:
    b = Bench(entry, 1, version("copy2", [array("s0", "s1", strided=True)], buffer("s0", "s1")))
    base = np.arange(60, dtype=np.float32).reshape(6, 10)
    for x in (base, base.T, base[::-1, ::2], base[1:3, ::-3], np.broadcast_to(f32(1, 2, 3), (4, 3)), base[:, 2:4]):
        np.testing.assert_array_equal(b.call(x), x)
    assert not b.slow.calls
    assert not b.hits(base.view(">f4"))


def test_strides_of_parts_of_elements_miss(entry: str) -> None:
    packed = np.zeros(4, np.dtype([("a", "i2"), ("b", "i1"), ("c", "i1")]))
    assert Bench(entry, 1, version("answer", [array("s0", dtype="i16", strided=True)], INT)).hits(packed["a"])
    ragged = np.lib.stride_tricks.as_strided(np.zeros(64, np.uint8).view(np.int64), (3,), (12,))
    b = Bench(entry, 1, *(version("answer", [array(size, dtype="i64", strided=True)], INT) for size in ("s0", 1)))
    assert not b.hits(ragged)
    assert b.hits(ragged[:1])  # a single element is never stepped over


# guards on scalars


@pytest.mark.parametrize("value", [0, 1, -1, 2**30 - 1, 2**30, -(2**30), 2**45, 2**60, -(2**60), 2**63 - 2, -(2**63)])
def test_integers_of_64_bits_arrive(entry: str, value: int) -> None:
    assert scalars_bench(entry).call(value, 1.0, True) == (value + 1, -1.0, False)


@pytest.mark.parametrize("bad", [2**63, -(2**63) - 1, 10**40, True, 1.0, np.int64(1), "1", None, np.zeros((), np.int64)])
def test_another_kind_of_integer_misses(entry: str, bad: Any) -> None:
    assert not scalars_bench(entry).hits(bad, 1.0, True)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, math.inf, -math.inf, 5e-324, 1.7e308])
def test_floats_arrive(entry: str, value: float) -> None:
    _, out, _ = scalars_bench(entry).call(1, value, False)
    assert out == -value and math.copysign(1, out) == -math.copysign(1, value)


def test_nan_arrives(entry: str) -> None:
    assert math.isnan(scalars_bench(entry).call(1, math.nan, False)[1])


NO_FLOATS, NO_BOOLS = [1, True, np.float64(1), "x"], [1, 0, None, np.bool_(True), 1.0]


@pytest.mark.parametrize(("position", "bad"), [(1, v) for v in NO_FLOATS] + [(2, v) for v in NO_BOOLS])
def test_scalars_are_of_the_exact_type(entry: str, position: int, bad: Any) -> None:
    args: list[Any] = [1, 1.0, True]
    args[position] = bad
    assert not scalars_bench(entry).hits(*args)


class FloatChild(float):
    pass


class IntChild(int):
    pass


def test_subclasses_of_scalars_miss(entry: str) -> None:
    b = scalars_bench(entry)
    assert not b.hits(IntChild(1), 1.0, True) and not b.hits(1, FloatChild(1), True)


@pytest.mark.parametrize(("kind", "value", "others"), [
    ("int", 3, [2, 4, -3, 2**62]), ("int", -(2**63), [2**63 - 1, 0]), ("bool", True, [False]), ("bool", False, [True]),
    ("float", 0.0, [-0.0, 1e-320]), ("float", -0.0, [0.0]), ("float", math.nan, [0.0, math.inf]), ("float", 0.1, [0.1 + 1e-17 * 4]),
])  # fmt: skip
def test_an_assumed_value_fits_itself_only(entry: str, kind: str, value: Any, others: list[Any]) -> None:
    b = Bench(entry, 1, version("answer", [scalar(kind, value)], INT))
    assert b.hits(value)
    assert not any(b.hits(other) for other in others)
