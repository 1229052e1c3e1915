"""One cache for many processes: 8 at a time run programs, some are killed at any moment, and files of the cache are changed under them.

    python test/stress/cache_storm.py [--seconds 60] [--files 2000] [--processes 8] [--seed 0]

No process may crash, hang or give a wrong result; every process that was not killed ends well, whatever the files are. Afterwards one that
nobody disturbs makes anew what was lost, and the next answers all first calls natively.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

CHILD = """
import sys
import numpy as np
import tierup

SHIFT = 1.5

def helper(x, k=2.0):
    return x * k + SHIFT

def elementwise(x):
    return np.tanh(helper(x)) - x

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def sums(x):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i, 0] > 0:
            total += x[i, 0]
    return total

draw = np.random.default_rng(int(sys.argv[1]))
first = []
for function in (elementwise, softmax, sums):
    made = tierup.jit(function)
    for call in range(3):
        x = draw.random((4 if len(sys.argv) > 2 else int(draw.integers(4, 7)), 5)) - 0.5
        np.testing.assert_allclose(made(x), function(x), rtol=1e-12, atol=1e-15)
        if not call:
            first.append(made.stats().hits)
print("right", *first)
"""
_SLOWEST = 300.0  # seconds for a process
_LONGEST_LIFE = 30.0  # seconds until one of two is killed, where it has not ended before


def change(path: Path, draw: random.Random) -> bool:
    """Change a file in one of many ways; whether there was one."""
    try:
        whole = path.read_bytes()
        at = draw.randrange(len(whole) or 1)
        ways = [
            whole[:at],
            whole[:at] + bytes([draw.randrange(256)]) + whole[at + 1 :],
            whole[:at] + draw.randbytes(draw.randrange(1, 40)) + whole[at:],
            draw.randbytes(draw.randrange(200)),
            draw.choice(list(path.parent.iterdir())).read_bytes(),
        ]
        path.write_bytes(draw.choice(ways))  # not renamed: who reads it meanwhile sees a part
    except OSError:  # another process has removed it
        return False
    return True


def storm(seconds: float, files: int, processes: int, seed: int) -> Counter[str]:
    """What happened, by name. Raises AssertionError, with what a process said, for one that did not end well."""
    draw, happened = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        script, cache = Path(folder, "program.py"), Path(folder, "cache")
        script.write_text(CHILD)
        running: dict[subprocess.Popen[str], tuple[float, float]] = {}  # since when, and when it is killed
        end, number = time.monotonic() + seconds, seed
        while running or time.monotonic() < end or happened["files changed"] < files:
            done = time.monotonic() >= end and happened["files changed"] >= files
            while not done and len(running) < processes:
                number += 1
                now = time.monotonic()
                running[_start(script, cache, number)] = now, now + draw.choice((draw.uniform(0, _LONGEST_LIFE), 2 * _SLOWEST))
            there = [path for path in cache.glob("*") if path.is_file()] if cache.exists() else []
            if there and not done:
                happened["files changed"] += change(draw.choice(there), draw)
            for process, (since, killed_at) in list(running.items()):
                assert time.monotonic() - since < _SLOWEST, "a process hangs"
                is_ended = process.poll() is not None
                if is_ended or time.monotonic() > killed_at:
                    process.kill()
                    del running[process]
                    _check(process, not is_ended, happened)
            time.sleep(0.01)
        for wanted in ("", "right 1 1 1\n"):
            process = _start(script, cache, 0, "alone")
            said = _check(process, False, happened)
            assert wanted in said, said
    return happened


def _start(script: Path, cache: Path, number: int, *more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(cache), "TIERUP_START": "1", "TIERUP_CACHE": "1", "TIERUP_WORKER": str(number % 4 // 3)}
    command = [sys.executable, str(script), str(number), *more]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _check(process: subprocess.Popen[str], killed: bool, happened: Counter[str]) -> str:
    out, said = process.communicate(timeout=_SLOWEST)
    if killed:
        happened["processes killed"] += 1
        return out
    assert process.returncode == 0 and out.startswith("right"), f"exit {process.returncode}: {out}{said}"
    happened["processes that ended well"] += 1
    happened["first calls answered natively"] += out.split().count("1")
    return out


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TIERUP_SEED", "0")))
    options = parser.parse_args()
    for what, count in storm(options.seconds, options.files, options.processes, options.seed).items():
        print(f"{what}: {count}")
