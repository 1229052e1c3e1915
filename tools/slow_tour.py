"""python -m tierup.tools.slow_tour: ten functions that are slow, what explain() says of each, and the same mended.

Each stop is two functions of this file, which show how the slow one, and the mended one, is written and called. They are run and timed, and
the first lines of `explain()` are printed: where the time went, why, and what to do.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import tierup
from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import closest, short_time

Made = Callable[[], Any]  # makes a function, calls it, and gives it back

SCALE = 1.0


def _dtypes_slow() -> Any:
    @tierup.jit
    def step(x: np.ndarray, a: Any) -> Any:
        return x * a + 1

    x = np.linspace(0, 1, 64)
    for i in range(40):
        step(x.astype([np.float64, np.float32, np.int64][i % 3]), [2, 2.5][i % 2])
    return step


def _dtypes_mended() -> Any:
    @tierup.jit
    def step(x: np.ndarray, a: Any) -> Any:
        return x * a + 1

    x = np.linspace(0, 1, 64)
    for i in range(40):
        step(np.asarray(x, np.float64), float([2, 2.5][i % 2]))
    return step


def _containers_slow() -> Any:
    @tierup.jit
    def mean_of(history: Any) -> Any:
        total = np.zeros(8)
        for each in history:
            total = total + each
        return total / len(history)

    history: list[np.ndarray] = []
    for i in range(30):
        history.append(np.full(8, float(i)))
        mean_of(history)
    return mean_of


def _containers_mended() -> Any:
    @tierup.jit
    def mean_of(history: Any) -> Any:
        return history.sum(axis=0) / len(history)

    history = np.zeros((30, 8))
    for i in range(30):
        history[i] = i
        mean_of(history[: i + 1])
    return mean_of


def _outside_slow() -> Any:
    global SCALE

    @tierup.jit
    def scaled(x: np.ndarray) -> Any:
        return np.ones(int(SCALE)).sum() * x

    for i in range(20):
        SCALE = float(i % 6 + 1)
        scaled(np.ones((4, 4)))
    return scaled


def _outside_mended() -> Any:
    @tierup.jit
    def scaled(x: np.ndarray, scale: float) -> Any:
        return scale * x

    for i in range(20):
        scaled(np.ones((4, 4)), float(i % 6 + 1))
    return scaled


def _decorated_slow() -> Any:
    def solve(x: np.ndarray, k: float) -> Any:
        @tierup.jit
        def inner(v: np.ndarray) -> Any:
            return np.tanh(v) * k

        inner(x)
        return inner

    for i in range(20):
        inner = solve(np.ones(8), float(i))
    return inner


def _decorated_mended() -> Any:
    @tierup.jit
    def inner(v: np.ndarray, k: float) -> Any:
        return np.tanh(v) * k

    for i in range(20):
        inner(np.ones(8), float(i))
    return inner


def _settings_slow() -> Any:
    @tierup.jit
    def moved(x: np.ndarray, *, mode: str) -> Any:
        return x + len(mode) if mode < "c" else x * 2

    for i in range(60):
        moved(np.ones(8), mode="abcdefghijkl"[i % 12])
    return moved


def _settings_mended() -> Any:
    @tierup.jit
    def moved(x: np.ndarray, adds: bool) -> Any:
        return x + 1 if adds else x * 2

    for i in range(60):
        moved(np.ones(8), "abcdefghijkl"[i % 12] < "c")
    return moved


def _layouts_slow() -> Any:
    @tierup.jit
    def summed(a: np.ndarray, b: np.ndarray) -> Any:
        return (a * b + 1).sum()

    a, b = np.ones((1000, 1000)), np.ones((1000, 1000))
    for _ in range(40):
        summed(a[:, ::2], b[:, ::2])
    return summed


def _layouts_mended() -> Any:
    @tierup.jit
    def summed(a: np.ndarray, b: np.ndarray) -> Any:
        return (a * b + 1).sum()

    a, b = np.ones((1000, 1000)), np.ones((1000, 1000))
    a, b = np.ascontiguousarray(a[:, ::2]), np.ascontiguousarray(b[:, ::2])
    for _ in range(40):
        summed(a, b)
    return summed


def _ops_slow() -> Any:
    @tierup.jit
    def ranked(x: np.ndarray) -> Any:
        y = x
        for _ in range(x.shape[0]):
            y = y + np.argpartition(y, 3) * 0.1
        return y

    for _ in range(20):
        ranked(np.random.default_rng(0).random(20))
    return ranked


def _ops_mended() -> Any:
    @tierup.jit
    def ranked(x: np.ndarray) -> Any:
        y = x
        for _ in range(x.shape[0]):
            y = y + np.argsort(y) * 0.1
        return y

    for _ in range(20):
        ranked(np.random.default_rng(0).random(20))
    return ranked


def _loops_slow() -> Any:
    @tierup.jit
    def layers(x: np.ndarray) -> Any:
        y = x
        for scale, shift in [(0.1 * k, k) for k in range(30)]:
            y = np.tanh(y * scale + shift)
        return y

    for _ in range(3):
        layers(np.ones(16))
    return layers


def _loops_mended() -> Any:
    @tierup.jit
    def layers(x: np.ndarray) -> Any:
        y = x
        for k in range(30):
            y = np.tanh(y * (0.1 * k) + k)
        return y

    for _ in range(3):
        layers(np.ones(16))
    return layers


def _leaves_slow() -> Any:
    @tierup.jit
    def stepped(params: Any, lr: float) -> Any:
        return {k: v - lr * v for k, v in params.items()}

    params = {f"w{i}": np.ones((2, 2)) for i in range(60)}
    for _ in range(20):
        params = stepped(params, 0.1)
    return stepped


def _leaves_mended() -> Any:
    @tierup.jit
    def stepped(params: Any, lr: float) -> Any:
        return params - lr * params

    params = np.stack([np.ones((2, 2)) for _ in range(60)])
    for _ in range(20):
        params = stepped(params, 0.1)
    return stepped


def _checks_slow() -> Any:
    @tierup.jit
    def picked(x: np.ndarray, i: int) -> Any:
        y = x + 1
        return y[i] * 2

    for i in range(300):
        try:
            picked(np.ones(10), i % 20)
        except IndexError:
            pass
    return picked


def _checks_mended() -> Any:
    @tierup.jit
    def picked(x: np.ndarray, i: int) -> Any:
        y = x + 1
        return y[min(i, x.shape[0] - 1)] * 2

    for i in range(300):
        picked(np.ones(10), i % 20)
    return picked


@dataclass(frozen=True)
class Stop:
    """One kind of slow function."""

    name: str
    about: str
    slow: Made
    mended: Made


STOPS = (
    Stop("dtypes", "Arguments come in one dtype now and in another then: each has a version.", _dtypes_slow, _dtypes_mended),
    Stop("containers", "A list grows from call to call: each length has a graph.", _containers_slow, _containers_mended),
    Stop("outside", "A global changes between calls: graphs have its value as a constant.", _outside_slow, _outside_mended),
    Stop("decorated", "A function is decorated in each call of another: each time begins anew.", _decorated_slow, _decorated_mended),
    Stop("settings", "A string differs from call to call: each value has a graph.", _settings_slow, _settings_mended),
    Stop("layouts", "Arrays have gaps: native code steps over memory.", _layouts_slow, _layouts_mended),
    Stop("ops", "A function of NumPy's has no native code, in a loop.", _ops_slow, _ops_mended),
    Stop("loops", "A loop over a list is written out: the program has each round.", _loops_slow, _loops_mended),
    Stop("leaves", "A call brings many small arrays: each is checked and taken apart.", _leaves_slow, _leaves_mended),
    Stop("checks", "An index is out of bounds in many calls: tier 0 runs each again, to raise.", _checks_slow, _checks_mended),
)

_EPILOG = """\
each stop shows how the slow function is written and called, then the first lines of its explain(): `time:` has the parts that its calls'
time is the sum of, `Slow because ... Do ...` the cause and the remedy, a table what else costs. The mended function follows, and both
times; they have the compiles in them, so a second run, which finds code on disk, is quicker.

examples:
  python -m tierup.tools.slow_tour                     all ten, one after another
  python -m tierup.tools.slow_tour dtypes loops        two of them
  python -m tierup.tools.slow_tour --page pages        and a page of each in the folder pages, to look at in a browser

docs/explain.md says how to read what is printed.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 2 for what is no stop."""
    parser = argparse.ArgumentParser(
        prog="python -m tierup.tools.slow_tour",
        description="Ten functions that are slow, what explain() says of each, and the same mended.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("stop", nargs="*", help=f"which: {', '.join(stop.name for stop in STOPS)}; all where none is named")
    parser.add_argument("--list", action="store_true", help="only say what there is")
    parser.add_argument("--page", type=Path, metavar="FOLDER", help="write the page of each slow function there")
    options = parser.parse_args(argv)
    by_name = {stop.name: stop for stop in STOPS}
    for name in options.stop:
        if name not in by_name:
            parser.error(f"there is no stop {name!r}{closest(name, by_name)}; there are {', '.join(by_name)}")
    if not options.list:
        _load_compiler()
    chosen = [by_name[name] for name in options.stop] or list(STOPS)
    for number, stop in enumerate(chosen, 1):
        if options.list:
            print(f"{stop.name:11} {stop.about}")
        else:
            _show(stop, f"{number} of {len(chosen)}", options.page)
    return 0


def _load_compiler() -> None:
    """What the first function of a process would pay."""
    warm = tierup.jit(lambda x: x + 1)
    warm(np.ones(2)), warm(np.ones(2))


def _show(stop: Stop, number: str, folder: Path | None) -> None:
    print(f"--- {number}: {stop.name} {'-' * (70 - len(stop.name))}\n{stop.about}\n\n{_source(stop.slow)}\n", flush=True)
    function, before = _timed(stop.slow)
    print(f"explain() says:\n\n{textwrap.indent(_first_lines(function), '    ')}\n\nMended:\n\n{_source(stop.mended)}\n", flush=True)
    _, after = _timed(stop.mended)
    print(f"{short_time(before)} before, {short_time(after)} after.\n", flush=True)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        function.report(folder / f"{stop.name}.html")


def _timed(make: Made) -> tuple[Any, float]:
    start = time.perf_counter()
    return make(), time.perf_counter() - start


def _source(make: Made) -> str:
    """The lines of a function of this file without its head, and without that it gives the function back."""
    body = textwrap.dedent("".join(inspect.getsourcelines(make)[0][1:])).splitlines()
    return textwrap.indent("\n".join(line for line in body if not line.startswith("return ")).strip("\n"), "    ")


def _first_lines(function: Any) -> str:
    """Of `explain()` counts, times, the verdict and the table."""
    lines = function.explain().splitlines()
    starts = ("  graph for", "  version:", "  plan for", "  not compiled", "  no version", "  read at", "  miss", "  region", "  Python at")
    end = next((i for i, line in enumerate(lines) if line.startswith(starts)), len(lines))
    return "\n".join(lines[:end])


if __name__ == "__main__":
    sys.exit(main())
