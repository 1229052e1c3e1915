"""Compile time of big graphs, up to LLVM: a chain of pointwise ops, and a chain of small matrix products, from 100 to 5000 ops.

Seconds of CPU, which other work on the machine disturbs less than the clock: from the front end's graph to LLVM IR, that is mutation
into values, inference, and lowering. `power` is how it grows from the row before: 1 is linear, n log n is about 1.1. LLVM's own time
stands beside it. Run as `python -m benchmarks.compile_time [SIZE ...]`.

`python -m benchmarks.compile_time functions [SIZE ...]`: Python functions of 25 to 200 statements of a kind, and of as many numbers in a
list (100 at most). Seconds of CPU of the first call, which builds the graph and runs it in tier 0, and of the second, which compiles.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (100, 300, 1000, 2000, 5000)
SIZES_OF_FUNCTIONS = (25, 50, 100, 200)
BARS = {"pointwise": 1.0, "products": 2.0}  # seconds for 1000 ops


@dataclass(frozen=True)
class Row:
    graph: str
    ops: int
    seconds: float
    llvm: float


def pointwise(n: int) -> tuple[str, tuple[int, ...]]:
    """mul, add, relu, neg in turn; and the size of the arrays."""
    t = "!torch.vtensor"
    spelled: tuple[Callable[[int, str], str], ...] = (
        lambda i, x: f"%v{i} = torch.aten.mul.Tensor {x}, %y : {t}, {t} -> {t}",
        lambda i, x: f"%v{i} = torch.aten.add.Tensor {x}, %y, %one : {t}, {t}, !torch.int -> {t}",
        lambda i, x: f"%v{i} = torch.aten.relu {x} : {t} -> {t}",
        lambda i, x: f"%v{i} = torch.aten.neg {x} : {t} -> {t}",
    )
    return _chain(n, lambda i, x: spelled[i % 4](i, x)), (64, 64)


def products(n: int) -> tuple[str, tuple[int, ...]]:
    """Products of 8x8 matrices, which become loops of our own, not calls of BLAS."""
    t = "!torch.vtensor"
    return _chain(n, lambda i, x: f"%v{i} = torch.aten.mm {x}, %y : {t}, {t} -> {t}"), (8, 8)


def _chain(n: int, line: Callable[[int, str], str]) -> str:
    body = "\n".join(line(i, "%x" if i == 0 else f"%v{i - 1}") for i in range(n))
    t = "!torch.vtensor"
    return f"func.func @main(%x: {t}, %y: {t}) -> {t} {{\n%one = torch.constant.int 1\n{body}\nreturn %v{n - 1} : {t}\n}}"


GRAPHS = {"pointwise": pointwise, "products": products}


def measure(graph: str, ops: int) -> Row:
    from tierup.lowering.base import llvm
    from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Request
    from tierup.lowering.compiling import compile as lowering
    from tierup.runtime.compiling import version as compiler

    text, sizes = GRAPHS[graph](ops)
    specs = (ArgumentSpec(ArgumentKind.ARRAY, "f32", sizes),) * 2
    start = time.process_time()
    request = Request(compiler.specialise(compiler.to_values(text), "main", specs), "main", specs)
    lowered = lowering.lower(request)
    lowered_at = time.process_time()
    llvm.emit(lowered.text, target=request.target, level=request.level)
    return Row(graph, ops, lowered_at - start, time.process_time() - lowered_at)


@dataclass(frozen=True)
class Kind:
    """A function of `n` statements: how each is written, by its number, what stands before and behind them, and the arguments."""

    statement: str
    last: str
    arguments: Callable[[int], tuple[Any, ...]]
    parameters: str = "x, a"
    first: str = ""
    before: str = ""

    def source(self, n: int) -> str:
        lines = [self.first, *(self.statement.replace("K", str(k)) for k in range(n)), self.last]
        body = "\n".join("    " + line for text in lines if text for line in text.splitlines())
        return f"import numpy as np\n\n\n{self.before}def f({self.parameters}):\n{body}\n"


_HELPER = "def h(x, c):\n    return x * c + 1\n\n\n"
_RISING = """    for j in range(i):
        if x[j] < x[i] and best[j] + 1 > best[i]:
            best[i] = best[j] + 1"""
FUNCTIONS = {
    "scalar loops": Kind("for i in range(a):\n    x = x * 0.5 + K", "return x", lambda n: (2.5, 7)),
    "loops that sum": Kind("for i in range(len(x)):\n    s += x[i] * K", "return s", lambda n: (np.arange(8.0), 1), first="s = 0.0"),
    "ifs": Kind("if x > K:\n    x = x * 1.5 + a\nelse:\n    x = x - K", "return x", lambda n: (2.5, 1.5)),
    "ints": Kind("x = (x * 3 + a) % (1000 + K)", "return x", lambda n: (7, 5)),
    "tanh": Kind("x = np.tanh(x)", "return x", lambda n: (np.arange(64.0), 1)),
    "stores": Kind("y[K] = a * K", "return x + y", lambda n: (np.arange(256.0), 1.5), first="y = np.zeros(256)"),
    "slices": Kind("y[K:K + 4] += x[K:K + 4] * 2", "return y", lambda n: (np.arange(256.0), 1), first="y = np.zeros_like(x)"),
    "calls": Kind("x = h(x, K)", "return x", lambda n: (np.arange(64.0), 1), before=_HELPER),
    "list": Kind("", "return s", lambda n: ([0.5 * k for k in range(min(n, 100))], 1), first="s = 0.0\nfor v in x:\n    s += v * a"),
    "list, in two loops": Kind(
        "", "return max(best)", lambda n: ([k * 79 % 100 for k in range(min(n, 100))], 1),
        first=f"best = [1] * len(x)\nfor i in range(len(x)):\n{_RISING}",
    ),
}  # fmt: skip


def calls_of(kind: Kind, n: int) -> tuple[float, float]:
    """CPU seconds of the first call and of the second."""
    import tierup

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(kind.source(n))
        spec = importlib.util.spec_from_file_location("program", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        f, times = tierup.jit(module.f, worker=False, cache=False, weigh=False), [time.process_time()]
        for _ in range(2):
            f(*kind.arguments(n))
            times.append(time.process_time())
    return times[1] - times[0], times[2] - times[1]


def functions(sizes: tuple[int, ...]) -> None:
    print(f"{'':20}" + "".join(f"{n:>8}{'':>8}" for n in sizes))
    for name, kind in FUNCTIONS.items():
        calls_of(kind, 3)
        print(f"{name:20}" + "".join(f"{s:8.2f}" for n in sizes for s in calls_of(kind, n)), flush=True)


def power(before: Row, after: Row) -> float:
    return math.log(after.seconds / before.seconds) / math.log(after.ops / before.ops)


def main(sizes: tuple[int, ...] = SIZES) -> None:
    print(f"{'graph':10} {'ops':>6} {'to LLVM s':>10} {'power':>6} {'LLVM s':>8}")
    for graph in GRAPHS:
        measure(graph, 20)  # imports, contexts and pipelines
        before = None
        for ops in sizes:
            row = measure(graph, ops)
            grows = f"{power(before, row):6.2f}" if before else " " * 6
            bar = f"  bar {BARS[graph]} s{'' if row.seconds < BARS[graph] else ': MISSED'}" if ops == 1000 else ""
            print(f"{graph:10} {ops:6} {row.seconds:10.2f} {grows} {row.llvm:8.2f}{bar}", flush=True)
            before = row


if __name__ == "__main__":
    if sys.argv[1:2] == ["functions"]:
        functions(tuple(map(int, sys.argv[2:])) or SIZES_OF_FUNCTIONS)
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
