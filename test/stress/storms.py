"""Programs that are disturbed while they compile: by forks, by signals whose handlers raise, by threads. Each is a process of its own.

    found = run(seconds=60, seed=0)       # programs, calls, wrong, crashed, refused; `told` has what was wrong

`storms.py forks SEED TRIES` and `storms.py signals SEED SHORTEST LONGEST COUNT` are the programs. The one forks while two threads compile, and
each child calls what the parent has compiled, for a size it has not, and what nobody has; the other is interrupted COUNT times, SHORTEST to
LONGEST seconds after it began to compile, and then compiles once more. A hang is ended by its own watch, and is a crash.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

FUNCTIONS = 2000
SECONDS_OF_A_CALL = 60.0  # the machine may be busy
SECONDS_OF_A_STORM = 60.0  # after which none begins another round: on a busy machine each takes long, and hangs nowhere
SECONDS_OF_A_PROGRAM = 600.0


@dataclass
class Found:
    """What came of programs. `calls`: of which each result was looked at."""

    programs: int = 0
    calls: int = 0
    wrong: int = 0
    crashed: int = 0
    refused: int = 0
    told: list[str] = field(default_factory=list)


def run(seconds: float, seed: int, tell: Callable[[str], object] = lambda line: None) -> Found:
    """Program after program until the seconds are over, one at least."""
    found, chance, end = Found(), random.Random(f"storms {seed}"), time.monotonic() + seconds
    while not found.programs or time.monotonic() < end:
        program(found, *drawn(chance))
        tell(f"storms {seed}: {found.programs} programs, {found.calls} calls, {found.wrong} wrong, {found.crashed} crashed")
    return found


def drawn(chance: random.Random) -> tuple[str, ...]:
    """The words of a program."""
    number = str(chance.randrange(1 << 30))
    shortest, longest = chance.choice(((0.001, 0.01), (0.001, 0.1), (0.02, 0.3), (0.1, 0.9)))
    return chance.choice((("forks", number, "10"), ("signals", number, str(shortest), str(longest), "12")))


def program(found: Found, *words: str) -> None:
    """Run one of the programs, and note what came of it."""
    done = subprocess.run(
        [sys.executable, __file__, *words], capture_output=True, text=True, timeout=SECONDS_OF_A_PROGRAM, env={**os.environ, "TIERUP_CACHE": "0"}
    )
    found.programs += 1
    last = done.stdout.split()
    if done.returncode == 0 and last[:1] == ["calls"]:
        found.calls += int(last[1])
        return
    wrong = "AssertionError" in done.stderr
    found.wrong, found.crashed = found.wrong + wrong, found.crashed + (not wrong)
    found.told.append(f"storms.py {' '.join(words)}: exit code {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-3000:]}")


# --- the programs -------------------------------------------------------------------------------------------------------------


def functions(folder: str) -> Callable[[int], Callable[..., object]]:
    """`number -> a function of its own`, whose source is in a file."""
    lines = "".join(f"def f{i}(x): return np.tanh(x) * {i} + x.sum()\n" for i in range(FUNCTIONS))
    Path(folder, "stormy.py").write_text("import numpy as np\n" + lines)
    sys.path.insert(0, folder)
    import stormy

    return lambda number: getattr(stormy, f"f{number % FUNCTIONS}")


def check(function: Callable[..., object], size: int) -> None:
    import numpy as np

    x = np.linspace(-1, 1, size, dtype=np.float32)
    np.testing.assert_allclose(function(x), function.__wrapped__(x), rtol=1e-4, atol=1e-4)


def forks(seed: str, tries: str) -> int:
    import tierup

    calls, left, until = 0, int(tries), time.monotonic() + SECONDS_OF_A_STORM
    with tempfile.TemporaryDirectory() as folder:
        take, chance, stop = functions(folder), random.Random(seed), threading.Event()
        known = tierup.jit(take(0))
        for _ in range(4):
            check(known, 50)

        def work(numbers: itertools.count[int]) -> None:
            while not stop.is_set():
                made = tierup.jit(take(next(numbers)))
                for _ in range(3):
                    check(made, 50)

        threads = [threading.Thread(target=work, args=(itertools.count(1 + 700 * i),), daemon=True) for i in range(2)]
        for thread in threads:
            thread.start()
        for number in range(left):
            if time.monotonic() > until:
                break
            time.sleep(chance.uniform(0, 0.1))
            child = os.fork()
            if child == 0:
                faulthandler.dump_traceback_later(SECONDS_OF_A_CALL, exit=True)
                code = 1
                try:
                    check(known, 50)
                    check(known, 51 + number)
                    new = tierup.jit(take(1500 + number))
                    for _ in range(3):
                        check(new, 50)
                    code = 0
                finally:
                    os._exit(code)
            status = os.waitpid(child, 0)[1]
            assert status == 0 or os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 1, "the child's call did not end"
            if status:
                print(f"child {number}: {status}", file=sys.stderr)
                os._exit(4)
            calls += 5
        stop.set()
        for thread in threads:
            thread.join()
    return calls


def signals(seed: str, shortest: str, longest: str, count: str) -> int:
    class Interruption(BaseException):
        pass

    armed = [False]

    def interrupt(*_: object) -> None:
        if armed[0]:
            armed[0] = False
            raise Interruption

    faulthandler.enable()
    chance, interrupted, calls, until = random.Random(seed), 0, 0, time.monotonic() + SECONDS_OF_A_STORM
    with tempfile.TemporaryDirectory() as folder:
        take = functions(folder)
        signal.signal(signal.SIGALRM, interrupt)
        for number in itertools.count():
            faulthandler.dump_traceback_later(2 * SECONDS_OF_A_CALL, exit=True)  # of a round
            if time.monotonic() > until:
                break
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(float(shortest), float(longest)))
                armed[0] = True
                import tierup

                function = tierup.jit(take(number))
                for _ in range(3):
                    check(function, 50)
                    calls += 1
                armed[0] = False
            except Interruption:
                interrupted += 1
                if interrupted == int(count):
                    break
        signal.setitimer(signal.ITIMER_REAL, 0)
        function = tierup.jit(take(FUNCTIONS - 1))
        for _ in range(4):
            check(function, 50)
            calls += 1
        assert function.stats().hits == 3, function.explain()
    return calls


if __name__ == "__main__":
    print("calls", {"forks": forks, "signals": signals}[sys.argv[1]](*sys.argv[2:]), flush=True)
