"""Native loops and the rest of the process: handlers of signals run in time, other threads go on, what is interrupted is left as Python leaves it."""

from __future__ import annotations

import gc
import linecache
import mmap
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup.dialect.ir.walking import names_in
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.lowering.externals import polling

MANY = 1 << 36  # iterations: minutes


class Alarm(Exception):
    """What the handler raises."""


@pytest.fixture
def alarm() -> Iterator[Callable[[Any], None]]:
    """Sets an alarm that raises Alarm in the next call of a function that native code answers, whenever that has begun."""

    def set_for(made: Any) -> None:
        before = made.stats().hits

        def ring(*_: object) -> None:
            if made.stats().hits > before:
                signal.setitimer(signal.ITIMER_REAL, 0)
                raise Alarm

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)

    old = signal.getsignal(signal.SIGALRM)
    yield set_for
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, old)


def counted(x, n):
    for _ in range(n):
        x = x * 0.999 + 0.001
    return x


def by_condition(x, n):
    s, i = 0.0, 0
    while i < n:
        s = s + x[i % 3] * i
        i = i + 1
    return s


def nested(x, n):
    for i in range(n):
        for j in range(3):
            x = x * 0.5 + i * j
    return x


def numbers(x, n):
    s = 0
    for i in range(n):
        s = (s + i * i) % 1000003
    return x + s


def writing(x, n):
    for i in range(n):
        x[i % 3] = x[i % 3] * 0.5 + i
    return x


def on_two_ways(x, n):
    for i in range(n):
        if x.sum() > 4.0:
            x = x * 0.5
        else:
            x = x + i % 7
    return x


def nested_over_arrays(x, n):
    for i in range(n):
        for j in range(2):
            x = x + i * 0.1 - j
        x = np.maximum(x, -1) * 0.5
    return x


def in_memory_of_its_own(x, n):
    y = np.zeros((512, 1024)) + x[0]
    for _ in range(n):
        y = np.exp(-y)
    return y


LOOPS = (counted, by_condition, nested, numbers, writing, on_two_ways, nested_over_arrays, in_memory_of_its_own)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    made = tierup.jit(function, **options)
    for n in (5, 5, 6, 7):
        np.testing.assert_allclose(made(np.arange(3.0), n), function(np.arange(3.0), n), rtol=1e-12)
    assert made.stats().hits >= 2
    return made


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_over_arrays_of_any_size_end_too(function: Callable[..., Any], alarm: Callable[[Any], None]) -> None:
    made = tierup.jit(function)
    for size in (3, 3, 4, 5, 5, 6):
        np.testing.assert_allclose(made(np.arange(1.0 * size), 5), function(np.arange(1.0 * size), 5), rtol=1e-12)
    before, x = made.stats(), np.arange(7.0)
    alarm(made)
    with pytest.raises(Alarm):
        made(x, MANY)
    np.testing.assert_array_equal(x, np.arange(7.0))
    assert made.stats().hits == before.hits + 1 and made.stats().compiles == before.compiles


def test_a_loop_in_a_part_of_a_long_program_ends_and_so_do_the_parts_behind_it(alarm: Callable[[Any], None], tmp_path: Path) -> None:
    layer = "    x = np.tanh(x @ w)\n"
    loop = "    for i in range(n):\n        x = x * 0.5 + i\n"
    path = tmp_path / "long.py"
    path.write_text("import numpy as np\ndef long(x, w, n):\n" + layer * 40 + loop + layer * 40 + loop + "    return x\n")
    module: dict[str, Any] = {}
    linecache.checkcache(str(path))
    exec(compile(path.read_text(), str(path), "exec"), module)
    made = tierup.jit(module["long"])
    x, w = np.linspace(-1, 1, 16).reshape(4, 4), np.eye(4)
    for _ in range(3):
        np.testing.assert_allclose(made(x, w, 3), module["long"](x, w, 3), rtol=1e-9)
    before = made.stats()
    alarm(made)
    with pytest.raises(Alarm):
        made(x, w, MANY)
    assert made.stats().hits == before.hits + 1 and made.stats().compiles == 1
    np.testing.assert_allclose(made(x, w, 3), module["long"](x, w, 3), rtol=1e-9)


@pytest.mark.parametrize(
    ("function", "options"),
    drawn("loops that end", list(product(LOOPS, ({}, {"entry": "python"}, {"speculate": "bailout"}))), 3, lambda row: row[0]),
    ids=lambda v: getattr(v, "__name__", str(v)),
)
def test_a_handler_that_raises_ends_a_native_loop_between_two_rounds(
    function: Callable[..., Any], options: dict[str, Any], alarm: Callable[[Any], None]
) -> None:
    made = compiled(function, **options)
    before = made.stats()
    x = np.arange(3.0)
    for _ in range(2):
        alarm(made)
        with pytest.raises(Alarm):
            made(x, MANY)
        if function is writing:
            np.testing.assert_allclose(np.diff(np.sort(x)), 2.0)  # what any number of rounds leaves
        else:
            np.testing.assert_array_equal(x, np.arange(3.0))
        x[:] = np.arange(3.0)
    after = made.stats()
    assert (after.hits, after.interpreted, after.compiles) == (before.hits + 2, before.interpreted, before.compiles)
    np.testing.assert_allclose(made(x, 9), function(np.arange(3.0), 9), rtol=1e-12)


def test_where_there_is_no_dispatcher_signals_are_looked_for_too(alarm: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tierup.lowering.entry.probe.unavailable", lambda: "for this test")
    made, x = compiled(counted, entry="python"), np.arange(3.0)
    for _ in range(2):
        alarm(made)
        with pytest.raises(Alarm):
            made(x, MANY)
    np.testing.assert_array_equal(made(x, 1 << 20), made(x, 1 << 20))
    assert made.stats().hits >= 6


def test_handlers_that_do_not_raise_run_in_the_loop_and_it_goes_on() -> None:
    made, heard = compiled(numbers), []
    old = signal.signal(signal.SIGALRM, lambda *_: heard.append(made.stats().hits))
    before = made.stats().hits
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        result = made(np.zeros(3), 1 << 27)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert before + 1 in heard  # while the call was on
    np.testing.assert_array_equal(result, np.full(3, made(np.zeros(3), 1 << 27)[0]))


@pytest.mark.parametrize("options", [{}, {"entry": "python"}], ids=["native", "python"])
def test_other_threads_run_while_a_loop_over_small_arrays_does(options: dict[str, Any]) -> None:
    """This thread's call ends only because another one runs meanwhile."""
    made = compiled(counted, **options)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    begun = threading.Event()

    def other() -> None:
        begun.wait()
        for _ in range(20):
            threading.Event().wait(0.002)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=other)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            begun.set()
            made(np.arange(3.0), MANY)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, old)


def test_a_loop_in_another_thread_is_not_interrupted_and_lets_this_one_run() -> None:
    made, results = compiled(numbers), []
    thread = threading.Thread(target=lambda: results.append(made(np.zeros(3), 1 << 27)))
    heard = []
    old = signal.signal(signal.SIGALRM, lambda *_: heard.append(1))
    try:
        thread.start()
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        thread.join()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert heard
    np.testing.assert_array_equal(results[0], made(np.zeros(3), 1 << 27))


def test_what_an_interrupted_call_had_allocated_is_freed(alarm: Callable[[Any], None]) -> None:
    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE

    made, sizes = compiled(in_memory_of_its_own), []
    for _ in range(12):
        alarm(made)
        with pytest.raises(Alarm):
            made(np.ones(3), MANY)
        sizes.append(resident())
    assert max(sizes[4:]) - sizes[3] < 8 << 20  # the arrays are 4 MB each


def test_only_loops_that_may_run_for_long_poll() -> None:
    def fixed(x):
        for i in range(10):
            x = x * 0.5 + i
        return x

    def straight(x):
        return np.cumsum(x) * 2

    for function in (fixed, straight):
        made = tierup.jit(function)
        for _ in range(3):
            np.testing.assert_allclose(made(np.ones(3)), function(np.ones(3)))
        assert [(v.record.polls, polling.POLL in v.compiled.artifact.externals) for v in made.versions] == [(False, False)]
    assert [v.record.polls for v in compiled(counted).versions] == [True]


MEMORY = """
import resource, sys
import numpy as np
import tierup

@tierup.jit({options})
def grows(x, n):
    a = np.zeros((n, n)) + x[0]
    for i in range(3):
        a = np.exp(-a[::-1]) + np.cumsum(a, axis=0)
    return a.sum()

@tierup.jit({options})
def products(x):
    b = np.cumsum(x[:, None] * x, axis=0)
    x[0] = 7.0
    return np.cumsum(b[::-1], axis=1).sum()

def resident():
    return int(open("/proc/self/statm").read().split()[1]) >> 8  # MB

for n in (3, 3, 4, 5, 5):
    first = grows(np.ones(2), n), products(np.ones(n))
hits = grows.stats().hits + products.stats().hits
limit = (int(open("/proc/self/statm").read().split()[0]) << 12) + (300 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sizes = []
for _ in range(4):
    for call in (lambda: grows(np.ones(2), 5000), lambda: products(x)):
        x = np.ones(5000)
        try:
            call()
        except MemoryError:
            sizes.append(resident())
        assert x[0] == 1.0
assert len(sizes) == 8 and max(sizes) - sizes[0] < 50, sizes
assert grows.stats().hits + products.stats().hits >= hits + 8
assert (grows(np.ones(2), 5), products(np.ones(5))) == first
print("fine")
"""


def test_a_check_that_fails_before_loops_leaves_what_they_carry_to_be_freed_once() -> None:
    """The kernel goes on to its end with loops that end at once: the outer one, which surely goes round, gave what it had begun with."""

    @tierup.jit(worker=False, fusion_strategy=[("dynamic", 1)])
    def rows(y, z, rounds):
        picked = z[-6]
        for _ in range(3):
            at = 0
            while at < rounds:
                y[:, 2] = 1
                at = at + 1
                if at > 3:
                    break
        return picked

    for count in (6, 6, 7, 3, 3, 6):
        y, z = np.ones((1, 4), np.float32), np.ones((count, 2, 4))
        if count < 6:
            with pytest.raises(IndexError, match="-6 is out of bounds"):
                rows(y, z, 9)
            assert (y == 1).all()
        else:
            rows(y, z, 9)
    assert rows.stats().bailouts == 2 and rows.stats().versions == 1


@pytest.mark.parametrize("options", ["", "speculate='bailout'"])
def test_a_kernel_that_gets_no_memory_is_a_memory_error_and_frees_what_it_had(options: str, tmp_path: Path) -> None:
    """200 MB an array, in a process that may have 300 more."""
    program = tmp_path / "program.py"
    program.write_text(MEMORY.format(options=options))
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env={**os.environ, "TIERUP_CACHE": "0"})
    assert ran.stdout == "fine\n", ran.stderr[-2000:]


def test_a_walk_over_ops_raises_what_a_handler_raises_meanwhile() -> None:
    body = "".join(f"  %{i} = torch.constant.int {i}\n" for i in range(3000))
    with thread_context():
        module = ir.Module.parse(f"func.func @f() {{\n{body}  return\n}}")
    seen = 0

    def ring(*_: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    try:
        while seen < 20:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.002)
                for _ in range(100):
                    names_in(module.operation)
            except Alarm:
                seen += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert names_in(module.operation) == {"builtin.module", "func.func", "torch.constant.int", "func.return"}
