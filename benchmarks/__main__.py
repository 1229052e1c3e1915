"""tierup against NumPy: steady state, streams of sizes, and start-up; and what speculation costs, each with the bar it is to reach.

One thread, float32; ratios of neighbouring measurements in one run, medians. A row that fails its bar is marked, and the exit
code is 0 all the same: this is a measurement, not a test.
"""

from __future__ import annotations

import argparse
import os
import sys

# before NumPy is imported: OpenBLAS reads them when it is loaded
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

STARTUP = {
    "import": ("import tierup", "imported", 200),
    "first": ("gelu chain: first result after import", "first", 400),
    "second": ("gelu chain: first optimised result, second call", "second", 60),
}


def main() -> None:
    # here: after the environment is set
    from benchmarks import calls, dispatch, gradients, stalls, startup, steady, streams, tensors, torch_programs, torch_training
    from benchmarks.programs import CASES

    names = [case.name for case in (*CASES, *streams.CASES)] + [*dispatch.ROWS, "training", "torch-training", "torch-programs"]
    names += ["calls", "tensors", "stalls", *STARTUP]
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", action="append", metavar="NAME", choices=names, help=f"this row; may be repeated. {', '.join(names)}")
    parser.add_argument("--repeats", type=int, default=steady.REPEATS, metavar="N", help="measurements of each side (default %(default)s)")
    parser.add_argument("--processes", type=int, default=startup.PROCESSES, metavar="N", help="for start-up (default %(default)s)")
    arguments = parser.parse_args()
    if arguments.repeats < 2 or arguments.processes < 1:
        parser.error("--repeats is at least 2, --processes at least 1")
    wanted = arguments.only or names

    cases = [case for case in CASES if case.name in wanted]
    if cases:
        print(f"{'steady state':36} {'NumPy':>10} {'tierup':>10} {'speed-up':>9} {'quartiles':>13} {'bar':>8}")
    for case in cases:
        row = steady.measure(case, arguments.repeats)
        bar = f"{'>' if case.strict else '>='} {case.least:g}x"
        mark = "pass" if case.passes(row.speedup) else "FAIL"
        note = "" if row.native else "  (not every call was native)"
        quartiles = f"{row.low:.2f} - {row.high:.2f}"
        figures = f"{span(row.numpy):>10} {span(row.ours):>10} {row.speedup:8.2f}x {quartiles:>13}"
        print(f"{case.title:36} {figures} {bar:>8}  {mark}{note}", flush=True)

    stream_cases = [case for case in streams.CASES if case.name in wanted]
    if stream_cases:
        columns = f"{'NumPy':>10} {'tierup':>10} {'speed-up':>9} {'compiles':>9} {'waited':>7} {'bar':>8}"
        print(f"\n{'streams: total time, compiles included':48} {columns}")
    for stream in stream_cases:
        total = streams.measure(stream)
        waited = f"{total.compiles:>9} {total.waited / streams.CALLS:7.1%}"
        figures = f"{span(total.numpy):>10} {span(total.ours):>10} {total.speedup:8.2f}x {waited}"
        print(f"{stream.title:48} {figures} {f'>= {stream.least:g}x':>8}  {'pass' if stream.passes(total) else 'FAIL'}", flush=True)

    costs = tuple(name for name in dispatch.ROWS if name in wanted)
    if costs:
        print(f"\n{'what speculation costs':58} {'tierup':>10} {'':22} {'TorchScript':>11}")
    for cost in dispatch.measure(costs, arguments.repeats):
        beside = f"{span(cost.bar):>11}  {'pass' if cost.seconds < cost.bar else 'FAIL'}" if cost.bar else ""
        print(f"{cost.title:58} {span(cost.seconds):>10} {'':22} {beside}", flush=True)

    if "calls" in wanted:
        print()
        calls.report(arguments.repeats)

    if "training" in wanted:
        print()
        gradients.report(arguments.repeats, span)

    if "torch-training" in wanted:
        print()
        torch_training.report(arguments.repeats, span)

    if "tensors" in wanted:
        print()
        tensors.report(arguments.repeats, span)

    if "torch-programs" in wanted:
        print()
        torch_programs.report(min(arguments.repeats, torch_programs.REPEATS), span)

    if "stalls" in wanted:
        print()
        stalls.report()

    if any(name in wanted for name in STARTUP):
        measured = startup.measure(arguments.processes)
        print(f"\n{'start-up, fresh processes':58} {'tierup':>10} {'':23} {'bar':>8}")
        for name, (title, field, limit) in STARTUP.items():
            if name in wanted:
                seconds = getattr(measured, field)
                mark = "pass" if 1e3 * seconds < limit else "FAIL"
                note = "" if name != "second" or measured.compiled else "  (the call did not compile)"
                if name != "import":
                    note = f"  ({span(getattr(measured, f'{field}_cpu'))} of CPU){note}"
                print(f"{title:58} {span(seconds):>10} {'':22} {f'< {limit} ms':>9}  {mark}{note}")


def span(seconds: float) -> str:
    """Three digits and a unit."""
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


if __name__ == "__main__":
    sys.exit(main())
