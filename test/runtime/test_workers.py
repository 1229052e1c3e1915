"""Compiles that calls wait for, by a worker: what comes back is what a compile in this process gives, and no crash comes along."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tierup
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.runtime.base.events import EventKind
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.processes import in_process, placement, workers
from tierup.runtime.faults import faults

X = np.linspace(-1, 1, 8, dtype=np.float32)


def chain(x):
    return np.tanh(x) * 2


def product(x, w):
    return np.maximum(x @ w, 0) + x.sum()


def sorted_between(x):
    return np.exp(np.argpartition(np.tanh(x) * 2, -1)) - 1


def raises(x):
    return x + np.ones(3, np.float32)


def clip(x):
    n = int(x.sum())
    y = np.zeros(n, np.float32) + x[0]
    if y[0] > 0:
        return np.tanh(y) * 2
    return y - 1


def squares(x):
    return (np.tanh(x) ** 2).mean()


def descent(x):
    value, gradient = tierup.value_and_grad(squares)(x)
    return x - gradient, value


def of_each(x, n: int):
    total = x * 0
    for i in range(n):
        total = total + np.sin(x) * i
    return total


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TIERUP_CACHE", "0")  # every compile is one
    monkeypatch.setenv("TIERUP_WORKER", "1")


@pytest.fixture
def compiler(monkeypatch):
    """Have a worker call another function in place of the compiler."""
    return lambda name: monkeypatch.setattr(placement, "COMPILER", ("compile_functions", name))


def told(function, calls, **options):
    """Results, counts, events and explanation of calls, without milliseconds."""
    f, results, events = tierup.jit(function, **options), [], []

    def plain(text):
        text = re.sub(r"after [\d.]+ m?s for imports and its graph ", "", str(text))  # there where that is long
        return re.sub(r"[\d.]+ m?s\b", "TIME", text)

    def note(e):
        if e.kind is not EventKind.COMPILING:  # which tells of long ones alone, as they are on a busy machine
            events.append((e.kind, e.reason, plain(e.action), e.guard, e.milliseconds is not None))

    with tierup.events.subscribe(note):
        for arguments in calls:
            try:
                results.append(f(*arguments))
            except Exception as e:  # noqa: BLE001 - compared
                results.append(f"{type(e).__name__}: {e}")
    return results, f.stats(), events, plain(without_times(f.explain()))


def without_times(explained: str) -> str:
    """All but the lines that say where the time went, and what follows from that: also which terms are explained."""
    first, *rest = explained.partition("\n  terms: ")[0].splitlines()
    begin = next(i for i, line in enumerate(rest) if re.match(r"  (version|graph|plan|not compiled|no version|miss|assumption)", line))
    return " ".join(" ".join([first, *rest[begin:]]).split())


CALLS = {
    chain: [(X[:n],) for n in (8, 8, 8, 5, 5, 3, 4)],
    product: [(np.ones((n, 4), np.float32), np.ones((4, 2), np.float32)) for n in (2, 2, 3, 3, 5, 6)],
    sorted_between: [(X,)] * 4,
    raises: [(X,)] * 3,
    clip: [(np.array(v, np.float32),) for v in ([1, 4, 1], [1, 4, 1], [1, 4, 1], [-1, 6, 1], [1, 4, 3])],
    of_each: [(X, n) for n in (2, 2, 2, 3)],
}


@pytest.mark.parametrize(
    ("function", "options"),
    [(chain, {}), (product, {"level": 1}), (sorted_between, {}), (raises, {}), (clip, {"speculate": "bailout"}), (of_each, {}),
     (chain, {"executor": "specializing"})],
)  # fmt: skip
def test_results_counts_events_and_explanations_are_those_of_a_compile_in_this_process(function, options):
    here = told(function, CALLS[function], worker=False, **options)
    before = workers.waited_for().pids
    there = told(function, CALLS[function], **options)
    for mine, its in zip(here[0], there[0], strict=True):
        np.testing.assert_array_equal(mine, its)
    assert here[1:] == there[1:]
    assert function is raises or workers.waited_for().pids and (not before or before == workers.waited_for().pids)


@pytest.mark.parametrize(("fault", "said"), [("aborting", "LLVM ERROR: out of registers"), ("killed", "SIGKILL"), ("raising", "in the compiler")])
def test_a_compiler_that_fails_or_crashes_leaves_the_function_in_tier_0_and_the_process_alone(compiler, fault, said):
    compiler(fault)
    f = tierup.jit(chain)
    for _ in range(4):
        np.testing.assert_array_equal(f(X), chain(X))
    (event,) = [e for e in f._executors[0].history.events if e.kind is EventKind.GAVE_UP]
    assert said in event.action and f.stats().compiles == 0


def test_a_worker_that_calls_wait_for_has_their_priority_and_one_in_the_background_a_lower_one():
    behind = [of().call("os", "nice", 0) - os.nice(0) for of in (workers.waited_for, workers.in_background)]
    assert behind[0] == 0 < behind[1], behind


def test_steps_before_a_compile_are_the_worker_s(monkeypatch):
    done_here, run = [], in_process.run
    monkeypatch.setattr(in_process, "run", lambda *step, **limit: done_here.append(step[1]) or run(*step, **limit))
    f, g = tierup.jit(sorted_between, level=1), tierup.jit(descent)
    for _ in range(4):
        np.testing.assert_allclose(f(X), sorted_between(X), rtol=1e-6)
        np.testing.assert_allclose(g(X)[0], X - 2 * np.tanh(X) * (1 - np.tanh(X) ** 2) / X.size, rtol=1e-5)
    tierup.vjp(chain, X)[1](X)
    assert f.stats().hits and g.stats().hits and set(done_here) == {"recorder_of", "main_tier0"}, f.explain()


def test_what_has_no_gradient_is_refused_at_the_user_s_line_by_a_worker_as_by_this_process(monkeypatch):
    def of(x):
        y = np.linalg.qr(np.outer(x, x))[1]
        return y.sum()

    said = []
    for worker in ("1", "0"):
        monkeypatch.setenv("TIERUP_WORKER", worker)
        with pytest.raises(tierup.NotDifferentiable, match=r"np.linalg.qr\(") as found:
            tierup.value_and_grad(of)(X)
        said.append((str(found.value), found.value.lineno))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    ("part", "function", "options"),
    [(steps.regions, sorted_between, {}), (steps.bailouts, clip, {"speculate": "bailout"}), (steps.specialized, chain, {"bailout_depth": 0}),
     (steps.specialized, chain, {"executor": "specializing"})],
    ids=["recording", "bailouts", "the simple plan", "a specialised plan"],
)  # fmt: skip
def test_a_crash_in_a_step_before_a_compile_is_an_event(part, function, options, monkeypatch):
    workers.waited_for().call("compile_functions", "nothing")
    monkeypatch.setattr(part, "_module", "crashing_steps")
    x = X + 2
    for _ in range(2):  # the worker of the second is another one
        f = tierup.jit(function, **options)
        for _ in range(4):
            np.testing.assert_allclose(f(x), function(x), rtol=1e-6)
        assert "LLVM ERROR: in a step" in f.explain()


def test_a_crash_in_a_step_of_a_gradient_is_said_to_be_one(monkeypatch):
    tierup.jit(chain)
    workers.waited_for().call("compile_functions", "nothing")
    monkeypatch.setattr(steps.gradients, "_module", "crashing_steps")
    f = tierup.jit(chain)
    for _ in range(2):
        with pytest.raises(tierup.NotDifferentiable, match="the compiler failed: CompilerCrashed: .*\n?LLVM ERROR: in a step"):
            tierup.vjp(f, X)
    (event,) = [e for e in f._executors[0].history.events if e.kind is EventKind.GAVE_UP]
    assert "in a step" in event.action
    np.testing.assert_allclose(f(X), chain(X), rtol=1e-6)
    with pytest.raises(tierup.NotDifferentiable, match="value_and_grad.*the compiler failed: .*\n?.*LLVM ERROR: in a step"):
        tierup.value_and_grad(squares)(X)


@pytest.mark.parametrize("worker", [True, False])
def test_a_compile_that_takes_too_long_is_given_up(compiler, worker, monkeypatch, tmp_path):
    f = tierup.jit(chain, worker=worker, compile_limit=1.0)
    if worker:
        compiler("slow")
        monkeypatch.setenv("TIERUP_TEST_GATE", str(tmp_path / "never opened"))
        for _ in range(3):
            np.testing.assert_array_equal(f(X), chain(X))
    else:
        with faults.faults(delay=1.5):
            for _ in range(3):
                np.testing.assert_array_equal(f(X), chain(X))
    (event,) = [e for e in f._executors[0].history.events if e.kind is EventKind.GAVE_UP]
    assert "longer than 1 s" in event.action


def test_what_the_user_s_own_passes_are_to_see_is_compiled_in_this_process():
    import os

    from tierup.dialect.passes.pipelines.custom import custom_pass

    seen = []

    class Notes(tierup.Pass):
        """Note where it runs."""

        name = "notes-where-it-runs"

        def run(self, module):
            seen.append(os.getpid())

    with custom_pass(Notes, "pre-fusion"):
        f = tierup.jit(chain)
        for _ in range(3):
            f(X)
    assert f.stats().hits == 2 and set(seen) == {os.getpid()}


def test_where_no_worker_can_be_started_this_process_compiles(monkeypatch):
    def call(*_, **__):
        raise WorkerUnavailable("no more processes")

    monkeypatch.setattr(workers.waited_for(), "call", call)
    f = tierup.jit(chain)
    for _ in range(3):
        f(X)
    assert f.stats().hits == 2


PROGRAM = """
import sys
print("begins")
import numpy as np
import tierup
from tierup.runtime.compiling.processes import placement
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.processes import in_process
from tierup.runtime.compiling.processes import workers

@tierup.jit
def f(x):
    return np.tanh(x) * 2

for _ in range(4):
    f(np.ones(3))
print(f.stats().hits, workers.asked, bool(workers.services), "tierup.lowering.compiling.compile" in sys.modules)
"""


def test_a_program_runs_once_and_one_whose_code_is_on_disk_starts_no_worker(monkeypatch, tmp_path):
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    def run():
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()

    assert run() == ["begins", "3 True True False"]  # the compiler was never loaded there, nor the program run by the worker
    assert run() == ["begins", "3 False True False"]  # one was ready, for nothing
    assert run() == ["begins", "3 False False False"]
    script.write_text(PROGRAM.replace("* 2", "* 3"))
    assert run() == ["begins", "3 True True False"]
    assert run() == ["begins", "3 False True False"]
