"""Tables under both entries: hidden inputs, versions and their order, memory. Kernels are hand-written LLVM IR."""

from __future__ import annotations

import gc
import sys
from types import CellType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from entry_bench import Bench, Slow, alias, f32, increment, view
from entry_kernels import INT, array, buffer, kernel, muladd, scalar, version

from tierup.dialect.facts.dims import symbol
from tierup.lowering.base import abi
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.lowering.entry.records import (
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
from tierup.runtime.dispatching.dispatch import make_table

# the call that is due


def test_one_call_is_answered_by_who_is_due(entry: str) -> None:
    b, due, x = Bench(entry, 3, muladd()), Slow(), f32(1, 2)
    for _ in range(2):
        b.table.call_after(2, due)
        np.testing.assert_array_equal(b.call(x, x, x), f32(2, 6))
        assert b.call(x, k=x) == "slow" and not due.calls
        assert b.call(x, k=x) == "slow" and due.calls.pop() == ((x,), {"k": x})
        for _ in range(5):
            np.testing.assert_array_equal(b.call(x, x, x), f32(2, 6))
    assert not due.calls


# hidden inputs


def test_globals_cells_and_attributes_are_read_at_every_call(entry: str) -> None:
    namespace: dict[str, Any] = {"w": f32(1, 2)}
    cell = CellType(f32(10, 20))
    owner = SimpleNamespace(layer=SimpleNamespace(b=f32(100, 200)))
    bias = AttributeSource(AttributeSource(Positional(0), "layer"), "b")
    inputs = Inputs(1, (GlobalSource(namespace, "w"), CellSource(cell), bias))
    b = Bench(entry, inputs, muladd())
    np.testing.assert_array_equal(b.call(owner), f32(110, 240))
    namespace["w"] = f32(0, 1)
    owner.layer.b = f32(5, 5)
    np.testing.assert_array_equal(b.call(owner), f32(5, 25))
    cell.cell_contents = f32(2, 3)
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


def test_what_python_would_find_first_goes_to_slow(entry: str) -> None:
    first: dict[str, Any] = {}
    inputs = Inputs(1, None, (Constant(GlobalSource({"len": len}, "len", behind=first), len),))
    b = Bench(entry, inputs, version("answer", [array("s0")], INT))
    assert b.call(f32(1, 2)) == 42
    first["len"] = len
    assert b.call(f32(1, 2)) == "slow" and b.table.counts().slow[SlowCause.HIDDEN] == 1
    del first["len"]
    assert b.call(f32(1, 2)) == 42


def test_failed_gets_the_flat_arguments(entry: str) -> None:
    namespace: dict[str, Any] = {"status": 9}
    flats: list[Any] = []
    inputs = Inputs(2, (Positional(1), GlobalSource(namespace, "status")))
    b = Bench(entry, inputs, increment(), failed=lambda record, status, flat, live, *args: flats.append((flat, args)))
    x = f32(1, 2)
    first = object()
    assert b.call(first, x) is None
    flat, args = flats[0]
    assert flat[0] is x and flat[1] == 9 and len(flat) == 2 and args == (first, x)


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
    other, narrow = muladd(), version("answer", [scalar("int")], INT)
    for change in (
        lambda: b.table.remove(other), lambda: b.table.reorder([]), lambda: b.table.reorder([v, v]),
        lambda: b.table.hits(other), lambda: b.table.add(narrow),
    ):  # fmt: skip
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
        return [sys.getrefcount(o) for o in (x, y, x.dtype, namespace, big, token, b.table, b.call, None)]

    def exercise() -> None:
        for _ in range(10):
            b.call(x, 0)
            b.call(x, abi.ERROR_BASE + 3)
            b.call(x, big)  # a status of big's low bits
            b.call(x)
            b.call(x, None)
            b.call(x, 0, a=1)
            b.slow.calls.clear()

    for _ in range(60):  # free lists fill up meanwhile
        exercise()
    gc.collect()
    before, blocks = counts(), sys.getallocatedblocks()
    for _ in range(80):
        exercise()
    gc.collect()
    assert sys.getallocatedblocks() - blocks < 400  # a leak in a call is 800
    assert [abs(a - c) < 50 for a, c in zip(counts(), before, strict=True)] == [True] * len(before)


def test_memory_does_not_grow(entry: str) -> None:
    n = symbol("s0")
    allocated = ResultSpec(ResultKind.ALLOCATED, "f32", (n,))
    b = Bench(entry, 2, version("positive", [array("s0"), scalar("int")], allocated, buffer("s0"), form=Form.LIST))
    x = np.ones(1 << 16, np.float32)

    def resident() -> int:
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1])

    if not sys.platform.startswith("linux"):
        pytest.skip("reads /proc")
    writes = Bench(entry, 2, increment(True))
    for bench, argument, status in ((b, x, 0), (b, x, 1), (writes, x, 0), (writes, x[::-1], 0), (writes, x, 1)):
        for _ in range(20):
            bench.call(argument, status)
        before = resident()
        for _ in range(200):
            bench.call(argument, status)
        bench.slow.calls.clear()
        assert (resident() - before) * 4096 < 20 * x.nbytes


def test_a_failed_allocation_is_a_memory_error_and_leaks_nothing(entry: str) -> None:
    n = symbol("s0")
    write = ResultSpec(ResultKind.ARGUMENT, "f32", (n,), 0)
    huge = version("done", [array("s0")], alias(0), buffer("s0"), buffer(n * (1 << 50)), write, form=Form.TUPLE)
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
    for results, form in [
        ((write, INT), Form.SINGLE), ((), Form.SINGLE), ((INT,), Form.NONE), ((alias(1),), Form.SINGLE), ((write, write), Form.NONE),
        ((view(0, (2,), ()),), Form.SINGLE),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            VersionRecord((array(2),), results, a, form=form)
