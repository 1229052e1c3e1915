"""What a call with PyTorch's tensors costs: small programs, where the way in and out is most of it, against eager mode."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from timeit import Timer
from typing import Any

import numpy as np

import tierup

CALLS = 2000  # per measurement


@dataclass(frozen=True)
class Row:
    """Seconds per call, medians of measurements in turns; `ratio` is the median of neighbours' (ours / eager). `native`: every call was."""

    title: str
    eager: float
    ours: float
    ratio: float
    native: bool


def report(repeats: int, span: Callable[[float], str]) -> None:
    found = list(measure(repeats))
    if not found:
        print("calls with PyTorch's tensors: PyTorch is not installed")
        return
    print(f"{'calls with tensors':48} {'eager':>10} {'tierup':>10} {'of eager':>9} {'bar':>8}")
    for row in found:
        mark = "pass" if row.ratio <= 1 else "FAIL"
        note = "" if row.native else "  (not every call was native)"
        print(f"{row.title:48} {span(row.eager):>10} {span(row.ours):>10} {row.ratio:8.2f}x {'<= 1x':>8}  {mark}{note}", flush=True)


def measure(repeats: int, calls: int = CALLS) -> Iterator[Row]:
    """No rows without PyTorch. Raises AssertionError where results differ."""
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)

    def multiply_add(x, y, z):  # to TorchScript, what is not annotated is a tensor
        return x * y + z

    @tierup.jit
    def smooth(x: Any, y: Any) -> Any:
        return np.tanh(x) * y + 1

    vectors = list(torch.randn(3, 4).unbind(0))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
    scripted = tierup.torch.from_torchscript
    cases: list[tuple[str, Any, Callable[..., Any], list[Any]]] = [
        ("x * y + z of 4 elements, from_torchscript", scripted(torch.jit.script(multiply_add)), multiply_add, vectors),
        ("tanh(x) * y + 1 of 4 elements, tierup.jit", smooth, lambda x, y: torch.tanh(x) * y + 1, vectors[:2]),
        ("two linear layers and a relu, from_torchscript", scripted(torch.jit.script(model)), model, [torch.randn(3, 8)]),
    ]
    with torch.no_grad():
        for title, ours, eager, arguments in cases:
            for _ in range(3):
                torch.testing.assert_close(ours(*arguments), eager(*arguments), rtol=1e-4, atol=1e-5)
            timers = [Timer("f(*a)", globals={"f": f, "a": arguments}) for f in (eager, ours)]
            before = ours.stats()
            seconds = [[t.timeit(calls) / calls for t in timers] for _ in range(repeats)]
            after = ours.stats()
            medians = [statistics.median(column) for column in zip(*seconds, strict=True)]
            ratio = statistics.median(row[1] / row[0] for row in seconds)
            yield Row(title, medians[0], medians[1], ratio, after.hits - before.hits == repeats * calls)
