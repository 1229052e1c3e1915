"""A process that compiles for another: its `main`, started and spoken to by `lowering/service/service.py`.

It answers requests on stdin, one after another, on what was stdout: a request names a function, by its module and its name, and
the arguments; the answer is the function's result or what it raised. Lowering may not import the runtime, and a compile begins
there: so the function is named, not imported. A message is its length, 8 bytes little-endian, and a pickle: the two pipes are
between a process and its own child, and nobody else has an end of them.

It ends when stdin does, and ignores SIGINT (Ctrl-C goes to every process of a terminal; the parent decides). What is printed while
compiling goes to stderr, which the parent keeps for the case that this process dies.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from importlib import import_module
from io import FileIO
from typing import Any, NoReturn

from tierup.lowering.base.errors import RemoteError

HELLO = "ready"
_LENGTH = 8
_LONGER = 10  # seconds that a request may run on after its limit, at which the parent ends this process: there is no parent then


def send(pipe: FileIO, message: object, until: float | None = None) -> None:
    """Write a message. Raises what pickling raises, before anything is written, OSError when nobody reads, and TimeoutError."""
    send_bytes(pipe, pickle.dumps(message, protocol=5), until)


def send_bytes(pipe: FileIO, pickled: bytes, until: float | None = None) -> None:
    """Write what was pickled, behind its length. `until`: by time.monotonic(). Raises OSError when nobody reads, and TimeoutError."""
    rest = memoryview(len(pickled).to_bytes(_LENGTH, "little") + pickled)
    while rest:
        if until is not None:
            _wait_for(pipe, select.POLLOUT, until)
        rest = rest[pipe.write(rest) or 0 :]


def receive(pipe: FileIO, until: float | None = None) -> Any:
    """The next message. Raises EOFError when there is none, or none that is whole; TimeoutError when it is not there at that time."""
    return pickle.loads(_exactly(pipe, int.from_bytes(_exactly(pipe, _LENGTH, until), "little"), until))


def _exactly(pipe: FileIO, count: int, until: float | None) -> bytearray:
    data = bytearray()
    while len(data) < count:
        if until is not None:
            _wait_for(pipe, select.POLLIN, until)
        part = pipe.read(count - len(data))
        if not part:
            raise EOFError("the other process has closed the pipe")
        data += part
    return data


def _wait_for(pipe: FileIO, what: int, until: float) -> None:
    """Wait until a pipe can be read or written, or is closed. By no thread, of which there may be no more."""
    poll = select.poll()
    poll.register(pipe, what)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1e3):
        raise TimeoutError("the other process is not heard of")


def resident_bytes() -> int:
    """Memory of this process that is in use now."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # not on Linux: there it may be the parent's
        return peak * (1 if sys.platform == "darwin" else 1024)


def answer(module: str, function: str, arguments: tuple[Any, ...]) -> bytes:
    """The pickled answer to a request: (True, result, memory) or (False, exception, memory)."""
    try:
        result = getattr(import_module(module), function)(*arguments)
        return pickle.dumps((True, result, resident_bytes()), protocol=5)
    except Exception as e:  # noqa: BLE001 - it is raised again in the other process
        return pickle.dumps((False, _portable(e), resident_bytes()), protocol=5)


def _portable(error: Exception) -> Exception:
    """An exception that comes out of a pickle as it went in: itself, or what can be said of it."""
    try:
        copy = pickle.loads(pickle.dumps(error, protocol=5))
        if type(copy) is type(error) and str(copy) == str(error):
            return error
    except Exception:  # noqa: BLE001 - whatever its own methods raise: it is described instead
        pass
    return RemoteError(f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error)).strip())


def settings() -> dict[str, str]:
    """The environment variables that tierup reads."""
    return {name: value for name, value in os.environ.items() if name.startswith("TIERUP_")}


def _take_over(wanted: dict[str, str]) -> None:
    """They may have changed in the other process since this one was started."""
    if wanted != (now := settings()):
        for name in now:
            del os.environ[name]
        os.environ.update(wanted)


def has_more(requests: Any) -> bool:
    """Whether a request waits."""
    poll = select.poll()
    poll.register(requests, select.POLLIN)
    return bool(poll.poll(0))


def load_before(name: str, is_asked: Callable[[], bool]) -> None:
    """Call `module:function`, so that the first request need not wait for what it loads. It is given a function that says whether that one
    waits already. What is loaded is for good: no collection looks at it, now or later."""
    module, _, function = name.partition(":")
    gc.disable()
    try:
        getattr(import_module(module), function)(is_asked)
    except Exception:  # noqa: BLE001 - the first request that needs it meets it again, and is answered with it
        traceback.print_exc()
    gc.freeze()
    gc.enable()


def main(niceness: str = "0", preload: str = "") -> None:
    """Answer requests until stdin ends. `niceness`: how far other processes go first. `preload`: see `service.Service`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(int(niceness))
    requests, answers = FileIO(os.dup(0), "r"), FileIO(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a compiler prints must not stand among the answers
    serve(requests, answers, preload)


def serve(requests: FileIO, answers: FileIO, preload: str = "") -> NoReturn:
    """Answer requests until there will be no more, and end this process."""
    try:
        send(answers, HELLO)
        if preload:
            load_before(preload, lambda: has_more(requests))
        while True:
            module, function, arguments, settings, limit = receive(requests)
            _take_over(settings)
            signal.alarm(int(limit) + _LONGER)  # SIGALRM ends the process; no Python is needed for it
            answered = answer(module, function, arguments)
            signal.alarm(0)
            send_bytes(answers, answered)
    except (EOFError, ConnectionError):
        os._exit(0)  # nothing is left to be done, and tidying up takes LLVM a while
