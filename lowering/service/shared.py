"""One compiler for all processes of a user: it has MLIR loaded, and gives each that asks a worker at once (TIERUP_COMPILER=shared).

    worker = Connection(name, niceness)

It listens at a socket that its user alone can open (0600, in a folder of 0700), and both sides look whose process the other is
(SO_PEERCRED). For each that connects it forks: the child is a worker as any other (`worker.serve`), but has imported all by then; what one
process does to its worker is no business of another's. `name` says what it has loaded: another Python, search path, source, environment
or priority is another socket.

Nothing depends on it. Where none answers, one is started, for later, and this process starts a worker of its own, as it does when its
shared one dies. It ends when nobody has asked for some time.
"""

from __future__ import annotations

import os
import signal
import socket
import stat
import struct
import subprocess
import tempfile
import threading
import time
from io import FileIO
from typing import cast

from tierup.dialect.base.forking import no_fork
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.lowering.service.process import Worker, command, workers
from tierup.lowering.service.worker import load_before, receive, send, serve

_SECONDS_TO_CONNECT, _SECONDS_TO_GREET = 0.5, 2.0
_WAITING = 64  # processes that have connected and have no worker yet
_CREDENTIALS = struct.Struct("3i")  # pid, user, group
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Connection(Worker):
    """A worker that the shared compiler has for this process. Raises WorkerUnavailable where there is none."""

    is_own = False
    seconds_to_start = _SECONDS_TO_GREET

    def __init__(self, name: str, niceness: int) -> None:
        with no_fork:
            try:
                self._socket = _connected(socket_of(name))
            except OSError as e:
                raise WorkerUnavailable(f"no shared compiler: {e}") from e
            self._requests = self._answers = FileIO(os.dup(self._socket.fileno()), "r+")
            workers.add(self)
        try:
            self.pid = cast(int, receive(self._answers, time.monotonic() + self.seconds_to_start))
            send(self._requests, (os.getcwd(), niceness), time.monotonic() + self.seconds_to_start)
        except (EOFError, OSError) as e:
            self.forget()
            raise WorkerUnavailable(f"the shared compiler does not answer: {e}") from e

    @property
    def alive(self) -> bool:
        """Whether the other side has not closed."""
        try:
            return self._socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    @property
    def was_killed(self) -> bool:
        """Whatever became of it, a worker of this process's own may be asked; not again what took too long."""
        return not self._ended_for

    def kill(self, why: str) -> None:
        """It ends when it next looks, or when its alarm goes off."""
        self._ended_for = why
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:  # it is gone
            pass

    def wait(self) -> None:
        """It is the shared compiler's to wait for."""

    def end(self) -> str:
        """Let go of it."""
        self.forget()
        return self._ended_for or "the shared compiler has closed the connection"

    def forget(self) -> None:
        """As `end`: the process is not ours."""
        self._answers.close()
        self._socket.close()


def socket_of(name: str) -> str:
    """Where the shared compiler of this name listens. Raises OSError where others could get at it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    folder = os.path.join(runtime, "tierup") if runtime else os.path.join(tempfile.gettempdir(), f"tierup-{os.geteuid()}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    about = os.lstat(folder)
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & _OTHERS:
        raise PermissionError(f"{folder} is no folder that this user alone can open")
    return os.path.join(folder, name)


def _connected(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(_SECONDS_TO_CONNECT)
        made.connect(path)
        made.setblocking(False)
        if _user(made) != os.geteuid():
            raise PermissionError(f"{path} is of another user's process")
    except BaseException:
        made.close()
        raise
    return made


def _user(of: socket.socket) -> int:
    """Whose process is at the other end."""
    return int(_CREDENTIALS.unpack(of.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))[1])


def start(name: str, preload: str, seconds: float) -> None:
    """Start a shared compiler of this name, for later. Raises OSError."""
    line = command("shared", socket_of(name), preload, str(seconds))
    nothing = subprocess.DEVNULL
    # a session of its own: it outlives this process and its terminal
    started = subprocess.Popen(line, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True, cwd="/")
    try:
        threading.Thread(target=started.wait, name="tierup-shared-compiler", daemon=True).start()  # no zombie, where it ends before us
    except RuntimeError:  # there can be no more threads
        started.returncode = 0


# --- the process ---------------------------------------------------------------------------------------------------------


def main(path: str, preload: str, seconds: str) -> None:
    """Listen until nobody has asked for so many seconds, and no worker is left."""
    import fcntl  # here: not on all systems

    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:  # another is there, or about to be
        return
    load_before(preload, lambda: False)
    if os.path.lexists(path):  # of one that was killed
        os.unlink(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        before = os.umask(0o177)
        listening.bind(path)
        os.umask(before)
        listening.listen(_WAITING)
        listening.settimeout(float(seconds))
        children: set[int] = set()
        while True:
            try:
                asks, _ = listening.accept()
            except TimeoutError:
                children = {child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)}
                if children:
                    continue
                os.unlink(path)  # who has connected since finds nobody, and helps himself
                return
            children = {child for child in children if os.waitpid(child, os.WNOHANG) == (0, 0)}
            with asks:
                if _user(asks) == os.geteuid() and (child := _forked(asks, listening, lock)):
                    children.add(child)


def _forked(asks: socket.socket, listening: socket.socket, lock: int) -> int:
    """A worker for who asks."""
    child = os.fork()
    if child:
        return child
    try:
        listening.close()
        os.close(lock)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        asks.setblocking(True)
        requests = FileIO(asks.detach(), "r+")
        send(requests, os.getpid())
        folder, niceness = cast("tuple[str, int]", receive(requests))
        os.chdir(folder)
        os.nice(niceness)
        serve(requests, requests)
    finally:
        os._exit(1)
