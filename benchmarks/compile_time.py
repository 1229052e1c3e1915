"""Compile time of big graphs, up to LLVM: a chain of pointwise ops, and a chain of small matrix products, from 100 to 5000 ops.

Seconds of CPU, which other work on the machine disturbs less than the clock: from the front end's graph to LLVM IR, that is mutation
into values, inference, and lowering. `power` is how it grows from the row before: 1 is linear, n log n is about 1.1. LLVM's own time
stands beside it. Run as `python -m benchmarks.compile_time [SIZE ...]`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

SIZES = (100, 300, 1000, 2000, 5000)
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
    main(tuple(map(int, sys.argv[1:])) or SIZES)
