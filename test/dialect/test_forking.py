"""A child of fork finds the locks free, what they guard whole, and no import in the midst."""

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tierup.dialect.base import forking

SOURCES = Path(forking.__file__).resolve().parents[1]
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here"), pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]  # fmt: skip


def in_child(work):
    """Whether `work()` returns True in a child of fork, within some seconds."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            threading.Timer(200, os._exit, (2,)).start()
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def holding(lock, seconds):
    """A thread that holds a lock for so long; it holds it by now."""
    held = threading.Event()

    def hold():
        with lock:
            held.set()
            time.sleep(seconds)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    held.wait()
    return thread


def free(lock):
    return lock.acquire(blocking=False)


def test_a_fork_waits_for_who_holds_a_lock_and_what_it_guards_is_whole():
    lock, state = forking.lock(), []

    def change():
        with lock:
            state.append("half")
            begun.set()
            time.sleep(0.3)
            state.append("whole")

    begun = threading.Event()
    thread = threading.Thread(target=change)
    thread.start()
    begun.wait()
    assert in_child(lambda: free(lock) and state == ["half", "whole"])
    thread.join()
    assert free(lock)


def test_locks_that_are_taken_in_opposite_orders_do_not_stop_a_fork():
    first, second, stop = forking.lock(), forking.lock(), []

    def nest(outer, inner):
        while not stop:
            with outer:
                time.sleep(0.0001)
                with inner:
                    pass

    thread = threading.Thread(target=nest, args=(first, second))
    thread.start()
    for _ in range(20):
        assert in_child(lambda: free(first) and free(second))
    stop.append(1)
    thread.join()


def test_a_thread_that_forks_under_its_own_locks_keeps_them():
    lock = forking.lock()
    with lock:
        assert in_child(lambda: lock._is_owned() and free(lock))
        assert lock._is_owned()
    assert not lock._is_owned()


def test_who_holds_a_lock_for_ever_is_not_waited_for_and_the_child_gets_it_anew(monkeypatch):
    monkeypatch.setattr(forking, "_MOST_SECONDS", 0.2)
    stuck, other = forking.lock(), forking.lock()
    held, over = threading.Event(), threading.Event()

    def hold():
        with stuck:
            held.set()
            over.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait()
    try:
        assert in_child(lambda: free(stuck) and free(other))
        assert not free(stuck) and free(other)
    finally:
        over.set()
        holder.join()


def test_many_threads_that_fork_at_once_leave_all_locks_free():
    locks = [forking.lock() for _ in range(20)]
    results = []
    threads = [threading.Thread(target=lambda: results.extend(in_child(lambda: all(map(free, locks))) for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 20 and all(map(free, locks))


def test_a_fork_waits_for_an_import_of_another_thread(monkeypatch, tmp_path):
    monkeypatch.setattr(forking, "_IMPORTED", ("slow_to_import",))
    (tmp_path / "slow_to_import.py").write_text("import time\nbegun = True\ntime.sleep(0.5)\nended = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    thread = threading.Thread(target=__import__, args=("slow_to_import",))
    thread.start()
    while not hasattr(sys.modules.get("slow_to_import"), "begun"):
        time.sleep(0.01)
    assert in_child(lambda: __import__("slow_to_import").ended)
    thread.join()


def test_a_thread_that_logs_under_a_lock_is_waited_for_in_vain_by_nobody():
    import logging

    lock, stop = forking.lock(), []

    def work():
        while not stop:
            with lock:
                logging.getLogger("tierup.cache")

    thread = threading.Thread(target=work)
    thread.start()
    start = time.monotonic()
    for _ in range(10):
        assert in_child(lambda: free(lock))
    assert time.monotonic() - start < 5 * forking._MOST_SECONDS  # of ten times as many
    stop.append(1)
    thread.join()


def test_a_fork_while_a_thread_asks_for_its_stack():
    code = """
import os, signal, sys, threading, time
from importlib.machinery import PathFinder
from tierup.dialect.base.shielded import shielded
begun = threading.Event()
class Slow:
    def find_spec(self, name, path, target=None):
        if name != "ctypes":
            return None
        found = PathFinder.find_spec(name, path)
        execute = found.loader.exec_module
        def slowly(module):
            begun.set()
            time.sleep(0.5)
            execute(module)
        found.loader.exec_module = slowly
        return found
sys.meta_path.insert(0, Slow())
asks = threading.Thread(target=shielded, args=(int,))
asks.start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    import ctypes
    os._exit(0)
asks.join()
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-Wignore::DeprecationWarning", "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fork_in_the_midst_of_another_thread_s_first_function():
    code = """
import os, threading, time
import faulthandler
import tierup.dialect.base.forking  # what watches over forks is there
threading.Thread(target=lambda: tierup.jit).start()
for seconds in (0.02, 0.05, 0.1, 0.1, 0.1):
    time.sleep(seconds)
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(200, exit=True)
        tierup.jit
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
"""
    quiet = "-Wignore::DeprecationWarning"  # of a fork where there are threads
    done = subprocess.run([sys.executable, quiet, "-c", code], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_lock_that_is_gone_is_forgotten():
    made = [forking.lock() for _ in range(10)]
    known = [ref for ref in tuple(forking._locks) if any(ref() is lock for lock in made)]
    assert len(known) == 10
    made.clear()
    assert not set(known) & forking._locks


def test_llvms_lock_is_one_of_them():
    from llvmlite.binding import ffi

    from tierup.lowering.base import llvm

    llvm.initialise()
    holder = holding(ffi.lib._lock, 0.3)
    assert in_child(lambda: free(ffi.lib._lock._lock))
    holder.join()


def test_no_other_locks_are_made_in_tierup():
    """A lock that is made otherwise, or one inside of what the standard library offers, would stay held in a child."""
    foreign = re.compile(r"threading\.(R?Lock|Condition|Semaphore|BoundedSemaphore|Event|Barrier)\(|functools import .*cached_property")
    allowed = {
        "dialect/base/forking.py", "dialect/base/records.py",
        "lowering/service/service.py",  # a semaphore that a child makes anew
    }  # fmt: skip
    found = set()
    for folder in ("dialect", "lowering", "runtime", "frontend", "tools"):
        for path in (SOURCES / folder).rglob("*.py"):
            for line in path.read_text().splitlines():
                if foreign.search(line) and "threading.Condition(forking.lock())" not in line:
                    found.add(path.relative_to(SOURCES).as_posix())
    assert found <= allowed, found - allowed


_IMPORTS_BEGIN_WHILE_A_FORK_WAITS = """
import os, signal, sys, threading, time
window = threading.Event()

def last_hook():  # hooks run backwards: after tierup's, when it waits for no import any more
    window.set()
    time.sleep(0.05)

os.register_at_fork(before=last_hook)
import numpy
from tierup.dialect.base import forking

class Slow:  # an import of a part of numpy that takes long
    def find_spec(self, name, path=None, target=None):
        if name == "numpy.ma":
            time.sleep(0.3)

sys.meta_path.insert(0, Slow())

def importer():
    window.wait()
    import numpy.ma

thread = threading.Thread(target=importer)
thread.start()
child = os.fork()
if child == 0:
    signal.alarm(200)
    import numpy.ma
    os._exit(0)
thread.join()
assert "numpy.ma" in sys.modules
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0)
"""


def test_no_import_begins_between_the_wait_for_imports_and_the_fork():
    ended = subprocess.run([sys.executable, "-c", _IMPORTS_BEGIN_WHILE_A_FORK_WAITS], capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
