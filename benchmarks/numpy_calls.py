"""Calls of NumPy's functions, each a program of its own: `python -m benchmarks.numpy_calls [TEXT ...]`.

NumPy's time over that of native code, by CPU time: the median of pairs of blocks of calls in turns. TEXT: only calls that have it in them.
"""

from __future__ import annotations

import linecache
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tierup

CALLS = (
    "np.cov(m)", "np.gradient(x)", "np.isclose(m, s)", "np.allclose(m, s)", "np.trapezoid(x)", "np.nanmean(x)", "np.nanvar(m, axis=0)",
    "np.nanmax(m)",
    "np.average(x, weights=x * x)", "np.roll(x, 3)", "np.round(x, 2)",
    "np.einsum('ij,kj->ik', m, s)", "np.tensordot(m, s, 1)",
    "np.cross(m[:, :3], s[:, :3])", "np.kron(m[:8], s[:4])", "np.meshgrid(m[0], s[0])", "np.pad(m, 2, mode='reflect')", "np.add.reduce(m)",
    "np.select([x > 1, x < -1], [x, -x])", "np.array_equal(m, s)", "np.append(x, x)", "np.diag(m[0])",
    "np.sort(x)", "np.sort(m, axis=0)", "np.argsort(x)", "np.searchsorted(m[0], x)", "np.digitize(x, [-1.0, 0.0, 1.0])",
    "np.bincount(np.argsort(x))", "np.median(x)", "np.median(m, axis=0)", "np.percentile(x, [5, 95])", "np.unique(np.argsort(x))",
    "np.linalg.solve(m, s[0])", "np.linalg.inv(m)", "np.linalg.det(m)", "np.linalg.cholesky(m @ m.T)", "np.linalg.qr(m)",
    "np.linalg.eigh(m + m.T)", "np.linalg.svd(m)", "np.linalg.svdvals(m)", "np.linalg.lstsq(m, s[0])",
    "np.linalg.pinv(m)", "np.linalg.cond(m)",
    "np.interp(x, [-2.0, -1.0, 0.0, 1.5], [1.0, 0.0, 3.0, 2.0])",
)  # fmt: skip
_SIZES = (8, 200)  # of square matrices m and s; x is a vector of as many elements
_BLOCK, _BLOCKS = 0.01, 15  # seconds of calls, and how many of each side


def function_of(call: str) -> Callable[..., Any]:
    """`def f(x, m, s)` that returns the call."""
    text, name = f"def f(x, m, s):\n    return {call}\n", f"<{call}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102 - the text stands above
    made: Callable[..., Any] = namespace["f"]
    return made


def _seconds(function: Callable[..., Any], arguments: tuple[Any, ...], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        function(*arguments)
    return (time.process_time() - start) / count


def measured(call: str, size: int) -> tuple[float, float, float]:
    """The ratio of the two times, and both in seconds."""
    rng, function = np.random.default_rng(0), function_of(call)
    arguments = rng.standard_normal(size * size), rng.standard_normal((size, size)), rng.standard_normal((size, size))
    jitted = tierup.jit(function, strict=True, compile="blocking")
    for _ in range(4):
        jitted(*arguments)
    count = max(1, int(_BLOCK / _seconds(function, arguments, 20)))
    pairs = [(_seconds(function, arguments, count), _seconds(jitted, arguments, count)) for _ in range(_BLOCKS)]
    return statistics.median(a / b for a, b in pairs), *(statistics.median(side) for side in zip(*pairs, strict=True))


def main() -> None:
    wanted = [c for c in CALLS if not sys.argv[1:] or any(text in c for text in sys.argv[1:])]
    print(f"{'call':34} " + "".join(f"{f'{n} x {n}: NumPy':>18} {'native':>9} {'ratio':>6}" for n in _SIZES))
    for call in wanted:
        rows = [measured(call, size) for size in _SIZES]
        print(f"{call:34} " + "".join(f"{a * 1e6:15.2f} us {b * 1e6:6.2f} us {ratio:6.2f}" for ratio, a, b in rows), flush=True)


if __name__ == "__main__":
    main()
