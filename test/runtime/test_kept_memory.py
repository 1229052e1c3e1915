"""Memory of temporaries that native code keeps from call to call (`lowering/entry/kept.py`)."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import tierup
from tierup.lowering.entry import kept

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for page faults")

HEAD = """
import os, resource, sys, threading, time

def named():
    return [t.name for t in threading.enumerate() if t.name == "tierup-memory"]

at_fork = []
os.register_at_fork(before=lambda: at_fork.append(named()))  # the first that is registered is the last that is called

import numpy as np, tierup
from tierup.lowering.entry import kept

def idle(seconds):  # after how many of them memory goes back, from now on
    kept.IDLE = seconds
    kept.watcher.leave(), kept.watcher.come_back()

idle(600.0)

@tierup.jit(weigh=False)
def f(x):
    y = np.exp(-x * x).cumsum(0)         # a temporary of x's size
    return (y[1:] - y[:-1]).sum()

def wanted(x):
    y = np.exp(-x * x).cumsum(0)
    return (y[1:] - y[:-1]).sum()

x = np.linspace(-1, 1, 1 << 19).reshape(1024, 512)  # 4 MiB
for _ in range(4):
    f(x)
assert f.stats().hits == 3
"""


def run(program: str, **environment: str) -> str:
    """What a process of its own prints that runs this behind HEAD."""
    source = HEAD + textwrap.dedent(program)
    path = environment.pop("path")
    with open(path, "w") as file:
        file.write(source)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_call_takes_the_pages_of_the_call_before(tmp_path):
    program = """
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        assert f(x) == f(x)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) // 40, kept.state().bytes >> 20)
    """
    faults, kept_mib = map(int, run(program, path=tmp_path / "p.py").split())
    assert faults < 10 and kept_mib >= 4
    without = {"TIERUP_KEPT_MEMORY": "0", "MALLOC_MMAP_THRESHOLD_": "65536"}  # a threshold that is set is not raised as large blocks are freed
    faults, kept_mib = map(int, run(program, path=tmp_path / "p.py", **without).split())
    assert faults > 500 and kept_mib == 0  # what a page of 4 kB costs without


def test_memory_goes_back_when_no_kernel_runs_and_is_had_again(tmp_path):
    assert run(
        """
        for _ in range(2):  # the thread that gives it back is woken a second time
            idle(600.0)
            f(x)
            assert kept.state().bytes >= 4 << 20
            idle(0.05)
            end = time.monotonic() + 60
            while kept.state().bytes and time.monotonic() < end:
                time.sleep(0.01)
            print(kept.state().bytes)
        """,
        path=tmp_path / "p.py",
    ).split() == ["0", "0"]


def test_a_child_of_fork_gives_memory_back_too(tmp_path):
    assert run(
        """
        child = os.fork()
        if not child:
            f(x)
            idle(0.05)
            end = time.monotonic() + 60
            while kept.state().bytes and time.monotonic() < end:
                time.sleep(0.01)
            os._exit(kept.state().bytes != 0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        path=tmp_path / "p.py",
    ).split() == ["0"]


def test_the_thread_is_there_while_memory_is_kept_but_not_while_the_process_forks(tmp_path):
    assert run(
        """
        f(x)
        before = named()
        child = os.fork()
        if not child:
            os._exit(len(named()))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(before), at_fork, len(named()))
        idle(0.05)
        end = time.monotonic() + 60
        while named() and time.monotonic() < end:
            time.sleep(0.01)
        print(named(), kept.state().bytes)
        """,
        path=tmp_path / "p.py",
    ).split("\n")[:2] == ["0 1 [[]] 1", "[] 0"]


def test_what_is_kept_is_given_up_before_a_call_raises_memory_error(tmp_path):
    assert run(
        """
        kept.IDLE = 1e6
        large, larger = (np.linspace(-1, 1, n << 10).reshape(-1, 1024) for n in (2048, 3200))  # 16 and 25 MiB
        for a in (large, larger, large, larger):
            f(a)
        assert any(v.speculation.kind == "dynamic" for v in f.versions)
        expected = wanted(larger)
        kept.watcher._give_back()
        f(large)
        before = kept.state().bytes
        assert before >= 16 << 20
        now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (36 << 20), -1))
        assert np.isclose(f(larger), expected)
        print(kept.state().bytes > before)
        """,
        path=tmp_path / "p.py",
    ).split() == ["True"]


def test_threads_never_share_a_block():
    @tierup.jit(weigh=False)
    def f(x):
        y = np.exp(-x * x).cumsum(0)
        return (y[1:] - y[:-1]).sum(0)

    sizes = [(256 + 8 * n, 64) for n in range(6)]
    arrays = [np.linspace(-1, 1 + n, a * b).reshape(a, b) for n, (a, b) in enumerate(sizes)]
    wanted = [f(a) for _ in range(3) for a in arrays][-len(arrays) :]
    wrong: list[int] = []

    def work(start: int) -> None:
        for i in range(start, start + 300):
            n = i % len(arrays)
            if not np.array_equal(f(arrays[n]), wanted[n]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and f.stats().hits > 1500
    assert 0 < kept.state().bytes <= kept.state().bound


def test_a_bound_that_is_no_number_is_said_and_ignored(tmp_path):
    program = "print(kept.state().bound >> 20)"
    assert run(program, path=tmp_path / "p.py", TIERUP_KEPT_MEMORY="lots").split() == ["256"]
    assert run(program, path=tmp_path / "p.py", TIERUP_KEPT_MEMORY="1.5").split() == ["1"]
