"""One compiler for all processes of a user: who may ask it, that nothing depends on it, and that it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tierup.lowering.base.errors import CompilerCrashed
from tierup.lowering.service import shared
from tierup.lowering.service.service import Service

FUNCTIONS, NAME = "worker_functions", "name"
pytestmark = pytest.mark.skipif(not hasattr(socket, "SO_PEERCRED"), reason="no SO_PEERCRED")


def eventually(condition: Callable[[], object], seconds: float = 100) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="t"))  # short: a socket's path is
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(made))
    monkeypatch.setattr(shared, "_SECONDS_TO_GREET", 60.0)
    monkeypatch.setattr(shared, "_SECONDS_TO_CONNECT", 60.0)
    monkeypatch.setattr(shared.Connection, "seconds_to_start", 60.0)
    yield made
    shutil.rmtree(made)


def listens() -> bool:
    """Whether the shared compiler takes connections."""
    try:
        shared._connected(shared.socket_of(NAME)).close()
    except OSError:
        return False
    return True


@pytest.fixture
def compiler(folder: Path) -> Iterator[int]:
    """A shared compiler that is up; its process's number."""
    command = shared.command("shared", shared.socket_of(NAME), f"{FUNCTIONS}:preload", "1000")
    started = subprocess.Popen(command)
    eventually(listens)  # the file is there before that
    yield started.pid
    started.kill()
    started.wait()


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Service]]:
    monkeypatch.setattr(shared, "start", lambda *_: None)
    made: list[Service] = []

    def service(**options: object) -> Service:
        made.append(Service(shared_name=NAME, **options))  # type: ignore[arg-type]
        return made[-1]

    yield service
    for one in made:
        one.close()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_requests_are_answered_by_a_fork_of_the_shared_compiler_in_the_folder_of_who_asks(compiler: int, make: Callable[..., Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = make(), make(niceness=3)
    assert one.call(FUNCTIONS, "echo", 1, "two") == (1, "two")
    assert [service.call("os", "nice", 0) - os.nice(0) for service in (one, other)] == [0, 3]
    assert other.call("os", "getcwd") == str(tmp_path)
    assert parent(one.pids[0]) == parent(other.pids[0]) == compiler and one.pids != other.pids


def test_the_socket_and_its_folder_are_open_to_their_user_alone(compiler: int, folder: Path) -> None:
    assert stat.S_IMODE((folder / "tierup").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "tierup" / NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_folder_that_others_can_open_is_not_used(compiler: int, folder: Path, make: Callable[..., Service], mode: int) -> None:
    (folder / "tierup").chmod(mode)
    service = make()
    assert service.call(FUNCTIONS, "echo", 1) == (1,)
    assert parent(service.pids[0]) == os.getpid()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can be another user")
def test_another_users_process_is_not_answered_and_answers_nobody(compiler: int, folder: Path, make: Callable[..., Service]) -> None:
    for path, mode in ((folder, 0o777), (folder / "tierup", 0o777), (folder / "tierup" / NAME, 0o777)):
        path.chmod(mode)
    asks = f"import os, socket; os.setuid(65534); s = socket.socket(socket.AF_UNIX); s.connect({str(folder / 'tierup' / NAME)!r}); print(s.recv(1))"
    assert subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, timeout=100).stdout == "b''\n"
    (folder / "tierup").chmod(0o700)
    (folder / "tierup" / NAME).unlink()
    listens = "import os, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); os.setuid(65534); s.listen(); print('up', flush=True); sys.stdin.read()"
    path = str(folder / "tierup" / NAME)
    foreign = subprocess.Popen([sys.executable, "-c", listens, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert foreign.stdout is not None and foreign.stdout.readline() == "up\n"
    with pytest.raises(PermissionError, match="another user's process"):
        shared._connected(path)
    foreign.kill()
    foreign.communicate()


@pytest.mark.parametrize("why", ["none", "killed", "stopped", "no compiler", "breaks off"])
def test_where_it_does_not_answer_a_worker_of_the_processs_own_does(why: str, folder: Path, make: Callable[..., Service], request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if why in ("killed", "stopped"):
        compiler = request.getfixturevalue("compiler")
        os.kill(compiler, signal.SIGKILL if why == "killed" else signal.SIGSTOP)
        monkeypatch.setattr(shared.Connection, "seconds_to_start", 0.2)
    elif why == "no compiler":  # a file, and not a socket
        (folder / "tierup").mkdir(0o700)
        (folder / "tierup" / NAME).write_text("")
    elif why == "breaks off":
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(shared.socket_of(NAME))
        listening.listen()

        def begin() -> None:
            asks, _ = listening.accept()
            with asks, asks.makefile("wb", buffering=0) as answers:
                shared.send(answers, 1)  # type: ignore[arg-type]  # it writes as a FileIO does
                asks.recv(100)

        threading.Thread(target=begin, daemon=True).start()
    service = make()
    assert service.call(FUNCTIONS, "echo", 1) == (1,)
    assert parent(service.pids[0]) == os.getpid()


def test_a_worker_that_dies_in_a_request_is_replaced_by_an_own_one_once(compiler: int, make: Callable[..., Service], tmp_path: Path) -> None:
    service = make()
    assert service.call(FUNCTIONS, "die_once", str(tmp_path / "died")) == "survived"
    assert parent(service.pids[0]) == os.getpid()
    service.end_idle()
    with pytest.raises(CompilerCrashed):
        service.call("os", "abort")
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_what_takes_too_long_is_given_up_and_not_tried_again(compiler: int, make: Callable[..., Service]) -> None:
    service = make()
    start = time.monotonic()
    with pytest.raises(CompilerCrashed, match="longer than 0.5 s"):
        service.call("time", "sleep", 1000, limit=0.5)
    assert time.monotonic() - start < 100
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_a_fork_of_who_asks_has_a_worker_of_its_own(compiler: int, make: Callable[..., Service]) -> None:
    service = make()
    mine = service.call("os", "getpid")
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, str(service.call("os", "getpid")).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reading, 100)) != mine
    assert service.call("os", "getpid") == mine


def test_one_is_started_for_later_ends_when_nobody_asks_and_there_are_never_two(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "tierup" / NAME
    first = Service(shared_name=NAME, shared_seconds=3.0)
    assert first.call(FUNCTIONS, "echo", 1) == (1,)  # by its own: there was none
    eventually(path.exists)
    again = subprocess.run(shared.command("shared", shared.socket_of(NAME), f"{FUNCTIONS}:preload", "1000"), timeout=100)
    assert again.returncode == 0  # at once: there is one
    second = Service(shared_name=NAME, shared_seconds=3.0)
    assert second.call("os", "getppid") != os.getpid()
    time.sleep(4)
    assert path.exists()  # it has a worker
    second.close()
    eventually(lambda: not path.exists())
    first.close()
