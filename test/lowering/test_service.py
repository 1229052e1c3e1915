"""Compiling in another process: workers start, are recycled, die and are replaced; a fork and an exit do no harm."""

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from interruptions import interrupted_everywhere

import tierup
from tierup.lowering.base.errors import CompilerCrashed, RemoteError, WorkerUnavailable
from tierup.lowering.service.service import Service

FUNCTIONS = "worker_functions"


@pytest.fixture
def make():
    made = []

    def service(**options):
        made.append(Service(**options))
        return made[-1]

    yield service
    for one in made:
        one.close()


def gone(pid):
    """Whether a process is no more: neither running nor waited for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def eventually(condition, seconds=200):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_function_named_by_the_request_is_called_in_one_other_process(make):
    service = make()
    assert service.pids == ()  # nothing is started before it is needed
    assert service.call(FUNCTIONS, "echo", 1, "two", [3.0]) == (1, "two", [3.0])
    assert service.call(FUNCTIONS, "surroundings")["pid"] == service.pids[0] != os.getpid()
    assert len(service.pids) == 1


def test_a_worker_imports_the_same_tierup_by_the_same_path_and_lets_others_go_first(make):
    found = make(niceness=3).call(FUNCTIONS, "surroundings")
    assert found["tierup"] == tierup.__file__
    assert set(filter(None, sys.path)) <= set(found["path"])
    assert found["nice"] == os.nice(0) + 3
    assert found["sigint"]
    assert found["modules"] == []  # a worker loads a compiler when it is asked to compile


def test_tierups_environment_variables_are_those_of_the_moment_of_the_request(make, monkeypatch):
    service = make()
    for value in ("first", "second"):
        monkeypatch.setenv("TIERUP_DUMP_DIR", value)
        assert service.call("os", "getenv", "TIERUP_DUMP_DIR") == value
    monkeypatch.delenv("TIERUP_DUMP_DIR")
    assert service.call("os", "getenv", "TIERUP_DUMP_DIR") is None


def test_an_exception_arrives_as_it_was_raised_and_the_worker_goes_on(make):
    service = make()
    with pytest.raises(LookupError, match="not there"):
        service.call(FUNCTIONS, "fail", "not there")
    before = service.pids
    with pytest.raises(RemoteError, match="Local: strange") as caught:
        service.call(FUNCTIONS, "fail_strangely")
    assert "in fail_strangely" in caught.value.trace
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        service.call("no_such_module", "f")
    with pytest.raises(Exception, match="pickle|local object"):
        service.call(FUNCTIONS, "unpicklable")
    assert service.pids == before


def test_what_is_printed_while_compiling_does_not_stand_among_the_answers(make, capfd):
    service = make()
    assert service.call(FUNCTIONS, "say", "hello") == "hello"
    assert service.call(FUNCTIONS, "echo", 1) == (1,)
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_dies_says_of_what_with_its_last_words_and_is_not_asked_again(make):
    service = make()
    with pytest.raises(CompilerCrashed) as caught:
        service.call(FUNCTIONS, "abort", "LLVM ERROR: cannot select", reproducer="module {}")
    assert "SIGABRT" in str(caught.value)
    assert "LLVM ERROR: cannot select" in str(caught.value)
    assert (caught.value.stage, caught.value.reproducer) == ("crash", "module {}")
    assert service.pids == ()  # one death, and no second try
    with pytest.raises(CompilerCrashed, match="exit code 3"):
        service.call(FUNCTIONS, "end", 3)
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_a_worker_that_somebody_kills_is_replaced_once_and_one_killed_before_a_request_always(make, tmp_path):
    service = make()
    service.call(FUNCTIONS, "echo")
    (pid,) = service.pids
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: not service._idle[0].alive)
    assert service.call(FUNCTIONS, "echo", 1) == (1,)
    (second,) = service.pids
    assert second != pid
    asked = tmp_path / "asked"

    def kill():
        eventually(asked.exists)
        os.kill(second, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    assert service.call(FUNCTIONS, "first_time", str(asked)) == "not the first time"  # the system, short of memory, may have been the one
    killer.join()
    assert service.pids not in ((), (second,))
    with pytest.raises(CompilerCrashed, match="SIGKILL"):
        service.call(FUNCTIONS, "kill")


def test_a_worker_is_started_before_it_is_needed_and_loads_what_it_will_need(make):
    service = make(preload=f"{FUNCTIONS}:preload")
    service.start()
    service.start()
    assert service.call(FUNCTIONS, "preloaded") == 1  # waits for that worker, which was asked to load once
    (pid,) = service.pids
    service.start()
    assert service.call(FUNCTIONS, "surroundings")["pid"] == pid
    service = make(preload="no_such_module:preload")
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_a_large_request_to_a_worker_that_does_not_read_takes_no_longer_than_allowed(make):
    service = make(preload="worker_functions:doze")
    with pytest.raises(CompilerCrashed, match=r"longer than 0\.5 s"):
        service.call(FUNCTIONS, "echo", b"x" * (8 << 20), limit=0.5)
    assert make().call(FUNCTIONS, "echo", b"x" * (8 << 20)) == (b"x" * (8 << 20),)


def test_without_a_folder_for_temporary_files_or_threads_a_worker_works(make, monkeypatch):
    import tempfile

    def refuse(*_, **__):
        raise FileNotFoundError("no usable temporary directory found")

    def no_thread(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(tempfile, "_get_default_tempdir", refuse)
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(threading.Thread, "start", no_thread)
    service = make()
    service.start()
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_too_many_open_files_are_worker_unavailable(make):
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    service, held = make(), []
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, before[1]))
    try:
        with pytest.raises(OSError, match="Too many"):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(WorkerUnavailable, match="Too many open files"):
            service.call(FUNCTIONS, "echo")
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_a_worker_that_takes_too_long_is_ended(make):
    service = make(limit=0.5)
    service.call(FUNCTIONS, "echo", limit=60)
    (pid,) = service.pids
    with pytest.raises(CompilerCrashed, match=r"longer than 0\.5 s"):
        service.call(FUNCTIONS, "sleep", 600)
    assert gone(pid)
    assert service.call(FUNCTIONS, "echo", 1, limit=60) == (1,)


@pytest.mark.parametrize(("options", "grown"), [({"compiles": 3}, 0), ({"largest": 100 << 20}, 200 << 20)])
def test_a_worker_is_recycled_after_so_many_compiles_or_when_it_has_grown(make, options, grown):
    service = make(**options)
    service.call(FUNCTIONS, "echo")
    (pid,) = service.pids
    service.call(FUNCTIONS, "grow", 1)
    assert service.pids == (pid,)
    service.call(FUNCTIONS, "grow", grown)
    assert service.pids == ()
    assert gone(pid)
    assert service.call(FUNCTIONS, "surroundings")["pid"] != pid


def test_many_threads_share_one_worker(make):
    service = make()
    pids, answers = set(), []

    def ask(number):
        answers.append(service.call(FUNCTIONS, "echo", number)[0])
        pids.update(service.pids)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(16))
    assert len(service.pids) == len(pids) == 1


def test_a_handler_that_raises_anywhere_leaves_room_for_other_callers(make, monkeypatch):
    service = make()
    monkeypatch.setattr(service, "_take", lambda own: (_ for _ in ()).throw(WorkerUnavailable("there is none")))

    def step():
        with suppress(WorkerUnavailable):
            service._call((FUNCTIONS, "echo", ()), "", 1.0)

    for passed in interrupted_everywhere(step):
        assert not service._room._is_owned()
    assert passed > 0


def test_closing_ends_busy_workers_too_and_there_are_none_afterwards(make):
    service = make()
    service.call(FUNCTIONS, "echo")
    (pid,) = service.pids
    failed = []

    def wait():
        try:
            service.call(FUNCTIONS, "sleep", 600)
        except CompilerCrashed as e:
            failed.append(e)

    thread = threading.Thread(target=wait)
    thread.start()
    eventually(lambda: service._busy)
    service.close()
    thread.join()
    assert "closed" in str(failed[0])
    assert gone(pid)
    with pytest.raises(CompilerCrashed, match="closed"):
        service.call(FUNCTIONS, "echo")


def test_idle_workers_can_be_ended_and_the_next_request_starts_one(make):
    service = make()
    service.call(FUNCTIONS, "echo")
    (pid,) = service.pids
    service.end_idle()
    assert gone(pid)
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_a_process_that_cannot_be_started_is_said_to_be_unavailable(make, monkeypatch, tmp_path):
    import multiprocessing.spawn

    monkeypatch.setattr(multiprocessing.spawn, "get_executable", lambda: str(tmp_path / "nothing"))
    with pytest.raises(WorkerUnavailable, match="nothing"):
        make().call(FUNCTIONS, "echo")
    script = tmp_path / "broken"
    script.write_text("#!/bin/sh\necho no Python here >&2\nexit 4\n")
    script.chmod(0o700)
    monkeypatch.setattr(multiprocessing.spawn, "get_executable", lambda: str(script))
    with pytest.raises(WorkerUnavailable, match="exit code 4\nno Python here"):
        make().call(FUNCTIONS, "echo")


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_fork_starts_its_own_worker_and_leaves_its_parents_alone(make, tmp_path):
    service = make()
    service.call(FUNCTIONS, "echo")
    (pid,) = service.pids
    over = tmp_path / "over"
    busy = threading.Thread(target=service.call, args=(FUNCTIONS, "wait_for", str(over)))
    busy.start()
    eventually(lambda: service._busy)
    child = os.fork()
    if child == 0:
        ok = False
        try:
            own = service.call(FUNCTIONS, "surroundings")["pid"]
            ok = own != pid and service.pids == (own,)
            service.close()
        finally:
            os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
    over.touch()
    busy.join()
    assert service.pids == (pid,)
    assert service.call(FUNCTIONS, "echo", 1) == (1,)


def test_a_worker_ends_with_its_parent_though_a_child_of_fork_lives_on():
    code = """
import os, sys, threading, time
from tierup.lowering.service.service import Service
service = Service()
threading.Thread(target=service.call, args=("time", "sleep", 5), daemon=True).start()
while not service._busy or not next(iter(service._busy)).calls:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    time.sleep(600)
    os._exit(0)
print(child, *service.pids, flush=True)
os.kill(os.getpid(), 9)
"""
    # stderr is not captured: the child that lives on would hold it open
    done = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    child, pid = map(int, done.stdout.readline().split())
    done.wait()
    done.stdout.close()
    eventually(lambda: gone(pid))
    os.kill(child, signal.SIGKILL)  # which raises where it lives no more


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "threading.Thread(target=lambda: None).start()"])
def test_an_interpreter_that_exits_while_a_worker_works_ends_at_once_without_a_word(ending):
    code = f"""
import threading, time
from tierup.lowering.service.service import Service
from tierup.lowering.base.errors import CompilerCrashed
service = Service()
service.call("os", "getpid")
def work():
    try:
        service.call("time", "sleep", 600)
    except CompilerCrashed:
        pass
threading.Thread(target=work, daemon=True).start()
while not service._busy:
    time.sleep(0.01)
print(*service.pids, flush=True)
{ending}
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)  # the worker sleeps for 600
    assert (done.returncode, done.stderr) == (0, "")
    assert gone(int(done.stdout))


def test_importing_the_service_starts_nothing_and_loads_no_compiler():
    code = "import sys, tierup.lowering.service.service; print([m for m in sys.modules if 'mlir' in m or 'llvm' in m or 'multiprocessing' in m])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_worker_is_as_isolated_as_its_parent_and_runs_nothing_that_lies_on_the_search_path(tmp_path):
    """Python imports `sitecustomize` from anywhere on the path that the environment names, before any program of ours."""
    (tmp_path / "sitecustomize.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()")
    code = f"""
import sys
sys.path.append({str(tmp_path)!r})  # as a program's own folder is, of which its Python never imported a sitecustomize
sys.path.append({str(Path(__file__).resolve().parents[2])!r})
from tierup.lowering.service.service import Service
service = Service()
print(service.call("builtins", "eval", "(__import__('sys').flags.isolated, __import__('sys').flags.no_user_site, __import__('sys').path)"))
print((sys.flags.isolated, sys.flags.no_user_site, sys.path))
service.close()
"""
    for isolation, environment in (["-I"], {**os.environ, "PYTHONPATH": str(tmp_path)}), (["-s"], {**os.environ, "PYTHONPATH": ""}):
        done = subprocess.run([sys.executable, *isolation, "-c", code], env=environment, capture_output=True, text=True, timeout=200)
        assert done.returncode == 0, done.stderr
        inside, outside = map(ast.literal_eval, done.stdout.splitlines())
        assert inside == outside or (inside[:2], inside[2]) == (outside[:2], [os.getcwd() if p == "" else p for p in outside[2]])
        assert not (tmp_path / "ran").exists()
