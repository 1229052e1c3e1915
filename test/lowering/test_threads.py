"""Loops that threads share: the same bits whatever the number of threads, in processes that fork, and beside other threads of Python."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tierup
from tierup.lowering.entry import pool
from tierup.lowering.entry.jit import code
from tierup.lowering.externals import sharing

RANDOM = np.random.default_rng(7)


def chain(x, y):
    return np.exp(x) * y + np.sin(x) / (1 + y * y)


def softmax(x, _):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, _):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5), x.argmax(axis=1)


def of_columns(x, y):
    return x.sum(axis=0), (x * y).max(axis=0), x[:, ::-1] + y.T.T


def totals(x, y):
    return x.sum() * 3.0, x.std(), y.mean(), (x * y).sum(), y.max()


def written(x, y):
    out = np.zeros_like(x)
    out[1:-1] = x[2:] + x[:-2]
    out[:, ::2] *= y[:, ::2]
    y += out
    return out


def in_a_loop(x, y):
    for _ in range(3):
        x = np.tanh(x + y)
        y = np.tanh(y * 0.5 + x)
    return x, y


def product(x, y):
    return x @ y.T + 1, y @ x[0], x[0] @ y.T


def products(x, y):
    return np.matmul(x.reshape(8, -1, 60), y.reshape(8, 60, -1))


PROGRAMS: list[tuple[Callable[..., Any], tuple[int, int]]] = [
    (chain, (400, 301)), (softmax, (150, 3000)), (layer_norm, (200, 2000)), (of_columns, (500, 2100)), (totals, (900, 900)),
    (written, (700, 400)), (in_a_loop, (200, 301)), (product, (330, 501)), (products, (240, 600)),
]  # fmt: skip


def called(f: Any, shape: tuple[int, int], dtype: str, times: int) -> list[Any]:
    """The last call's results and arguments; sizes differ from call to call where `times` is above 3, so that they are symbols."""
    for n in range(times):
        random = np.random.default_rng(n)
        x, y = (random.standard_normal((shape[0] + 8 * (n % 3) * (times > 3), shape[1])).astype(dtype) for _ in range(2))
        result = f(x, y)
    return [*(result if isinstance(result, tuple) else (result,)), x, y]


ALL = [(p, "float32", 3) for p in PROGRAMS] + [(p, "float64", 6) for p in PROGRAMS if p[0] in (chain, product)]


@pytest.mark.parametrize(
    ("program", "dtype", "times"), [pytest.param(*each, id=f"{each[0][0].__name__}-{each[0][1][1]}-{each[2]}-calls") for each in ALL]
)
def test_results_have_the_same_bits_whatever_the_number_of_threads(program: Any, dtype: str, times: int) -> None:
    function, shape = program
    counts = (2, 5) if function is product else (1, 3)  # BLAS may round otherwise at the edges of parts than at those of a whole
    found = []
    for threads in counts:
        f = tierup.jit(function, threads=threads, weigh=False)
        found.append(called(f, shape, dtype, times))
        assert f.stats().hits, f.explain()
        assert ("tierup_share" in f.plan(stage="llvm")) == (threads > 1 and function is not written)  # which computes too little
    expected = called(function, shape, dtype, times)
    for few, many, numpys in zip(*found, expected, strict=True):
        np.testing.assert_array_equal(few, many)
        np.testing.assert_allclose(many, numpys, 2e-3 if dtype == "float32" else 1e-9, 1e-4)


def test_little_work_is_not_shared() -> None:
    f = tierup.jit(chain, threads=4, weigh=False)
    called(f, (10, 30), "float64", 3)
    assert "tierup_share" not in f.plan(stage="llvm")


def test_a_loop_that_may_fail_on_its_way_is_not_shared() -> None:
    def taken(x, i):
        return x[i] * 2

    f = tierup.jit(taken, threads=4, weigh=False)
    x = RANDOM.standard_normal(300_000)
    i = RANDOM.integers(0, len(x), len(x))
    for _ in range(3):
        np.testing.assert_array_equal(f(x, i), x[i] * 2)
    with pytest.raises(IndexError):
        f(x, i + 5)


_PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
_SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture(scope="module")
def share() -> Iterator[Callable[[Callable[[int, int], None], int, int], None]]:
    """share(part, count, threads): what kernels call, of a Python function."""
    made = code()
    pool.ready(made.pool_leaves, made.pool_comes_back)

    def call(part: Callable[[int, int], None], count: int, threads: int) -> None:
        native = _PART(lambda _, number, all_: part(number, all_))
        _SHARE(made.share)(ctypes.cast(native, ctypes.c_void_p), None, count, threads)

    yield call


def slowly(number: int, count: int) -> None:
    time.sleep(0.002)


def test_parts_run_once_each_on_as_many_threads_as_are_asked_for(share: Any) -> None:
    seen: list[tuple[int, int, int]] = []
    together = threading.Barrier(3, timeout=60)  # one thread does not do all before the others come

    def part(number: int, count: int) -> None:
        together.wait() if seen else time.sleep(0.02)  # the first is done alone, and calls the others because it is long
        seen.append((threading.get_native_id(), number, count))

    share(part, 7, 3)
    assert len({thread for thread, _, _ in seen}) == 3
    assert sorted(number for _, number, _ in seen) == [*range(7)]
    assert {count for _, _, count in seen} == {7}


def test_a_short_loop_after_a_pause_is_done_by_its_own_thread(share: Any) -> None:
    seen: list[int] = []

    def part(number: int, count: int) -> None:
        end = time.perf_counter() + 3e-5
        while time.perf_counter() < end:
            pass
        seen.append(threading.get_native_id())

    share(slowly, 4, 3)  # threads are started
    for _ in range(30):
        time.sleep(0.005)
        share(part, 6, 3)
    assert seen.count(threading.get_native_id()) >= 90  # of 180: a busy machine makes a loop long now and then


@settings(deadline=None, max_examples=60)
@given(loops=st.lists(st.tuples(st.integers(0, 40), st.integers(1, 5)), min_size=1, max_size=12))
def test_every_part_of_every_loop_runs_once(share: Any, loops: list[tuple[int, int]]) -> None:
    for count, threads in loops:
        seen: list[int] = []
        share(lambda number, _: seen.append(number), count, threads)  # noqa: B023 - it is called at once
        assert sorted(seen) == list(range(count))


def test_loops_of_several_threads_of_python_at_once_are_all_done(share: Any) -> None:
    found: dict[int, list[int]] = {n: [] for n in range(4)}

    def loops(n: int) -> None:
        for _ in range(50):
            share(lambda number, _: (time.sleep(0.0001), found[n].append(number)), 8, 3)

    threads = [threading.Thread(target=loops, args=(n,)) for n in found]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert all(sorted(numbers) == sorted([*range(8)] * 50) for numbers in found.values())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_of_fork_shares_loops_and_so_does_its_parent_afterwards(share: Any) -> None:
    tasks = len(os.listdir("/proc/self/task"))
    share(slowly, 8, 3)
    assert len(os.listdir("/proc/self/task")) >= tasks
    child = os.fork()
    if child == 0:
        seen: list[int] = []
        alone = len(os.listdir("/proc/self/task")) == 1
        share(lambda number, _: (time.sleep(0.002), seen.append(number)), 8, 3)
        os._exit(0 if alone and sorted(seen) == list(range(8)) and len(os.listdir("/proc/self/task")) == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0
    again: list[int] = []
    share(lambda number, _: again.append(number), 8, 3)
    assert sorted(again) == list(range(8))


@pytest.mark.parametrize(("said", "count"), [
    ({"OPENBLAS_NUM_THREADS": "3", "OMP_NUM_THREADS": "5"}, 3), ({"OMP_NUM_THREADS": "5"}, 5), ({"OMP_NUM_THREADS": "500"}, 64),
])  # fmt: skip
def test_the_environment_says_how_many_threads_there_are(monkeypatch: pytest.MonkeyPatch, said: dict[str, str], count: int) -> None:
    for name in ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    assert sharing.usable.__wrapped__() == count


@pytest.mark.parametrize("said", ["", "0", "-2", "many"])
def test_nonsense_in_the_environment_leaves_one_thread_for_each_cpu(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", said)
    monkeypatch.delenv("GOTO_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert sharing.usable.__wrapped__() == min(len(os.sched_getaffinity(0)), 64)
