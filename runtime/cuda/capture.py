"""A call as a CUDA graph that its user launches: the same kernels on the same memory, at the cost of one launch.

    step = tierup.capture(f, x, w)      # f is called, as often as it takes to be compiled
    torch_x.copy_(batch)                # whoever owns the arrays puts in new values
    step()                              # one launch; step.results, what f returned, holds new values
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tierup.runtime.cuda import steady

_CALLS = 6  # profiled, compiled, compiled for any size, run; then there is nothing new to come


class Captured:
    """Launches one call again. `results`: what the call returned, to be read after a launch; the next one overwrites them."""

    def __init__(self, graph: steady.OwnGraph, results: Any) -> None:
        self._graph, self.results = graph, results

    def __call__(self) -> None:
        """Put the kernels on the stream once more; nothing waits for them. Raises DriverError."""
        self._graph.launch()


def capture(function: Callable[..., Any], *arguments: Any) -> Captured:
    """One call of a tierup function, or of a plan from a bundle, on arrays that lie on the device: as a CUDA graph.

    Numbers stay what they are now, and arrays where they lie. Raises TypeError for a function of another kind, ValueError for a call that
    is no fixed sequence of kernels, saying why; and what the function raises.
    """
    if not getattr(type(function), "is_one_plan", False):  # not by their classes: bundles are run without a compiler
        raise TypeError(f"capture takes a function of tierup.jit or tierup.load, or a plan of tierup.load_plan, not {function!r}")
    for _ in range(_CALLS):
        with steady.capturing() as made:
            results = function(*arguments)
        if len(made) == 1:
            return Captured(made[0], results)
    raise ValueError(
        f"{function!r} with these arguments is no fixed sequence of kernels. A call is one if it runs on a device (backend=\"cuda\"), all "
        "its arrays lie there, from addresses that are multiples of 16, and if it has native code as a whole, checks no index, reads no "
        "element on the host, and writes none of its arguments; explain() says what it does"
    )
