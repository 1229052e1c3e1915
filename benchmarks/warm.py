"""What a fresh process waits for until its first native result: cold, with a shared compiler, with code on disk, with what earlier
processes' calls had, and with a plan.

`python -m benchmarks.warm [PROCESSES]` runs processes in turns, one of each kind and program after the other, and prints medians. CPU is
that of the process, all its threads together; compiles are done in the process, but by a shared compiler where there is one: `wall` is
the time that passed. `times` is how many times as long a cold process takes until its first native result, imports included, by CPU and by
the clock.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

BEGIN, WALL = time.process_time(), time.perf_counter()
os.environ.setdefault("TIERUP_WORKER", "0")
import tierup  # noqa: E402 - its import is measured

PLAN = os.environ.get("BENCHMARK_PLAN", "")  # a file, of the kind "plan"
load_plan, jit = (tierup.load_plan, None) if PLAN else (None, tierup.jit)  # loaded when they are named
IMPORTED = time.process_time()

PROCESSES = 5
KINDS = {
    "cold": "nothing on disk",
    "new": "other programs' code on disk: a new program of a user",
    "shared": "as new, and a shared compiler is up",
    "code": "code on disk, calls are profiled",
    "start": "code on disk, and what calls had",
    "plan": "nothing on disk but a plan",
}


def trivial(x: Any) -> Any:
    """Three ops."""
    return np.tanh(x) * 2 + 1


def softmax(x: Any) -> Any:
    """Of rows."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def smooth(t: Any, steps: Any, rate: Any) -> Any:
    """A kernel of loops: heat in a square."""
    rows, columns = t.shape
    old = t.copy()
    for _ in range(steps):
        for i in range(1, rows - 1):
            for j in range(1, columns - 1):
                near = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
                change = near - 4.0 * old[i, j]
                if change > 0:
                    change = change * 0.5
                elif change < -1:
                    change = -1 + (change + 1) * 0.25
                old[i, j] += rate * change
    total = 0.0
    for i in range(rows):
        for j in range(columns):
            total += old[i, j]
    return old, total / (rows * columns)


def step(x: Any, y: Any, weights: Any, rate: Any) -> Any:
    """A training step of an MLP of two layers."""

    def loss(weights: Any) -> Any:
        (w, b), (v, c) = weights
        logits = np.tanh(x @ w + b) @ v + c
        logits = logits - logits.max(axis=1, keepdims=True)
        return -(y * (logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))).sum() / x.shape[0]

    value, gradients = tierup.value_and_grad(loss)(weights)
    return value, [(w - rate * g, b - rate * h) for (w, b), (g, h) in zip(weights, gradients)]  # noqa: B905 - as users write it


def _arguments(name: str) -> tuple[Any, ...]:
    draw = np.random.default_rng(0)
    if name in ("trivial", "other"):
        return (draw.random(64, np.float32),)
    if name == "softmax":
        return (draw.random((32, 100)),)
    if name == "smooth":
        return (draw.random((24, 24)), 3, 0.1)
    weights = [(draw.random((64, 32)) - 0.5, np.zeros(32)), (draw.random((32, 10)) - 0.5, np.zeros(10))]
    return draw.random((50, 64)), np.eye(10)[draw.integers(0, 10, 50)], weights, 0.1


def other(x: Any) -> Any:
    """A program that a user had before."""
    return np.exp(x) - 1


PROGRAMS: dict[str, Callable[..., Any]] = {f.__name__: f for f in (trivial, softmax, smooth, step)}


def child(name: str) -> None:
    """One process: CPU of the import, of making or loading the function, of the first call, and of the calls up to the first native
    result; how many these were."""
    arguments, ends = _arguments(name), []
    begin = time.process_time()
    function: Any = load_plan(PLAN) if load_plan is not None else jit(PROGRAMS.get(name, other))  # type: ignore[misc]  # one of them is there
    made = time.process_time()
    while not function.stats().hits and len(ends) < 8:
        function(*arguments)
        ends.append(time.process_time())
    native, wall = function.stats().hits > 0, time.perf_counter() - WALL
    print(IMPORTED - BEGIN, made - begin, ends[0] - made, ends[-1] - made, wall, len(ends) if native else 0)


def save(name: str, path: str) -> None:
    """A process that writes a plan."""
    function, arguments = tierup.jit(PROGRAMS[name]), _arguments(name)
    for _ in range(2):
        function(*arguments)
    function.save(path)


def measure(processes: int = PROCESSES) -> dict[tuple[str, str], list[float]]:
    """By program and kind, medians: milliseconds of CPU of the import, of making or loading the function, of the first call, and of the
    calls up to a native result; of the clock until then, imports included; how many calls these were."""
    rows: dict[tuple[str, str], list[list[float]]] = {(name, kind): [] for name in PROGRAMS for kind in KINDS}
    with tempfile.TemporaryDirectory() as kept:
        for name in PROGRAMS:
            _process(kept, "1", name, f"{kept}/{name}.tierup")
        _process(f"{kept}/others", "1", "other")
        shared = {"XDG_RUNTIME_DIR": kept, "TIERUP_COMPILER": "shared", "TIERUP_COMPILER_SECONDS": "60", "TIERUP_WORKER": "1"}
        _process(f"{kept}/others", "1", "other", changed={**shared, "TIERUP_CACHE": "0"})  # starts it
        while not list(Path(kept, "tierup").glob("*[!k]")):  # its socket; .lock is there before
            time.sleep(0.1)
        _process(f"{kept}/others", "1", "other", changed=shared)
        for number in range(processes + 1):
            for (name, kind), found in rows.items():
                with tempfile.TemporaryDirectory() as empty:
                    folder = kept if kind in ("code", "start") else empty
                    if kind in ("new", "shared"):
                        shutil.copytree(f"{kept}/others", empty, dirs_exist_ok=True)
                    plan = f"{kept}/{name}.tierup" if kind == "plan" else ""
                    said = _process(folder, "0" if kind == "code" else "1", name, plan=plan, changed=shared if kind == "shared" else {})
                if number:  # the first fills the cache
                    *seconds, calls = map(float, said.split())
                    found.append([*(1e3 * each for each in seconds), calls])
    return {key: [statistics.median(column) for column in zip(*found, strict=True)] for key, found in rows.items()}


def _process(folder: str, start: str, *arguments: str, plan: str = "", changed: Mapping[str, str] = MappingProxyType({})) -> str:
    own = {"TIERUP_CACHE_DIR": folder, "TIERUP_START": start, "TIERUP_CACHE": "1", "TIERUP_WORKER": "0", "BENCHMARK_PLAN": plan}
    environment = {**os.environ, **own, **changed}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.warm", *arguments],
        env=environment, cwd=Path(__file__).resolve().parent.parent, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return done.stdout


def main(processes: int) -> None:
    """Print the table."""
    print("| program | kind | import | made or loaded | first call | until a native result | wall | calls | times, CPU | times, wall |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    found = measure(processes)
    for (name, kind), (imported, made, first, native, wall, calls) in found.items():
        cold = found[name, "cold"]
        times = (cold[0] + cold[1] + cold[3]) / (imported + made + native)
        spent = f"{imported:.0f} | {made:.1f} | {first:.1f} | {native:.1f} | {wall:.0f} | {calls:.0f} | {times:.1f}"
        print(f"| {name} | {kind} | {spent} | {cold[4] / wall:.1f} |")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in (*PROGRAMS, "other"):
        save(*sys.argv[1:3]) if len(sys.argv) > 2 else child(sys.argv[1])
    else:
        main(int(sys.argv[1]) if sys.argv[1:] else PROCESSES)
