"""Measures the math expansions and writes docs/math-accuracy.md. Needs mpmath; takes some minutes.

    python -m benchmarks.math_accuracy            all functions
    python -m benchmarks.math_accuracy exp tanh   these only, to the terminal

f32 is swept over every 251st bit pattern (17 million arguments) against NumPy in f64; f64 over two million random bit
patterns and as many in the ranges where functions change their way of computing, against NumPy's long double (the x87
format's 64 bits), or mpmath where NumPy has nothing. Times are of 4096 elements in cache, one thread.
"""

from __future__ import annotations

import argparse
import math
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np
from llvmlite import binding as llvm

from benchmarks.math_functions import BLOCK, NUMPY, Function, ulps

OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "math-accuracy.md"
NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan", "atanh": "arctanh",
    "powf": "power", "atan2": "arctan2",
}  # fmt: skip
UNARY = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh",
    "asinh", "acosh", "atanh", "erf", "erfc", "cbrt", "rsqrt",
)  # fmt: skip
BINARY = ("powf", "atan2")
STEP = 1 << 20
STRIDE = 251  # prime, so that all exponents and low bits are met
Arrays = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    dtype: str
    count: int
    worst: float
    where: tuple[float, ...]
    ours: float  # ns an element
    numpys: float | None

    def __str__(self) -> str:
        where = ", ".join(f"{v:.9g}" if self.dtype == "f32" else repr(v) for v in self.where)
        numpys = "" if self.numpys is None else f"{self.numpys:.2f}"
        return f"| {self.name} | {self.dtype} | {self.worst:.2f} | {where} | {self.count / 1e6:.1f} | {self.ours:.2f} | {numpys} |"


def random_bits(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    return rng.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=f"u{dtype.itemsize}").view(dtype)


def ranges(rng: np.random.Generator, dtype: np.dtype, count: int) -> np.ndarray:
    """Where functions have their switches, and neighbours of +-1 and of the multiples of pi/4."""
    pieces = [rng.uniform(-limit, limit, count) for limit in (0.7, 1, 3, 12, 30, 110, 750)]
    pieces += [sign * (1 + rng.standard_normal(count) * width) for sign in (1, -1) for width in (1e-7, 1e-3, 0.2)]
    pieces += [rng.integers(-(2**20), 2**20, count) * (np.pi / 4), np.exp(rng.uniform(-700, 700, count))]
    with np.errstate(over="ignore"):
        return np.concatenate(pieces).astype(dtype)


def arguments(name: str, dtype: np.dtype) -> Iterator[Arrays]:
    rng = np.random.default_rng(2026)
    if name in BINARY:
        for _ in range(4):
            yield _pairs(rng, name, dtype, STEP // 4)
    elif dtype == np.float32:
        for start in range(0, 2**32, STRIDE * STEP):
            yield (np.arange(start, min(start + STRIDE * STEP, 2**32), STRIDE, dtype=np.uint64).astype(np.uint32).view(np.float32),)
        yield (ranges(rng, dtype, STEP // 16),)
    elif name in ("erf", "erfc"):  # the reference is slow
        yield (np.concatenate([random_bits(rng, dtype, 20000), rng.uniform(-7, 7, 60000), rng.uniform(-0.8, 28, 60000)]),)
    else:
        yield (random_bits(rng, dtype, STEP),)
        yield (random_bits(rng, dtype, STEP),)
        yield (ranges(rng, dtype, STEP // 8),)


def _pairs(rng: np.random.Generator, name: str, dtype: np.dtype, count: int) -> Arrays:
    """Bases of every size with exponents that give results of every size; or points at every angle."""
    info = np.finfo(dtype)
    top, low = math.log(float(info.max)), math.log(float(info.smallest_subnormal))
    x = np.concatenate([np.exp(rng.uniform(low, top, count)), rng.uniform(0.5, 2, count), 1 + rng.standard_normal(count) * 1e-3]).astype(
        dtype
    )
    with np.errstate(all="ignore"):
        if name == "powf":
            return x, (rng.uniform(low, top, x.size) / np.log(x.astype(np.longdouble))).astype(dtype)
        return random_bits(rng, dtype, x.size), np.where(rng.random(x.size) < 0.5, random_bits(rng, dtype, x.size), x)


def reference(name: str, dtype: np.dtype) -> Callable[..., np.ndarray]:
    wide = np.dtype(np.float64) if dtype == np.float32 and name not in BINARY else np.dtype(np.longdouble)
    if name == "rsqrt":
        return lambda x: 1 / np.sqrt(x.astype(wide))
    if name in ("erf", "erfc"):
        if dtype == np.float32:
            of = getattr(math, name)
            return lambda x: np.fromiter((of(v) for v in x.tolist()), np.float64, x.size)
        return lambda x: np.fromiter((_by_mpmath(name, v) for v in x.tolist()), np.longdouble, x.size)
    function = getattr(np, NUMPY_NAMES.get(name, name))
    return lambda *xs: function(*[x.astype(wide) for x in xs])


def _by_mpmath(name: str, x: float) -> np.longdouble:
    if math.isnan(x) or x == 0:
        return np.longdouble(x if name == "erf" else x + 1)
    if abs(x) > 40:
        return np.longdouble(math.copysign(1, x) if name == "erf" else (0 if x > 0 else 2))
    mantissa, exponent = mpmath.frexp(getattr(mpmath, name)(mpmath.mpf(x)))
    high = float(mantissa)
    return np.ldexp(np.longdouble(high) + np.longdouble(float(mantissa - high)), int(exponent))


def nanoseconds(call: Callable[[], object]) -> float:
    best = math.inf
    for _ in range(25):
        start = time.perf_counter()
        for _ in range(20):
            call()
        best = min(best, (time.perf_counter() - start) / 20)
    return best / BLOCK * 1e9


def times(function: Function, name: str, operands: int) -> tuple[float, float | None]:
    low, high = (1.01, 3.0) if name == "acosh" else (0.01, 0.99)
    inputs = [np.random.default_rng(i).uniform(low, high, BLOCK).astype(function.dtype) for i in range(operands)]
    out = np.empty_like(inputs[0])
    ours = nanoseconds(function.bound(out, *inputs))
    numpy_function = getattr(np, NUMPY_NAMES.get(name, name), None)
    return ours, None if numpy_function is None else nanoseconds(lambda: numpy_function(*inputs, out=out))


def measure(name: str, dtype: str) -> Row:
    operands = 2 if name in BINARY else 1
    names = ", ".join(["%x", "%y"][:operands])
    function = Function(f"%r = math.{name} {names} : {dtype}", dtype, operands)
    refer = reference(name, NUMPY[dtype])
    worst, where, count = -1.0, (0.0,), 0
    for xs in arguments(name, NUMPY[dtype]):
        with np.errstate(all="ignore"):
            errors = ulps(function(*xs), refer(*xs))
        i = int(np.argmax(errors))
        count += errors.size
        if errors[i] > worst:
            worst, where = float(errors[i]), tuple(float(x[i]) for x in xs)
    return Row(name, dtype, count, worst, where, *times(function, name, operands))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("functions", nargs="*", choices=[*UNARY, *BINARY, []], metavar="FUNCTION")
    chosen = parser.parse_args().functions
    mpmath.mp.prec = 120
    rows = []
    for name in chosen or (*UNARY, *BINARY):
        for dtype in ("f32", "f64"):
            rows.append(measure(name, dtype))
            print(rows[-1], flush=True)
    if not chosen:
        _, mark, on_a_gpu = OUTPUT.read_text().partition("\n<!-- cuda:")  # benchmarks/cuda_math.py writes it
        OUTPUT.write_text(
            TEXT.format(rows="\n".join(map(str, rows)), cpu=llvm.get_host_cpu_name(), numpy=np.__version__, machine=platform.machine())
            + mark
            + on_a_gpu
        )


TEXT = """# Accuracy of math functions

Written by `python -m benchmarks.math_accuracy`; do not edit.

Native code computes these functions by range reduction and polynomials in vector arithmetic (pass `tierup-expand-math`, code in
`lowering/math`). The table has the largest error found, in units in the last place of the result, and where. Arguments: for f32
every {stride}st of all bit patterns, for f64 random bit patterns, and for both the ranges where the computation changes; so NaN,
infinities, denormal arguments and results, overflow and huge arguments are all in it. A NaN, an infinity or a zero of the wrong
sign where the reference has none would show as `inf`. The reference is NumPy in f64 for f32, in 80-bit long double for f64, and
mpmath for erf and erfc in f64.

* f16 and bf16 are computed in f32 and rounded once more.
* sin, cos and tan are reduced exactly for every finite argument.
* f32's trigonometric, inverse, hyperbolic (but tanh) functions, cbrt and pow run in f64 inside; 0.50 means correctly rounded but
  for near ties.
* Without fused multiply-add on the target, the pass option `fma=false` splits products instead; errors stay within 0.4 ulp of these.
* sqrt, floor, ceil, trunc, rounding, abs and copysign are instructions and exact.
* A constant exponent of 2, 3, 4, -1, 1/2, -1/2, 3/2 or -3/2 of pow is computed by multiplication, division or sqrt: at most 2 ulp.

Nanoseconds per element: one thread, 4096 elements in cache, {cpu} ({machine}), against NumPy {numpy}, which on this machine uses
vector code with errors of up to 4 ulp for most of these.

| function | type | worst ulp | at | arguments (millions) | ns | NumPy ns |
|---|---|---|---|---|---|---|
{rows}
"""
TEXT = TEXT.replace("{stride}", str(STRIDE))


if __name__ == "__main__":
    main()
