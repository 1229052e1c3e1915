"""What a call costs in the forms that people write, body included, in CPU time: `python -m benchmarks.calls`. Every call must be a hit."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from typing import Any

import numpy as np

import tierup

X, Y = np.ones(4, np.float32), np.full(4, 2, np.float32)
ARRAYS = [np.full(4, i, np.float32) for i in range(150)]


@dataclass(frozen=True)
class Row:
    """`least`: microseconds that a call may take, the call of an empty Python function taken off."""

    title: str
    function: Any
    call: Callable[[Any], object]
    least: float


@tierup.jit
def muladd(a, b, c):
    return a * b + c


@tierup.jit
def scaled(a, dt=0.5, *, b=None, mode="up"):
    return a * dt if b is None else a * dt + b


@tierup.jit
def optional(a, **options):
    return a * options["b"] + options["dt"]


class Model:
    """A method that reads an array and a number of `self`."""

    def __init__(self) -> None:
        self.w, self.n = Y, 3

    @tierup.jit
    def step(self, x, dt=0.1):
        return self.w * x * dt + self.n


@tierup.jit
def added(tree):
    result = tree[0]
    for x in tree[1:]:
        result = result + x
    return result


@tierup.jit
def of_dict(params):
    result = 0.0
    for name in params:
        result = result + params[name]
    return result


Layer = make_dataclass("Layer", [(f"w{i}", np.ndarray) for i in range(12)])


@tierup.jit
def of_layer(p):
    return p.w0 + p.w1 + p.w2 + p.w3 + p.w4 + p.w5 + p.w6 + p.w7 + p.w8 + p.w9 + p.w10 + p.w11


@tierup.jit
def updated(params, x):
    return {"w": params["w"] - x, "rest": (params["b"] * x, [x + 1])}


_MODEL, _LAYER, _TUPLE, _SMALL = Model(), Layer(*ARRAYS[:12]), tuple(ARRAYS[:12]), {"w": X, "b": Y}
_DICTS = {n: {f"k{i}": a for i, a in enumerate(ARRAYS[:n])} for n in (3, 12, 150)}
_STEP = Model.__dict__["step"]
ROWS = (
    Row("three arrays by position", muladd, lambda f: f(X, Y, X), 0.15),
    Row("by keyword, in order", muladd, lambda f: f(a=X, b=Y, c=X), 0.3),
    Row("by keyword, in another order", muladd, lambda f: f(c=X, a=Y, b=X), 0.3),
    Row("defaults left out: a number, None, a string", scaled, lambda f: f(X), 0.3),
    Row("keyword-only, an array for None", scaled, lambda f: f(X, b=Y), 0.3),
    Row("**options", optional, lambda f: f(X, b=Y, dt=0.25), 0.3),
    Row("a method, a default left out", _STEP, lambda f: _MODEL.step(X), 0.3),
    Row("a method, a number by keyword", _STEP, lambda f: _MODEL.step(X, dt=0.25), 0.3),
    Row("a tuple of 2 arrays", added, lambda f: f((X, Y)), 1.0),
    Row("a tuple of 12", added, lambda f: f(_TUPLE), 1.0),
    Row("a list of 12", added, lambda f: f(ARRAYS[:12]), 1.0),
    Row("a dict of 3", of_dict, lambda f: f(_DICTS[3]), 1.0),
    Row("a dict of 12", of_dict, lambda f: f(_DICTS[12]), 1.0),
    Row("a dict of 150", of_dict, lambda f: f(_DICTS[150]), 10.0),
    Row("a dataclass of 12", of_layer, lambda f: f(_LAYER), 1.0),
    Row("a dict, giving a dict with a tuple and a list in it", updated, lambda f: f(_SMALL, X), 1.0),
)


def measure(repeats: int, calls: int = 4000) -> list[tuple[Row, float, bool]]:
    """Of each row the median of microseconds, all rows in turn, and whether each timed call was a hit."""
    empty: Callable[[Any], object] = lambda f: None
    for row in ROWS * 6:
        row.call(row.function)
    hits = [_hits(row) for row in ROWS]
    found: list[list[float]] = [[] for _ in ROWS]
    for _ in range(repeats):
        base = _microseconds(empty, None, calls)
        for row, times in zip(ROWS, found, strict=True):
            times.append(_microseconds(row.call, row.function, calls) - base)
    made = [sum(r.function is row.function for r in ROWS) * repeats * calls for row in ROWS]
    return [(row, statistics.median(t), _hits(row) - h == m) for row, t, h, m in zip(ROWS, found, hits, made, strict=True)]


def _hits(row: Row) -> int:
    return int(row.function.stats().hits)


def _microseconds(call: Callable[[Any], object], function: Any, calls: int) -> float:
    start = time.thread_time()
    for _ in range(calls):
        call(function)
    return (time.thread_time() - start) / calls * 1e6


def report(repeats: int) -> None:
    """Print the rows."""
    print(f"{'calls, microseconds':56} {'tierup':>10} {'bar':>8}")
    for row, taken, native in measure(repeats):
        mark = ("pass" if taken < row.least else "FAIL") + ("" if native else "  (not every call was native)")
        print(f"{row.title:56} {taken:10.3f} {row.least:8g}  {mark}", flush=True)


if __name__ == "__main__":
    report(15)
