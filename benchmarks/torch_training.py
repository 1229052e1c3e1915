"""A training step of PyTorch's: forward and backward by tierup under PyTorch's autograd, the rest PyTorch's, against eager mode.

    loss = mse_loss(module(x), y); loss.backward(); optimiser.step()

An MLP of 3 layers, float32, torch.optim.SGD, one thread. The two sides are measured in turns; the ratio is the median of neighbours'.
There is no bar. The small one shows what a call costs around its programs, the larger one the programs.
"""

from __future__ import annotations

import copy
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import tierup
from benchmarks.steady import REPEATS, WARM_UP, calls_per_block

SIZES = ((4, 8), (32, 256))  # batch, width
LAYERS, RATE = 3, 0.01


@dataclass(frozen=True)
class Row:
    """Seconds of a step, medians. `ratio`: tierup's time over eager's. `native`: whether every measured program was."""

    batch: int
    width: int
    eager: float
    ours: float
    ratio: float
    native: bool


def module(width: int) -> Any:
    import torch

    torch.manual_seed(0)
    layers: list[Any] = []
    for k in range(LAYERS):
        layers += [torch.nn.Linear(width, width), *([torch.nn.ReLU()] if k + 1 < LAYERS else [])]
    return torch.nn.Sequential(*layers)


def step(call: Callable[[Any], Any], of: Any, batch: int, width: int) -> Callable[[], float]:
    """A training step of the module `of`, which is run by `call`; it gives the loss."""
    import torch

    generator = torch.Generator().manual_seed(1)
    x, y = (torch.randn(batch, width, generator=generator) for _ in range(2))
    optimiser = torch.optim.SGD(of.parameters(), lr=RATE)

    def run() -> float:
        optimiser.zero_grad()
        loss = torch.nn.functional.mse_loss(call(x), y)
        loss.backward()
        optimiser.step()
        return loss.item()

    return run


def measure(batch: int, width: int, repeats: int = REPEATS) -> Row:
    """Raises AssertionError where the losses differ."""
    import torch

    torch.set_num_threads(1)
    ours = module(width)
    eager = copy.deepcopy(ours)
    function = tierup.torch.from_torchscript(torch.jit.script(ours), gradients="error")
    sides = [step(eager, eager, batch, width), step(function, ours, batch, width)]
    for _ in range(WARM_UP):
        want, got = (side() for side in sides)
        assert abs(got - want) <= 1e-4 * abs(want), f"a loss of {got}, in eager mode {want}"
    timers = [Timer(side) for side in sides]
    counts = [calls_per_block(t) for t in timers]
    before = _calls(function)
    seconds = [[t.timeit(n) / n for t, n in zip(timers, counts, strict=True)] for _ in range(repeats)]
    hits, calls = (after - was for after, was in zip(_calls(function), before, strict=True))
    medians = [statistics.median(column) for column in zip(*seconds, strict=True)]
    return Row(batch, width, *medians, statistics.median(b / a for a, b in seconds), hits == calls)


def _calls(function: Any) -> tuple[int, int]:
    """Native calls of the forward and backward programs, and all of them."""
    stats = [e.stats() for v in function.variants for e in v.executor.gradient_executors]
    return sum(s.hits for s in stats), sum(s.calls for s in stats)


def report(repeats: int, span: Callable[[float], str]) -> None:
    """The table's lines; a line that says so where PyTorch is missing."""
    try:
        import torch  # noqa: F401 - whether it is there
    except ImportError:
        print("training under PyTorch's autograd: not measured, PyTorch is not installed")
        return
    print(f"{'training under PyTorch autograd':36} {'eager':>10} {'tierup':>10} {'ratio':>9}")
    for batch, width in SIZES:
        row = measure(batch, width, repeats)
        note = "" if row.native else "  (not every call was native)"
        title = f"{LAYERS}-layer MLP, batch {batch}, width {width}"
        print(f"{title:36} {span(row.eager):>10} {span(row.ours):>10} {row.ratio:8.2f}x{note}", flush=True)
