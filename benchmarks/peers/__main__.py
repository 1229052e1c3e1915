"""tierup against NumPy, Numba, JAX, onnxruntime, and PyTorch's eager mode, torch.compile and TorchScript: `make bench-peers`.

Every system runs a row in turns with the others, in one process; a figure is the median over the turns, with quartiles in the JSON. Results
are compared before anything is timed. Run once with one thread and once with all: systems are told so before they are imported. What is
not installed is named, and a row that a system does not take has no figure of it.

The distance of a system is its time over that of the row's quickest one; `limit` is our time over what the machine needs for the bytes and
products of the row, by a copy and a product of matrices that are measured in the same run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_OLD_CORES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # which halve OpenBLAS's speed where they name an older core
_BLOCK, _TURNS, _WARM = 0.02, 15, 0.3  # seconds of a block of calls; blocks of each system; seconds that let it settle


def main() -> None:
    options = argparse.ArgumentParser("python -m benchmarks.peers", description=__doc__)
    options.formatter_class = argparse.RawDescriptionHelpFormatter
    options.add_argument("--threads", default="1,all", help="comma-separated: numbers, or `all` that this process may use")
    options.add_argument("--rows", nargs="+", metavar="TEXT", default=[], help="only rows that have one of these in their names")
    options.add_argument("--systems", nargs="+", metavar="NAME", default=[], help="only these; NumPy is always there")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options.add_argument("--plot", type=Path, metavar="FILE", help="write a picture of the distances; wants matplotlib")
    options.add_argument("--child", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.child is not None:
        print(json.dumps(_measure_all(chosen.child, chosen.rows, chosen.systems)))
        return
    runs = {}
    for word in chosen.threads.split(","):
        threads = len(os.sched_getaffinity(0)) if word == "all" else int(word)
        if str(threads) not in runs:
            runs[str(threads)] = _run_apart(threads, chosen)
            print(_table(threads, runs[str(threads)]), flush=True)
    if chosen.json:
        chosen.json.write_text(json.dumps(runs, indent=1) + "\n")
    if chosen.plot:
        _plot(runs, chosen.plot)


def _run_apart(threads: int, chosen: argparse.Namespace) -> dict[str, Any]:
    """What a process of its own measures, which knows the number of threads from the start."""
    environment = {k: v for k, v in os.environ.items() if k not in _OLD_CORES} | dict.fromkeys(_VARIABLES, str(threads))
    eigen = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'} intra_op_parallelism_threads={threads}"
    command = [sys.executable, "-m", "benchmarks.peers", "--child", str(threads)]
    command += [*(["--rows", *chosen.rows] if chosen.rows else []), *(["--systems", *chosen.systems] if chosen.systems else [])]
    done = subprocess.run(command, env=environment | {"XLA_FLAGS": eigen}, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- one process ----------------------------------------------------------------------------------------------------------------


def _measure_all(threads: int, texts: list[str], names: list[str]) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    if len(os.sched_getaffinity(0)) > threads:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])  # systems that do not ask how many they may use
    from benchmarks.peers.rows import ROWS  # here: the parent needs no NumPy
    from benchmarks.peers.systems import SYSTEMS

    systems = {name: make for name, make in SYSTEMS.items() if name == "NumPy" or not names or name in names}
    bandwidth, flops = _machine()
    found: dict[str, Any] = {"bandwidth": bandwidth, "flops": flops, "missing": [], "rows": {}}
    for title, row in ROWS.items():
        if texts and not any(text in title for text in texts):
            continue
        print(f"  {title} ...", end="", file=sys.stderr, flush=True)
        start = time.perf_counter()
        found["rows"][title] = _measured(row, systems, threads, found["missing"])
        found["rows"][title]["least"] = max(row.moved / bandwidth, row.products / flops)
        print(f" {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


def _machine() -> tuple[float, float]:
    """Bytes read and written in a second by a copy of 64 MiB, and operations of products of 1024 x 1024 float32 matrices."""
    import numpy as np

    a, b, m = np.zeros(1 << 23), np.ones(1 << 23), np.ones((1024, 1024), np.float32)
    copy, product = (min(_timed(call, 1) for _ in range(9)) for call in (lambda: np.copyto(a, b), lambda: m @ m))
    return 2 * a.nbytes / copy, 2 * 1024**3 / product


def _timed(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _measured(row: Any, systems: dict[str, Any], threads: int, missing: list[str]) -> dict[str, Any]:
    import numpy as np

    from benchmarks.peers.systems import Missing, Refuses

    def given() -> tuple[Any, ...]:
        return tuple(row.arguments(np.random.default_rng(0)))

    wanted, calls, refused = row.numpy(*given()), {}, {}
    for name, make in systems.items():
        try:
            call = make(row, given(), threads)
            for _ in range(3):
                _agree(call(*given()), wanted, row.tolerance)
            calls[name] = call
        except Missing as e:
            if str(e) not in missing:
                missing.append(str(e))
        except Refuses as e:
            refused[name] = str(e)
        except AssertionError as e:  # a wrong result has no speed
            refused[name] = f"other results: {str(e).strip().splitlines()[0]}"
    counts = {name: _settled(call, given, row.in_place) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(_TURNS):
        order = list(calls) if turn % 2 else list(calls)[::-1]
        for name in order:
            times[name].append(_block(calls[name], given, row.in_place, counts[name]))
    quartiles = {name: statistics.quantiles(taken, n=4) for name, taken in times.items()}
    return {"seconds": {name: q[1] for name, q in quartiles.items()}, "quartiles": quartiles, "refused": refused}


def _block(call: Callable[..., Any], given: Callable[[], tuple[Any, ...]], in_place: bool, count: int) -> float:
    if not in_place:
        arguments = given()
        return _timed(lambda: call(*arguments), count)
    sets = [given() for _ in range(count)]
    start = time.perf_counter()
    for arguments in sets:
        call(*arguments)
    return (time.perf_counter() - start) / count


def _settled(call: Callable[..., Any], given: Callable[[], tuple[Any, ...]], in_place: bool) -> int:
    """How many calls a block has, after as many as let a system settle."""
    start, calls = time.perf_counter(), 0
    while time.perf_counter() - start < _WARM or calls < 80 and time.perf_counter() - start < 10 * _WARM:
        _block(call, given, in_place, 1)
        calls += 1
    return max(1, min(20_000, round(_BLOCK / min(_block(call, given, in_place, 1) for _ in range(3)))))


def _agree(got: Any, wanted: Any, tolerance: float) -> None:
    import numpy as np

    if isinstance(wanted, tuple):
        for one, other in zip(got, wanted, strict=True):
            _agree(one, other, tolerance)
        return
    if isinstance(got, (list, tuple)) and len(got) == 1:  # onnxruntime's results are a list
        got = got[0]
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(np.asarray(got), wanted, rtol=tolerance, atol=tolerance * max(1.0, float(np.abs(wanted).max(initial=0))))


# --- what is shown ----------------------------------------------------------------------------------------------------------------


def _ours(row: dict[str, Any]) -> float:
    """Of our two doors the quicker one."""
    return min(seconds for name, seconds in row["seconds"].items() if name.startswith("tierup"))


def _table(threads: int, run: dict[str, Any]) -> str:
    names = list(dict.fromkeys(name for row in run["rows"].values() for name in row["seconds"]))
    head = ["row", "quickest", *names, "limit"]
    machine = f"copies {run['bandwidth'] / 1e9:.1f} GB/s, products {run['flops'] / 1e9:.0f} GFLOP/s"
    lines = [f"\n{threads} thread{'s' if threads > 1 else ''}: {machine}"]
    if run["missing"]:
        lines.append(f"not installed: {', '.join(run['missing'])}")
    lines += ["", f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    distances: dict[str, list[float]] = {name: [] for name in names}
    against = []
    for title, row in run["rows"].items():
        seconds, best = row["seconds"], min(row["seconds"].values())
        for name, taken in seconds.items():
            distances[name].append(taken / best)
        others = [taken for name, taken in seconds.items() if not name.startswith("tierup")]
        if len(others) < len(seconds):
            against.append(_ours(row) / min(others))
        limit = f"{_ours(row) / row['least']:.1f}" if row["least"] and len(others) < len(seconds) else ""
        shown = [f"{seconds[name] / best:.2f}" if name in seconds else "-" for name in names]
        lines.append(f"| {' | '.join([title, f'{best * 1e6:.1f} us', *shown, limit])} |")
    means = [f"{statistics.geometric_mean(d):.2f} ({len(d)})" if d else "-" for d in distances.values()]
    lines.append(f"| {' | '.join(['distance, geometric mean (rows)', '', *means, ''])} |")
    if against:
        mean, most = statistics.geometric_mean(against), max(against)
        lines.append(f"\nours over the best other system: {mean:.2f} in the geometric mean, at most {most:.2f}")
    return "\n".join(lines)


def _plot(runs: dict[str, dict[str, Any]], path: Path) -> None:
    try:
        import matplotlib
    except ImportError:
        sys.exit("--plot wants matplotlib: pip install matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(runs), figsize=(9 * len(runs), 11), squeeze=False, layout="constrained")
    for axis, (threads, run) in zip(axes[0], runs.items(), strict=True):
        titles = list(run["rows"])[::-1]
        for name in dict.fromkeys(name for row in run["rows"].values() for name in row["seconds"]):
            points = [
                (row["seconds"][name] / min(row["seconds"].values()), y)
                for y, row in enumerate(run["rows"][title] for title in titles)
                if name in row["seconds"]
            ]
            ours = name.startswith("tierup")
            axis.plot(*zip(*points, strict=True), "D" if ours else "o", ms=8 if ours else 5, alpha=1 if ours else 0.6, label=name)
        axis.set(xscale="log", xlabel="time over that of the row's quickest", title=f"{threads} thread(s)")
        axis.set_yticks(range(len(titles)), titles)
        axis.grid(visible=True, alpha=0.3)
        axis.legend(loc="lower right")
    figure.savefig(path)


if __name__ == "__main__":
    main()
