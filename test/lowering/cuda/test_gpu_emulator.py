"""The emulator notices what no kernel may do."""

from __future__ import annotations

import numpy as np
import pytest
from emulated_memory import Fault, Memory
from gpu_emulator import Emulator

# the parameters that a trimmed kernel takes of `memref<8xf32>`: the aligned pointer
_NVVM = "module {{ llvm.func @k(%a: !llvm.ptr) attributes {{tierup.parameters = array<i64: {0}>}} {{ llvm.return }} }}"


def launch(body: str, *, grid: int = 1, block: int = 32, shared: str = "", values: np.ndarray | None = None) -> np.ndarray:
    attribution = f"workgroup({shared})" if shared else ""
    text = f"""module attributes {{gpu.container_module}} {{ gpu.module @kernels {{
      gpu.func @k(%x: memref<8xf32>) {attribution} kernel {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %one = arith.constant 1.0 : f32
        %t = gpu.thread_id x
        %b = gpu.block_id x
        {body}
        gpu.return
      }} }} }}"""
    emulator = Emulator(text, _NVVM.format(1))
    memory = Memory("x", np.zeros(8, np.float32) if values is None else values, written=values is not None)
    emulator.launch("k", (grid, 1, 1), (block, 1, 1), 0, [emulator.share(memory)])
    return memory.data


def test_threads_write_their_elements() -> None:
    data = launch(
        """%small = arith.cmpi ult, %t, %c8 : index
        scf.if %small { %i = arith.index_cast %t : index to i32
          %f = arith.sitofp %i : i32 to f32
          memref.store %f, %x[%t] : memref<8xf32> }"""
    )
    assert data.tolist() == list(range(8))


def test_an_access_out_of_bounds() -> None:
    with pytest.raises(Fault, match=r"k: out of bounds: \(8,\) of x with sizes \(8,\)\n  at .*memref.store"):
        launch("memref.store %one, %x[%t] : memref<8xf32>")


def test_two_threads_that_write_one_element() -> None:
    body = """%i = arith.index_cast %t : index to i32
        %f = arith.sitofp %i : i32 to f32
        memref.store %f, %x[%c0] : memref<8xf32>"""
    with pytest.raises(Fault, match="data race: thread 1 writes element 0 of x, which thread 0 writes"):
        launch(body)


def test_a_value_that_nothing_wrote() -> None:
    with pytest.raises(Fault, match="reads element 0 of x, which nothing wrote"):
        launch("%v = memref.load %x[%c0] : memref<8xf32>\n memref.store %v, %x[%c0] : memref<8xf32>")


_NEIGHBOUR = """%small = arith.cmpi ult, %t, %c8 : index
        scf.if %small {{ memref.store %one, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>> }}
        {0}
        scf.if %small {{
          %up = arith.addi %t, %c1 : index
          %n = arith.remui %up, %c8 : index
          %v = memref.load %s[%n] : memref<8xf32, #gpu.address_space<workgroup>>
          memref.store %v, %x[%t] : memref<8xf32> }}"""
_SHARED = "%s: memref<8xf32, #gpu.address_space<workgroup>>"


def test_a_barrier_orders_what_threads_share() -> None:
    assert launch(_NEIGHBOUR.format("gpu.barrier"), shared=_SHARED, block=64).tolist() == [1] * 8
    with pytest.raises(Fault, match="nothing wrote|data race"):
        launch(_NEIGHBOUR.format(""), shared=_SHARED, block=64)


def test_two_blocks_that_touch_one_element() -> None:
    body = """%first = arith.cmpi eq, %t, %c0 : index
        scf.if %first { %v = memref.load %x[%b] : memref<8xf32>
          %w = arith.addf %v, %one : f32
          memref.store %w, %x[%c0] : memref<8xf32> }"""
    launch(body, values=np.arange(8, dtype=np.float32))
    with pytest.raises(Fault, match="data race: two blocks touch element 0 of x"):
        launch(body, grid=2, values=np.arange(8, dtype=np.float32))


def test_a_barrier_that_not_all_threads_reach() -> None:
    body = "%small = arith.cmpi ult, %t, %c8 : index\n scf.if %small { gpu.barrier }"
    with pytest.raises(Fault, match="thread 0 is at barrier 1, thread 8 at its end"):
        launch(body)


def test_two_barriers_are_not_one() -> None:
    body = "%small = arith.cmpi ult, %t, %c8 : index\n scf.if %small { gpu.barrier } else { gpu.barrier }"
    with pytest.raises(Fault, match="thread 0 is at barrier 1, thread 8 at barrier 2"):
        launch(body)


_SHUFFLE = """%d = arith.constant 1 : i32
          %w = arith.constant 32 : i32
          %r, %ok = gpu.shuffle xor %one, %d, %w : f32"""


def test_a_shuffle_that_not_the_whole_warp_reaches() -> None:
    launch(_SHUFFLE)
    with pytest.raises(Fault, match="does not come to shuffle 1 as a whole"):
        launch(f"%small = arith.cmpi ult, %t, %c8 : index\n scf.if %small {{ {_SHUFFLE} }}")
    with pytest.raises(Fault, match="a warp of 16 threads does not come to shuffle 1"):
        launch(_SHUFFLE, block=16)


def test_a_shuffle_exchanges_within_the_warp() -> None:
    body = """%d = arith.constant 1 : i32
        %w = arith.constant 32 : i32
        %i = arith.index_cast %t : index to i32
        %r, %ok = gpu.shuffle xor %i, %d, %w : i32
        %f = arith.sitofp %r : i32 to f32
        %small = arith.cmpi ult, %t, %c8 : index
        scf.if %small { memref.store %f, %x[%t] : memref<8xf32> }"""
    assert launch(body).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]
