"""What an exit hands over is the kernel's own memory: not copied, not freed under the caller, freed once, not written any more."""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bailout_driver import Native

from tierup.runtime.dispatching.dispatch import make_table


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape) + 1).normal(size=shape).astype(np.float32)


def three(x):
    a = np.tanh(x)
    b = x * 2
    c = x > 0
    return np.cumsum(a) * b + c


def _exits(native: Native, arguments: list[Any], entry: str = "native") -> list[tuple[Any, ...]]:
    """The live values of each exit, at its first evaluation, as they are."""
    table = make_table(len(arguments), lambda *a: None, lambda record, status, flat, live: ("left", live), entry=entry)
    table.add(native.record)
    found = []
    for site in native.artifact.exits:
        native.code.force(site.index, 0)
        answer = table(*arguments)
        if answer and isinstance(answer[0], str) and answer[1] is not None:
            found.append(answer[1])
    native.code.force()
    return found


def _owner(array: np.ndarray) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base


def _is_the_kernels_buffer(array: np.ndarray) -> bool:
    """A kernel's buffers are aligned within an allocation that is longer by 64 bytes; a copy that an exit makes fills its own."""
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.restype, usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    return array.ctypes.data % 64 == 0 and usable(ctypes.addressof(_owner(array))) >= array.nbytes + 64


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks glibc how long an allocation is")
@pytest.mark.parametrize("entry", ["native", "python"])
def test_live_arrays_are_the_buffers_that_the_kernel_allocated(entry: str) -> None:
    x = f32(1000)
    native = Native(three, [[x]], [x], force=True)
    *exits, last = _exits(native, [x], entry)
    handed = [v for live in exits for v in live if isinstance(v, np.ndarray) and v is not x]
    assert len(handed) > 15
    assert all(_is_the_kernels_buffer(v) for v in handed)
    assert not _is_the_kernels_buffer(last[0])  # the result, which lies where the caller wanted it
    assert {v.dtype for v in handed} >= {np.dtype(np.float32), np.dtype(np.bool_)}


SLICED = """
func.func @main(%x: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.int 2
  %end = torch.constant.int 1000
  %y = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  %t = torch.aten.slice.Tensor %y, %one, %one, %end, %one : !torch.vtensor, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor
  %s = torch.aten.slice.Tensor %y, %zero, %one, %end, %two : !torch.vtensor, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.vtensor
  %g = "tierup.guard"(%y) {expected = #tierup.profiled<f32[?,3]>} : (!torch.vtensor) -> !torch.vtensor<[?,3],f32>
  %0 = torch.aten.tanh %t : !torch.vtensor -> !torch.vtensor
  %1 = torch.aten.tanh %s : !torch.vtensor -> !torch.vtensor
  return %0, %1 : !torch.vtensor, !torch.vtensor
}
"""


def test_of_several_values_in_one_buffer_the_first_has_it() -> None:
    x = f32(5, 3)
    native = Native((SLICED, "main"), [], [x], force=True)
    native.code.force(0, 0)
    assert native.assert_same([x]) == [0]
    live = native.left[0][1]
    assert live is not None
    wanted = {(5, 3): np.exp(x), (5, 2): np.exp(x)[:, 1:], (2, 3): np.exp(x)[1::2]}
    arrays = [v for v in live if v is not x]
    assert {v.shape for v in arrays} == set(wanted)
    first, *others = arrays
    assert _owner(first) is not None and not any(np.shares_memory(first, v) for v in others)
    del live, arrays
    native.left.clear()
    gc.collect()
    for value in (first, *others):
        np.testing.assert_allclose(value, wanted[value.shape], rtol=1e-6)


def copied(x):
    y = np.exp(x)
    z = y.copy()
    for _ in range(int(x.size > 100)):
        y = y * 2
        z = z * 2
    return y, z


@pytest.mark.parametrize("table", [0, 1], ids=["native", "python"])
def test_a_copy_that_the_kernel_need_not_make_is_one_outside(table: int) -> None:
    x = f32(8)
    native = Native(copied, [[x]], [x], force=True)
    for site in native.artifact.exits:
        native.code.force(site.index, 0)
        y, z = native([x], table)
        assert not np.shares_memory(y, z)
        np.testing.assert_array_equal(y, z)
    assert len(native.artifact.exits) > 3


def carried(x, n):
    y = x * 2
    total = y
    for i in range(n):
        y = y * 0.5 + i
        total = total + np.tanh(y)
    return total, y


def shrinking(x, n):
    kept = x[x > 0]
    for i in range(n):
        kept = kept * 2
        other = kept[kept > i]
        x = x + other.sum()
    return kept, x


@pytest.mark.parametrize(("function", "arguments"), [(carried, [f32(6), 3]), (shrinking, [np.abs(f32(6)) + 1, 3]), (copied, [f32(8)])])
def test_nothing_is_written_to_what_was_handed_over(function: Any, arguments: list[Any]) -> None:
    native = Native(function, [arguments], arguments, force=True)
    exits, _ = native.losing_each(arguments)  # continuations in tier 0 give what the program gives
    assert exits > 4


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_hundred_thousand_exits_leave_nothing_behind() -> None:
    x = f32(4096)
    native = Native(three, [[x]], [x], force=True)
    table = make_table(1, lambda *a: None, lambda record, status, flat, live: live)
    table.add(native.record)
    call = table.callable()
    with open("/proc/self/statm") as file:

        def resident() -> int:
            file.seek(0)
            return int(file.read().split()[1]) * resource.getpagesize()

        rounds = 100_000 // len(native.artifact.exits)
        after = []
        for site in native.artifact.exits * 2:
            native.code.force(site.index, 0)
            for _ in range(rounds // 2 + 1):
                call(x)
            after.append(resident())
    half = len(after) // 2
    assert max(after[half:]) - max(after[:half]) < 4 << 20  # 16 kB a round would be 800 MB
    assert table.counts().failures >= 100_000


def test_memory_is_freed_once_and_never_read_afterwards() -> None:
    """Under glibc's checks: freed memory is overwritten at once, what is freed twice or is no allocation aborts."""
    here = Path(__file__).resolve()
    paths = [str(here.parents[2]), *dict.fromkeys(p for p in sys.path if p)]
    checked = {"MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165", "GLIBC_TUNABLES": "glibc.malloc.perturb=165:glibc.malloc.check=3"}
    for name in ("libc_malloc_debug.so.0",):
        if any(Path(folder, name).exists() for folder in ("/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib/aarch64-linux-gnu")):
            checked["LD_PRELOAD"] = name
    done = subprocess.run(
        [sys.executable, "-c", "import test_exits_hand_over as t; t.lose_everything()"],
        env={**os.environ, **checked, "PYTHONPATH": os.pathsep.join(paths)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout.split() == ["lost", "all"], done.stderr[-2000:]


def lose_everything() -> None:
    for function, arguments in ((carried, [f32(6), 2]), (shrinking, [np.abs(f32(6)) + 1, 2]), (copied, [f32(8)]), (three, [f32(8)])):
        native = Native(function, [arguments], arguments, force=True)
        native.losing_each(arguments)
    native = Native((SLICED, "main"), [], [f32(5, 3)], force=True)
    native.code.force(0, 0)
    assert native.assert_same([f32(5, 3)]) == [0]
    gc.collect()
    print("lost all")
