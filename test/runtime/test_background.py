"""compile="background": calls go on in the tier below while a worker compiles; faults of the compiler and of its process, a fork, an
exit and functions that go away end well."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from functools import partial

import numpy as np
import pytest
from interruptions import interrupted_everywhere

import tierup
from tierup.dialect.passes import registry
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.runtime.base.events import EventKind
from tierup.runtime.compiling.processes import placement
from tierup.runtime.compiling.processes import workers as compilers
from tierup.runtime.compiling.scheduling import background, later
from tierup.runtime.compiling.scheduling.background import Queue, queue
from tierup.runtime.executors.making import VersionMaker

SECONDS = 200


def chain(x):
    return np.tanh(x) * 2


def sorted_between(x):
    return np.exp(np.argpartition(np.tanh(x) * 2, -1)) - 1


def power(x, n: int):
    return np.sum(x, axis=n)


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TIERUP_CACHE", "0")  # every compile is one
    yield
    assert tierup.wait_for_compiles(SECONDS)


@pytest.fixture
def compiler(monkeypatch):
    """Have a worker call another function in place of the compiler."""
    return lambda name: monkeypatch.setattr(placement, "COMPILER", ("compile_functions", name))


@pytest.fixture
def gate(tmp_path, monkeypatch, compiler):
    """Compiles wait until `open` is called; `reached` waits until one does."""
    path = tmp_path / "gate"
    monkeypatch.setenv("TIERUP_TEST_GATE", str(path))
    compiler("slow")

    class Gate:
        def open(self):
            path.touch()

        def reached(self):
            eventually((tmp_path / "gate.waiting").exists)

    yield Gate()
    path.touch()


def eventually(condition):
    until = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def f32(*shape):
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def in_background(function=chain, **options):
    return tierup.jit(function, compile="background", **options)


def gave_up(function):
    return [e for e in function._executors[0].history.events if e.kind is EventKind.GAVE_UP]


def workers():
    return compilers.in_background().pids


def test_calls_are_answered_by_tier_0_until_the_version_arrives(gate):
    f, x = in_background(), f32(8)
    for _ in range(5):
        np.testing.assert_array_equal(f(x), chain(x))
    assert not f.wait(0.05)
    stats = f.stats()
    assert (stats.profiled_runs, stats.interpreted, stats.hits, stats.compiles) == (1, 4, 0, 0)
    assert Reason.COMPILING.sentence in f.explain()
    gate.open()
    assert f.wait(SECONDS)
    np.testing.assert_allclose(f(x), chain(x), rtol=1e-6)
    assert (f.stats().hits, f.stats().compiles, f.stats().calls) == (1, 1, 6)


def test_misses_beside_a_version_are_answered_by_tier_0_while_the_next_is_compiled(gate):
    f = in_background()
    for _ in range(2):
        f(f32(8))
    gate.open()
    assert f.wait(SECONDS)
    for _ in range(2):
        f(f32(5))
    f(f32(8))
    assert (f.stats().misses, f.stats().hits) == (2, 1)
    assert f.wait(SECONDS)
    f(f32(5))
    assert (f.stats().misses, f.stats().hits, len(f.versions)) == (2, 2, 2)


def test_the_event_says_how_long_it_took_in_which_call_it_arrived_and_which_had_asked(gate):
    f, seen = in_background(), []
    for _ in range(4):
        f(f32(8))
    gate.open()
    with tierup.events.subscribe(seen.append):
        assert f.wait(SECONDS)
    (event,) = seen
    assert (event.kind, event.call) == (EventKind.COMPILED, 5)
    assert "in the background, asked for in call 2" in event.action
    assert event.milliseconds > 1
    assert f.versions[0].call == 2


def test_an_assumption_is_compiled_once_however_many_calls_ask_for_it(gate):
    f = in_background()
    for n in (4, 4, 5, 6, 7, 8, 9, 8, 7):
        f(f32(n))
    gate.open()
    assert f.wait(SECONDS)
    assert sorted(v.speculation.kind for v in f.versions) == ["dynamic", "static"]
    assert f.stats().compiles == 2


def test_the_version_needs_the_values_of_ints_where_a_blocking_compile_would(gate):
    gate.open()
    f, x = in_background(power), f32(3, 4)
    for _ in range(3):
        f(x, 1)
    assert f.wait(SECONDS)
    np.testing.assert_allclose(f(x, 1), x.sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(f(x, 0), x.sum(axis=0), rtol=1e-5, atol=1e-6)
    assert f.stats().hits == 1
    assert f.versions[0].record.arguments[1].value == 1


def test_a_program_that_is_not_native_as_a_whole_is_split_once_that_is_known():
    f, x = in_background(sorted_between), f32(8)
    for _ in range(6):  # profiled; refused; a graph that records is made; recorded; cut; with regions that are being compiled
        np.testing.assert_allclose(f(x), sorted_between(x), rtol=1e-5)
        assert f.wait(SECONDS)
    assert len(f.versions[0].regions) == 2
    before = f.stats()
    np.testing.assert_allclose(f(x), sorted_between(x), rtol=1e-5)
    after = f.stats()
    assert (after.hits - before.hits, after.fallbacks - before.fallbacks) == (1, 0)  # both regions native


def sometimes_sorted(x):
    y = np.tanh(x) * 2
    if y[0] > -3:
        y = np.exp(np.argpartition(y, -1)) + x
    return y * 2


WAYS = [{}, {"speculate": "bailout"}, {"speculate": "bailout", "num_profiled_runs": 0}, {"executor": "specializing"}]


@pytest.mark.parametrize("options", WAYS, ids=str)
@pytest.mark.parametrize("function", [chain, sorted_between, sometimes_sorted])
def test_no_pass_runs_in_a_call(function, options, monkeypatch):
    """Recording graphs, plans and cuts are made by the thread of compiles too, in whatever way a program is speculated on."""
    ran, run = [], registry.Pipeline.run
    monkeypatch.setattr(registry.Pipeline, "run", lambda *a, **o: (ran.append(threading.current_thread()), run(*a, **o))[1])
    f, x = in_background(function, **options), f32(8)
    for _ in range(9):
        np.testing.assert_allclose(f(x), function(x), rtol=1e-5)
        assert f.wait(SECONDS)
    assert f.stats().hits and f.is_optimized, f.explain()
    assert threading.current_thread() not in ran and (ran or function is chain)  # a whole version is a worker's


@pytest.mark.parametrize("options", WAYS, ids=str)
def test_a_function_that_is_deleted_while_passes_wait_is_let_go(options, monkeypatch):
    go_on, run = threading.Event(), later._Job.run
    monkeypatch.setattr(later._Job, "run", lambda self: (go_on.wait(SECONDS), run(self)))
    f, x = in_background(sorted_between, **options), f32(8)
    f(x), f(x)
    if not options:
        assert f.wait(SECONDS)  # for the refusal, after which there is a graph to be made that records
    f(x)
    gone = weakref.ref(f._executors[0])
    del f
    gc.collect()
    assert gone() is None
    go_on.set()
    assert tierup.wait_for_compiles(SECONDS)


def test_regions_that_are_still_being_compiled_do_not_condemn_a_split(gate):
    f, x = in_background(sorted_between), f32(8)
    f(x), f(x)
    gate.open()
    assert f.wait(SECONDS)
    os.unlink(os.environ["TIERUP_TEST_GATE"])
    f(x)
    assert f.wait(SECONDS)
    f(x), f(x)
    assert f.wait(SECONDS)
    f(x)  # recorded, cut, and run with regions that wait for their code
    assert f.versions and not any(r.versions for r in f.versions[0].regions)
    gate.open()
    assert f.wait(SECONDS)
    f(x)
    assert all(r.versions for r in f.versions[0].regions)


def test_a_crash_of_the_compiler_is_an_event_with_its_last_words_and_leaves_a_reproducer(compiler, tmp_path, monkeypatch):
    monkeypatch.setenv("TIERUP_DUMP_DIR", str(tmp_path))
    compiler("aborting")
    f, x = in_background(), f32(8)
    f(x), f(x)
    assert f.wait(SECONDS)
    (event,) = gave_up(f)
    assert event.reason is Reason.COMPILE_FAILED
    assert "SIGABRT" in event.action
    assert "LLVM ERROR: out of registers" in event.action
    (file,) = tmp_path.glob("*/reproducer.mlir")
    assert str(file) in event.action
    assert "torch.aten.tanh" in file.read_text()
    for _ in range(3):
        np.testing.assert_array_equal(f(x), chain(x))  # not asked for again
    assert f.wait(SECONDS)
    assert len(gave_up(f)) == 1
    assert f.stats().compiles == 0


@pytest.mark.parametrize(("name", "words"), [("raising", "ZeroDivisionError: in the compiler"), ("killed", "SIGKILL")])
def test_an_exception_in_the_compiler_and_a_killed_worker_leave_the_function_in_tier_0_and_others_alone(compiler, name, words):
    compiler(name)
    f, x = in_background(), f32(8)
    f(x), f(x)
    assert f.wait(SECONDS)
    (event,) = gave_up(f)
    assert event.reason is Reason.COMPILE_FAILED
    assert words in event.action
    np.testing.assert_array_equal(f(x), chain(x))
    compiler("produce")
    g = in_background()
    g(x), g(x)
    assert g.wait(SECONDS)
    g(x)
    assert g.stats().hits == 1


def test_a_worker_killed_from_outside_is_replaced_and_two_cost_one_version(gate, tmp_path):
    f, x = in_background(), f32(8)
    f(x), f(x)
    for _ in range(2):
        gate.reached()
        (tmp_path / "gate.waiting").unlink()
        os.kill(workers()[0], signal.SIGKILL)
    assert f.wait(SECONDS)
    assert "SIGKILL" in gave_up(f)[0].action
    gate.open()
    f(f32(5)), f(f32(5))
    assert f.wait(SECONDS)
    f(f32(5))
    assert f.stats().hits == 1


def test_where_no_worker_can_be_started_the_thread_compiles_and_says_so(monkeypatch):
    def unavailable(*_, **__):
        raise WorkerUnavailable("no processes here")

    monkeypatch.setattr(placement, "elsewhere", unavailable)
    f, x, seen = in_background(), f32(8), []
    with tierup.events.subscribe(seen.append):
        f(x), f(x)
        assert f.wait(SECONDS)
    assert "in this process: no processes here" in seen[-1].action
    f(x)
    assert f.stats().hits == 1


def test_passes_of_the_users_own_run_in_this_process_and_the_event_says_so():
    threads = []

    class Note(tierup.Pass):
        """Note where it runs."""

        name = "note-where"

        def run(self, module):
            threads.append((os.getpid(), threading.current_thread().name))

    f, x, seen = in_background(), f32(8), []
    with tierup.custom_pass(Note, when="pre-fusion"), tierup.events.subscribe(seen.append):
        f(x), f(x)
        assert f.wait(SECONDS)
    assert threads == [(os.getpid(), "tierup-compiles")]
    assert "in this process, which has passes of its own" in seen[-1].action


def test_code_on_disk_is_loaded_in_the_call_which_waits_for_nothing_else(monkeypatch, tmp_path):
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path))
    x = f32(8)
    first = in_background()
    first(x), first(x)
    assert first.wait(SECONDS)
    second = in_background()
    second(x), second(x)
    assert second.stats().hits == 1
    assert second.versions[0].compiled.from_disk


def test_a_strict_call_waits_for_what_another_had_asked_for(gate):
    f, x = in_background(), f32(8)
    f(x), f(x)
    threading.Timer(0.2, gate.open).start()
    with tierup.assert_optimized():
        f(x)
    assert f.stats().hits == 1
    g = in_background()
    with tierup.assert_optimized():
        g(x)
    assert g.stats().hits == 1


def test_a_strict_call_raises_when_what_another_had_asked_for_has_no_code(gate):
    f, x = in_background(sorted_between), f32(8)
    f(x), f(x)
    threading.Timer(0.2, gate.open).start()
    with tierup.assert_optimized(), pytest.raises(tierup.NotOptimized, match="sort"):
        f(x)


def test_what_arrives_after_a_reset_is_dropped(gate):
    f, x = in_background(), f32(8)
    f(x), f(x)
    gate.reached()
    f.reset()
    gate.open()
    assert tierup.wait_for_compiles(SECONDS)
    assert (f.versions, f.stats().calls, f.stats().compiles) == ((), 0, 0)
    f(x), f(x)
    assert f.wait(SECONDS)
    f(x)
    assert f.stats().hits == 1


def test_a_job_of_a_function_that_was_reset_or_deleted_is_never_begun(gate):
    first, second, third, x = in_background(), in_background(), in_background(), f32(8)
    for f in (first, second, third):
        f(x), f(x)
    gate.reached()
    second.reset()
    gone = weakref.ref(third)
    del third, f
    gc.collect()
    assert gone() is None
    assert [job.urgency() for job in queue._jobs] == [None, None]
    gate.open()
    assert tierup.wait_for_compiles(SECONDS)
    assert len(first.versions) == 1


def test_a_deleted_function_does_not_live_on_in_the_compile_it_asked_for(gate):
    f, x = in_background(), f32(8)
    f(x), f(x)
    gate.reached()
    executor = weakref.ref(f._executors[0])
    del f
    gc.collect()
    assert executor() is None


def test_a_job_that_is_done_is_let_go_before_anybody_is_told(monkeypatch):
    go_on, told = threading.Event(), []

    class Job:
        def urgency(self):
            return 1

        def run(self):
            go_on.wait(SECONDS)

        def drop(self):
            pass

    jobs, job = Queue(), Job()
    gone, tell = weakref.ref(job), jobs._changed.notify_all
    jobs.submit(job)
    del job
    monkeypatch.setattr(jobs._changed, "notify_all", lambda: (told.append(gone()), tell()))
    go_on.set()
    assert jobs.wait(SECONDS) and told[0] is None
    jobs.close()


def test_a_function_defined_anew_does_not_get_what_the_old_one_asked_for(gate):
    def define(factor):
        def scaled(x):
            return np.tanh(x) * factor

        return in_background(scaled)

    x = f32(8)
    f = define(2)
    f(x), f(x)
    gate.reached()
    f = define(3)
    f(x), f(x)
    gate.open()
    assert tierup.wait_for_compiles(SECONDS)
    np.testing.assert_allclose(f(x), np.tanh(x) * 3, rtol=1e-6)
    assert f.stats().hits == 1


def test_evictions_happen_on_arrival():
    f = in_background(max_versions=1)
    for n in (4, 4, 5, 5):
        f(f32(n))
        assert f.wait(SECONDS)
    assert len(f.versions) == 1
    f(f32(5))
    assert f.stats().hits == 1


def test_a_fault_on_arrival_does_not_end_the_thread(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, "excepthook", lambda args: raised.append(args.exc_value))

    def arrived(self, job, outcome):
        raise LookupError("a fault of tierup's own")

    f, g, x = in_background(), in_background(), f32(8)
    f(x), g(x)
    with monkeypatch.context() as patched:
        patched.setattr(VersionMaker, "arrived", arrived)
        f(x)
        assert f.wait(SECONDS)
    assert [str(e) for e in raised] == ["a fault of tierup's own"]
    g(x)
    assert g.wait(SECONDS)
    g(x)
    assert g.stats().hits == 1


def test_many_threads_ask_and_all_get_right_answers():
    f = in_background(weigh=False)
    wrong = []

    def call(n):
        x = f32(n)
        for _ in range(200):
            if not np.allclose(f(x), chain(x), rtol=1e-5):
                wrong.append(n)

    threads = [threading.Thread(target=call, args=(n,)) for n in (4, 4, 7, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert f.wait(SECONDS)
    assert not wrong
    assert f.stats().calls == 800
    assert 1 <= f.stats().compiles <= 3


class Counted:
    def __init__(self, urgency, done):
        self._urgency, self._done = urgency, done

    def urgency(self):
        return self._urgency

    def run(self):
        self._done.append(self._urgency)

    def drop(self):
        pass


def test_jobs_of_the_most_called_function_come_first_and_equals_in_order():
    one, done = Queue(), []
    running, blocked = threading.Event(), threading.Event()

    class First(Counted):
        def run(self):
            running.set()
            blocked.wait()

    one.submit(First(0, done))
    assert running.wait(SECONDS)  # the thread takes the most wanted of what waits when it wakes
    for urgency in (3, None, 9, 5):
        one.submit(Counted(urgency, done))
    blocked.set()
    assert one.wait(SECONDS)
    assert done == [9, 5, 3]
    one.close()


def test_the_thread_ends_with_its_worker_when_there_is_nothing_to_do_and_comes_back(monkeypatch):
    monkeypatch.setattr(background, "_SECONDS_IDLE", 0.05)
    one, done = Queue(), []
    for urgency in (1, 2):
        one.submit(Counted(urgency, done))
        assert one.wait(SECONDS)
        eventually(lambda: one._thread is None)
    assert done == [1, 2]
    one.close()


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("moment", ["waiting", "running"])
def test_a_child_of_fork_compiles_what_its_parent_had_asked_for_and_the_parent_goes_on(gate, moment):
    f, g, x = in_background(), in_background(), f32(8)
    f(x), f(x)
    gate.reached()
    watched = f
    if moment == "waiting":
        g(x), g(x)
        watched = g
    child = os.fork()
    if child == 0:
        ok = False
        try:
            gate.open()
            watched(x)
            watched.wait(SECONDS)
            before = watched.stats().hits
            watched(x)
            ok = watched.stats().hits == before + 1
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert watched.wait(SECONDS)
    watched(x)
    assert watched.stats().hits >= 1


EXIT = """
import sys, threading, time
import numpy as np, tierup
from tierup.runtime.compiling.processes import placement
from tierup.runtime.compiling.processes import workers
sys.path.insert(0, {helpers!r})
placement.COMPILER = ("compile_functions", "slow")

@tierup.jit(compile="background")
def f(x):
    return np.tanh(x) * 2

x = np.ones(8, np.float32)
f(x), f(x)
{moment}
print(*workers.in_background().pids, flush=True)
"""


@pytest.mark.parametrize("moment", ["", "while not workers.in_background().pids: time.sleep(0.01)", "time.sleep(1.5)"])
def test_an_interpreter_that_exits_while_compiling_ends_at_once_without_a_word(tmp_path, moment):
    file = tmp_path / "script.py"
    file.write_text(EXIT.format(helpers=os.path.dirname(__file__), moment=moment))
    environment = {**os.environ, "TIERUP_TEST_GATE": str(tmp_path / "gate")}
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=environment)  # the gate stays closed
    assert (done.returncode, done.stderr) == (0, "")
    for pid in map(int, done.stdout.split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_an_interpreter_that_exits_while_it_compiles_itself_waits_for_that(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(
        """
import threading, time
import numpy as np, tierup

began = threading.Event()

@tierup.register_pass(when="pre-fusion")
class Slow(tierup.Pass):
    "Take a while."

    name = "slow"

    def run(self, module):
        began.set()
        time.sleep(1.5)
        print("through", flush=True)

@tierup.jit(compile="background")
def f(x):
    return np.tanh(x) * 2

x = np.ones(8, np.float32)
f(x), f(x)
began.wait(200)
"""
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert (done.returncode, done.stdout, done.stderr) == (0, "through\n", "")


def test_a_program_whose_compiles_fail_waits_longer_before_each_next_one(compiler):
    compiler("raising")
    f, failed_at, reasons = in_background(fusion_strategy=[("static", 20)]), [], set()
    for call in range(1, 60):
        f(f32(call // 2 + 2))  # each size twice: what was seen is compiled for
        reasons.add(f._executors[0].history.last_reason)
        assert f.wait(SECONDS)
        if len(gave_up(f)) > len(failed_at):
            failed_at.append(call)
    gaps = [b - a for a, b in zip(failed_at, failed_at[1:], strict=False)]
    assert len(gaps) >= 3
    assert gaps == sorted(gaps)
    assert gaps[-1] >= 8
    assert Reason.BACKING_OFF in reasons


def test_this_process_loads_no_lowering_for_a_compile_in_the_background(tmp_path):
    file = tmp_path / "script.py"
    file.write_text(
        """
import sys
import numpy as np, tierup

@tierup.jit(compile="background")
def f(x):
    return np.tanh(x) * 2

x = np.ones(8, np.float32)
f(x), f(x)
assert f.wait(200)
f(x)
assert f.stats().hits == 1
print([m for m in sys.modules if m in ("tierup.lowering.compiling.compile", "tierup.runtime.compiling.version")])
"""
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("step", [queue.wake, partial(queue.wait, 0.0)], ids=["wake", "wait"])
def test_a_handler_that_raises_anywhere_leaves_the_queue_to_other_threads(step):
    """Whatever the step is at when a signal's handler raises: then no lock is this thread's any more."""
    for passed in interrupted_everywhere(step):
        assert not queue._lock._is_owned()
    assert passed > 0
