"""Workers: processes that compile, and what is said to them (`lowering/service/worker.py`). Free of MLIR."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from abc import ABC, abstractmethod
from io import FileIO
from typing import IO, Any, cast

from tierup.dialect.base.forking import no_fork
from tierup.dialect.base.paths import absolute
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.lowering.service.worker import HELLO, receive, send, settings

_SECONDS_TO_END = 1.0
_LAST_LINES, _LAST_BYTES = 12, 4096
workers: weakref.WeakSet[Worker] = weakref.WeakSet()  # of this process, which a fork's child is to forget


class Worker(ABC):
    """A process that answers requests, and the way to it. `is_own`: started by this process, and for it alone."""

    is_own = True
    pid: int
    calls = 0
    has_answered = False
    seconds_to_start = 60.0
    _ended_for = ""
    _requests: FileIO
    _answers: FileIO

    def greet(self) -> None:
        """Wait until it is ready. Raises WorkerUnavailable when it does not come up; it is gone then."""
        try:
            hello = receive(self._answers, time.monotonic() + self.seconds_to_start)
        except (EOFError, OSError) as e:
            if isinstance(e, TimeoutError):
                self.kill("it did not start")
            raise WorkerUnavailable(f"the process for compiling did not come up: {self.end()}") from e
        if hello != HELLO:
            self.end()
            raise WorkerUnavailable(f"the process for compiling said {hello!r}")

    def call(self, request: tuple[object, ...], limit: float) -> tuple[bool, Any, int]:
        """A request's answer. Raises EOFError or OSError when the process dies over it: `end` says of what."""
        self.calls += 1
        until = time.monotonic() + limit
        try:
            send(self._requests, (*request, settings(), limit), until)
            answer = receive(self._answers, until)
            self.has_answered = True
            return cast("tuple[bool, Any, int]", answer)
        except TimeoutError:
            self.kill(f"it took longer than {limit:g} s")
            raise

    @property
    @abstractmethod
    def alive(self) -> bool:
        """Whether it can be asked."""

    @property
    @abstractmethod
    def was_killed(self) -> bool:
        """Whether somebody else has killed it: the system, where memory is short."""

    @abstractmethod
    def kill(self, why: str) -> None:
        """End it, whatever it does."""

    @abstractmethod
    def wait(self) -> None:
        """Wait until the process, which was killed, is gone."""

    @abstractmethod
    def end(self) -> str:
        """End it, and wait until it is gone. What it died of, and what it printed last."""

    @abstractmethod
    def forget(self) -> None:
        """In a child of fork, whose parent's worker this is: let go of the pipes, or the worker would wait for this process too."""


class Process(Worker):
    """One that this process starts. Raises WorkerUnavailable when it cannot be started."""

    def __init__(self, niceness: int, preload: str) -> None:
        with no_fork:  # between the making of the pipes and `_workers` knowing them
            try:
                self._printed = _file_in_memory()
            except OSError as e:
                raise WorkerUnavailable(f"no process for compiling could be started: {e}") from e
            try:
                self._process = _start(self._printed, str(niceness), preload)
            except (OSError, RuntimeError, MemoryError) as e:
                self._printed.close()
                raise WorkerUnavailable(f"no process for compiling could be started: {e}") from e
            self._requests, self._answers = cast(FileIO, self._process.stdin), cast(FileIO, self._process.stdout)
            os.set_blocking(self._requests.fileno(), False)
            workers.add(self)
        self.pid = self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self._process.poll() is None

    @property
    def was_killed(self) -> bool:
        """Whether somebody else has killed it: the system, where memory is short."""
        return not self._ended_for and self._process.returncode == -signal.SIGKILL

    def kill(self, why: str) -> None:
        """End it, whatever it does."""
        self._ended_for = why
        self._process.kill()

    def wait(self) -> None:
        """Wait until the process, which was killed, is gone."""
        self._process.wait()

    def end(self) -> str:
        """End the process, and wait until it is gone. What it died of, and what it printed last."""
        self._requests.close()  # asks it to
        try:
            self._process.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._answers.close()
        code = self._process.returncode
        died = self._ended_for or (f"it ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with exit code {code}")
        with self._printed as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LAST_BYTES))
            lines = file.read().decode(errors="replace").strip().splitlines()[-_LAST_LINES:]
        return "\n".join([died, *lines])

    def forget(self) -> None:
        """In a child of fork, whose parent's worker this is: let go of the pipes, or the worker would wait for this process too."""
        for file in (self._requests, self._answers, self._printed):
            file.close()
        self._process.returncode = 0  # not ours to wait for


def _file_in_memory() -> IO[bytes]:
    """For what a worker prints: a pipe that nobody empties would stop it. There need be no folder for temporary files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("tierup"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


# What keeps another user's code, or the environment's, out of this process must keep it out of a worker, too
_ISOLATION = {"isolated": "-I", "ignore_environment": "-E", "no_user_site": "-s", "no_site": "-S", "dont_write_bytecode": "-B"}
# The search path comes behind the program: from the environment, an isolated interpreter would not take it, and any other would import
# a `sitecustomize` from all of it
_PROGRAM = "import sys; sys.path[:] = sys.argv[{0}:]; from tierup.lowering.service import {1}; {1}.main(*sys.argv[1:{0}])"


def command(module: str, *arguments: str) -> list[str]:
    """What runs the `main` of a module here, importing what this process would: the same search path, whatever it is by now, and as
    isolated as this one. Raises OSError."""
    if os.name != "posix":
        raise OSError(f"not on {os.name}")
    path = [there for entry in sys.path if isinstance(entry, str) and os.path.isabs(there := absolute(entry))]
    isolation = [option for flag, option in _ISOLATION.items() if getattr(sys.flags, flag)]
    return [_interpreter(), "-P", *isolation, "-c", _PROGRAM.format(1 + len(arguments), module), *arguments, *path]


def _start(printed: IO[bytes], niceness: str, preload: str) -> subprocess.Popen[bytes]:
    line = command("worker", niceness, preload)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: Ctrl-C is this process's, also while it starts
    try:
        return subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=printed, bufsize=0)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _interpreter() -> str:
    """The Python to run: where this program is another's with Python in it, the one that `multiprocessing` was told of. Raises OSError."""
    spawn = sys.modules.get("multiprocessing.spawn")
    if spawn is not None and spawn.get_executable() is not None:
        return os.fsdecode(spawn.get_executable())
    if getattr(sys, "frozen", False) or not sys.executable or "python" not in os.path.basename(sys.executable).lower():
        raise OSError(f"{sys.executable or 'this program'} is not known to be Python; multiprocessing.set_executable names one")
    return sys.executable
