"""An assumption that is noted as being compiled: whatever breaks the compile off at whatever line, it does not stay noted, and is made again."""

import sys
import threading

import numpy as np
import pytest
from sampling import IS_EXHAUSTIVE

import tierup
from tierup.runtime.compiling import new_version
from tierup.runtime.compiling.scheduling import job
from tierup.runtime.dispatching import handed_over
from tierup.runtime.executors import life, making, specialized_plan

MOST_LINES = 400
X = np.linspace(-1, 1, 8, dtype=np.float32)
FILES = {module.__file__ for module in (life, making, specialized_plan, job, handed_over)}
MODES = [{}, {"compile": "background"}, {"executor": "specializing"}, {"executor": "specializing", "compile": "background"}]


def chain(x):
    return np.tanh(x) * 2


def picked(x, c):
    return x[:] if c else np.tanh(x) * 2


class Broken(BaseException):
    """As Ctrl-C: nothing that handles failures handles it."""


class Breaks:
    """Raises at the `at`-th line that the runtime runs while it holds an attempt; the line where an attempt is ended is not one."""

    def __init__(self, at):
        self.at, self.lines, self.raised = at, 0, ""

    def __call__(self, frame, event, _):
        if frame.f_code.co_filename not in FILES:
            return None
        return self.line

    def line(self, frame, event, _):
        if event == "line" and not self.raised and _in_attempt(frame) and not _ends(frame):
            self.lines += 1
            if self.lines > self.at:
                self.raised = f"{frame.f_code.co_name}:{frame.f_lineno}"
                raise Broken(self.raised)
        return self.line


def _in_attempt(frame):
    while frame is not None:
        if frame.f_code.co_name in ("_compile", "run", "make_for_values") and frame.f_code.co_filename in FILES:
            return True
        frame = frame.f_back
    return False


def _ends(frame):
    """Whether the line is the one that ends what was begun (where a context is left, Python may be interrupted, too)."""
    with open(frame.f_code.co_filename) as file:
        line = file.read().splitlines()[frame.f_lineno - 1]
    return frame.f_code.co_name in ("ends", "ended", "run") or line.lstrip().startswith(("with ", "self._lock"))


tracing = [None]


def traced(work, *arguments):
    before = sys.gettrace()
    sys.settrace(tracing[-1])
    try:
        return work(*arguments)
    finally:
        sys.settrace(before)


@pytest.fixture
def cheap(monkeypatch, tmp_path):
    """What is on disk stands for what a compiler makes, in the background too."""
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    for options in MODES:  # fills the cache
        for function, arguments in ((chain, ((X,),)), (picked, ((X, False), (X, True)))):
            f = tierup.jit(function, **options)
            for a in arguments * 4:
                f(*a)
                f.wait(200)
    from_disk, run_job = new_version.from_disk, job.CompileJob.run
    monkeypatch.setattr(job.CompileJob, "run", lambda self: traced(run_job, self))

    def made(program, wanted, valued, options, call, produce):
        found = from_disk(program, wanted, valued, options, call)
        assert found is not None
        return found

    monkeypatch.setattr(making, "from_disk", lambda *_: None)
    monkeypatch.setattr(making, "make_version", made)
    monkeypatch.setattr(job, "make_version", made)


def run(function, arguments, options, at):
    """Calls until the compile has been broken off, and then until it has been made; the break, None when there was none."""
    f, breaks = tierup.jit(function, **options), Breaks(at)
    tracing.append(breaks)
    for _ in range(8):
        for a in arguments:
            try:
                got = traced(f, *a)
            except Broken:
                got = None
            assert f.wait(200)
            if got is not None:
                np.testing.assert_allclose(got, function(*a), rtol=1e-6)
            assert not any(e.compiling for e in f._executors), f"{breaks.raised}: something is being compiled for ever"
    hits = f.stats().hits
    for a in arguments:
        f(*a)
    assert f.stats().hits == hits + len(arguments), f"{breaks.raised}: no version\n{f.explain()}"
    return breaks.raised


@pytest.mark.parametrize("options", MODES, ids=str)
@pytest.mark.parametrize(("function", "arguments"), [(chain, [(X,)]), (picked, [(X, False), (X, True)])], ids=["chain", "picked"])
def test_a_compile_that_is_broken_off_at_any_line_is_made_again(cheap, function, arguments, options):
    broken = set()
    for at in range(0, MOST_LINES, 1 if IS_EXHAUSTIVE else 8):
        raised = run(function, arguments, options, at)
        if not raised:
            break
        broken.add(raised)
    assert len(broken) > 3 and not raised, broken
