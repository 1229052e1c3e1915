"""Results under both entries: fresh arrays, views, aliases, scalars, write-backs. Kernels are hand-written LLVM IR."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from entry_bench import Bench, S, alias, f32, increment, scalars_bench, view
from entry_kernels import INT, array, buffer, scalar, version

from tierup.dialect.facts.dims import floordiv, maximum, minimum, mod, symbol
from tierup.lowering.base import abi
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.lowering.entry.records import (
    Form,
    SlowCause,
    VersionRecord,
)

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


def test_views_and_arguments_of_rank_0_are_numpy_scalars_where_they_are_wanted(entry: str) -> None:
    x, y = np.array(3, np.float32), np.arange(4, dtype=np.float32)
    for scalars, kind in ((True, np.float32), (False, np.ndarray)):
        out = Bench(entry, 1, version("done", [array()], alias(0), scalars=scalars)).call(x)
        assert type(out) is kind and out == 3 and (out is x) is (not scalars)
        out = Bench(entry, 1, version("done", [array("s0")], view(0, (), (), 2), scalars=scalars)).call(y)
        assert type(out) is kind and out == y[2] and (scalars or np.shares_memory(out, y))


SIZES = [
    2 * S, S * S + 3, S - 1, floordiv(S, 2), floordiv(-1 * S, 3) + 9, mod(S, 3), mod(-1 * S, 3), maximum(S, 5), minimum(S, 5),
    maximum(minimum(S * S, 30), S + 2), floordiv(S + 7, S), 7, floordiv(S, -3) + 9, mod(S, -3) + 9, mod(-1 * S, -3) + 9,
]  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_sizes_of_results_are_computed(entry: str, size: Any) -> None:
    from tierup.dialect.facts.dims import evaluate

    b = Bench(entry, 1, version("done", [array("s0")], buffer(size, 2, "s0")))
    for n in (2, 3, 4, 7, 10):
        assert b.call(np.zeros(n, np.float32)).shape == (evaluate(size, {"s0": n}), 2, n)


def test_a_size_that_is_no_size_goes_to_slow(entry: str) -> None:
    b = Bench(entry, 1, version("done", [array("s0")], buffer(S - 5)), version("done", [array("s0")], buffer(floordiv(8, S - 3), 0)))
    assert b.hits(np.zeros(9, np.float32))
    assert not b.hits(np.zeros(3, np.float32))


def test_sizes_beyond_64_bits_go_to_slow(entry: str) -> None:
    product: Any = 1
    for _ in range(41):
        product = product * S
    wraps_to_0 = S * 2**61 + S * S * 2**60 + S * S * S * 2**59 + S * S * S * S * 2**58  # for s0 = 2; its parts fit
    for size, n in ((product, 3), (product, 4), (wraps_to_0, 2)):
        b = Bench(entry, 1, version("done", [array("s0")], buffer(size)))
        assert not b.hits(np.zeros(n, np.float32))


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


def test_an_allocated_result_of_impossible_size_is_an_error(entry: str) -> None:
    results = ResultSpec(ResultKind.ALLOCATED, "f32", (0,)), buffer(3)
    b = Bench(entry, 0, version("broken", [], *results, form=Form.TUPLE))
    for _ in range(3):
        with pytest.raises(ValueError, match="negative dimensions"):
            b.call()


def test_an_alias_is_the_argument_itself(entry: str) -> None:
    b = Bench(entry, 2, version("done", [array("s0"), scalar("int")], alias(0), alias(1), alias(0), form=Form.TUPLE))
    x = f32(1, 2)
    number = 10**15
    out = b.call(x, number)
    assert out[0] is x and out[2] is x and out[1] is number


def test_views_share_the_arguments_memory(entry: str) -> None:
    n, m = symbol("s0"), symbol("s1")
    b = Bench(entry, 1, version(
        "done", [array("s0", "s1")],
        view(0, (m, n), (1, m)), view(0, (n,), (-1 * m,), (n - 1) * m), view(0, (), (), m + 1), view(0, (n, 3), (m, 0)),
        form=Form.TUPLE, scalars=False,
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
    views = view(0, (m, n), (b_, a)), view(0, (m,), (2 * b_,), a)
    b = Bench(entry, 1, version("done", [array("s0", "s1", strided=True)], *views, form=Form.TUPLE))
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

    def failed(record: VersionRecord, status: int, flat: tuple[Any, ...], live: object) -> str:
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
    def failed(record: VersionRecord, status: int, flat: tuple[Any, ...], live: object) -> None:
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
