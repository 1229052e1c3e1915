"""Run recorded calls on a GPU: `python tools/gpu/replay.py gpu-calls.tierup` (docs/gpu.md).

What `make gpu-calls` recorded: the kernels of the emulated tests and of the corpus, the arguments that they were given, and what the
emulated device or native code on the CPU made of them. Needs what tools/gpu/check.py needs. Exit code 1 when a result differs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # run as a file, on a machine where nothing is installed

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.lowering.artifacts.bundle import BundleError
from tierup.runtime.base.errors import PlanError
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.arrays.arrays import device_array
from tierup.runtime.cuda.bundle import LoadedPlan
from tierup.runtime.cuda.bundle_file import PackedProgram
from tierup.runtime.cuda.device.devices import device
from tierup.runtime.cuda.errors import DriverError, NoDevice

_NUMBERS: dict[str, Callable[[str], Any]] = {"int": int, "float": float, "bool": "True".__eq__}
POISON = b"\xff"  # NaN in every float, -1 in every int


@dataclass(frozen=True)
class Call:
    """`results`: of the artifact, in its order, None for what is no array or number of its own; None in all for a call of which a check
    fails. `tolerance`: of floats, in units of epsilon relative to the largest element."""

    program: str
    arguments: tuple[Any, ...]
    results: tuple[Any, ...] | None
    tolerance: float


def write(path: Path, programs: Sequence[PackedProgram], calls: Sequence[Call]) -> None:
    """A bundle, and beside it (.npz) its calls."""
    bundle_file.write(path, programs, made_by="recorded calls")
    bytes_: dict[str, np.ndarray] = {}
    listed = []
    for call in calls:
        arguments = [_described(value, bytes_) for value in call.arguments]
        results = None if call.results is None else [None if r is None else _described(r, bytes_) for r in call.results]
        listed.append({"program": call.program, "arguments": arguments, "results": results, "tolerance": call.tolerance})
    bytes_["calls"] = np.frombuffer(json.dumps(listed).encode(), np.uint8)
    with path.with_suffix(".npz").open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **bytes_)


def read(path: Path) -> list[Call]:
    """The calls beside a bundle. Raises OSError, ValueError for a file that is none of ours."""
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as file:
        held = dict(file)
    calls = []
    for row in json.loads(held["calls"].tobytes()):
        results = None if row["results"] is None else tuple([None if r is None else _made(r, held) for r in row["results"]])
        calls.append(Call(row["program"], tuple([_made(a, held) for a in row["arguments"]]), results, row["tolerance"]))
    return calls


def _described(value: Any, bytes_: dict[str, np.ndarray]) -> dict[str, Any]:
    if not isinstance(value, np.ndarray):
        return {"number": repr(value), "kind": type(value).__name__}
    key = f"a{len(bytes_)}"
    bytes_[key] = np.frombuffer(value.tobytes(), np.uint8)
    dtype = dtypes.from_numpy(value.dtype)
    assert dtype is not None  # a kernel took it
    return {"data": key, "dtype": dtype.name, "shape": value.shape, "strides": value.strides}


def _made(described: dict[str, Any], held: dict[str, np.ndarray]) -> Any:
    if "number" in described:
        return _NUMBERS[described["kind"]](described["number"])
    dtype, shape, strides = dtypes.BY_NAME[described["dtype"]].numpy, tuple(described["shape"]), tuple(described["strides"])
    dense = np.frombuffer(held[described["data"]].tobytes(), dtype).reshape(shape)
    if not dense.size or strides == dense.strides:
        return dense.copy()
    low, high = (sum(pick(0, (n - 1) * s) for n, s in zip(shape, strides, strict=True)) for pick in (min, max))
    memory = np.zeros(high - low + dtype.itemsize, np.uint8)
    lying = np.ndarray(shape, dtype, memory, -low, strides)
    lying[...] = dense
    return lying


# --- running ----------------------------------------------------------------------------------------------------------


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 when a call went wrong, or there is no device or no bundle."""
    parser = argparse.ArgumentParser(prog="gpu_replay", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bundle", help="what `make gpu-calls` wrote")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="programs with this in their names; repeat it for more")
    parser.add_argument("--once", action="store_true", help="each call once: under a sanitizer, say")
    parser.add_argument("--skip", type=int, default=0, metavar="N", help="leave out the first N calls (default %(default)s)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="each N-th program alone (default %(default)s)")
    options = parser.parse_args(argv)
    path = Path(options.bundle)
    try:
        on, packed, calls = device(), bundle_file.read(path), read(path)
    except (NoDevice, BundleError, ValueError, OSError) as e:
        print(f"gpu_replay: error: {e}", file=sys.stderr)
        return 1
    plans = {p.name: LoadedPlan(p, libraries=False) for p in packed}
    chosen = [p.name for p in packed if not options.only or any(text in p.name for text in options.only)][:: options.every]
    start, count, wrong = time.monotonic(), 0, 0
    on.poison = POISON
    for number, call in enumerate(calls[options.skip :], start=options.skip):
        if call.program in chosen:
            count += 1
            try:
                said = next(differences(call, plans[call.program], packed, once=options.once), "")
            except DriverError as e:  # the context is lost: a new process goes on behind this call
                print(f"{call.program}: {e}\n{count} calls, {wrong + 1} wrong so far", flush=True)
                same = _again(sys.argv[1:] if argv is None else argv)
                os.execv(sys.executable, [sys.executable, __file__, *same, "--skip", str(number + 1)])
            if said:
                wrong += 1
                print(f"{call.program}: {said}", flush=True)
    print(f"{count} calls of {len(chosen)} programs in {time.monotonic() - start:.0f} s: {wrong} wrong")
    return 1 if wrong else 0


def _again(argv: Sequence[str]) -> Sequence[str]:
    """The options, without those that say where to begin."""
    at = argv.index("--skip") if "--skip" in argv else len(argv)
    return [*argv[:at], *argv[at + 2 :]]


def differences(call: Call, plan: LoadedPlan, packed: Sequence[PackedProgram], *, once: bool) -> Iterator[str]:
    """What is wrong, in words: from arrays on the device, four times, since a call at the addresses of an earlier one is a graph's; then
    from NumPy's arrays."""
    [results] = [p.versions[0].artifact.results for p in packed if p.name == call.program]
    kinds = [r.kind.name for r in results]
    for on_device in (True,) if once else (True, True, True, True, False):
        given = tuple(_copied(a) for a in call.arguments)
        if on_device:
            given = tuple(device_array(a) if isinstance(a, np.ndarray) else a for a in given)
        try:
            found = plan(*given)
        except PlanError as e:
            if call.results is not None:
                yield f"{e}"
            continue
        except (TypeError, MemoryError, ValueError) as e:
            yield f"{type(e).__name__}: {e}"
            continue
        if call.results is None:
            yield "no check failed, and one should have"
            continue
        several = found if isinstance(found, tuple) else () if found is None else (found,)
        theirs = iter(several)
        for i, (kind, spec, want) in enumerate(zip(kinds, results, call.results, strict=True)):
            got = given[spec.argument] if kind == "ARGUMENT" else next(theirs)
            if want is not None and kind not in ("ALIAS", "VIEW"):
                said = _difference(_on_host(got), np.asarray(want), call.tolerance)
                if said:
                    yield f"result {i}, {'on the device' if on_device else 'from the host'}: {said}"


def _copied(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    bytes_: dict[str, np.ndarray] = {}
    return _made(_described(value, bytes_), bytes_)


def _on_host(value: Any) -> np.ndarray:
    return np.asarray(value.numpy() if hasattr(value, "numpy") else value)


def _difference(got: np.ndarray, want: np.ndarray, tolerance: float) -> str:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return "" if np.array_equal(got, want) else f"{np.count_nonzero(got != want)} of {want.size} elements differ"
    epsilon = float(np.finfo(want.dtype).eps) if want.dtype.kind in "fc" else 2.0**-7  # bfloat16
    kind = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(kind), want.astype(kind)
    largest = max(1.0, float(np.abs(want[np.isfinite(want)]).max(initial=0)))
    close = np.isclose(got, want, rtol=0, atol=tolerance * epsilon * largest, equal_nan=True)
    if close.all():
        return ""
    off = np.abs(got - want)[~close]
    return f"{np.count_nonzero(~close)} of {want.size} elements differ, by up to {np.nanmax(off, initial=0):.3g} of {largest:.3g}"


if __name__ == "__main__":
    sys.exit(main())
