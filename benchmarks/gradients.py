"""A training step, and what a pullback holds: against the same step written by hand in NumPy, and against PyTorch where it is installed.

The step is that of a 3-layer perceptron, batch 32 and width 256, float32: loss, gradients and the update by gradient descent, a
`tierup.jit` function on `tierup.value_and_grad`. Each side gets the same parameters and gives new ones.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np

import tierup
from benchmarks.steady import REPEATS, WARM_UP, calls_per_block

BATCH, WIDTH, LAYERS, RATE = 32, 256, 3, 0.01
CAPTURE_LAYERS = 12
LEAST = 1.0  # times as fast as NumPy by hand
MOST_HELD = 1.1  # times what PyTorch's autograd saves

Parameters = list[tuple[np.ndarray, np.ndarray]]


def loss(params, x, y):
    for w, b in params[:-1]:
        x = tierup.ops.relu(x @ w + b)
    w, b = params[-1]
    return np.mean((x @ w + b - y) ** 2)


@tierup.jit
def step(params, x, y):
    value, grads = tierup.value_and_grad(loss)(params, x, y)
    return value, [(w - RATE * dw, b - RATE * db) for (w, b), (dw, db) in zip(params, grads, strict=True)]


def by_hand(params: Parameters, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Parameters]:
    """The same step as a careful author writes it: what a gradient needs is kept, nothing is computed twice, writes are in place."""
    inputs = [x]
    for w, b in params[:-1]:
        x = x @ w
        x += b
        np.maximum(x, 0, out=x)
        inputs.append(x)
    w, b = params[-1]
    error = x @ w
    error += b
    error -= y
    value = np.mean(error * error)
    error *= 2 / error.size
    updated = []
    for k in reversed(range(len(params))):
        w, b = params[k]
        dw, db = inputs[k].T @ error, error.sum(axis=0)
        if k:
            error = error @ w.T
            error *= inputs[k] > 0
        dw *= RATE
        db *= RATE
        updated.append((w - dw, b - db))
    return value, updated[::-1]


def problem(batch: int = BATCH, width: int = WIDTH, layers: int = LAYERS) -> tuple[Parameters, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    params = [(rng.normal(0, (2 / width) ** 0.5, (width, width)).astype(np.float32), np.zeros(width, np.float32)) for _ in range(layers)]
    x, y = (rng.normal(size=(batch, width)).astype(np.float32) for _ in range(2))
    return params, x, y


def torch_step(params: Parameters, x: np.ndarray, y: np.ndarray) -> Callable[[], object] | None:
    """The step in PyTorch's eager mode on one thread; None where there is none."""
    try:
        import torch
    except ImportError:
        return None
    torch.set_num_threads(1)
    held = [[torch.tensor(a, requires_grad=True) for a in layer] for layer in params]
    flat = [a for layer in held for a in layer]
    images, wanted = torch.tensor(x), torch.tensor(y)

    def run() -> object:
        h = images
        for w, b in held[:-1]:
            h = torch.relu(torch.addmm(b, h, w))
        value = torch.mean((torch.addmm(held[-1][1], h, held[-1][0]) - wanted) ** 2)
        grads = torch.autograd.grad(value, flat)
        with torch.no_grad():
            return value, [p - RATE * g for p, g in zip(flat, grads, strict=True)]

    return run


@dataclass(frozen=True)
class Step:
    """Seconds of a step; medians of measurements in turns. `speedup` over NumPy and `over_torch` are medians of ratios of neighbours."""

    numpy: float
    ours: float
    torch: float | None
    speedup: float
    over_torch: float | None
    native: bool


def measure_step(repeats: int = REPEATS) -> Step:
    """Raises AssertionError where the results differ."""
    params, x, y = problem()
    for _ in range(WARM_UP):
        agree(step(params, x, y), by_hand(params, x, y))
    sides: list[Callable[[], object]] = [lambda: by_hand(params, x, y), lambda: step(params, x, y)]
    torch = torch_step(params, x, y)
    timers = [Timer(side) for side in ([*sides, torch] if torch is not None else sides)]
    counts = [calls_per_block(t) for t in timers]
    before = step.stats()
    seconds = [[t.timeit(n) / n for t, n in zip(timers, counts, strict=True)] for _ in range(repeats)]
    after = step.stats()
    medians = [statistics.median(column) for column in zip(*seconds, strict=True)]
    return Step(
        medians[0],
        medians[1],
        medians[2] if torch is not None else None,
        statistics.median(row[0] / row[1] for row in seconds),
        statistics.median(row[2] / row[1] for row in seconds) if torch is not None else None,
        after.hits - before.hits == after.calls - before.calls,
    )


def agree(got: Any, want: Any) -> None:
    assert abs(float(got[0]) - float(want[0])) <= 1e-4 * abs(float(want[0]))
    for a, b in zip(got[1], want[1], strict=True):
        for g, w in zip(a, b, strict=True):
            assert g.dtype == w.dtype
            np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)


@dataclass(frozen=True)
class Held:
    """Bytes between forward and backward of a 12-layer perceptron, parameters and input apart: those are there anyway."""

    ours: int
    torch: int | None


def measure_held(layers: int = CAPTURE_LAYERS) -> Held:
    params, x, y = problem(layers=layers)
    _, pullback = tierup.vjp(loss, params, x, y)
    return Held(sum(c.bytes for c in pullback.captured if c.source != "argument"), _torch_held(params, x, y))


def _torch_held(params: Parameters, x: np.ndarray, y: np.ndarray) -> int | None:
    """What PyTorch's autograd saves, each piece of memory once, leaves apart."""
    try:
        import torch
    except ImportError:
        return None
    held = [[torch.tensor(a, requires_grad=True) for a in layer] for layer in params]
    images, wanted = torch.tensor(x), torch.tensor(y)
    leaves = {t.untyped_storage().data_ptr() for t in (images, wanted, *(a for layer in held for a in layer))}
    saved: dict[int, int] = {}

    def pack(t: Any) -> Any:
        storage = t.untyped_storage()
        if storage.data_ptr() not in leaves:
            saved[storage.data_ptr()] = storage.nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        h = images
        for w, b in held[:-1]:
            h = torch.relu(torch.addmm(b, h, w))
        value = torch.mean((torch.addmm(held[-1][1], h, held[-1][0]) - wanted) ** 2)
    del value
    return sum(saved.values())


def report(repeats: int, span: Callable[[float], str]) -> None:
    """The table's lines."""
    print(f"{'training: forward, backward and update':36} {'NumPy':>10} {'tierup':>10} {'speed-up':>9} {'bar':>8}")
    row = measure_step(repeats)
    mark = "pass" if row.speedup >= LEAST else "FAIL"
    note = "" if row.native else "  (not every call was native)"
    title = f"{LAYERS}-layer MLP, batch {BATCH}, width {WIDTH}"
    print(f"{title:36} {span(row.numpy):>10} {span(row.ours):>10} {row.speedup:8.2f}x {f'>= {LEAST:g}x':>8}  {mark}{note}")
    if row.torch is not None:
        print(f"{'':36} {span(row.torch):>10} {'':>10} {row.over_torch:8.2f}x  over PyTorch's eager mode")
    held = measure_held()
    beside = ""
    if held.torch is not None:
        mark = "pass" if held.ours <= MOST_HELD * held.torch else "FAIL"
        beside = f"  PyTorch {held.torch / 1024:.0f} KiB, {held.ours / held.torch:.2f} times as much  <= {MOST_HELD:g}  {mark}"
    print(f"{f'held by a pullback, {CAPTURE_LAYERS} layers':36} {'':>10} {held.ours / 1024:6.0f} KiB{beside}", flush=True)
