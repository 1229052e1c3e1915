"""The native entry under threads, under nonsense, and while memory moves beneath it."""

from __future__ import annotations

import gc
import random
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from entry_kernels import INT, array, buffer, muladd, scalar, version
from hypothesis import given, settings
from hypothesis import strategies as st

from tierup.dialect.facts.dims import symbol
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.lowering.entry.records import RELEASE_WORK, AttributeSource, Form, Inputs, Positional, VersionRecord
from tierup.lowering.entry.tables.table import NativeTable
from tierup.runtime.arguments.guards import explain


def test_two_threads_call_while_versions_are_swapped() -> None:
    table = NativeTable(Inputs(3), lambda x, y, z: x * y + z)
    call = table.callable()
    stop = threading.Event()
    errors: list[str] = []
    calls = [0, 0]

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            while not stop.is_set() and not errors:
                x, y, z = rng.normal(size=(3, int(rng.integers(2, 40)))).astype(np.float32)
                for _ in range(50):
                    calls[seed] += 1
                    np.testing.assert_array_equal(call(x, y, z), x * y + z)
        except Exception as error:  # also an assertion's: the main thread reports it
            errors.append(repr(error))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for t in threads:
            t.start()
        rng = random.Random(0)
        swaps = 0
        while (swaps < 300 or min(calls) < 1000) and not errors:
            versions = table.versions
            if len(versions) < 20:
                # work beyond the threshold: these run without the GIL, so that they are in flight when they are removed
                table.add(muladd(rng.choice(["s0", *range(2, 40)]), work=rng.choice([0, RELEASE_WORK])), first=rng.random() < 0.5)
            else:
                for v in rng.sample(versions, 15):
                    table.remove(v)
            table.promote()
            swaps += 1
        stop.set()
        for t in threads:
            t.join()
    finally:
        stop.set()
        sys.setswitchinterval(interval)
    assert not errors
    counts = table.counts()
    assert counts.hits + counts.misses == sum(calls) and counts.hits > 0
    table.clear()
    assert not any(v.struct.in_flight for v in table._retired)
    table.add(muladd())
    table.clear()
    assert table._retired == []


def test_a_removed_version_lives_until_its_call_is_over() -> None:
    class Code:
        pass

    code = Code()
    removed = []

    def failed(record: VersionRecord, status: int, flat: tuple[Any, ...], live: object) -> bool:
        table.remove(record)  # from inside its own call
        gc.collect()
        removed.append(record)
        return record.keepalive is code

    table = NativeTable(Inputs(2), lambda *a: "slow", failed)
    table.add(version("positive", [array("s0"), scalar("int")], ResultSpec(ResultKind.ALLOCATED, "f32", (symbol("s0"),)), keepalive=code))
    call = table.callable()
    x = np.ones(3, np.float32)
    assert call(x, 1) is True
    assert call(x, 1) == "slow" and len(removed) == 1


def test_versions_may_go_while_results_are_allocated() -> None:
    """Allocation may run the garbage collector, and with it any Python code."""
    table = NativeTable(Inputs(3), lambda *a: "slow")
    call = table.callable()
    x = np.ones(8, np.float32)

    class Trap:
        def __init__(self) -> None:
            self.me = self

        def __del__(self) -> None:
            table.clear()

    threshold = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            table.add(version("muladd", [array("s0")] * 3, buffer("s0"), ResultSpec(ResultKind.ALIAS, argument=0), form=Form.LIST))
            Trap()
            out = call(x, x, x)
            assert out == "slow" or np.array_equal(out[0], x * x + x)
    finally:
        gc.set_threshold(*threshold)


def test_attributes_may_change_the_table() -> None:
    table = NativeTable(Inputs(1, (AttributeSource(Positional(0), "w"),)), lambda *a: "slow")

    class Owner:
        @property
        def w(self) -> np.ndarray:
            table.clear()
            table.add(version("answer", [array("s0")], INT))
            gc.collect()
            return np.ones(4, np.float32)  # held by nobody else

    call = table.callable()
    for _ in range(50):
        assert call(Owner()) == 42


@pytest.mark.parametrize(("work", "steps"), [(1, 1 << 20), (RELEASE_WORK, 1 << 36)])
def test_other_threads_run_during_large_work_only(work: int, steps: int) -> None:
    table = NativeTable(Inputs(2), lambda *a: "slow")
    table.add(version("watch", [array(1, dtype="i64"), scalar("int")], INT, work=work))
    call = table.callable()
    flag = np.zeros(1, np.int64)
    go = threading.Lock()
    go.acquire()

    def set_flag() -> None:
        with go:
            flag[0] = 1

    thread = threading.Thread(target=set_flag)
    thread.start()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # the GIL goes to another thread only when it is released
    try:
        go.release()
        left = call(flag, steps)
    finally:
        sys.setswitchinterval(interval)
    thread.join()
    assert flag[0] == 1 and (left > 0) == (work >= RELEASE_WORK)


NONSENSE: list[Any] = [
    None, ..., NotImplemented, 0, 1, -1, 2**40, 2**63, 2**200, True, False, 0.0, -0.0, float("nan"), 1j, "", "x" * 1000, b"",
    bytearray(3), (), [], {}, set(),
    object(), type, int, np, len, lambda: 0, iter([]), range(3), slice(1), Exception(), memoryview(b"abc"), np.float32(1), np.int64(2),
    np.bool_(True),
    np.array(None), np.array([None, 1]), np.array("a"), np.array([1, 2], ">i4"), np.zeros(3, "f4,i8"), np.array([], np.float32),
    np.array(1.0),
    np.zeros((2,) * 20, np.int8), np.zeros((1,) * 64, np.float32), np.ma.masked, np.ma.zeros(3), np.recarray(2, "f4"), np.dtype("f4"),
    np.zeros(3, np.float32),
    np.lib.stride_tricks.as_strided(np.zeros(4, np.float32), (2, 2), (4, 4)), np.broadcast_to(np.float32(1), (3, 3)),
    np.zeros(3, np.float32)[::-1], np.zeros(9, np.uint8)[1:].view(np.float64), np.array(["2020-01-01"], "M8[D]"), np.zeros(0, "V0"),
    np.zeros(4, np.float16),
]  # fmt: skip

_SPECS = st.sampled_from([
    array(), array("s0"), array("s0", strided=True), array(3), array("s0", "s1"), array("s1", "s0", strided=True), array(2, 2,
    strided=True), array(0),
    array("s0", dtype="f64"), array("s0", dtype="i64"), array("s0", dtype="bool"), array("s0", "s0", dtype="bf16"), scalar("int"),
    scalar("int", 1),
    scalar("float"), scalar("float", -0.0), scalar("float", float("nan")), scalar("bool"), scalar("bool", True),
])  # fmt: skip


@settings(max_examples=400, deadline=None, database=None, derandomize=True)
@given(st.lists(st.lists(_SPECS, min_size=2, max_size=2), max_size=12), st.lists(st.sampled_from(NONSENSE), max_size=4), st.booleans())
def test_nonsense_never_crashes_and_is_judged_as_in_python(specs: list[list[Any]], args: list[Any], write: bool) -> None:
    table = NativeTable(Inputs(2), lambda *a, **k: "slow")
    for arguments in specs:
        first = arguments[0]
        symbols = {s: symbol(s) for s in first.sizes if isinstance(s, str)}
        sizes = tuple(symbols.get(s, s) for s in first.sizes)
        writes = [ResultSpec(ResultKind.ARGUMENT, first.dtype, sizes, 0)] if write and first.dtype else []
        # the kernel does nothing: the scratch holds what memory held, so written arguments are put back below
        table.add(version("answer", arguments, INT, *writes))
    saved = [(a, a.copy()) for a in args if type(a) is np.ndarray and a.flags.writeable]
    fits = len(args) == 2 and any(explain(v, args) is None for v in table.versions)
    call = table.callable()
    assert call(*args) == (42 if fits else "slow")
    assert call(*args, key=1) == "slow"
    for a, contents in saved:
        a[...] = contents


def test_many_arguments_and_high_ranks() -> None:
    n = 300
    table = NativeTable(Inputs(n), lambda *a: "slow")
    table.add(version("answer", [array(*["s0"] * 20)] + [array("s1")] * (n - 1), INT))
    x = np.zeros((2,) * 20, np.float32)
    y = np.zeros(5, np.float32)
    assert table.callable()(x, *[y] * (n - 1)) == 42
    assert table.callable()(x, *[y] * (n - 2), y[:1]) == "slow"


def test_native_objects_may_outlive_the_interpreter() -> None:
    """At exit modules are emptied while native functions, and arrays with a native destructor, are still about."""
    code = """
import builtins, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from entry_kernels import array, scalar, version
from tierup.dialect.facts.dims import symbol
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.runtime.dispatching.dispatch import make_table
table = make_table(2, lambda *a: "slow")
table.add(version("positive", [array("s0"), scalar("int")], ResultSpec(ResultKind.ALLOCATED, "f32", (symbol("s0"),))))
call, x = table.callable(), np.ones(1000, np.float32)

class Late:
    def __init__(self):
        self.call, self.x = call, x
        self.result = call(x, 0)
    def __del__(self):
        self.call(self.x, 0)
        self.call(None, 0)

builtins.late = Late()
kept = [call(x, 0) for _ in range(10)]
cycle = [Late()]
cycle.append(cycle)
print("done")
"""
    done = subprocess.run([sys.executable, "-c", code, str(Path(__file__).parent)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_calls_nest() -> None:
    depth = [0]

    def slow(*args: Any) -> Any:
        depth[0] += 1
        return call("again") if depth[0] < 100 else "deep"

    table = NativeTable(Inputs(1), slow)
    call = table.callable()
    assert call(None) == "deep"

    def forever(*args: Any) -> Any:
        return endless(None)

    endless = NativeTable(Inputs(1), forever).callable()
    try:
        endless(None)
        raise AssertionError("an endless recursion ended")
    except RecursionError:
        pass
