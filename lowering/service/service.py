"""Compiling in another process: starts workers (`lowering/service/worker.py`) when they are needed, and outlives them.

    service = Service()
    result = service.call("tierup.runtime.compiling.version", "produce", graph, ...)

Why another process: MLIR's passes hold Python's lock, LLVM keeps memory of every compile (some 90 kB; `COMPILES_PER_WORKER` bounds
it), and a crash in a compiler must not take the user's process along. A worker that dies in a request fails that request, with what
it printed, and no other; the next request starts a new one. A worker is recycled after a number of requests, or when it has grown.

Free of MLIR. Locks are held for bookkeeping only, never while a worker works.
"""

from __future__ import annotations

import atexit
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from io import FileIO
from typing import IO, Any, cast

from tierup.dialect.base import forking
from tierup.dialect.base.forking import no_fork
from tierup.dialect.base.paths import absolute
from tierup.lowering.base.errors import CompilerCrashed, WorkerUnavailable
from tierup.lowering.service.worker import HELLO, receive, send, settings

COMPILES_PER_WORKER = 500  # 45 MB of what LLVM keeps, and starting anew costs half a second
LARGEST_WORKER = 1 << 30  # bytes: a fresh one that has compiled takes 190 MB
SECONDS_PER_CALL = 300.0
_SECONDS_TO_START = 60.0
_SECONDS_TO_END = 1.0
_LAST_LINES, _LAST_BYTES = 12, 4096


_log = logging.getLogger("tierup.service")


class _Worker:
    """A process, and the pipes to it. Raises WorkerUnavailable when it cannot be started."""

    def __init__(self, niceness: int, preload: str) -> None:
        with no_fork:  # between the making of the pipes and `_workers` knowing them
            try:
                self._printed = _file_in_memory()
            except OSError as e:
                raise WorkerUnavailable(f"no process for compiling could be started: {e}") from e
            try:
                self._process = _start(self._printed, niceness, preload)
            except (OSError, RuntimeError, MemoryError) as e:
                self._printed.close()
                raise WorkerUnavailable(f"no process for compiling could be started: {e}") from e
            self._requests, self._answers = cast(FileIO, self._process.stdin), cast(FileIO, self._process.stdout)
            os.set_blocking(self._requests.fileno(), False)
            _workers.add(self)
        self.pid = self._process.pid
        self.calls = 0
        self.has_answered = False
        self._ended_for = ""

    def greet(self) -> None:
        """Wait until it is ready. Raises WorkerUnavailable when it does not come up; it is gone then."""
        try:
            hello = receive(self._answers, time.monotonic() + _SECONDS_TO_START)
        except (EOFError, OSError) as e:
            if isinstance(e, TimeoutError):
                self.kill("it did not start")
            raise WorkerUnavailable(f"the process for compiling did not come up: {self.end()}") from e
        if hello != HELLO:
            self.end()
            raise WorkerUnavailable(f"the process for compiling said {hello!r}")

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

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
    def was_killed(self) -> bool:
        """Whether somebody else has killed it: the system, where memory is short."""
        return not self._ended_for and self._process.returncode == -signal.SIGKILL

    def kill(self, why: str) -> None:
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


def _closed() -> CompilerCrashed:
    """Not WorkerUnavailable: nobody is to compile in this process instead, which is about to end."""
    return CompilerCrashed("the service was closed", "crash", "")


def _file_in_memory() -> IO[bytes]:
    """For what a worker prints: a pipe that nobody empties would stop it. There need be no folder for temporary files."""
    if hasattr(os, "memfd_create"):
        return open(os.memfd_create("tierup"), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)


# What keeps another user's code, or the environment's, out of this process must keep it out of a worker, too
_ISOLATION = {"isolated": "-I", "ignore_environment": "-E", "no_user_site": "-s", "no_site": "-S", "dont_write_bytecode": "-B"}
# The search path comes behind the program: from the environment, an isolated interpreter would not take it, and any other would import
# a `sitecustomize` from all of it
_PROGRAM = "import sys; sys.path[:] = sys.argv[3:]; from tierup.lowering.service import worker; worker.main(int(sys.argv[1]), sys.argv[2])"


def _start(printed: IO[bytes], niceness: int, preload: str) -> subprocess.Popen[bytes]:
    """A worker's process, importing what this one would: the same search path, whatever it is by now, and as isolated as this one."""
    if os.name != "posix":
        raise OSError(f"not on {os.name}")
    executable = _interpreter()
    path = [there for entry in sys.path if isinstance(entry, str) and os.path.isabs(there := absolute(entry))]
    isolation = [option for flag, option in _ISOLATION.items() if getattr(sys.flags, flag)]
    command = [executable, "-P", *isolation, "-c", _PROGRAM, str(niceness), preload, *path]
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited: Ctrl-C is this process's, also while it starts
    try:
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=printed, bufsize=0)
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


class Service:
    """Workers of one process, one at a time: further callers wait. `niceness`: how far other processes go before them.
    `preload`: "module:function", which a worker calls before its first request."""

    def __init__(
        self,
        *,
        compiles: int = COMPILES_PER_WORKER,
        largest: int = LARGEST_WORKER,
        limit: float = SECONDS_PER_CALL,
        niceness: int = 0,
        preload: str = "",
    ) -> None:
        self._compiles, self._largest, self._limit = compiles, largest, limit
        self._niceness, self._preload = niceness, preload
        self._begin()
        _services.add(self)

    def _begin(self) -> None:
        self._lock = forking.lock()
        self._room = forking.Lock()  # no Semaphore: one that a signal's handler breaks off as it is taken stays taken
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    @property
    def pids(self) -> tuple[int, ...]:
        """The workers there are now."""
        with self._lock:
            return tuple(w.pid for w in (*self._idle, *self._busy))

    @property
    def has_answered(self) -> bool:
        """Whether a worker that is there has answered: one that has not may still be starting, though it has said hello."""
        with self._lock:
            return any(w.has_answered for w in (*self._idle, *self._busy))

    def start(self) -> None:
        """Have a worker ready: a thread starts it, and who calls meanwhile waits for that one. Nothing where there is one already."""
        with self._lock:
            if self._closed or self._idle or self._busy:
                return
        try:
            threading.Thread(target=self._start_early, name="tierup-starts-worker", daemon=True).start()
        except RuntimeError as e:  # there can be no more threads
            _log.debug("no worker is started early: %s", e)

    def _start_early(self) -> None:
        with self._room:
            try:
                self._give_back(self._take(), 0)
            except (WorkerUnavailable, CompilerCrashed) as e:  # who calls is told
                _log.debug("no worker is started early: %s", e)

    def call(self, module: str, function: str, *arguments: object, reproducer: str = "", limit: float | None = None) -> Any:
        """What a function returns in a worker, or raises.

        All of it is pickled; an exception that cannot be arrives as RemoteError. Raises CompilerCrashed, with `reproducer`, when the
        worker dies or takes longer than `limit` seconds, and WorkerUnavailable when there is none. A worker that somebody killed is not
        to blame: another is asked, once.
        """
        if getattr(_inside, "a_call", False):  # of a signal's handler, or of `__del__`: the one that runs would wait for itself
            raise WorkerUnavailable("this thread waits for a worker already")
        _inside.a_call = True
        try:
            return self._call((module, function, arguments), reproducer, self._limit if limit is None else limit)
        finally:
            _inside.a_call = False

    def _call(self, request: tuple[object, ...], reproducer: str, limit: float, again: bool = True) -> Any:
        with self._room:
            worker, is_lost = self._take(), False
            try:
                succeeded, value, size = worker.call(request, limit)
            except (EOFError, OSError) as e:
                said = self._end(worker)
                if not (again and worker.was_killed):
                    raise CompilerCrashed(f"the process that compiled is gone: {said}", "crash", reproducer) from e
                is_lost = True
            except BaseException:
                self._end(worker)  # it may still answer, to nobody
                raise
            else:
                self._give_back(worker, size)
        if is_lost:
            return self._call(request, reproducer, limit, again=False)
        if succeeded:
            return value
        raise value

    def _take(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise _closed()
            worker = self._idle.pop() if self._idle else None
            if worker is not None:
                self._busy.add(worker)
        if worker is not None and not worker.alive:  # ended by somebody while it had nothing to do
            self._end(worker)
            worker = None
        if worker is None:
            worker = self._start()
        return worker

    def _start(self) -> _Worker:
        worker = _Worker(self._niceness, self._preload)
        with self._lock:
            self._busy.add(worker)  # `close` ends it from now on
            closed = self._closed
        if closed:
            self._end(worker)
            raise _closed()
        try:
            worker.greet()
        except WorkerUnavailable:
            with self._lock:
                self._busy.discard(worker)
            if self._closed:
                raise _closed() from None
            raise
        except BaseException:
            self._end(worker)
            raise
        return worker

    def _give_back(self, worker: _Worker, size: int) -> None:
        with self._lock:
            keep = not self._closed and worker.calls < self._compiles and size < self._largest
            if keep:
                self._busy.discard(worker)
                self._idle.append(worker)
        if not keep:
            self._end(worker)

    def _end(self, worker: _Worker) -> str:
        with self._lock:
            self._busy.discard(worker)
        return worker.end()

    def end_idle(self) -> None:
        """End the workers that have nothing to do; a later call starts another."""
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.end()

    def close(self) -> None:
        """End all workers. Calls that wait for one, and later ones, raise CompilerCrashed."""
        with self._lock:
            self._closed = True
            there = [*self._busy, *self._idle]
        for worker in there:
            worker.kill("it was closed")  # an idle one may still be importing, for a second or two
            worker.wait()  # no process is left behind by an interpreter that ends
        self.end_idle()


_inside = threading.local()
_services: weakref.WeakSet[Service] = weakref.WeakSet()
_workers: weakref.WeakSet[_Worker] = weakref.WeakSet()


def _close_all() -> None:
    for one in list(_services):
        one.close()


def _in_child() -> None:
    for one in list(_services):
        one._begin()  # a lock may have been held by a thread that this process does not have
    for worker in list(_workers):
        worker.forget()
    _workers.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
