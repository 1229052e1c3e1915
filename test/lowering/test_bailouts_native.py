"""Bailouts in native code: wherever an assumption fails, the live values and the continuation give what the program gives without assumptions."""

from __future__ import annotations

import gc
import math
import resource
import sys
from typing import Any

import numpy as np
import pytest
from bailout_driver import Native
from kernel_harness import spec_of
from sampling import drawn
from spine_harness import assert_same

from tierup.dialect.base import dtypes
from tierup.dialect.language.text import parse_module
from tierup.lowering.base.abi import ERROR_BASE, EXIT_BASE, Request, ResultKind
from tierup.lowering.base.errors import Unsupported
from tierup.lowering.compiling.compile import compile
from tierup.runtime.dispatching.dispatch import make_table


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(np.float32)


# --- forced losses: every bailout at every evaluation ------------------------------------------------------------------------


def straight(x, y):
    a = x + y
    b = x * y
    return (a - x - 1) + (b - x)


def arm(x, y):
    if x.sum() > 0:
        z = np.exp(x) - y
        w = z * 2
    else:
        w = x - 1
        z = np.tanh(w)
    return z + w * y


def nested(x, n, m):
    total = x * 0
    for i in range(n):
        y = x + i
        for j in range(m + i):
            y = y * 0.5 + j
            if y.sum() > i:
                total = total + y * j
            else:
                total = total - y
        total = total * 1.5 + i
    return total


def while_in_for_in_while(x, n):
    k = 0
    while k < n:
        for i in range(k + 1):
            inner = i
            while inner > 0:
                x = x * 0.5 + inner
                inner = inner - 1
            x = x - i
        k = k + 1
    return x + k


def breaks(x, n):
    for i in range(n):
        x = x * 1.25 + i
        if x.sum() > 20:
            break
        if i == 1:
            continue
        x = x - 0.5
    return x


def written(x, n):
    for i in range(n):
        x[i] = x[i] * 2 + i
        x += 1
    return x.sum()


def mixed(x, n, s, flag):
    flags = x > s
    total = 0.0
    for i in range(n):
        if flag:
            flags = ~flags
            total = total + s * i
        x = np.where(flags, x, -x) + total
        flag = not flag
    return x, flags, total, flag


def views(x, n):
    rest = x[1:]
    turned = x.T
    for i in range(n):
        rest = rest * 2 + turned.sum() - i
    return rest, turned


PROGRAMS = [
    (straight, [f32(4), f32(4)], 12, 0),
    (arm, [np.abs(f32(4)), f32(4)], 14, 0),
    (arm, [-np.abs(f32(4)), f32(4)], 12, 0),
    (nested, [f32(4), 2, 1], 42, 0),
    (while_in_for_in_while, [f32(4), 3], 29, 0),
    (breaks, [np.abs(f32(4)), 9], 33, 1),  # in the first iteration what it carries is the argument, which may be returned
    (written, [f32(4), 3], 57, 0),  # three of them on how many elements are stored
    (mixed, [f32(4), 3, 0.25, True], 23, 6),
    (views, [f32(3, 3), 3], 21, 1),
]


NAMES = [f"{f.__name__}{i}" for i, (f, *_) in enumerate(PROGRAMS)]


@pytest.mark.parametrize("number", drawn("losses of all assumptions", range(len(PROGRAMS)), 2), ids=NAMES.__getitem__)
def test_every_assumption_lost_at_every_evaluation(number: int) -> None:
    function, arguments, exits, errors = PROGRAMS[number]
    native = Native(function, [arguments], arguments, force=True)
    assert native.assert_same(arguments) == []
    assert native.losing_each(arguments) == (exits, errors)


def test_losing_a_bailout_that_the_code_does_not_have_is_an_error() -> None:
    arguments = [f32(4), f32(4)]
    native = Native(straight, [arguments], arguments, force=True)
    with pytest.raises(ValueError, match="not compiled to lose bailout 99"):
        native.code.force(99)
    normal = Native(straight, [arguments], arguments)
    assert normal.artifact.exits == ()  # types prove every assumption
    assert normal.artifact.forced == ""
    with pytest.raises(ValueError, match="not compiled to lose bailout 0"):
        normal.code.force(0)


# --- assumptions that values lose ---------------------------------------------------------------------------------------------------


def data_dependent(x, y, n):
    z = x * 2
    kept = z[z > 0]
    for i in range(n):
        kept = kept * 2
        y = y + kept[kept > i * i]
    return y, kept


def test_a_size_that_only_the_run_knows_is_lost_where_it_is_another() -> None:
    y = f32(3)
    good = [np.array([1, -1, 2, 3], np.float32), y, 4]
    native = Native(data_dependent, [good], good)
    assert native.assert_same(good) == []
    few = [np.array([1, -1, -2, -3], np.float32), y, 4]  # one is left, which broadcasts
    late = [np.array([0.001, 2, -1, 3], np.float32), y, 1]  # three are left by the first mask and by the second
    assert native.assert_same(late) == []
    assert native.assert_same(few) == [-1]  # the value that lives on is y itself, which is returned when nothing runs
    assert len(native.artifact.exits) > 1


def masked_in_a_loop(x, n):
    total = x * 0
    for i in range(n):
        above = np.tanh(x[x > i])
        total = total + above.sum()
        x = x - 0.5
    return total


def test_it_is_lost_in_the_iteration_that_meets_another_size() -> None:
    start = np.array([8, 9, 10], np.float32)
    native = Native(masked_in_a_loop, [[start, 2]], [start, 2])
    assert native.assert_same([start, 5]) == []
    for n, first in enumerate([0.0, 1.2, 2.8, 4.0, 5.8]):  # x is 0.5 * n smaller in iteration n, and must be above n
        x = np.array([first, 19, 20], np.float32)
        assert native.assert_same([x, n]) == []
        assert len(native.assert_same([x, n + 1])) == 1
        assert native.assert_same([x, n + 4]) == native.assert_same([x, n + 1])


def counts(x, n, k):
    for i in range(n):
        step = (i * k) % 3
        x = x * step + 1 if step < 2 else x - step
    return x + k


@pytest.mark.parametrize("value", [4, -1, 0])
def test_a_number_that_was_always_the_same(value: int) -> None:
    x = f32(4)
    native = Native(counts, [[x, 5, 4]], [x, 5, 4], profile="all", guards="scalars")
    assert native.assert_same([x, 5, 4]) == []
    left = native.assert_same([x, 5, value])
    assert left == [] if value == 4 else len(left) == 1


FLOATS = """
func.func @main(%x: !torch.vtensor, %f: !torch.float, %b: !torch.bool) -> !torch.vtensor {
  %one = torch.constant.int 1
  %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %1 = "tierup.guard"(%f) {expected = #tierup.profiled<float=FACT>} : (!torch.float) -> !torch.float
  %2 = "tierup.guard"(%b) {expected = #tierup.profiled<bool=true>} : (!torch.bool) -> !torch.bool
  %3 = torch.prim.If %2 -> (!torch.vtensor) {
    %4 = torch.aten.add.Scalar %0, %1, %one : !torch.vtensor, !torch.float, !torch.int -> !torch.vtensor
    torch.prim.If.yield %4 : !torch.vtensor
  } else {
    torch.prim.If.yield %0 : !torch.vtensor
  }
  return %3 : !torch.vtensor
}
"""


@pytest.mark.parametrize("fact", [2.5, 0.0, -0.0, math.nan, math.inf])
def test_floats_are_told_apart_by_their_bits(fact: float) -> None:
    x = f32(4)
    native = Native((FLOATS.replace("FACT", str(fact)), "main"), [], [x, fact, True])
    for value in (2.5, 0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf):
        same = str(value) == str(fact)  # a NaN is one value, whatever its sign
        assert native.assert_same([x, value, True]) == ([] if same else [0]), value
    assert native.assert_same([x, fact, False]) == [1]


SYMBOLS = """
func.func @main(%x: !torch.vtensor, %m: !torch.vtensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  %zero = torch.constant.int 0
  %a = "tierup.guard"(%x) {expected = #tierup.profiled<f32[s0]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %0 = torch.aten.nonzero %m : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.squeeze.dim %0, %one : !torch.vtensor, !torch.int -> !torch.vtensor
  %2 = torch.aten.index_select %x, %zero, %1 : !torch.vtensor, !torch.int, !torch.vtensor -> !torch.vtensor
  %3 = "tierup.guard"(%2) {expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %4 = torch.aten.exp %3 : !torch.vtensor<[?],f32> -> !torch.vtensor
  %5 = torch.aten.index_select %4, %zero, %1 : !torch.vtensor, !torch.int, !torch.vtensor -> !torch.vtensor
  %6 = "tierup.guard"(%5) {expected = #tierup.profiled<f32[s1]>} : (!torch.vtensor) -> !torch.vtensor<[?],f32>
  %7 = torch.aten.mul.Tensor %6, %4 : !torch.vtensor<[?],f32>, !torch.vtensor -> !torch.vtensor
  return %7 : !torch.vtensor
}
"""


def test_a_size_with_a_name_is_at_least_two() -> None:
    x = f32(5)
    mask = np.array([True, True, False, False, False])
    native = Native((SYMBOLS, "main"), [], [x, mask], sizes=[("s0",), (5,)])
    assert native.artifact.results[0].kind is ResultKind.ALLOCATED
    assert native.assert_same([x, mask]) == []
    assert native.assert_same([x, np.array([True, False, False, False, False])]) == [1]  # one broadcasts, so it is no symbol's
    assert native.assert_same([x, np.zeros(5, bool)]) == [1]


# --- what the live values are ------------------------------------------------------------------------------------------------


def test_views_and_arguments_that_live_on_are_the_callers_memory() -> None:
    x = f32(3, 3)
    native = Native(views, [[x, 3]], [x, 3], force=True)
    native.code.force(3, 0)
    rest, turned = native.tables[0](x, 3)
    assert native.left and native.left[0][1] is not None
    assert np.shares_memory(turned, x) and turned.base is not None
    np.testing.assert_array_equal(turned, x.T)
    assert not np.shares_memory(rest, x)
    strided = np.asfortranarray(np.arange(18, dtype=np.float32).reshape(3, 6))[:, ::2]
    other = Native(views, [[strided, 3]], [strided, 3], force=True)
    other.code.force(3, 0)
    rest, turned = other.tables[1](strided, 3)
    assert turned.__array_interface__["data"] == strided.__array_interface__["data"] and turned.strides == strided.T.strides
    assert_same(rest, views(strided, 3)[0], "rest", rounding=True)


def written_after_an_exit(x, y, n):
    x += 1
    y = y - 1
    for i in range(n):
        y = y * 2
    x *= y
    return y


def test_nothing_is_written_where_control_left() -> None:
    x, y = f32(4), f32(4)
    native = Native(written_after_an_exit, [[x, y, 2]], [x, y, 2], force=True)
    seen = []

    def failed(record: Any, status: int, flat: tuple[Any, ...], live: Any) -> str:
        seen.append((status, flat[0].copy(), live))
        return "answered"

    table = make_table(3, lambda *a: None, failed)
    table.add(native.record)
    for site in native.artifact.exits:
        native.code.force(site.index, 0)
        mine = x.copy()
        assert table(mine, y, 2) == "answered"
        np.testing.assert_array_equal(mine, x)
        assert seen[-1][0] == EXIT_BASE + site.index
    assert len(seen) == len(native.artifact.exits) > 4


KINDS = """
func.func @main(%x: !torch.vtensor, %m: !torch.vtensor, %h: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor) {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Scalar %x, %one, %one : !torch.vtensor, !torch.int, !torch.int -> !torch.vtensor
  %none = torch.constant.none
  %1 = torch.aten.sum %0, %none : !torch.vtensor, !torch.none -> !torch.vtensor
  %2 = torch.aten.logical_not %m : !torch.vtensor -> !torch.vtensor
  %3 = torch.aten.neg %h : !torch.vtensor -> !torch.vtensor
  %4 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[?,3]>} : (!torch.vtensor) -> !torch.vtensor<[?,3],f32>
  %5 = torch.aten.exp %4 : !torch.vtensor<[?,3],f32> -> !torch.vtensor
  return %5, %1, %2, %3 : !torch.vtensor, !torch.vtensor, !torch.vtensor, !torch.vtensor
}
"""


@pytest.mark.parametrize("rows", [0, 1, 4])
def test_live_arrays_of_every_kind(rows: int) -> None:
    x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
    m, h = np.array([[True, False, True]]), np.array([1.5, -2, 3], dtypes.bf16.numpy)
    native = Native((KINDS, "main"), [], [x, m, h], force=True)
    native.code.force(0, 0)
    native.assert_same([x, m, h])
    ((index, live),) = native.left
    assert index == 0 and live is not None
    plain, total, turned, negative = live
    assert (plain.shape, plain.dtype, plain.flags.writeable, plain.flags.c_contiguous) == ((rows, 3), np.float32, True, True)
    np.testing.assert_array_equal(plain, x + 1)
    assert total.shape == () and total == (x + 1).sum()
    np.testing.assert_array_equal(turned, ~m)
    assert turned.dtype == bool and negative.dtype == h.dtype
    np.testing.assert_array_equal(negative, -h)


LISTS = """
func.func @main(%x: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %l = torch.prim.ListConstruct %0, %y, %0 : (!torch.vtensor, !torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
  %s = torch.prim.ListConstruct %one, %zero : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %2 = "tierup.guard"(%1) {expected = #tierup.profiled<f32[6,2]>} : (!torch.vtensor) -> !torch.vtensor<[6,2],f32>
  %3 = torch.aten.cat %l, %zero : !torch.list<vtensor>, !torch.int -> !torch.vtensor
  %4 = torch.aten.mul.Tensor %2, %3 : !torch.vtensor<[6,2],f32>, !torch.vtensor -> !torch.vtensor
  %5 = torch.aten.permute %4, %s : !torch.vtensor, !torch.list<int> -> !torch.vtensor
  return %5, %0 : !torch.vtensor, !torch.vtensor
}
"""


def test_a_list_of_live_values_is_a_list() -> None:
    x, y = f32(2, 2), f32(2, 2)
    native = Native((LISTS, "main"), [], [x, y], force=True)
    native.code.force(0, 0)
    assert native.assert_same([x, y]) == [0]
    live = native.left[0][1]
    assert live is not None
    lists = [value for value in live if isinstance(value, list)]
    assert [len(value) for value in lists] == [3, 2]
    np.testing.assert_allclose(lists[0][0], np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(lists[0][1], y)
    assert lists[1] == [1, 0]


def divides(x, n, k):
    for i in range(n):
        x = x + i // k
        x = np.tanh(x)
    return x * 2


def test_an_error_before_an_exit_is_the_error() -> None:
    x = f32(4)
    native = Native(divides, [[x, 3, 1]], [x, 3, 1], force=True)
    last = max(site.index for site in native.artifact.exits)
    native.code.force(last, 0)
    assert native.assert_same([x, 3, 1]) == [last]
    statuses = []
    table = make_table(3, lambda *a: None, lambda record, status, flat, live: statuses.append((status, live)))
    table.add(native.record)
    table(x, 3, 0)
    ((status, live),) = statuses
    assert status >= ERROR_BASE and live is None  # the code went on with a divisor of its own, and left nothing at the exit


# --- memory and tables -------------------------------------------------------------------------------------------------------


def _resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("table", [0, 1], ids=["native", "python"])
def test_nothing_leaks(table: int) -> None:
    x = f32(64, 64)  # 16 kB, of which some live on at each exit
    native = Native(arm, [[x, x]], [x, x], force=True)
    run = make_table(2, lambda *a: None, lambda record, status, flat, live: live, entry=("native", "python")[table])
    run.add(native.record)
    call = run.callable()
    rounds = 1500 if table == 0 else 400
    handed = 0
    for site in native.artifact.exits:
        native.code.force(site.index, 0)
        live = call(x, x)
        handed += isinstance(live, tuple) and live[-1].nbytes >= x.nbytes and live[-1] is not x
        for _ in range(rounds // 10):
            call(x, x)
    assert handed > 0

    def grown() -> int:
        before = _resident()
        for site in native.artifact.exits:
            native.code.force(site.index, 0)
            for _ in range(rounds):
                call(x, x)
        native.code.force()
        for _ in range(rounds):
            call(x, x)
        return _resident() - before

    # one array a round would be far more, each time; what else the process does may take memory once
    assert min(grown(), grown(), grown()) < 16 << 20


def test_live_memory_outlives_the_version() -> None:
    x = f32(64, 64)
    native = Native(arm, [[x, x]], [x, x], force=True)
    kept: list[Any] = []
    table = make_table(2, lambda *a: None, lambda record, status, flat, live: kept.append(live))
    table.add(native.record)
    native.code.force(5, 0)
    table(x, x)
    table.clear()
    copies = [np.array(value) for value in kept[0]]
    del native
    gc.collect()
    for value, expected in zip(kept[0], copies, strict=True):
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("entry", ["native", "python"])
def test_a_table_that_nobody_takes_over_from_takes_no_version_with_exits(entry: str) -> None:
    arguments = [f32(4), f32(4)]
    native = Native(straight, [arguments], arguments, force=True)
    table = make_table(2, lambda *a: None, entry=entry)
    with pytest.raises(ValueError, match="a version with exits for a table without `failed`"):
        table.add(native.record)


def test_bailouts_of_a_function_that_is_called_have_no_native_form() -> None:
    text = """
      func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
        %0 = func.call @step(%x) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
        return %0 : !torch.vtensor<[4],f32>
      }
      func.func private @step(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
        %0 = "tierup.bailout"(%x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
        return %0 : !torch.vtensor<[4],f32>
      }"""
    module = parse_module(text)
    with pytest.raises(Unsupported, match="leaves @step, which another function calls"):
        compile(Request(str(module), "main", (spec_of(f32(4)),)))
