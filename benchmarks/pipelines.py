"""The default pipelines against TorchScript's, on its traced programs: how a program is cut, and what a call costs.

`2.x` is the plan that its pipelines make: native code for each group, tier 0 for all between them. `default` is what `profile` and
`versioned` make of the same program, which is one group. Groups and checks are counted in the program; those in a loop's body are run in
each round. Microseconds of a call, the median of `REPEATS`, arrays of 64x64 (products of 64x64 and 64x64), loops of 20 rounds, one
thread. Run as `python -m benchmarks.pipelines`.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before NumPy is imported: OpenBLAS reads them when it is loaded

import numpy as np  # noqa: E402

from tierup.dialect.ir.walking import function_names, walk  # noqa: E402
from tierup.dialect.language.text import parse_module  # noqa: E402
from tierup.dialect.mlir import ir  # noqa: E402
from tierup.dialect.passes.registry import parse, pipeline  # noqa: E402
from tierup.frontend.jit import from_graph  # noqa: E402
from tierup.frontend.mlir.file import load_text  # noqa: E402
from tierup.runtime.compiling.regions import recorder_of, with_facts  # noqa: E402
from tierup.runtime.interpreter.translate import translate  # noqa: E402

PROGRAMS = ("ew", "mm", "loop", "branch", "lists")
PLANS = {
    "2.x": (("profiling-insensitive", "instrument"), ("pre-autodiff-2.x", "no-grad", "tierup-outline-fallbacks", "final")),
    "default": (("profile",), ("versioned",)),
}
REPEATS = 200
_TRACES = Path(__file__).resolve().parents[1] / "test" / "dialect" / "traces"


@dataclass(frozen=True)
class Row:
    program: str
    plan: str
    groups: int
    checks: int
    microseconds: float


def arguments_of(program: str, size: int = 64) -> list[Any]:
    """What a program is called with."""
    x, y, z = np.random.default_rng(0).uniform(0.1, 1, (3, size, size)).astype(np.float32)
    return {"loop": [x, 20], "branch": [x, y], "lists": [x, y]}.get(program, [x, y, z])


def plan(program: str, steps: tuple[tuple[str, ...], tuple[str, ...]], arguments: list[Any]) -> str:
    """The program after recording one call and running the steps on it."""
    before, after = steps
    module = parse_module((_TRACES / f"{program}.mlir").read_text())
    parse("tierup-functionalize").run(module)
    for step in before:
        _run(module, step)
    facts: dict[int, Any] = {}
    translate(module, program, record=True).call(*arguments, record=recorder_of(facts))
    module = parse_module(with_facts(str(module), program, facts))
    for step in after:
        _run(module, step)
    return str(module)


def executable(text: str, program: str) -> Callable[..., Any]:
    """A plan with native code for its groups and tier 0 for what is between them."""
    module = parse_module(text)
    parse("tierup-dispatch-regions").run(module)
    sites = {}
    for name, func in function_names(module).items():
        if name != program:
            with func.context, func.location:
                alone = ir.Module.create()
                made = func.clone(ir.InsertionPoint(alone.body)).operation
            del made.attributes["sym_visibility"]
            sites[name] = from_graph(load_text(str(alone), name), name)
    return translate(module, program, sites=sites).call


def measure(program: str, name: str, size: int = 64, repeats: int = REPEATS) -> Row:
    """One plan of one program."""
    arguments = arguments_of(program, size)
    text = plan(program, PLANS[name], arguments)
    module = parse_module(text)
    names = [op.name for op in walk(function_names(module)[program])]
    call = executable(text, program)
    for _ in range(5):  # recorded, compiled
        call(*arguments)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call(*arguments)
        times.append(time.perf_counter() - start)
    return Row(program, name, names.count("tierup.fusion_group"), names.count("tierup.check"), 1e6 * statistics.median(times))


def _run(module: ir.Module, step: str) -> None:
    (parse(step) if step.startswith("tierup-") else pipeline(step)).run(module)


def main() -> None:
    print(f"{'program':8} {'plan':8} {'groups':>6} {'checks':>6} {'us a call':>10}")
    for program in PROGRAMS:
        for name in PLANS:
            row = measure(program, name)
            print(f"{row.program:8} {row.plan:8} {row.groups:6} {row.checks:6} {row.microseconds:10.1f}", flush=True)


if __name__ == "__main__":
    main()
