"""Files, threads, processes or memory that run out while a version is made: tier 0 answers, an event says so, and it is tried again."""

import errno
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.runtime.base.events import EventKind
from tierup.runtime.compiling import version as compile_version
from tierup.runtime.compiling.processes import placement
from tierup.runtime.compiling.scheduling import background

X = np.linspace(-1, 1, 8, dtype=np.float32)


def chain(x):
    return np.tanh(x) * 2


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setenv("TIERUP_CACHE", "0")


def events(function, kind):
    return [e for e in function._executors[0].history.events if e.kind is kind]


RUN_OUT = [
    OSError(errno.EMFILE, os.strerror(errno.EMFILE)),
    OSError(errno.ENFILE, os.strerror(errno.ENFILE)),
    BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)),
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    MemoryError(),
    RuntimeError("can't start new thread"),
    ImportError(f"libgomp.so: {os.strerror(errno.EMFILE)}"),
]


@pytest.mark.parametrize("error", RUN_OUT, ids=repr)
@pytest.mark.parametrize("options", [{}, {"compile": "background"}], ids=str)
def test_what_runs_out_postpones_the_version(monkeypatch, error, options):
    made, failures = compile_version.produce, [error, error]

    def produce(*arguments, **keywords):
        if failures:
            raise failures.pop()
        return made(*arguments, **keywords)

    def unavailable(*_, **__):
        raise WorkerUnavailable("no processes here")

    monkeypatch.setattr(placement, "elsewhere", unavailable)
    monkeypatch.setattr(compile_version, "produce", produce)
    f = tierup.jit(chain, **options)
    for _ in range(12):
        np.testing.assert_allclose(f(X), chain(X), rtol=1e-6)
        assert f.wait(200)
    assert [e.reason for e in events(f, EventKind.POSTPONED)] == [Reason.NO_RESOURCES] * 2
    assert not events(f, EventKind.GAVE_UP)
    assert f.stats().hits > 0 and f.stats().compiles == 1


def test_a_compiler_that_fails_otherwise_is_not_asked_again(monkeypatch):
    asked = []

    def produce(*_):
        asked.append(1)
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(compile_version, "produce", produce)
    f = tierup.jit(chain)
    for _ in range(6):
        f(X)
    assert len(asked) == 1 and events(f, EventKind.GAVE_UP) and not events(f, EventKind.POSTPONED)


def the_thread_of_compiles_ends(monkeypatch):
    """As it does when it has had nothing to do for a while."""
    with monkeypatch.context() as impatient:
        impatient.setattr(background, "_SECONDS_IDLE", 0)
        with background.queue._changed:
            thread = background.queue._thread
            background.queue._changed.notify_all()
        if thread is not None:
            thread.join(60)
    assert background.queue._thread is None


def test_without_a_thread_to_spare_a_background_compile_waits(monkeypatch):
    f = tierup.jit(chain, compile="background")
    f(X)
    tierup.wait_for_compiles(200)
    the_thread_of_compiles_ends(monkeypatch)

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as scarce:
        scarce.setattr(threading.Thread, "start", refuse)
        for _ in range(3):
            np.testing.assert_allclose(f(X), chain(X), rtol=1e-6)
        assert not f.wait(200)  # and does not hang
    assert [e.reason for e in events(f, EventKind.POSTPONED)] == [Reason.NO_RESOURCES]
    f(X)
    assert f.wait(200)
    f(X)
    assert f.stats().hits == 1


PROGRAM = """
import os, sys
import numpy as np
import tierup
{before}
x = np.ones(4, np.float32)

@tierup.jit({options})
def f(x):
    return np.tanh(x) * 2

for _ in range(40):
    assert abs(f(x) - np.tanh(1) * 2).max() < 1e-6
    f.wait(200)
print(f.stats().hits > 0)
{after}
print(f.stats().hits > 0)
"""


def run(tmp_path, before="", after="", options="", environment=None):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(before=before, after=after, options=options))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path,
        env={**os.environ, "TIERUP_CACHE": "1", "TIERUP_WORKER": "1", **(environment or {})},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("options", ["", "compile='background'"])
def test_without_a_folder_for_temporary_files_versions_are_made(tmp_path, options):
    before = "import tempfile\ndef none(): raise FileNotFoundError(2, 'No usable temporary directory found')\ntempfile._get_default_tempdir = none"
    assert run(tmp_path, before, options=options)[-1] == "True"


@pytest.mark.parametrize("options", ["", "worker=False", "compile='background'"])
def test_without_a_home_versions_are_made(tmp_path, options):
    """As for a user number without an entry in the list of users, in a container."""
    before = "import pwd\ndef none(*_): raise KeyError('uid not found')\npwd.getpwuid = none\nos.environ.pop('HOME', None)\nos.environ.pop('TIERUP_CACHE_DIR')"
    assert run(tmp_path, before, options=options)[-1] == "True"


def test_without_a_working_folder_versions_are_made(tmp_path):
    """Another process may remove it."""
    before = "import tempfile\ngone = tempfile.mkdtemp()\nos.chdir(gone)\nos.rmdir(gone)\nsys.path.insert(0, '')"
    assert run(tmp_path, before, options="")[-1] == "True"


@pytest.mark.parametrize("options", ["worker=False", "compile='background'", ""])
def test_too_many_open_files_are_a_passing_cause(tmp_path, options):
    before = """
import resource
import tierup.frontend.python.build, tierup.runtime.compiling.version, tierup.lowering.compiling.compile
f = tierup.jit(lambda x: x)
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
held = []
def hold():
    try:
        while True:
            held.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
def free():
    while held:
        os.close(held.pop())
"""
    after = "free()\nfor _ in range(60):\n    f(x)\n    f.wait(200)\n"
    script = PROGRAM.replace("for _ in range(40)", "f(x)\nhold()\nfor _ in range(40)")
    (tmp_path / "program.py").write_text(script.format(before=before, after=after, options=f"weigh=False, {options}"))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=300, cwd=tmp_path,
        env={**os.environ, "TIERUP_CACHE": "0", "TIERUP_WORKER": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "True", done.stdout
