"""Loops over elements, as people write them before they look for a vectorised way: `python -m benchmarks.loops [NAME ...]`.

Each function runs as plain Python on NumPy's arrays, as native code, and by Numba where that is installed; CPU time, sides in turn, medians
of the ratios of neighbours. `faults`: page faults of a native call. Arguments are made anew for every call, outside of what is timed.
"""

from __future__ import annotations

import argparse
import importlib
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np  # noqa: E402 - after the environment is set

import tierup  # noqa: E402
from benchmarks.kernels import KERNELS  # noqa: E402

_REPEATS = 9


def two_stores(a):
    for i in range(1, len(a)):
        a[i] *= 2
        a[i] += a[i - 1] * 0.25
    return a


def smoothed(a, weight):
    out = np.empty_like(a)
    out[0] = a[0]
    for i in range(1, len(a)):
        out[i] = weight * a[i] + (1 - weight) * out[i - 1]
    return out


def distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(len(a)):
        for j in range(len(b)):
            change = d[i, j] + (0 if a[i] == b[j] else 1)
            d[i + 1, j + 1] = min(change, d[i, j + 1] + 1, d[i + 1, j] + 1)
    return d[len(a), len(b)]


def sorted_by_swaps(a):
    end, swapped = len(a) - 1, True
    while swapped:
        swapped = False
        for i in range(end):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
        end -= 1
    return a


def factors(m):
    n = m.shape[0]
    for k in range(n - 1):
        for i in range(k + 1, n):
            m[i, k] /= m[k, k]
            for j in range(k + 1, n):
                m[i, j] -= m[i, k] * m[k, j]
    return m


def line(image, x, y, x_end, y_end):
    across, down = abs(x_end - x), abs(y_end - y)
    right, below = 1 if x < x_end else -1, 1 if y < y_end else -1
    error = across - down
    while True:
        image[y, x] = 1
        if x == x_end and y == y_end:
            break
        twice = 2 * error
        if twice > -down:
            error -= down
            x += right
        if twice < across:
            error += across
            y += below
    return image


def added_at(a, positions):
    for i in range(len(positions)):
        a[positions[i]] += 1
    return a


def relaxed(grid, rounds):
    for _ in range(rounds):
        for i in range(1, grid.shape[0] - 1):
            for j in range(1, grid.shape[1] - 1):
                grid[i, j] = 0.25 * (grid[i - 1, j] + grid[i + 1, j] + grid[i, j - 1] + grid[i, j + 1])
    return grid


def counted(values, bins):
    counts = np.zeros(bins, np.int64)
    for v in values:
        if 0.0 <= v < 1.0:
            counts[int(v * bins)] += 1
    return counts


def columns(m):
    for j in range(1, m.shape[1]):
        m[1:-1, j] += 0.5 * m[1:-1, j - 1]
    return m


def windows(image, kernel):
    k = kernel.shape[0]
    out = np.empty((image.shape[0] - k + 1, image.shape[1] - k + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (image[i : i + k, j : j + k] * kernel).sum()
    return out


def falling(steps, dt):
    path = np.empty((steps, 2))
    height, speed = 100.0, 0.0
    for i in range(steps):
        speed -= (9.81 + 0.01 * speed * abs(speed)) * dt
        height += speed * dt
        if height < 0:
            height, speed = -height, -0.8 * speed
        path[i, 0] = height
        path[i, 1] = speed
    return path


def checked(data):
    low, high = 1, 0
    for byte in data:
        low = (low + byte) % 65521
        high = (high + low) % 65521
    return high << 16 | low


def automaton(cells, rounds):
    for _ in range(rounds):
        fresh = np.zeros_like(cells)
        for i in range(1, len(cells) - 1):
            fresh[i] = cells[i - 1] ^ (cells[i] | cells[i + 1])
        cells = fresh
    return cells


def shell(grid):
    inside = np.zeros(grid.shape)
    inside[1:-1, 1:-1] = grid[1:-1, 1:-1]
    return inside


def edges(field):
    around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2] - 4 * field[1:-1, 1:-1]
    return np.where(around > 0, around, 0) - np.where(around < 0, around * 0.5, 0)


def product(a, b):
    out = np.zeros((len(a), b.shape[1]))
    for i in range(len(a)):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(len(b)):
                total += a[i, k] * b[k, j]
            out[i, j] = total
    return out


def sum_of_some(a, least):
    total = 0.0
    for i in range(len(a)):
        if a[i] > least:
            total += a[i]
    return total


def first_above(a, least):
    for i in range(len(a)):
        if a[i] > least:
            return i
    return -1


def is_prime(n):
    i = 2
    while i * i <= n:
        if n % i == 0:
            return False
        i += 1
    return True


def nth_smallest(a, n):
    low, high = 0, len(a) - 1
    while True:
        pivot, at = a[high], low
        for i in range(low, high):
            if a[i] < pivot:
                kept = a[at]
                a[at] = a[i]
                a[i] = kept
                at += 1
        a[high] = a[at]
        a[at] = pivot
        if at == n:
            return a[at]
        if at < n:
            low = at + 1
        else:
            high = at - 1


def moving_average(a, width):
    out = np.zeros(len(a) - width + 1)
    for i in range(len(out)):
        total = 0.0
        for j in range(width):
            total += a[i + j]
        out[i] = total / width
    return out


def clusters(a, centers):
    for _ in range(5):
        sums, counts = np.zeros(len(centers)), np.zeros(len(centers))
        for v in a:
            nearest, least = 0, abs(v - centers[0])
            for k in range(1, len(centers)):
                distance = abs(v - centers[k])
                if distance < least:
                    nearest, least = k, distance
            sums[nearest] += v
            counts[nearest] += 1
        for k in range(len(centers)):
            if counts[k] > 0:
                centers[k] = sums[k] / counts[k]
    return centers


def mandelbrot(width, height, most):
    rounds = np.zeros((height, width), np.int64)
    for i in range(height):
        for j in range(width):
            c = complex(-2 + 3 * j / width, -1 + 2 * i / height)
            z, k = 0j, 0
            while abs(z) <= 2 and k < most:
                z = z * z + c
                k += 1
            rounds[i, j] = k
    return rounds


def root(a, b, c, rounds):
    z = 0.5 + 0.5j
    for _ in range(rounds):
        z = z - (z**3 + a * z**2 + b * z + c) / (3 * z**2 + 2 * a * z + b)
    return z.real, z.imag


def positive(a):
    kept = []
    for i in range(len(a)):
        if a[i] > 0:
            kept.append(a[i] * 2)
    return np.array(kept)


def primes(n):
    found = []
    for i in range(2, n):
        is_one = True
        for p in found:
            if p * p > i:
                break
            if i % p == 0:
                is_one = False
                break
        if is_one:
            found.append(i)
    return found


def path(steps, dt):
    t, x, v, xs = 0.0, 1.0, 0.0, []
    while t < steps * dt:
        v -= x * dt
        x += v * dt
        xs.append(x)
        t += dt
    return xs


CASES: dict[str, tuple[Callable[..., Any], Callable[[np.random.Generator], tuple[Any, ...]]]] = {
    "two stores to one element": (two_stores, lambda r: (r.random(20000),)),
    "exponential smoothing": (smoothed, lambda r: (r.random(20000), 0.3)),
    "edit distance": (distance, lambda r: (r.integers(0, 4, 150), r.integers(0, 4, 150))),
    "bubble sort": (sorted_by_swaps, lambda r: (r.random(150),)),
    "LU by elements": (factors, lambda r: (r.random((50, 50)) + 50 * np.eye(50),)),
    "a line in an image, 1024x1024": (line, lambda r: (r.random((1024, 1024)), 3, 4, 900, 300)),
    "added at 500 of a million places": (added_at, lambda r: (r.random(10**6), r.integers(0, 10**6, 500))),
    "Gauss-Seidel": (relaxed, lambda r: (r.random((50, 50)), 4)),
    "histogram": (counted, lambda r: (r.random(10000), 32)),
    "recurrence over columns": (columns, lambda r: (r.random((64, 500)),)),
    "windows of an image": (windows, lambda r: (r.random((40, 40)), r.random((5, 5)))),
    "bouncing ball": (falling, lambda r: (5000, 0.001)),
    "Adler-32": (checked, lambda r: (r.integers(0, 256, 5000),)),
    "cellular automaton": (automaton, lambda r: (r.integers(0, 2, 500), 10)),
    "zeros and their middle, 1024x1024": (shell, lambda r: (r.random((1024, 1024)),)),
    "edges, 1024x1024": (edges, lambda r: (r.random((1024, 1024)),)),
    "product of matrices": (product, lambda r: (r.random((40, 40)), r.random((40, 40)))),
    "sum of some": (sum_of_some, lambda r: (r.random(20000), 0.5)),
    "search": (first_above, lambda r: (r.random(20000), 2.0)),
    "test for a prime": (is_prime, lambda r: (1000003,)),
    "n-th smallest": (nth_smallest, lambda r: (r.random(2001), 1000)),
    "moving average": (moving_average, lambda r: (r.random(3000), 9)),
    "clusters of numbers": (clusters, lambda r: (r.random(2000), r.random(6))),
    **KERNELS,
    "Mandelbrot by complex numbers": (mandelbrot, lambda r: (60, 40, 100)),
    "Newton's method, complex": (root, lambda r: (1.0, -2.0, 3.0, 200)),
    "list of some elements": (positive, lambda r: (r.standard_normal(10000),)),
    "list of primes": (primes, lambda r: (5000,)),
    "list of positions": (path, lambda r: (5000, 0.01)),
}


def _numba() -> Callable[..., Any] | None:
    try:
        return importlib.import_module("numba").njit  # type: ignore[no-any-return]  # Numba is no dependency
    except ImportError:
        return None


def _agree(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        for one, other in zip(got, wanted, strict=True):
            _agree(one, other)
        return
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-9)


def _by_numba(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[..., Any] | None:
    """The function by Numba; None where Numba is not installed, or refuses it."""
    njit = _numba()
    if njit is None:
        return None
    made: Callable[..., Any] = njit(function)
    try:
        made(*arguments)
    except Exception as e:  # noqa: BLE001 - whatever Numba has not got
        print(f"Numba refuses {function.__name__}: {type(e).__name__}", file=sys.stderr)
        return None
    return made


def measure(name: str) -> tuple[str, float, float | None]:
    """One row, and how many times native code is as fast as Python and as Numba. Raises AssertionError where results differ: a wrong
    result has no speed."""
    function, arguments_of = CASES[name]
    jitted, numbas = tierup.jit(function, weigh=False), _by_numba(function, arguments_of(np.random.default_rng(1)))
    sides = [function, jitted, *([numbas] if numbas else [])]
    for _ in range(4):
        for side in sides[1:]:
            _agree(side(*arguments_of(np.random.default_rng(1))), function(*arguments_of(np.random.default_rng(1))))
    times: list[list[float]] = [[] for _ in sides]
    faults = 0
    for _ in range(_REPEATS):
        for number, side in enumerate(sides):
            count = 1 if number == 0 else 5
            first, *given = [arguments_of(np.random.default_rng(1)) for _ in range(1 + count)]
            if number:
                side(*first)  # after the side before, whose code and data the caches have
            before, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.process_time()
            for arguments in given:
                side(*arguments)
            times[number].append((time.process_time() - start) / count)
            faults += (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) * (side is jitted)
    plain = statistics.median(p / n for p, n in zip(times[0], times[1], strict=True))
    numba = statistics.median(b / n for b, n in zip(times[2], times[1], strict=True)) if numbas else None
    native = "" if jitted.stats().hits > _REPEATS else " (not native)"
    cells = [f"{name}{native}", f"{statistics.median(times[0]) * 1e3:.2f} ms", f"{plain:.1f}", "-" if numba is None else f"{numba:.2f}"]
    return f"| {' | '.join([*cells, str(faults // (5 * _REPEATS))])} |", plain, numba


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("loops", nargs="*", metavar="LOOP", help=f"all where none is named; of {', '.join(CASES)}")
    asked: list[str] = parser.parse_args().loops
    if unknown := [name for name in asked if name not in CASES]:
        parser.error(f"there is no loop {unknown[0]!r}")
    print("| loop | Python on NumPy | Python over native | Numba over native | faults |\n|---|---|---|---|---|")
    to_python, to_numba = list[float](), list[float]()
    for name in asked or CASES:
        row, plain, numba = measure(name)
        to_python.append(plain)
        to_numba += [] if numba is None else [numba]
        print(row, flush=True)
    means = [f"{statistics.geometric_mean(ratios):.2f} ({len(ratios)} rows)" if ratios else "-" for ratios in (to_python, to_numba)]
    print(f"| geometric mean | | {means[0]} | {means[1]} | |")


if __name__ == "__main__":
    main()
