"""Check and time kernels on a GPU, given a bundle alone: `python tools/gpu/check.py gpu-check.tierup` (docs/gpu.md).

Needs NumPy, NVIDIA's bindings of the driver and this repository's files; no compiler, no network. PyTorch, where it is installed, is timed
in the same run. Ends within its time limit: what is left out for it is said in the table. Exit code 1 when a result is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, on a machine where nothing is installed

import numpy as np

from tierup.dialect.base import dtypes
from tierup.runtime.cuda.arrays.arrays import device_array, empty
from tierup.runtime.cuda.bundle import LoadedPlan, load_plans
from tierup.runtime.cuda.capture import capture
from tierup.runtime.cuda.device.cublas import NoLibrary
from tierup.runtime.cuda.device.devices import Device, device
from tierup.runtime.cuda.errors import NoDevice
from tierup.tools.gpu import programs as gpu_programs
from tierup.tools.gpu.programs import EVEN_AND_ODD, ONE_KERNEL, PROGRAMS, GpuProgram

POISON = b"\xff"  # NaN in every float, -1 in every int
_COPY_BYTES = 256 << 20
_SECONDS_EACH, _BATCHES = 0.5, 5
_CHECK_SHARE = 0.6  # of the time limit goes to checking at most
_OFTEN = 200


@dataclass
class Row:
    """What came of a program. `error`: None when it was not checked; `microseconds`: None when it was not timed."""

    name: str
    error: float | None = None
    bound: float = 0.0
    checked: int = 0
    microseconds: float | None = None
    rate: str = ""
    share: str = ""
    note: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the error is within the bound; True for a program that was not checked."""
        return self.error is None or self.error <= self.bound


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 when a result is wrong, or there is no device or no bundle."""
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="what `make gpu-bundle` wrote")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this program; repeat it for more (default: all)")
    parser.add_argument("--minutes", type=float, default=7.5, help="what is not done by then is left out (default %(default)s)")
    parser.add_argument("--no-timing", action="store_true", help="check alone")
    parser.add_argument("--no-checks", action="store_true", help="time alone")
    parser.add_argument("--names", action="store_true", help="print the names of the bundle's programs, and nothing else")
    options = parser.parse_args(argv)
    try:
        if options.names:
            print(*load_plans(options.bundle), sep="\n")
            return 0
        on, plans, with_library = device(), load_plans(options.bundle, libraries=False), load_plans(options.bundle)
    except (NoDevice, ValueError, OSError) as e:
        print(f"gpu_check: error: {e}", file=sys.stderr)
        return 1
    major, minor = on.driver.capability
    print(f"{on.driver.name}, compute capability {major}.{minor}, driver {on.driver.version}, {time.strftime('%Y-%m-%d')}")
    end = time.monotonic() + 60 * options.minutes
    check_until = time.monotonic() + 60 * options.minutes * (1.0 if options.no_timing else _CHECK_SHARE)
    chosen = [p for p in PROGRAMS if p.name in plans and (not options.only or p.name in options.only)]
    library = found_library(on)
    if library:  # products by it are programs of their own, after those by our kernels
        products = [replace(p, name=f"{p.name}, {library}") for p in chosen if p.flops]
        plans |= {theirs.name: with_library[theirs.name.partition(",")[0]] for theirs in products}
        chosen += products
    rows = {p.name: Row(p.name) if options.no_checks else check(on, p, plans[p.name], check_until) for p in chosen}
    if not options.no_timing:
        copy_rate = copied_per_second(on)
        print(f"a copy on the device moves {copy_rate / 1e9:.0f} GB/s (read and written)")
        small = next((p for p in chosen if p.name == ONE_KERNEL), None)
        if small is not None:
            spent = microseconds_of_a_call(on, small, plans[small.name])
            print(f"a guarded call that launches one kernel takes {spent:.1f} us of the host")
        theirs = Theirs()
        for program in chosen:
            rows[program.name] = timed(on, program, plans[program.name], rows[program.name], copy_rate, theirs, end)
        for row in rows.values():
            other = rows.get(f"{row.name}, {library}")
            if other is not None and other.microseconds and row.microseconds:
                row.share += f"{', ' if row.share else ''}{other.microseconds / row.microseconds:.0%} of {library}"
    print(table(list(rows.values())))
    return 0 if all(row.is_right for row in rows.values()) else 1


def found_library(on: Device) -> str:
    """The name and version of NVIDIA's library for products, "" where it is not installed or cannot be used."""
    with on.lock:
        found = on.library()
    if isinstance(found, NoLibrary):
        print(f"products are not compared with the vendor's library: {found}")
        return ""
    return repr(found)


# --- right ----------------------------------------------------------------------------------------------------------


def check(on: Device, program: GpuProgram, plan: LoadedPlan, until: float) -> Row:
    """Results for small and odd sizes, then for those that are timed, against NumPy's in float64; again, since calls at the same addresses
    are a graph's from the third on. What results are written to is poisoned."""
    row = Row(program.name, bound=program.bound)
    on.poison = POISON
    try:
        cases: list[tuple[str, dict[str, int]]] = []
        if program.general:
            pairs = zip(EVEN_AND_ODD, reversed(EVEN_AND_ODD), strict=True)
            cases += [(program.general, {"n": n, "m": m, "k": 37}) for n, m in pairs]
        for seed, (forms, sizes) in enumerate([*cases, (program.timed, {})]):
            if time.monotonic() > until:
                row.note = "not all checked: out of time"
                break
            flat = gpu_programs.arrays_for(forms, sizes, seed, dtypes.bf16.numpy)
            expected = program.function(*[gpu_programs.exact(a) for a in flat])
            there = [device_array(a) for a in flat]
            first = _on_host(plan(*there))
            row.error = max(gpu_programs.error(first, expected), row.error or 0.0)
            for again in (*[_on_host(plan(*there)) for _ in range(3)], plan(*flat)):  # the last: NumPy's arrays in and out
                if not gpu_programs.same_bits(again, first):
                    row.error = max(gpu_programs.error(again, expected), row.error)
            row.checked += 1
    except Exception as e:  # noqa: BLE001 - one program must not keep the others from being checked; the table says it
        row.error, row.note = float("inf"), f"{type(e).__name__}: {e}"
    finally:
        on.poison = None
    return row


def _on_host(results: Any) -> Any:
    return tuple(r.numpy() for r in results) if isinstance(results, tuple) else results.numpy()


# --- fast -----------------------------------------------------------------------------------------------------------


def microseconds(on: Device, run: Callable[[], object]) -> float:
    """Of one run: the median of batches, on the device's clock."""
    return _median(run, lambda work: _device_time(on, work))


def _median(run: Callable[[], object], clock: Callable[[Callable[[], object]], float]) -> float:
    run()
    once = max(clock(run), 1e-3)
    times = min(max(int(_SECONDS_EACH * 1e3 / _BATCHES / once), 1), _OFTEN)

    def batch() -> None:
        for _ in range(times):
            run()

    return sorted(clock(batch) / times for _ in range(_BATCHES))[_BATCHES // 2] * 1e3


def _device_time(on: Device, work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = on.driver.event()
    work()
    return on.driver.milliseconds(start, on.driver.event())


def microseconds_of_a_call(on: Device, program: GpuProgram, plan: LoadedPlan) -> float:
    """What the host spends in a call with arrays on the device, whose kernel takes less."""
    flat = [device_array(a) for a in gpu_programs.arrays_for(program.timed, {}, 0)]
    spent = []
    for _ in range(_BATCHES):
        for _ in range(_OFTEN):
            plan(*flat)
        on.driver.synchronize()
        start = time.perf_counter()
        for _ in range(10 * _OFTEN):
            plan(*flat)
        on.driver.synchronize()
        spent.append((time.perf_counter() - start) / (10 * _OFTEN))
    return sorted(spent)[_BATCHES // 2] * 1e6


def copied_per_second(on: Device) -> float:
    """Bytes per second, read and written, of the driver's own copy: the bandwidth that there is."""
    source, target = (empty(on, (_COPY_BYTES,), np.dtype(np.uint8)) for _ in range(2))
    on.driver.fill(source.address, b"\1", _COPY_BYTES)
    spent = microseconds(on, lambda: on.driver.copy(target.address, source.address, _COPY_BYTES))
    return 2 * _COPY_BYTES / spent * 1e6


def timed(on: Device, program: GpuProgram, plan: LoadedPlan, row: Row, copy_rate: float, theirs: Theirs, end: float) -> Row:
    """The row with what a run takes."""
    if not row.is_right or time.monotonic() > end:
        return replace(row, note=row.note or "not timed: " + ("out of time" if row.is_right else "wrong"))
    flat = [device_array(a) for a in gpu_programs.arrays_for(program.timed, {}, 0, dtypes.bf16.numpy)]
    run = capture(plan, *flat) if program.captured else lambda: plan(*flat)
    spent = microseconds(on, run)
    if program.moved:
        rate, share = f"{program.moved / spent / 1e3:.0f} GB/s", f"{program.moved / spent * 1e6 / copy_rate:.0%} of the copy"
    elif program.flops:
        rate, share = f"{program.flops / spent / 1e6:.1f} TFLOP/s", ""
    else:
        rate, share = "", ""
    found = theirs.microseconds(program, flat)
    if found:
        share = f"{share}{', ' if share else ''}{spent / found:.2f} x PyTorch's time"
    return replace(row, microseconds=spent, rate=rate, share=share)


class Theirs:
    """PyTorch's own programs, where PyTorch with a GPU is installed. Products are the vendor's library's."""

    def __init__(self) -> None:
        try:
            import torch
        except ImportError:
            self.torch: Any = None
        else:
            self.torch = torch if torch.cuda.is_available() else None
        if self.torch is None:
            print("PyTorch with a GPU is not installed: nothing to compare with but the copy")
        else:
            print(f"PyTorch {self.torch.__version__}")

    def microseconds(self, program: GpuProgram, flat: Sequence[Any]) -> float:
        """Of one run of PyTorch's; 0 where it has none."""
        if self.torch is None or not program.torch:
            return 0.0
        torch, given = self.torch, [self.torch.from_dlpack(a) for a in flat]
        run: Callable[[], object] = {
            "scale": lambda: given[0] * 2.0,
            "chain": lambda: torch.tanh(given[0] * given[1]) + 1.0,
            "total": lambda: given[0].sum(),
            "row_sums": lambda: given[0].sum(1),
            "column_sums": lambda: given[0].sum(0),
            "softmax": lambda: torch.softmax(given[0], -1),
            "layer_norm": lambda: torch.nn.functional.layer_norm(given[0], given[0].shape[-1:], given[1], given[2], 1e-5),
            "transpose": lambda: given[0].t().contiguous(),
            "product": lambda: given[0] @ given[1],
            "small_steps": lambda: gpu_programs.small_steps(*given),
            "gelu": lambda: torch.nn.functional.gelu(given[0], approximate="tanh"),
        }[program.torch]
        if program.captured:
            run = self._captured(run)
        return _median(run, self._time)

    def _captured(self, run: Callable[[], object]) -> Callable[[], object]:
        """As a CUDA graph of PyTorch's."""
        run()
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            run()
        replay: Callable[[], object] = graph.replay
        return replay

    def _time(self, work: Callable[[], object]) -> float:
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        work()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end))


def table(rows: Sequence[Row]) -> str:
    """For people, and for docs/gpu.md."""
    lines = ["| program | right | largest error (bound) | us | rate | compared | |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        right = "not checked" if row.error is None else f"{'yes' if row.is_right else 'NO'}, {row.checked} sizes"
        found = "" if row.error is None else f"{row.error:.1e} ({row.bound:.0e})"
        spent = "" if row.microseconds is None else f"{row.microseconds:.1f}"
        lines.append(f"| {row.name} | {right} | {found} | {spent} | {row.rate} | {row.share} | {row.note} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
