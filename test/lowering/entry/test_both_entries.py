"""What every dispatch table does, native or Python: hits, misses, results, errors. Kernels are hand-written LLVM IR."""

from __future__ import annotations

import gc
import math
import operator
import pickle
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from entry_kernels import INT, array, buffer, kernel, muladd, scalar, version

from tierup.dialect.dims import floordiv, maximum, minimum, mod, symbol
from tierup.lowering import abi
from tierup.lowering.abi import ResultKind, ResultSpec
from tierup.lowering.entry_records import (
    RELEASE_WORK,
    AttributeSource,
    CellSource,
    Constant,
    Form,
    GlobalSource,
    Inputs,
    Positional,
    SlowCause,
    VersionRecord,
)
from tierup.runtime.dispatch import DispatchTable, make_table
from tierup.runtime.guards import explain

S = symbol("s0")


class Slow:
    """Records what it is called with and answers "slow"."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "slow"


@pytest.fixture(params=["native", "python"])
def entry(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Bench:
    """A table of one entry with its callable and a recording `slow`."""

    def __init__(self, entry: str, inputs: int | Inputs, *versions: VersionRecord, failed: Any = None) -> None:
        self.slow = Slow()
        self.table: DispatchTable = make_table(inputs, self.slow, failed, entry=entry)
        assert self.table.entry == entry
        for v in versions:
            self.table.add(v)
        self.call = self.table.callable()

    def hits(self, *args: Any) -> bool:
        """Whether a version takes these arguments; the explanation must say the same."""
        before = self.table.counts()
        self.call(*args)
        after = self.table.counts()
        assert (after.hits - before.hits) + (after.misses - before.misses) == 1
        hit = after.hits > before.hits
        assert hit == any(explain(v, args) is None for v in self.table.versions)
        return hit


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


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


@pytest.mark.parametrize(("dtype", "chars"), [("i64", "lqn"), ("i32", "i"), ("u8", "B"), ("bool", "?"), ("f64", "d"), ("f16", "e"), ("i16", "h"), ("i8", "b")])
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
    for n, m, k, l in [(2, 3, 2, 3), (2, 2, 2, 3), (1, 3, 3, 1), (0, 3, 3, 0), (2, 1, 1, 2)]:
        assert not b.hits(np.zeros((n, m), np.float32), np.zeros((k, l, 4), np.float32))


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
    b = Bench(entry, 1, version("answer", [array("s0", dtype="i64", strided=True)], INT), version("answer", [array(1, dtype="i64", strided=True)], INT))
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


@pytest.mark.parametrize(("position", "bad"), [(1, 1), (1, True), (1, np.float64(1)), (1, "x"), (2, 1), (2, 0), (2, None), (2, np.bool_(True)), (2, 1.0)])
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
def test_a_value_bet_on_fits_itself_only(entry: str, kind: str, value: Any, others: list[Any]) -> None:
    b = Bench(entry, 1, version("answer", [scalar(kind, value)], INT))
    assert b.hits(value)
    assert not any(b.hits(other) for other in others)


def scalars_bench(entry: str) -> Bench:
    results = (INT, ResultSpec(ResultKind.SCALAR, "float"), ResultSpec(ResultKind.SCALAR, "bool"))
    return Bench(entry, 3, version("scalars", [scalar("int"), scalar("float"), scalar("bool")], *results, form=Form.TUPLE))


# results


def test_scalar_results_are_python_scalars(entry: str) -> None:
    out = scalars_bench(entry).call(1, 2.0, True)
    assert out == (2, -2.0, False) and [type(v) for v in out] == [int, float, bool]


@pytest.mark.parametrize(("form", "expected"), [(Form.TUPLE, (42,)), (Form.LIST, [42]), (Form.SINGLE, 42)])
def test_the_form_of_one_result(entry: str, form: Form, expected: Any) -> None:
    assert Bench(entry, 0, version("answer", [], INT, form=form)).call() == expected


def test_no_result_is_none_or_an_empty_sequence(entry: str) -> None:
    assert Bench(entry, 0, version("done", [], form=Form.NONE)).call() is None
    assert Bench(entry, 0, version("done", [], form=Form.TUPLE)).call() == ()
    assert Bench(entry, 0, version("done", [], ResultSpec(ResultKind.NONE))).call() is None


def test_rank_0_results_are_numpy_scalars_or_arrays(entry: str) -> None:
    x = np.array(3, np.float32)
    out = Bench(entry, 1, version("double0", [array()], buffer())).call(x)
    assert type(out) is np.float32 and out == 6
    out = Bench(entry, 1, version("double0", [array()], buffer(), scalars=False)).call(x)
    assert type(out) is np.ndarray and out.shape == () and out == 6


SIZES = [
    2 * S, S * S + 3, S - 1, floordiv(S, 2), floordiv(-1 * S, 3) + 9, mod(S, 3), mod(-1 * S, 3), maximum(S, 5), minimum(S, 5),
    maximum(minimum(S * S, 30), S + 2), floordiv(S + 7, S), 7,
]  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes_of_results_are_computed(entry: str, size: Any) -> None:
    from tierup.dialect.dims import evaluate

    b = Bench(entry, 1, version("done", [array("s0")], buffer(size, 2, "s0")))
    for n in (2, 3, 4, 7, 10):
        assert b.call(np.zeros(n, np.float32)).shape == (evaluate(size, {"s0": n}), 2, n)


def test_a_size_that_is_no_size_goes_to_slow(entry: str) -> None:
    b = Bench(entry, 1, version("done", [array("s0")], buffer(S - 5)), version("done", [array("s0")], buffer(floordiv(8, S - 3), 0)))
    assert b.hits(np.zeros(9, np.float32))
    assert not b.hits(np.zeros(3, np.float32))
    huge = S
    for _ in range(40):
        huge = huge * S
    b = Bench(entry, 1, version("done", [array("s0")], buffer(huge)))
    assert not b.hits(np.zeros(3, np.float32))


def test_allocated_results(entry: str) -> None:
    b = Bench(entry, 2, version("positive", [array("s0"), scalar("int")], ResultSpec(ResultKind.ALLOCATED, "f32", (S,))))
    out = b.call(f32(1, -2, 3, -4, 5), 0)
    np.testing.assert_array_equal(out, f32(1, 3, 5))
    assert out.flags.c_contiguous and out.flags.writeable and out.flags.aligned
    out += 1
    assert b.call(f32(-1, -1), 0).shape == (0,)


def test_an_allocated_result_without_memory_is_empty(entry: str) -> None:
    out = Bench(entry, 0, version("nothing", [], ResultSpec(ResultKind.ALLOCATED, "f64", (0, 0)))).call()
    assert out.shape == (0, 3) and out.dtype == np.float64


def test_an_alias_is_the_argument_itself(entry: str) -> None:
    b = Bench(entry, 2, version("done", [array("s0"), scalar("int")], alias(0), alias(1), alias(0), form=Form.TUPLE))
    x = f32(1, 2)
    number = 10**15
    out = b.call(x, number)
    assert out[0] is x and out[2] is x and out[1] is number


def alias(argument: int) -> ResultSpec:
    return ResultSpec(ResultKind.ALIAS, argument=argument)


def view(argument: int, sizes: tuple[Any, ...], strides: tuple[Any, ...], offset: Any = 0, dtype: str = "f32") -> ResultSpec:
    return ResultSpec(ResultKind.VIEW, dtype, sizes, argument, offset, strides)


def test_views_share_the_arguments_memory(entry: str) -> None:
    n, m = symbol("s0"), symbol("s1")
    b = Bench(entry, 1, version(
        "done", [array("s0", "s1")],
        view(0, (m, n), (1, m)), view(0, (n,), (-1 * m,), (n - 1) * m), view(0, (), (), m + 1), view(0, (n, 3), (m, 0)),
        form=Form.TUPLE,
    ))  # fmt: skip
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    transposed, backwards, one, repeated = b.call(x)
    for out, expected in ((transposed, x.T), (backwards, x[::-1, 0]), (one, x[1, 1]), (repeated, np.broadcast_to(x[:, :1], (4, 3)))):
        np.testing.assert_array_equal(out, expected)
        assert type(out) is np.ndarray and np.shares_memory(out, x) and not out.flags.owndata and out.dtype == x.dtype
    assert transposed.flags.f_contiguous and not transposed.flags.c_contiguous
    transposed[0, 1] = 99
    assert x[1, 0] == 99
    x.flags.writeable = False
    assert not b.call(x)[0].flags.writeable


def test_views_of_strided_arguments_use_their_strides(entry: str) -> None:
    a, b_ = abi.stride_symbol(0, 0), abi.stride_symbol(0, 1)
    n, m = symbol("s0"), symbol("s1")
    b = Bench(entry, 1, version("done", [array("s0", "s1", strided=True)], view(0, (m, n), (b_, a)), view(0, (m,), (2 * b_,), a), form=Form.TUPLE))
    base = np.arange(96, dtype=np.float32).reshape(8, 12)
    for x in (base, base.T, base[::-2, 1::3], base[2:4, :8][:, ::-1]):
        transposed, _ = b.call(x)
        np.testing.assert_array_equal(transposed, x.T)
        assert transposed.strides == x.T.strides


def test_a_view_keeps_its_argument_alive(entry: str) -> None:
    b = Bench(entry, 1, version("done", [array("s0")], view(0, (S,), (1,))))
    x = np.arange(1000, dtype=np.float32)
    gone = weakref.ref(x)
    out = b.call(x)
    del x
    gc.collect()
    assert gone() is not None
    np.testing.assert_array_equal(out, np.arange(1000))
    del out
    gc.collect()
    assert gone() is None


def test_views_of_bfloat16(entry: str) -> None:
    b = Bench(entry, 1, version("done", [array("s0", dtype="bf16")], view(0, (S - 1,), (1,), 1, "bf16")))
    x = np.arange(5).astype(ml_dtypes.bfloat16)
    out = b.call(x)
    assert out.dtype == x.dtype and np.shares_memory(out, x)
    np.testing.assert_array_equal(out, x[1:])


# writing arguments


def increment(strided: bool = False, *others: Any) -> VersionRecord:
    write_back = ResultSpec(ResultKind.ARGUMENT, "f32", (S,), argument=0)
    return version("increment", [array("s0", strided=strided), scalar("int"), *others], INT, write_back)


def test_writes_reach_the_argument(entry: str) -> None:
    b = Bench(entry, 2, increment())
    x = f32(1, 2, 3)
    assert b.call(x, 0) == 7 and x.tolist() == [2, 3, 4]


def test_writes_reach_a_strided_argument(entry: str) -> None:
    b = Bench(entry, 2, increment(strided=True))
    base = np.zeros((4, 6), np.float32)
    assert b.call(base[::-1, 2], 0) == 7
    expected = np.zeros((4, 6), np.float32)
    expected[:, 2] = 1
    np.testing.assert_array_equal(base, expected)


def test_a_kernel_that_leaves_wrote_nothing(entry: str) -> None:
    seen: list[Any] = []

    def failed(record: VersionRecord, status: int, flat: tuple[Any, ...]) -> str:
        seen.append((record, status, flat, flat[0].tolist()))
        return "failed"

    v = increment()
    b = Bench(entry, 2, v, failed=failed)
    x = f32(1, 2)
    for status in (1, abi.ERROR_BASE + 3):
        assert b.call(x, status) == "failed"
        record, left, flat, contents = seen.pop()
        assert record is v and left == status and flat[0] is x and flat[1] == status and type(flat) is tuple and contents == [1, 2]
    assert x.tolist() == [1, 2] and not b.slow.calls
    assert b.table.counts().failures == 2 and b.table.counts().hits == 2 and b.table.hits(v) == 2
    assert b.call(x, 0) == 7


def test_without_failed_slow_takes_over(entry: str) -> None:
    b = Bench(entry, 2, increment())
    x = f32(1, 2)
    assert b.call(x, 5) == "slow" and b.slow.calls == [((x, 5), {})]
    assert b.table.counts().slow[SlowCause.FAILED] == 1


def test_what_failed_raises_reaches_the_caller(entry: str) -> None:
    def failed(record: VersionRecord, status: int, flat: tuple[Any, ...]) -> None:
        raise IndexError("index 7 is out of bounds")

    b = Bench(entry, 2, increment(), failed=failed)
    with pytest.raises(IndexError, match="index 7"):
        b.call(f32(1, 2), 1)
    assert b.call(f32(1, 2), 0) == 7


def test_a_written_argument_must_not_overlap_another(entry: str) -> None:
    base = np.zeros(20, np.float32)
    b = Bench(entry, 3, increment(False, array("s1")))
    assert b.hits(base[:5], 0, base[5:9]) and b.hits(base[10:], 0, base[:10]) and base[5] == 0
    for other in (base[:5], base[4:9], base[:2], base, base[3:5]):
        assert not b.hits(base[:5], 0, other)
    strided = Bench(entry, 3, increment(True, array("s1", strided=True)))
    assert strided.hits(base[4::-1], 0, base[:4:-1])
    assert not strided.hits(base[4::-1], 0, base[::-4])
    assert not strided.hits(base[::2], 0, base[1::2])  # bounds are compared, not elements


def test_a_written_argument_must_not_overlap_itself(entry: str) -> None:
    b = Bench(entry, 2, increment(True))
    base = np.zeros(8, np.float32)
    assert not b.hits(np.lib.stride_tricks.as_strided(base, (4,), (0,)), 0)
    v = version("done", [array("s0", "s1", strided=True)], ResultSpec(ResultKind.ARGUMENT, "f32", (S, symbol("s1")), 0), form=Form.NONE)
    windows = Bench(entry, 1, v)
    assert not windows.hits(np.lib.stride_tricks.sliding_window_view(base, 3, writeable=True))
    assert not windows.hits(np.lib.stride_tricks.as_strided(base, (2, 3), (8, 4)))
    assert windows.hits(np.lib.stride_tricks.as_strided(base, (2, 2), (8, 4))) and windows.hits(np.zeros((4, 6), np.float32)[::-2, ::3].T)


def test_empty_arrays_overlap_nothing(entry: str) -> None:
    write = ResultSpec(ResultKind.ARGUMENT, "f32", (0,), 0)
    b = Bench(entry, 2, version("done", [array(0), array("s0")], write, form=Form.NONE))
    base = np.zeros(4, np.float32)
    assert b.hits(base[2:2], base)


# hidden inputs


def test_globals_cells_and_attributes_are_read_at_every_call(entry: str) -> None:
    namespace: dict[str, Any] = {"w": f32(1, 2)}
    cell = (lambda: weights).__closure__[0] if (weights := f32(10, 20)) is not None else None  # type: ignore[index]
    owner = SimpleNamespace(layer=SimpleNamespace(b=f32(100, 200)))
    inputs = Inputs(1, (GlobalSource(namespace, "w"), CellSource(cell), AttributeSource(AttributeSource(Positional(0), "layer"), "b")))  # type: ignore[arg-type]
    b = Bench(entry, inputs, muladd())
    np.testing.assert_array_equal(b.call(owner), f32(110, 240))
    namespace["w"] = f32(0, 1)
    owner.layer.b = f32(5, 5)
    np.testing.assert_array_equal(b.call(owner), f32(5, 25))
    cell.cell_contents = f32(2, 3)  # type: ignore[union-attr]
    np.testing.assert_array_equal(b.call(owner), f32(5, 8))
    owner.layer.b = f32(1, 2, 3)
    assert b.call(owner) == "slow" and b.slow.calls == [((owner,), {})]


def test_a_hidden_input_that_is_gone_goes_to_slow(entry: str) -> None:
    namespace: dict[str, Any] = {}
    x = f32(1, 2)
    b = Bench(entry, Inputs(1, (Positional(0), GlobalSource(namespace, "w"), GlobalSource(namespace, "w"))), muladd())
    assert b.call(x) == "slow" and sys.exc_info() == (None, None, None)
    namespace["w"] = x
    np.testing.assert_array_equal(b.call(x), f32(2, 6))
    attribute = Bench(entry, Inputs(1, (AttributeSource(Positional(0), "w"),)), version("answer", [array("s0")], INT))
    assert attribute.call(object()) == attribute.call(3) == "slow"
    assert attribute.table.counts().slow[SlowCause.HIDDEN] == 2


def test_an_attribute_that_raises_raises(entry: str) -> None:
    class Owner:
        @property
        def w(self) -> None:
            raise ZeroDivisionError("in a property")

    b = Bench(entry, Inputs(1, (AttributeSource(Positional(0), "w"),)), version("answer", [array("s0")], INT))
    with pytest.raises(ZeroDivisionError, match="in a property"):
        b.call(Owner())


def test_a_changed_constant_goes_to_slow(entry: str) -> None:
    rate = 0.125
    namespace: dict[str, Any] = {"rate": rate}
    inputs = Inputs(1, None, (Constant(GlobalSource(namespace, "rate"), rate),))
    b = Bench(entry, inputs, version("answer", [array("s0")], INT))
    assert b.call(f32(1, 2)) == 42
    namespace["rate"] = 0.25
    assert b.call(f32(1, 2)) == "slow" and b.table.counts().slow[SlowCause.CONSTANT] == 1
    del namespace["rate"]
    assert b.call(f32(1, 2)) == "slow" and b.table.counts().slow[SlowCause.HIDDEN] == 1
    namespace["rate"] = rate
    assert b.call(f32(1, 2)) == 42


def test_failed_gets_the_flat_arguments(entry: str) -> None:
    namespace: dict[str, Any] = {"status": 9}
    flats: list[Any] = []
    inputs = Inputs(2, (Positional(1), GlobalSource(namespace, "status")))
    b = Bench(entry, inputs, increment(), failed=lambda record, status, flat: flats.append(flat))
    x = f32(1, 2)
    assert b.call(object(), x) is None
    assert flats[0][0] is x and flats[0][1] == 9 and len(flats[0]) == 2


# versions


def test_the_first_version_that_fits_runs(entry: str) -> None:
    static, dynamic = muladd(4), muladd()
    b = Bench(entry, 3, dynamic)
    four = np.ones(4, np.float32)
    b.call(four, four, four)
    b.table.add(static, first=True)
    b.call(four, four, four)
    assert b.table.versions == (static, dynamic) and (b.table.hits(static), b.table.hits(dynamic)) == (1, 1)
    b.table.reorder([dynamic, static])
    b.call(four, four, four)
    assert b.table.hits(dynamic) == 2
    b.table.remove(dynamic)
    b.call(four, four, four)
    assert b.table.hits(static) == 2 and b.table.versions == (static,)
    assert b.table.counts().hits == 4
    b.table.clear()
    assert b.call(four, four, four) == "slow" and b.table.counts().hits == 4


def test_promote_puts_the_most_used_first(entry: str) -> None:
    versions = [version("answer", [scalar("int", i)], INT) for i in range(12)]
    b = Bench(entry, 1, *versions)
    for i in (11, 11, 11, 5, 5, 0):
        assert b.call(i) == 42
    b.table.promote()
    assert b.table.versions[:3] == (versions[11], versions[5], versions[0])
    assert all(b.hits(i) for i in range(12)) and not b.hits(12)


def test_wrong_changes_are_refused(entry: str) -> None:
    v = muladd()
    b = Bench(entry, 3, v)
    for change in (lambda: b.table.remove(muladd()), lambda: b.table.reorder([]), lambda: b.table.reorder([v, v]), lambda: b.table.hits(muladd()),
                   lambda: b.table.add(version("answer", [scalar("int")], INT))):  # fmt: skip
        with pytest.raises(ValueError):
            change()
    assert b.table.versions == (v,)


@pytest.mark.parametrize("n", [9, 64, 200])
def test_many_versions_all_answer(entry: str, n: int) -> None:
    versions = [muladd(i) for i in range(n)] + [version("muladd", [array("s0")] * 2 + [array("s0", strided=True)], buffer("s0"))]
    b = Bench(entry, 3, *versions)
    for i in range(n):
        x = np.full(i, 3, np.float32)
        np.testing.assert_array_equal(b.call(x, x, x), x * x + x)
        assert b.table.hits(versions[i]) == 1
    x = np.ones(n + 5, np.float32)
    assert b.hits(x, x, x) and b.table.hits(versions[-1]) == 1
    assert not b.hits(x, x, x[1:]) and not b.hits(x[:2], x[:2], None)


def test_many_versions_over_scalars_and_dtypes(entry: str) -> None:
    kinds: list[tuple[str, Any]] = [("int", -(2**63)), ("int", 7), ("float", 0.5), ("float", -0.0), ("bool", True), ("bool", False)]
    shapes = [(i, j) for i in range(3) for j in range(3)]
    versions = {}
    for dtype in ("f32", "i64"):
        for shape in shapes:
            for kind, value in kinds:
                versions[dtype, shape, kind, value] = version("answer", [array(*shape, dtype=dtype), scalar(kind, value)], INT)
    b = Bench(entry, 2, *versions.values())
    for (dtype, shape, _, value), v in versions.items():
        b.call(np.zeros(shape, {"f32": "f4", "i64": "i8"}[dtype]), value)
        assert b.table.hits(v) == 1
    assert not b.hits(np.zeros((3, 0), "f4"), 7) and not b.hits(np.zeros((0, 0), "f8"), 7) and not b.hits(np.zeros((0, 0), "f4"), 8)


# memory


def test_references_are_balanced(entry: str) -> None:
    x, y = f32(1, 2), f32(3, 4)
    namespace: dict[str, Any] = {"w": y}
    n = symbol("s0")
    everything = version("positive", [array("s0"), scalar("int"), array("s0")], ResultSpec(ResultKind.ALLOCATED, "f32", (n,)),
                         alias(2), view(0, (n,), (1,)), buffer("s0"), ResultSpec(ResultKind.NONE), form=Form.TUPLE)  # fmt: skip
    b = Bench(entry, Inputs(2, (Positional(0), Positional(1), GlobalSource(namespace, "w"))), everything, failed=lambda *a: None)
    big = 10**17
    token = everything

    def counts() -> list[int]:
        return [sys.getrefcount(o) for o in (x, y, x.dtype, namespace, big, token, b.table, b.call, b.table._failed, None)]  # type: ignore[attr-defined]

    def exercise() -> None:
        for _ in range(10):
            b.call(x, 0)
            b.call(x, 3)
            b.call(x, big)  # a status of big's low bits
            b.call(x)
            b.call(x, None)
            b.call(x, 0, a=1)
            b.slow.calls.clear()

    exercise()
    gc.collect()
    before = counts()
    exercise()
    gc.collect()
    assert [abs(a - c) < 5 for a, c in zip(counts(), before, strict=True)] == [True] * len(before)


def test_memory_does_not_grow(entry: str) -> None:
    n = symbol("s0")
    b = Bench(entry, 2, version("positive", [array("s0"), scalar("int")], ResultSpec(ResultKind.ALLOCATED, "f32", (n,)), buffer("s0"), form=Form.LIST))
    x = np.ones(1 << 16, np.float32)

    def resident() -> int:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1])

    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    for status in (0, 1):
        for _ in range(20):
            b.call(x, status)
        before = resident()
        for _ in range(200):
            b.call(x, status)
        b.slow.calls.clear()
        assert (resident() - before) * 4096 < 20 * x.nbytes


def test_a_failed_allocation_is_a_memory_error_and_leaks_nothing(entry: str) -> None:
    n = symbol("s0")
    huge = version("done", [array("s0")], alias(0), buffer("s0"), buffer(n * (1 << 50)), ResultSpec(ResultKind.ARGUMENT, "f32", (n,), 0), form=Form.TUPLE)
    b = Bench(entry, 1, huge)
    x = f32(1, 2)
    before = sys.getrefcount(x), sys.getrefcount(x.dtype)
    for _ in range(20):
        with pytest.raises((MemoryError, ValueError)):
            b.call(x)
    gc.collect()
    assert sys.getrefcount(x) == before[0] and abs(sys.getrefcount(x.dtype) - before[1]) < 3
    b.table.remove(huge)
    assert b.call(x) == "slow"


def test_large_work_releases_the_gil_and_answers_the_same(entry: str) -> None:
    x = np.arange(4 * RELEASE_WORK, dtype=np.float32)
    np.testing.assert_array_equal(Bench(entry, 3, muladd()).call(x, x, x), x * x + x)
    np.testing.assert_array_equal(Bench(entry, 3, muladd(4, work=RELEASE_WORK)).call(x[:4], x[:4], x[:4]), x[:4] * x[:4] + x[:4])
    b = Bench(entry, 2, increment(True))
    y = x.copy()
    assert b.call(y[::-2], 0) == 7
    expected = x.copy()
    expected[::-2] += 1
    np.testing.assert_array_equal(y, expected)


def test_the_table_outlives_its_callers_references(entry: str) -> None:
    call = make_table(3, Slow(), entry=entry).callable()
    call.table.add(muladd())
    gc.collect()
    x = f32(1, 2)
    np.testing.assert_array_equal(call(x, x, x), f32(2, 6))


def test_records_that_contradict_the_abi_are_refused() -> None:
    a = kernel("done")
    write = ResultSpec(ResultKind.ARGUMENT, "f32", (2,), 0)
    for results, form in [((write, INT), Form.SINGLE), ((), Form.SINGLE), ((INT,), Form.NONE), ((alias(1),), Form.SINGLE), ((write, write), Form.NONE),
                          ((view(0, (2,), ()),), Form.SINGLE)]:  # fmt: skip
        with pytest.raises(ValueError):
            VersionRecord((array(2),), results, a, form=form)
