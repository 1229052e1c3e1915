"""PyTorch's tensors under the native entry: which calls run a version, what comes back, and each guard that sends a call to Python."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
from entry_bench import Bench, S, alias, f32, increment, view
from entry_kernels import array, buffer, muladd, scalar, version

torch = pytest.importorskip("torch")

from torch.utils.flop_counter import FlopCounterMode  # noqa: E402 - it may be missing

from tierup.lowering.base.abi import ResultKind, ResultSpec  # noqa: E402 - as above
from tierup.lowering.entry import tensor_probe  # noqa: E402 - as above
from tierup.lowering.entry.records import Form, GlobalSource, Inputs, Positional, SlowCause  # noqa: E402
from tierup.lowering.entry.tables.table import NativeTable  # noqa: E402

pytestmark = pytest.mark.torch


def bench(inputs: Any, *versions: Any, **more: Any) -> Bench:
    b = Bench("native", inputs, *versions, **more)
    assert b.table.take_tensors() is None
    return b


def refused(b: Bench, *args: Any, cause: SlowCause = SlowCause.TENSORS) -> bool:
    """Whether the call went to Python, for this cause, with the very objects that were passed."""
    before = b.table.counts()
    answer = b.call(*args)
    after = b.table.counts()
    if after.slow[cause] == before.slow[cause]:
        return False
    assert answer == "slow" and (after.hits, after.failures) == (before.hits, before.failures)
    assert all(a is b for a, b in zip(b.slow.calls[-1][0], args, strict=True))
    return True


def x(n: int = 4) -> Any:
    return torch.arange(n, dtype=torch.float32)


def test_a_version_takes_tensors_and_gives_one() -> None:
    b = bench(3, muladd())
    for n in (4, 2, 1000):
        if n == 1000:  # released while the kernel runs or not, it reads the same
            n = 1 << 18
        a, c = x(n), x(n)
        out = b.call(a, a, c)
        assert type(out) is torch.Tensor and out.dtype is torch.float32 and not out.requires_grad
        torch.testing.assert_close(out, a * a + c)
    assert b.table.counts().hits == 3 and not b.slow.calls


def test_a_result_is_a_tensor_like_any_other() -> None:
    out = bench(3, muladd()).call(x(), x(), x())
    assert out.untyped_storage().resizable() and out._version == 0 and out.is_contiguous()
    assert out.resize_(10).shape == (10,)


def test_arrays_still_give_arrays() -> None:
    b = bench(3, muladd())
    out = b.call(f32(1, 2), f32(3, 4), f32(5, 6))
    assert type(out) is np.ndarray and out.tolist() == [8, 14] and b.table.counts().hits == 1


def test_an_array_beside_tensors_is_for_python() -> None:
    b = bench(3, muladd())
    assert refused(b, x(2), f32(3, 4), x(2)) and refused(b, f32(3, 4), x(2), x(2))


def test_an_array_that_the_function_reads_from_outside_is_not() -> None:
    outside = {"w": f32(10, 20)}
    b = bench(Inputs(2, (Positional(0), Positional(1), GlobalSource(outside, "w"))), muladd())
    assert b.call(x(2), x(2)).tolist() == [10, 21]
    outside["w"] = torch.tensor([1.0, 2.0])
    assert b.call(x(2), x(2)).tolist() == [1, 3]
    assert b.call(f32(1, 1), f32(1, 1)) == "slow" and b.table.counts().slow[SlowCause.TENSORS] == 1
    outside["w"] = f32(1, 1)
    assert type(b.call(f32(1, 1), f32(1, 1))) is np.ndarray


def test_before_take_tensors_all_go_to_python() -> None:
    b = Bench("native", 3, muladd())
    assert refused(b, x(), x(), x(), cause=SlowCause.MISS)


def test_the_python_entry_leaves_tensors_to_python() -> None:
    b = Bench("python", 3, muladd())
    assert "Python" in b.table.take_tensors()
    assert refused(b, x(), x(), x(), cause=SlowCause.MISS)


class Subclass(torch.Tensor):
    pass


def _inference() -> Any:
    with torch.inference_mode():
        return x()


def _unaligned() -> Any:
    return torch.from_numpy(np.frombuffer(bytearray(17), np.uint8)[1:].view(np.float32))


REFUSED = {
    "requires_grad": lambda: x().requires_grad_(),
    "result of autograd": lambda: x().requires_grad_() * 2,
    "parameter": lambda: torch.nn.Parameter(x()),
    "negated": lambda: torch.zeros(4, dtype=torch.complex64).conj().imag,
    "zero tensor": lambda: torch._efficientzerotensor(4),
    "subclass": lambda: x().as_subclass(Subclass),
    "meta": lambda: torch.zeros(4, device="meta"),
    "sparse": lambda: x().to_sparse(),
    "complex": lambda: torch.zeros(4, dtype=torch.complex64),
    "conjugated": lambda: torch.zeros(4, dtype=torch.complex64).conj(),
    "float8": lambda: torch.zeros(4).to(torch.float8_e4m3fn),
    "unsigned": lambda: torch.zeros(4, dtype=torch.uint16),
    "rank 17": lambda: torch.zeros((1,) * 17),
    "nested": lambda: torch.nested.as_nested_tensor([x(2), x(2)]),
    "mkldnn": lambda: x().to_mkldnn(),
    "quantized": lambda: torch.quantize_per_tensor(x(), 0.1, 0, torch.qint8),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_plain_tensor_is_for_python(name: str) -> None:
    b = bench(3, muladd())
    for place in range(3):
        args = [x(), x(), x()]
        args[place] = REFUSED[name]()
        # a subclass is no tensor to the guards, and fits no version
        assert refused(b, *args, cause=SlowCause.MISS if name == "subclass" else SlowCause.TENSORS)


def test_a_tangent_is_for_python() -> None:
    b = bench(3, muladd())
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x(), x())
        assert refused(b, x(), dual, x())
        assert not refused(b, x(), x(), x())
    assert not refused(b, x(), x(), x())


def test_a_gradient_that_nobody_records_is_no_obstacle() -> None:
    b, w = bench(3, muladd()), torch.nn.Parameter(x())
    with torch.no_grad():
        out = b.call(x(), w, w)
    assert out.tolist() == [0, 2, 6, 12] and not out.requires_grad
    with torch.inference_mode():
        assert not refused(b, x(), w, w) and b.call(x(), w, w).is_inference()
    assert not refused(b, x(), w.detach(), x())
    assert not refused(b, _inference(), x(), x())
    assert refused(b, x(), w, x())


MODES = {
    "autocast": lambda: torch.autocast("cpu"),
    "dispatch mode": lambda: FlopCounterMode(display=False),
}


@pytest.mark.parametrize("name", MODES)
def test_a_thread_that_somebody_watches_is_for_python(name: str) -> None:
    b = bench(3, muladd())
    with MODES[name]():
        assert refused(b, x(), x(), x())
    assert not refused(b, x(), x(), x())


def test_a_trace_is_for_python() -> None:
    b = bench(3, muladd())
    seen: list[bool] = []

    def program(t: Any) -> Any:
        seen.append(refused(b, t, t, t))
        return t * 2

    torch.jit.trace(program, (x(),), check_trace=False)
    assert seen == [True]


def test_vmap_is_for_python() -> None:
    b = bench(3, muladd())
    outside, seen = x(), []

    def program(t: Any) -> Any:
        seen.append((refused(b, t, t, t), refused(b, outside, outside, outside)))
        return t

    torch.vmap(program)(torch.zeros(2, 4))
    assert seen == [(True, True)]


def test_modes_are_of_a_thread() -> None:
    b = bench(3, muladd())
    seen: list[bool] = []
    with torch.autocast("cpu"):
        other = threading.Thread(target=lambda: seen.append(refused(b, x(), x(), x())))
        other.start()
        other.join()
        assert refused(b, x(), x(), x())
    assert seen == [False]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_guards_read_a_tensors_dtype(dtype: str) -> None:
    name = {"bool": "bool", "uint8": "u8", "bfloat16": "bf16"}.get(dtype) or f"{dtype[0]}{dtype.lstrip('floatin')}"
    b = bench(1, version("done", [array("s0", dtype=name)], alias(0)))
    value = torch.ones(3, dtype=getattr(torch, dtype))
    assert b.call(value) is value
    other = torch.ones(3, dtype=torch.float32 if dtype != "float32" else torch.float64)
    assert refused(b, other, cause=SlowCause.MISS)


def test_guards_read_sizes_and_strides() -> None:
    dense = bench(1, version("done", [array(2, 3)], alias(0)))
    strided = bench(1, version("copy2", [array("s0", "s1", strided=True)], buffer("s0", "s1")))
    whole = torch.arange(12, dtype=torch.float32).reshape(4, 3)
    for t in (whole[:2], whole[2:], torch.zeros(2, 1, 3).squeeze(1)):
        assert dense.call(t) is t
    for t in (whole[::2], whole.t()[:2, :3], whole[:3], torch.zeros(2, 3, 1), torch.zeros(1, 3).expand(2, 3)):
        assert refused(dense, t, cause=SlowCause.MISS)
    for t in (whole, whole[::2], whole.t(), whole[1:, 1:], torch.arange(3.0).expand(2, 3), whole[:, ::2]):
        torch.testing.assert_close(strided.call(t), t)
    assert strided.table.counts().hits == 6


def test_empty_and_single_dims_count_as_contiguous() -> None:
    b = bench(1, version("done", [array("s0", 1)], alias(0)))
    for t in (torch.zeros(3, 5)[:, :1].contiguous(), torch.zeros(3, 1).as_strided((3, 1), (1, 77))):
        assert b.call(t) is t
    assert refused(b, torch.zeros(3, 5)[:, :1], cause=SlowCause.MISS)
    empty = bench(1, version("done", [array(0, 2)], alias(0)))
    t = torch.zeros(0, 2).as_strided((0, 2), (9, 3))
    assert empty.call(t) is t


def test_memory_that_is_not_aligned_is_a_miss() -> None:
    assert refused(bench(1, version("done", [array(4)], alias(0))), _unaligned(), cause=SlowCause.MISS)


def test_results_of_rank_0_stay_tensors() -> None:
    out = bench(1, version("double0", [array()], buffer())).call(torch.tensor(3.0))
    assert type(out) is torch.Tensor and out.shape == () and out.item() == 6


def test_results_whose_size_the_kernel_finds() -> None:
    b = bench(2, version("positive", [array("s0"), scalar("int")], ResultSpec(ResultKind.ALLOCATED, "f32", (S,))))
    out = b.call(torch.tensor([1.0, -1.0, 3.0]), 0)
    assert out.tolist() == [1, 3] and out.untyped_storage().resizable()
    assert b.call(-x(), 0).shape == (0,)
    assert refused(b, x(), 5, cause=SlowCause.FAILED)


def test_an_argument_that_is_the_result_is_the_very_tensor() -> None:
    b = bench(1, version("done", [array("s0")], alias(0), form=Form.TUPLE))
    t = torch.nn.Parameter(x())
    with torch.no_grad():
        assert b.call(t)[0] is t


def test_versions_that_write_or_view_are_for_python() -> None:
    assert refused(bench(2, increment()), x(), 0)
    assert refused(bench(1, version("done", [array("s0")], view(0, (S,), (1,)))), x())


def test_nothing_leaks() -> None:
    b, t = bench(3, muladd()), x()
    positive = bench(2, version("positive", [array("s0"), scalar("int")], ResultSpec(ResultKind.ALLOCATED, "f32", (S,))))
    count = sys.getrefcount(t)
    made = [weakref.ref(b.call(t, t, t).untyped_storage()) for _ in range(5)]
    for _ in range(5):
        positive.call(t, 0)
        refused(b, t, t.requires_grad_(False), torch.zeros(4, device="meta"))
        refused(positive, t, 5, cause=SlowCause.FAILED)
    b.slow.calls.clear()
    positive.slow.calls.clear()
    gc.collect()
    assert sys.getrefcount(t) == count and not any(ref() for ref in made)
    out = b.call(t, t, t)
    assert sys.getrefcount(out) == 2


def test_memory_that_cannot_be_had_is_an_error() -> None:
    huge = version("broken", [array("s0")], buffer(1 << 60))
    with pytest.raises(RuntimeError, match="allocate|memory"):
        bench(1, huge).call(x())


def test_a_probe_notices_guards_that_do_not_work() -> None:
    assert tensor_probe.unavailable(NativeTable) is None
    for field, wrong in (("requires_grad", "grad_enabled"), ("modes_index", None), ("keys", None)):
        made = tensor_probe._Finder().tensors
        zeros = (ctypes.c_size_t * 4)()
        if field == "requires_grad":  # in grad mode always true: then nothing fits
            setattr(made, field, getattr(made, wrong))
        elif field == "modes_index":  # some other variable of the thread: one of zeros
            made.thread_local, made.modes_index = _identity(), ctypes.addressof(zeros)
        else:
            made.keys = made.inference_keys = 0
        with pytest.raises((tensor_probe.ProbeFailed, TypeError)):
            tensor_probe._check_call(made, NativeTable)


def _identity() -> Any:
    """The address of a C function that gives what it is given."""
    made = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(lambda at: at)
    _kept.append(made)
    return ctypes.cast(made, ctypes.c_void_p).value


_kept: list[Any] = []


def test_the_probe_does_not_mind_where_it_is_asked() -> None:
    """In processes of their own, forks of one that has PyTorch: a process probes once."""
    text = """
import os
import torch
from tierup.lowering.entry import tensor_probe
from tierup.lowering.entry.tables.table import NativeTable

def asked(mode):
    if mode == "trace":
        found = []
        torch.jit.trace(lambda x: (found.append(tensor_probe.unavailable(NativeTable)), x + 1)[1], (torch.ones(1),), check_trace=False)
        return found
    with torch.autocast("cpu") if mode == "autocast" else getattr(torch, mode)():
        return [tensor_probe.unavailable(NativeTable)]

for mode in ("no_grad", "inference_mode", "autocast", "trace"):
    child = os.fork()
    if not child:
        found = asked(mode)
        print(mode, *found, flush=True)
        os._exit(found != [None])
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, mode
"""
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", text], check=True, capture_output=True, text=True)
    assert ran.stdout == "no_grad None\ninference_mode None\nautocast None\ntrace None\n"


def test_threads_that_run_without_the_gil_do_not_mix_their_tensors() -> None:
    b, wrong = bench(3, muladd()), []

    def work(value: float) -> None:
        t = torch.full((1 << 18,), value)
        for _ in range(20):
            if not bool((b.call(t, t, t) == value * value + value).all()):
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and b.table.counts().hits == 60 and not b.slow.calls
