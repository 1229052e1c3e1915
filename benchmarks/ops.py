"""NumPy's functions one by one, each a program of its own, against NumPy itself: `python -m benchmarks.ops [--below BAR] [TEXT ...]`.

Each call is measured with arrays of 10, 1000 and 1,000,000 elements in C order, in Fortran order and strided (every second column of a
wider array), as a user would decorate it: default options. A cell is NumPy's CPU time over ours, the median of pairs of blocks of calls in
turns, so below 1 is a loss; `~` stands behind it where Python answers (a function that native code does not make quicker is plain Python
again). TEXT: only calls that have it in them. The calls below BAR (1.0) in a cell are listed again at the end.

Products and what LAPACK does are O(n^3), so their largest matrices are 200 x 200.
"""

from __future__ import annotations

import argparse
import linecache
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 - after the environment is set

import tierup  # noqa: E402

# x and y: float64 matrices; p: positive ones; f and g: float32; i and j: int64, above 0; b: bool; v and w: vectors of as many elements;
# q: positions.
_POINTWISE = (
    "x + y", "x - y", "x * y", "x / p", "x // p", "x % p", "-x", "x < y", "x == y", "x ** 2", "p ** 1.5", "p ** x", "x * 2.0 + 1.0",
    "f + g", "f * g", "f / g", "f < g", "i + j", "i * j", "i // j", "i % j", "i & j", "i << 1", "i == j", "i / j", "b & b", "~b",
    "x.astype(np.float32)", "f.astype(np.float64)", "x.astype(np.int64)", "i.astype(np.float64)", "i.astype(bool)", "np.where(b, x, y)",
    "np.clip(x, -1.0, 1.0)", "np.maximum(x, y)", "np.minimum(f, g)", "np.maximum(i, j)", "np.abs(x)", "np.abs(i)", "np.sign(x)",
    "np.floor(x)", "np.rint(x)", "np.round(x, 2)", "np.sqrt(p)", "np.square(x)", "np.reciprocal(p)", "np.cbrt(x)", "np.exp(x)",
    "np.exp(f)", "np.exp2(x)", "np.expm1(x)", "np.log(p)", "np.log2(p)", "np.log10(p)", "np.log1p(p)", "np.sin(x)", "np.sin(f)",
    "np.cos(x)", "np.tan(x)", "np.arcsin(x / 9)", "np.arctan(x)", "np.sinh(x)", "np.cosh(x)", "np.tanh(x)", "np.tanh(f)", "np.arcsinh(x)",
    "np.hypot(x, y)", "np.arctan2(x, y)", "np.fmod(x, p)", "np.copysign(x, y)", "np.logaddexp(x, y)", "np.heaviside(x, 0.5)",
    "np.isnan(x)", "np.isfinite(x)", "np.nan_to_num(x)", "np.logical_and(b, b)", "np.isclose(x, y)", "np.float_power(p, x)",
    "np.select([x > 1, x < -1], [x, -x])",
)  # fmt: skip
_REDUCTIONS = (
    "x.sum()", "x.sum(axis=0)", "x.sum(axis=1)", "f.sum()", "f.sum(axis=0)", "i.sum()", "i.sum(axis=1)", "b.sum()", "b.sum(axis=0)",
    "x.mean()", "x.mean(axis=0)", "x.mean(axis=1)", "x.prod()", "x.prod(axis=0)", "x.max()", "x.max(axis=0)", "x.max(axis=1)", "f.min()",
    "f.max(axis=1)", "i.max()", "i.min(axis=0)", "i.min(axis=1)", "x.max() - x.min()", "np.ptp(x, axis=0)", "x.argmax()",
    "x.argmax(axis=0)", "x.argmax(axis=1)", "f.argmin()", "i.argmin()", "i.argmax(axis=1)", "b.any()", "b.all()", "b.any(axis=0)",
    "b.all(axis=1)", "b.argmax()", "x.any()", "x.std()", "x.var(axis=0)", "x.var(axis=1)", "np.count_nonzero(b)", "np.count_nonzero(x)",
    "np.cumsum(v)", "x.cumsum(axis=0)", "x.cumsum(axis=1)", "i.cumsum(axis=1)", "np.cumprod(v)", "np.maximum.accumulate(v)",
    "np.nansum(x)", "np.nanmax(x)", "np.nanmean(x, axis=0)", "np.nanvar(x, axis=0)", "np.linalg.norm(x)", "np.linalg.norm(x, axis=1)",
    "np.dot(v, w)", "np.inner(v, w)", "np.vdot(v, w)", "np.trace(x)", "np.logaddexp.reduce(v)", "np.allclose(x, y)",
    "np.array_equal(x, y)", "np.average(v, weights=p.ravel())", "np.trapezoid(v)",
)  # fmt: skip
_MOVES = (
    "x.copy()", "x.T.copy()", "x.ravel() + 0.0", "x[::-1].copy()", "x[:, ::-1].copy()", "x[1:, 1:].copy()", "np.concatenate((x, y))",
    "np.concatenate((x, y), axis=1)", "np.stack((x, y))", "np.stack((x, y), axis=-1)", "np.vstack((x, y))", "np.append(v, w)",
    "np.tile(x, (2, 2))", "np.repeat(v, 2)", "np.repeat(x, 2, axis=1)", "np.roll(v, 3)", "np.roll(x, 1, axis=0)", "np.roll(x, 1, axis=1)",
    "np.flip(x)", "np.rot90(x)", "np.pad(x, 1)", "np.pad(x, 2, mode='reflect')", "x[q]", "v[q]", "x[:, q]", "v[b.ravel()]", "x[b]",
    "np.take(x, q, axis=0)", "np.nonzero(b)", "np.argwhere(b)", "np.flatnonzero(b)", "np.diff(v)", "np.diff(x, axis=0)", "np.gradient(v)",
    "np.outer(v[:300], w[:300])", "np.tril(x)", "np.triu(x)", "np.diag(x)", "np.zeros_like(x)", "np.full_like(x, 2.0)",
    "np.ones(x.shape)", "np.arange(v.shape[0])", "np.linspace(0.0, 1.0, v.shape[0])", "np.eye(x.shape[0])",
    "np.meshgrid(v[:500], w[:500])", "np.kron(x[:20, :20], y[:20, :20])", "np.delete(v, 3)", "np.insert(v, 3, 1.0)",
    "np.array_split(v, 4)", "np.broadcast_to(v, (3, v.shape[0])).copy()", "np.cross(x[:, :3], y[:, :3])",
)  # fmt: skip
_SEARCHES = (
    "np.sort(v)", "np.sort(x, axis=0)", "np.sort(x, axis=1)", "np.sort(i, axis=1)", "np.argsort(v)", "np.argsort(x, axis=1)",
    "np.partition(v, 4)", "np.argpartition(v, 4)", "np.unique(q)", "np.unique(v)", "np.searchsorted(np.sort(v[:1000]), w)",
    "np.digitize(v, [-1.0, 0.0, 1.0])", "np.bincount(q)", "np.histogram(v, 10)", "np.histogram(v, 10, (-3.0, 3.0))", "np.median(v)",
    "np.median(x, axis=0)", "np.percentile(v, [5, 95])", "np.quantile(x, 0.5, axis=1)",
    "np.interp(v, [-2.0, -1.0, 0.0, 1.5], [1.0, 0.0, 3.0, 2.0])", "np.isin(q, q[:5])", "np.intersect1d(q, q[:5])",
    "np.convolve(v, w[:5])", "np.correlate(v, w[:5])", "np.lexsort((v, w))",
)  # fmt: skip
_CUBIC = (
    "x @ y", "f @ g", "x @ y[:, 0]", "x.T @ y", "np.einsum('ij,kj->ik', x, y)", "np.einsum('ij,ij->i', x, y)", "np.tensordot(x, y, 1)",
    "np.cov(x)", "np.corrcoef(x)", "np.linalg.solve(x, y[0])", "np.linalg.inv(x)", "np.linalg.det(x)",
    "np.linalg.cholesky(x @ x.T + np.eye(x.shape[0]))", "np.linalg.qr(x)", "np.linalg.eigh(x + x.T)", "np.linalg.svd(x)",
    "np.linalg.lstsq(x, y[0])", "np.linalg.pinv(x)", "np.linalg.matrix_power(x, 3)",
)  # fmt: skip
_SHAPES = ((2, 5), (25, 40), (1000, 1000))
_SQUARE = ((3, 3), (32, 32), (200, 200))
_ORDERS = ("C", "F", "strided")
_SETTLES = 80  # calls at least until it is known whether native code is quicker
_BLOCK, _BLOCKS, _WARM = 0.004, 7, 0.15  # seconds of a block, blocks of each side, seconds that are enough to settle


def function_of(call: str) -> tuple[Callable[..., Any], list[str]]:
    """`def f(x, y): return CALL` with the names that the call has, and these."""
    names = sorted({n for n in "xypfgijbvwq" if n in compile(call, "call", "eval").co_names})
    text, name = f"def f({', '.join(names)}):\n    return {call}\n", f"<{call}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), namespace)  # noqa: S102 - the texts stand above
    return namespace["f"], names


def arguments_of(names: list[str], shape: tuple[int, int], order: str) -> tuple[np.ndarray, ...]:
    """Arrays of normally distributed numbers (`x` and its like) in an order of memory."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal(shape), rng.standard_normal(shape)
    rows, size = min(shape), shape[0] * shape[1]
    every: dict[str, np.ndarray] = {
        "x": x, "y": y, "p": np.abs(y) + 0.1, "f": x.astype(np.float32), "g": np.abs(y).astype(np.float32) + np.float32(0.1),
        "i": rng.integers(1, 1000, shape), "j": rng.integers(1, 50, shape), "b": x > 0, "v": x.ravel().copy(), "w": y.ravel().copy(),
        "q": rng.integers(0, rows, min(size, 1000)),
    }  # fmt: skip
    return tuple(every[n] if n == "q" else _laid_out(every[n], order) for n in names)


def _laid_out(array: np.ndarray, order: str) -> np.ndarray:
    if order == "C":
        return array
    if order == "F":
        return np.asfortranarray(array)
    wide = np.empty((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def _seconds(function: Callable[..., Any], arguments: tuple[np.ndarray, ...], count: int) -> float:
    start = time.process_time()
    for _ in range(count):
        function(*arguments)
    return (time.process_time() - start) / count


def measured(call: str, shape: tuple[int, int], order: str) -> tuple[float, float, bool]:
    """NumPy's time over ours, NumPy's in seconds, and whether native code answered every measured call.

    Raises AssertionError where the results differ.
    """
    function, names = function_of(call)
    arguments = arguments_of(names, shape, order)
    jitted = tierup.jit(function, compile="blocking")
    want = function(*arguments)
    for got, expected in zip(_leaves(jitted(*arguments)), _leaves(want), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5, err_msg=call)
    count = max(1, int(_BLOCK / max(_seconds(function, arguments, 3), 1e-7)))
    start = time.process_time()
    for n in range(100 * _SETTLES):
        jitted(*arguments)
        if n > _SETTLES and time.process_time() - start > _WARM:
            break
    before = jitted.stats().hits
    pairs = [(_seconds(function, arguments, count), _seconds(jitted, arguments, count)) for _ in range(_BLOCKS)]
    native = jitted.stats().hits - before == count * _BLOCKS
    return statistics.median(a / b for a, b in pairs), statistics.median(a for a, _ in pairs), native


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (tuple, list)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--below", type=float, default=1.0, metavar="BAR", help="list again the calls below this ratio")
    options.add_argument("--orders", nargs="+", default=_ORDERS, choices=_ORDERS)
    options.add_argument("text", nargs="*", help="only calls that have one of these in them")
    chosen = options.parse_args()
    losses, ratios = [], []
    print(f"{'call':42} {'us':>8}" + "".join(f"{f'{n:,} {order}':>18}" for n in (10, 1000, 1_000_000) for order in chosen.orders))
    for shapes, calls in ((_SHAPES, _POINTWISE + _REDUCTIONS + _MOVES + _SEARCHES), (_SQUARE, _CUBIC)):
        for call in calls:
            if chosen.text and not any(text in call for text in chosen.text):
                continue
            cells, seconds = [], 0.0
            for shape in shapes:
                for order in chosen.orders:
                    ratio, seconds, native = measured(call, shape, order)
                    cells.append(f"{ratio:17.2f}{' ' if native else '~'}")
                    ratios.append(ratio)
                    if ratio < chosen.below:
                        who = "" if native else ", by Python"
                        losses.append(f"{ratio:6.2f}  {call} of {shape[0]}x{shape[1]}, {order}, {seconds * 1e6:.1f} us in NumPy{who}")
            print(f"{call:42} {seconds * 1e6:8.1f}" + "".join(cells), flush=True)
    print(f"\n{len(ratios)} cells, geometric mean {statistics.geometric_mean(ratios):.2f}; below {chosen.below}: {len(losses)}")
    print("\n".join(sorted(losses)))


if __name__ == "__main__":
    main()
