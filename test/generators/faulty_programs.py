"""Functions that are called while something goes on around them: forks, signals and threads during compiles, cache files and bundles that
somebody damaged. Each returns how many calls it made, and what was wrong."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

from arguments import arguments
from checking import Refused, difference, may_be_rounding, outcome, plain
from numpy_programs import NumpyProgram, numpy_program
from running import PROLOGUE, function_of, made

import tierup

SECONDS_OF_A_CHILD = 60.0


def calls_of(function: Any, program: NumpyProgram, most: int, repeat: bool = True) -> tuple[int, str]:
    """Make the program's first calls, each compared. Raises Refused, and whatever a signal's handler raises."""
    oracle = plain(program.source)
    for number, call in enumerate(made(program.calls)):
        if number >= most:
            break
        want = outcome(oracle, arguments(program.parameters, call))
        got = outcome(function, arguments(program.parameters, call))
        if isinstance(got.error, Interrupted):
            raise got.error
        what = difference(got, want)
        if what and not may_be_rounding(program.source, program.parameters, call, got):
            return number + 1, f"call {number}: {what}"
    return most, ""


def forked(seed: int, folder: Path) -> tuple[int, str, str]:
    """Fork while another thread compiles; parent and children call on. A child that does not end hangs."""
    chance = random.Random(f"fork {seed}")
    program = numpy_program(f"fork {seed}", 6)
    made_with = chance.choice(({}, {"compile": "background"}, {"speculate": "bailout"}, {"executor": "specializing"}))
    functions = [tierup.jit(function_of(program.source, folder), **made_with) for _ in range(3)]
    calls, what = calls_of(functions[0], program, 1)
    if what:
        return calls, what, program.source
    threads = [threading.Thread(target=lambda f=f: calls_of(f, program, 8), daemon=True) for f in functions[:2]]
    for thread in threads:
        thread.start()
    for child in range(4):
        time.sleep(chance.random() * 0.15)
        pid = os.fork()
        if pid == 0:
            code = 3
            try:
                _, found = calls_of(functions[2] if child % 2 else functions[0], program, 6)
                code = 1 if found else 0
            finally:
                os._exit(code)
        found = _ended(pid)
        if found:
            return calls, f"child {child} {found}", program.source
        calls += 6
    for thread in threads:
        thread.join(120)
        if thread.is_alive():
            return calls, "a thread of the parent does not end", program.source
    more, what = calls_of(functions[2], program, 8)
    return calls + more + 16, what, program.source


def _ended(pid: int) -> str:
    until = time.monotonic() + SECONDS_OF_A_CHILD
    while time.monotonic() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return "" if status == 0 else f"ended with status {status}"
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return "hangs"


class Interrupted(Exception):
    """What the handler of a signal raises."""


def signalled(seed: int, folder: Path) -> tuple[int, str, str]:
    """A signal's handler raises, now and then, while functions are called and compiled; afterwards they do what they should."""
    chance = random.Random(f"signal {seed}")
    program = numpy_program(f"signal {seed}", 6)
    function = tierup.jit(function_of(program.source, folder), **chance.choice(({}, {"compile": "background"}, {"speculate": "bailout"})))
    calls = 0

    def raises(number: int, frame: Any) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, raises)
    try:
        for _ in range(6):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.random() * 0.4 + 0.001)
                made_, what = calls_of(function, program, 8)
                signal.setitimer(signal.ITIMER_REAL, 0)
                calls += made_
                if what:
                    return calls, what, program.source
            except Interrupted:
                continue
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    more, what = calls_of(function, program, 20)
    return calls + more, what and f"after the signals: {what}", program.source


def first_compile_signalled(seed: int, folder: Path) -> tuple[int, str, str]:
    """The same in a process of its own, whose imports the signal meets."""
    program = numpy_program(f"first {seed}", 3)
    path = folder / "first.py"
    path.write_text(_FIRST.format(source=f"{PROLOGUE}\n{program.source}", seed=seed))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=280, env=environment)
    if done.returncode == 5:
        raise Refused("the program of a first compile")
    return 8, "" if done.returncode == 0 else f"exit {done.returncode}: {(done.stdout + done.stderr)[-1500:]}", program.source


_FIRST = '''
import random, signal, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
import tierup
from checking import Refused
from faulty_programs import Interrupted, calls_of
from numpy_programs import numpy_program

{source}

def raises(number, frame):
    raise Interrupted

chance = random.Random({seed})
signal.signal(signal.SIGALRM, raises)
program = numpy_program("first {seed}", 3)
g = tierup.jit(f)
try:
    for _ in range(3):
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.random() * 1.2 + 0.001)
            calls_of(g, program, 4)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except Interrupted:
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    _, what = calls_of(g, program, 8)
except Refused:
    signal.setitimer(signal.ITIMER_REAL, 0)  # an interpreter that ends has no handlers any more
    sys.exit(5)
if what:
    sys.exit("after the signals: " + what)

@tierup.jit
def twice(x):
    return x * 2 + 1

for _ in range(3):
    twice(np.ones(3))
if twice.stats().hits == 0:
    sys.exit("nothing is compiled any more: " + twice.explain())
'''


def threaded(seed: int, folder: Path) -> tuple[int, str, str]:
    """Threads call one function at once while it is profiled and compiled."""
    chance = random.Random(f"threads {seed}")
    program = numpy_program(f"threads {seed}", 6)
    function = tierup.jit(function_of(program.source, folder), **chance.choice(({}, {"compile": "background"}, {"speculate": "bailout"}, {"executor": "specializing"}, {"max_versions": 1})))
    found: list[str] = []

    def work() -> None:
        try:
            _, what = calls_of(function, program, 14)
            if what:
                found.append(what)
        except Refused as e:
            found.append(f"refused: {e}")

    threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(200)
        if thread.is_alive():
            where = "".join(f"\n{''.join(traceback.format_stack(frame))}" for frame in sys._current_frames().values())
            return 0, f"a thread does not end{where}", program.source
    if found and found[0].startswith("refused"):
        raise Refused(found[0])
    return 56, found[0] if found else "", program.source


def damaged_cache(seed: int, folder: Path) -> tuple[int, str, str]:
    """Compile, damage what the cache holds in some way, and call a new function of the same source: right, whatever it finds."""
    chance = random.Random(f"cache {seed}")
    program = numpy_program(f"cache {seed}", 6)
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    names = {"TIERUP_CACHE": "1", "TIERUP_CACHE_DIR": str(cache)}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    function = function_of(program.source, folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            calls, what = calls_of(tierup.jit(function), program, 6)
            for _ in range(3):
                if what:
                    break
                files = sorted(p for p in cache.rglob("*") if p.is_file() and not p.is_symlink())
                for path in files:
                    if chance.random() < 0.7:
                        _damage(path, files, chance)
                more, what = calls_of(tierup.jit(function), program, 6)
                calls += more
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return calls, what, program.source


def _content(path: Path) -> bytearray:
    """Of a file that is one, and has not been made huge."""
    return bytearray(path.read_bytes()) if path.is_file() and path.stat().st_size < 1 << 24 else bytearray()


def _damage(path: Path, files: list[Path], chance: random.Random) -> None:
    data = _content(path)
    how = chance.choice(("flip", "flip", "cut", "empty", "longer", "swap", "random", "fifo", "folder", "sparse", "link", "unreadable"))
    if how == "flip" and data:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif how == "cut":
        data = data[: chance.randrange(len(data) + 1)]
    elif how == "empty":
        data = bytearray()
    elif how == "longer":
        data += chance.randbytes(100)
    elif how == "random":
        data = bytearray(chance.randbytes(len(data)))
    elif how == "swap":
        data = _content(chance.choice(files)) or data
    if how in ("fifo", "folder", "link"):
        made = {"fifo": os.mkfifo, "folder": os.mkdir, "link": lambda at: os.symlink("/dev/zero", at)}[how]
        for _ in range(100):  # the compiler's process may write the entry in between
            path.unlink(missing_ok=True)
            with contextlib.suppress(FileExistsError):
                return made(path)
    path.write_bytes(data)
    if how == "sparse":
        os.truncate(path, 3 << 30)
    elif how == "unreadable":
        path.chmod(0)


FAULTS = (forked, signalled, first_compile_signalled, threaded, damaged_cache, damaged_cache, threaded, forked)


def faulty(seed: int) -> tuple[int, str, str]:
    """(calls, what was wrong, the program's source). Raises Refused."""
    kind = FAULTS[seed % len(FAULTS)]
    with tempfile.TemporaryDirectory(prefix="tierup-soak-", ignore_cleanup_errors=True) as folder:
        calls, what, source = kind(seed, Path(folder))
    return calls, what and f"{kind.__name__}: {what}", source
