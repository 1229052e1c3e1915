"""Ordinary programs, written as a user of NumPy writes them, without a look at what tierup translates.

Each is a function and a maker of its arguments from a random generator. `PROGRAMS` has them by name.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import io
import itertools
import json
import logging
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Arguments = Callable[[np.random.Generator], tuple[Any, ...]]
Programs = dict[str, tuple[Callable[..., Any], Arguments]]


def registered(programs: Programs) -> Callable[[Arguments], Callable[[Callable[..., Any]], Callable[..., Any]]]:
    """A decorator for the programs of a file, given what makes their arguments."""

    def program(arguments: Arguments) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            programs[function.__name__] = function, arguments
            return function

        return register

    return program


PROGRAMS: Programs = {}
program = registered(PROGRAMS)


# --- simulation ----------------------------------------------------------------------------------------------------------


@program(lambda r: (50, 7))
def random_walk(steps, seed):
    rng = np.random.default_rng(seed)
    position = np.zeros(2)
    path = [position.copy()]
    for _ in range(steps):
        position += rng.normal(size=2)
        path.append(position.copy())
    path = np.array(path)
    return path, np.linalg.norm(path[-1]), np.abs(path).max(axis=0)


@program(lambda r: (r.random((20, 3)), r.random((20, 3)) - 0.5, r.random(20) + 0.1, 5))
def n_body(pos, vel, mass, steps):
    energies = []
    pos, vel = pos.copy(), vel.copy()
    for step in range(steps):
        acc = np.zeros_like(pos)
        for i in range(len(mass)):
            d = pos - pos[i]
            r2 = (d**2).sum(axis=1) + 1e-2
            acc[i] = (mass[:, None] * d / r2[:, None] ** 1.5).sum(axis=0)
        vel += 0.01 * acc
        pos += 0.01 * vel
        energies.append(0.5 * float((mass * (vel**2).sum(axis=1)).sum()))
        if step and energies[-1] > 1e6:
            raise RuntimeError(f"exploded at step {step}")
    return pos, energies


@program(lambda r: (r.random((24, 24)) < 0.3, 6))
def game_of_life(board, generations):
    history = {}
    for g in range(generations):
        n = sum(np.roll(np.roll(board, i, 0), j, 1).astype(int) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
        board = (n == 3) | (board & (n == 2))
        key = board.tobytes()
        if key in history:
            return board, g, history[key]
        history[key] = g
    return board, generations, None


@program(lambda r: (1.0, 0.5, 10.0, 0.1))
def predator_prey(prey, predators, until, dt):
    times, values = [], []
    t = 0.0
    while t < until:
        d_prey = 1.1 * prey - 0.4 * prey * predators
        d_predators = 0.1 * prey * predators - 0.4 * predators
        prey, predators = prey + dt * d_prey, predators + dt * d_predators
        t += dt
        times.append(t)
        values.append((prey, predators))
    return np.asarray(times), np.asarray(values)


@dataclass
class Tank:
    level: np.ndarray
    inflow: float
    log: list = field(default_factory=list)

    def advance(self, dt):
        out = 0.3 * np.sqrt(np.maximum(self.level, 0))
        self.level = self.level + dt * (self.inflow - out)
        self.log.append(float(self.level.mean()))
        return out


@program(lambda r: (r.random(8), 12))
def tanks(levels, steps):
    tank = Tank(levels, 0.2)
    total = np.zeros_like(levels)
    for _ in range(steps):
        total += tank.advance(0.5)
    return tank.level, total, tank.log


@program(lambda r: (r.random((16, 16)), 0.1, 8))
def heat_with_progress(u, alpha, steps):
    out = io.StringIO()
    u = u.copy()
    for k in range(steps):
        u[1:-1, 1:-1] += alpha * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        if k % 3 == 0:
            print(f"step {k}: mean {u.mean():.6f}", file=out)
    return u, out.getvalue()


# --- statistics ----------------------------------------------------------------------------------------------------------


@program(lambda r: (r.normal(size=200), 20, 3))
def bootstrap(data, n, seed):
    rng = np.random.default_rng(seed)
    means = np.empty(n)
    for i in range(n):
        sample = rng.choice(data, size=len(data))
        means[i] = sample.mean()
    low, high = np.percentile(means, [2.5, 97.5])
    return {"mean": means.mean(), "low": low, "high": high}


@program(lambda r: (r.normal(size=(60, 3)), r.normal(size=60)))
def least_squares_report(X, y):
    design = np.column_stack([np.ones(len(X)), X])
    beta, residuals, rank, _ = np.linalg.lstsq(design, y, rcond=None)
    fitted = design @ beta
    r2 = 1 - ((y - fitted) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    names = ["intercept"] + [f"x{i}" for i in range(X.shape[1])]
    return dict(zip(names, beta.tolist())), round(r2, 12), rank


@program(lambda r: (r.normal(size=(80, 2)) + r.integers(0, 3, 80)[:, None] * 3, 3, 4))
def k_means(points, k, seed):
    rng = np.random.default_rng(seed)
    centres = points[rng.choice(len(points), k, replace=False)]
    for iteration in itertools.count():
        distance = ((points[:, None, :] - centres[None]) ** 2).sum(-1)
        label = distance.argmin(1)
        new = np.array([points[label == j].mean(0) if np.any(label == j) else centres[j] for j in range(k)])
        if np.allclose(new, centres) or iteration > 20:
            break
        centres = new
    counts = collections.Counter(label.tolist())
    return centres, label, sorted(counts.items()), iteration


@program(lambda r: (r.normal(size=500), 10))
def histogram_text(values, bins):
    counts, edges = np.histogram(values, bins=bins)
    lines = []
    for c, a, b in zip(counts, edges[:-1], edges[1:]):
        lines.append(f"{a:7.3f} .. {b:7.3f} | {'*' * int(c // 4)}")
    return "\n".join(lines), counts


@program(lambda r: (r.normal(size=(40, 4)),))
def correlation_pairs(data):
    c = np.corrcoef(data, rowvar=False)
    pairs = []
    for i in range(len(c)):
        for j in range(i + 1, len(c)):
            pairs.append((abs(c[i, j]), i, j))
    pairs.sort(reverse=True)
    return pairs[:3], c


@program(lambda r: (r.normal(size=64).cumsum(), 5))
def rolling(series, window):
    mean = np.convolve(series, np.ones(window) / window, mode="valid")
    spread = np.array([series[i : i + window].std() for i in range(len(series) - window + 1)])
    z = (series[window - 1 :] - mean) / np.where(spread > 0, spread, 1)
    return mean, spread, np.flatnonzero(np.abs(z) > 1.5)


@program(lambda r: ([{"name": n, "score": s} for n, s in zip("abcde", r.random(5).tolist())],))
def records(rows):
    by_name = {row["name"]: row["score"] for row in rows}
    scores = np.array(list(by_name.values()))
    ranked = [name for _, name in sorted(zip(scores, by_name), reverse=True)]
    return ranked, (scores - scores.mean()) / scores.std(), json.dumps(sorted(by_name))


@program(lambda r: (r.random(5), r.random((5, 5)), 12))
def viterbi(start, transition, length):
    trans = np.log(transition / transition.sum(1, keepdims=True))
    score = np.log(start / start.sum())
    back = []
    for _ in range(length):
        cand = score[:, None] + trans
        back.append(cand.argmax(0))
        score = cand.max(0)
    path = [int(score.argmax())]
    for b in reversed(back):
        path.append(int(b[path[-1]]))
    return path[::-1], score.max()


# --- signals and images --------------------------------------------------------------------------------------------------


@program(lambda r: (r.normal(size=128), 0.2))
def low_pass(signal, cutoff):
    spectrum = np.fft.rfft(signal)
    freq = np.fft.rfftfreq(len(signal))
    spectrum[freq > cutoff] = 0
    out = np.fft.irfft(spectrum, len(signal))
    return out, float(np.abs(spectrum).max()), freq[np.abs(spectrum).argmax()]


@program(lambda r: (r.integers(0, 256, (20, 24, 3)).astype(np.uint8),))
def sharpen(image):
    x = image.astype(np.float32) / 255
    kernel = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]], np.float32)
    padded = np.pad(x, ((1, 1), (1, 1), (0, 0)), mode="edge")
    out = np.zeros_like(x)
    for i, j in np.ndindex(3, 3):
        out += kernel[i, j] * padded[i : i + x.shape[0], j : j + x.shape[1]]
    return (np.clip(out, 0, 1) * 255).astype(np.uint8)


@program(lambda r: (r.random((15, 15)), 0.6))
def label_regions(image, threshold):
    mask = image > threshold
    labels = np.zeros(mask.shape, int)
    current = 0
    for seed in zip(*np.nonzero(mask)):
        if labels[seed]:
            continue
        current += 1
        stack = [seed]
        while stack:
            i, j = stack.pop()
            if not (0 <= i < mask.shape[0] and 0 <= j < mask.shape[1]) or not mask[i, j] or labels[i, j]:
                continue
            labels[i, j] = current
            stack += [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
    sizes = np.bincount(labels.ravel())[1:]
    return labels, sizes


@program(lambda r: (32, 32, 30))
def mandelbrot(width, height, iterations):
    x = np.linspace(-2, 1, width)
    y = np.linspace(-1.5, 1.5, height)
    c = x[None, :] + 1j * y[:, None]
    z = np.zeros_like(c)
    steps = np.zeros(c.shape, int)
    for k in range(iterations):
        alive = np.abs(z) <= 2
        z[alive] = z[alive] ** 2 + c[alive]
        steps[alive] = k
    return steps


@program(lambda r: (r.normal(size=40), r.normal(size=7)))
def autocorrelation(signal, template):
    full = np.correlate(signal, template, mode="full")
    lag = int(np.argmax(full)) - len(template) + 1
    norm = full / (np.linalg.norm(signal) * np.linalg.norm(template))
    return lag, norm


@program(lambda r: (r.random((12, 12)), [(0, 0), (3, 4), (11, 11), (20, 1)]))
def sample_points(image, points):
    values, failed = [], []
    for p in points:
        try:
            values.append(image[p] * 2)
        except IndexError as e:
            failed.append((p, type(e).__name__))
        else:
            values[-1] += 1
        finally:
            values.append(0.0)
    return values, failed


# --- dynamic programming, graphs, text -----------------------------------------------------------------------------------


@program(lambda r: ("kitten sitting on the mat", "sitting kittens on a mat"))
def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    d[:, 0] = np.arange(len(a) + 1)
    d[0, :] = np.arange(len(b) + 1)
    for i, p in enumerate(a, 1):
        for j, q in enumerate(b, 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (p != q))
    return int(d[-1, -1]), d


@program(lambda r: (r.integers(1, 20, 12), r.integers(1, 30, 12), 40))
def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1, dtype=values.dtype)
    taken = [[] for _ in range(capacity + 1)]
    for i, (w, v) in enumerate(zip(weights, values)):
        for c in range(capacity, w - 1, -1):
            if best[c - w] + v > best[c]:
                best[c] = best[c - w] + v
                taken[c] = taken[c - w] + [i]
    return best[-1], taken[-1]


@program(lambda r: (np.where(r.random((9, 9)) < 0.4, r.random((9, 9)), np.inf),))
def shortest_paths(weight):
    d = weight.copy()
    np.fill_diagonal(d, 0)
    for k in range(len(d)):
        np.minimum(d, d[:, k : k + 1] + d[k], out=d)
    reach = {i: sorted(np.flatnonzero(np.isfinite(row)).tolist()) for i, row in enumerate(d)}
    return d, reach


@program(lambda r: ((r.random((10, 10)) < 0.25).astype(float),))
def page_rank(links):
    n = len(links)
    out = links.sum(1, keepdims=True)
    matrix = np.where(out > 0, links / np.where(out == 0, 1, out), 1 / n).T
    rank = np.full(n, 1 / n)
    for iteration in range(100):
        new = 0.15 / n + 0.85 * matrix @ rank
        if np.abs(new - rank).sum() < 1e-10:
            break
        rank = new
    else:
        warnings.warn("no convergence", stacklevel=2)
    return rank, iteration


@program(lambda r: ("the quick brown fox jumps over the lazy dog the end",))
def word_vectors(text):
    words = re.findall(r"\w+", text.lower())
    vocabulary = {w: i for i, w in enumerate(dict.fromkeys(words))}
    counts = np.zeros((len(vocabulary), len(vocabulary)))
    for a, b in zip(words, words[1:]):
        counts[vocabulary[a], vocabulary[b]] += 1
    p = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    entropy = -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=1)
    return entropy, max(vocabulary, key=lambda w: entropy[vocabulary[w]])


@program(lambda r: (12,))
def fibonacci_memo(n):
    @functools.cache
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    values = np.array([fib(k) for k in range(n)])
    return values, values[1:] / np.maximum(values[:-1], 1)


@program(lambda r: (r.integers(0, 100, 30).tolist(),))
def merge_sort(items):
    if len(items) <= 1:
        return items
    half = len(items) // 2
    left, right = merge_sort(items[:half]), merge_sort(items[half:])
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right


# --- linear algebra, learning, numbers -----------------------------------------------------------------------------------


@program(lambda r: (r.normal(size=(6, 6)), r.normal(size=6), 25))
def conjugate_gradient(a, b, limit):
    a = a @ a.T + 6 * np.eye(len(b))
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rs = r @ r
    norms = []
    for _ in range(limit):
        ap = a @ p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        norms.append(math.sqrt(new))
        if norms[-1] < 1e-8:
            break
        p = r + (new / rs) * p
        rs = new
    return x, len(norms)


@program(lambda r: (r.normal(size=(30, 4)), r.integers(0, 2, 30).astype(float), 20))
def logistic_regression(X, y, epochs):
    w = np.zeros(X.shape[1])
    history = collections.deque(maxlen=5)
    for epoch in range(epochs):
        p = 1 / (1 + np.exp(-X @ w))
        loss = -np.mean(y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))
        w -= 0.1 * X.T @ (p - y) / len(y)
        history.append(loss)
    return w, list(history)


class Adam:
    def __init__(self, shape, lr=0.01):
        self.m, self.v, self.t, self.lr = np.zeros(shape), np.zeros(shape), 0, lr

    def __call__(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.999 * self.v + 0.001 * g * g
        return w - self.lr * (self.m / (1 - 0.9**self.t)) / (np.sqrt(self.v / (1 - 0.999**self.t)) + 1e-8)


@program(lambda r: (r.normal(size=(25, 3)), r.normal(size=25), 15))
def train_with_adam(X, y, steps):
    w, optimizer, losses = np.zeros(3), Adam(3), []
    for _ in range(steps):
        error = X @ w - y
        losses.append((error**2).mean())
        w = optimizer(w, 2 * X.T @ error / len(y))
    return w, losses, optimizer.t


@program(lambda r: (r.normal(size=(7, 4)),))
def principal_components(data):
    centred = data - data.mean(axis=0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    explained = s**2 / (s**2).sum()
    signs = np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])
    return explained, (centred @ (vt * signs[:, None]).T)[:, :2]


@program(lambda r: (lambda x: x**3 - 2 * x - 5, 2.0))
def newton(f, x):
    for _ in range(50):
        h = 1e-6
        slope = (f(x + h) - f(x - h)) / (2 * h)
        step = f(x) / slope
        x -= step
        if abs(step) < 1e-12:
            return x
    raise ArithmeticError("no root found")


@program(lambda r: (60,))
def primes(limit):
    sieve = np.ones(limit + 1, dtype=bool)
    sieve[:2] = False
    for i in range(2, int(limit**0.5) + 1):
        if sieve[i]:
            sieve[i * i :: i] = False
    found = np.flatnonzero(sieve)
    gaps = {}
    for gap in np.diff(found).tolist():
        gaps[gap] = gaps.get(gap, 0) + 1
    return found, gaps


@program(lambda r: (r.random(10), {"scale": 2.0, "shift": -1.0, "mode": "tanh"}))
def configured(x, config):
    match config:
        case {"mode": "tanh", "scale": float(s)}:
            y = np.tanh(x * s)
        case {"mode": "relu"}:
            y = np.maximum(x, 0)
        case _:
            raise KeyError("mode")
    return y + config.get("shift", 0.0), {**config, "mean": y.mean()}


@program(lambda r: (r.random((5, 3)), r.random(3)))
def closures(a, b):
    scale = b.sum()

    def apply(row, power=2):
        nonlocal scale
        scale += 1
        return (row * b) ** power / scale

    parts = [apply(row) for row in a]
    total = functools.reduce(np.add, parts)
    return total, scale, list(map(float, total))


@program(lambda r: (r.random(20), 4))
def chunks(x, size):
    def split():
        for i in range(0, len(x), size):
            yield x[i : i + size]

    sums = [c.sum() for c in split()]
    first, *rest = split()
    return sums, first, len(rest), sum(c.max() for c in rest)


@program(lambda r: (r.random((3, 3)),))
def checked(matrix):
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
        raise TypeError(f"a matrix is needed, not {type(matrix).__name__}")
    assert matrix.shape[0] == matrix.shape[1], f"not square: {matrix.shape}"
    with contextlib.suppress(np.linalg.LinAlgError):
        return np.linalg.inv(matrix + np.eye(3)), np.linalg.det(matrix)
    return None, 0.0


@program(lambda r: (r.random(6), [1, -1, 0, 2]))
def divisions(x, divisors):
    results = []
    with np.errstate(divide="raise"):
        for d in divisors:
            try:
                results.append(x / np.float64(d))
            except FloatingPointError as e:
                logging.getLogger(__name__).debug("divided by %s: %s", d, e)
                results.append(None)
    return results


@program(lambda r: (r.integers(0, 5, 40), r.random(40)))
def group_means(keys, values):
    groups = collections.defaultdict(list)
    for k, v in zip(keys.tolist(), values):
        groups[k].append(v)
    table = np.array([[k, np.mean(groups[k]), len(groups[k])] for k in sorted(groups)])
    order = np.argsort(-table[:, 1], kind="stable")
    return table[order], set(groups) == set(np.unique(keys).tolist())


@program(lambda r: (r.random(50),))
def integrate(y):
    x = np.linspace(0, 1, len(y))
    trapezoid = np.trapezoid(y, x)
    simpson = (x[1] - x[0]) / 3 * (y[0] + y[-1] + 4 * y[1:-1:2].sum() + 2 * y[2:-1:2].sum())
    cumulative = np.concatenate([[0.0], np.cumsum((y[1:] + y[:-1]) / 2 * np.diff(x))])
    return trapezoid, simpson, cumulative, np.interp(0.33, x, cumulative)


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


@program(lambda r: (r.normal(size=(2, 6, 8)), r.normal(size=(8, 8)), True))
def attention(x, w, causal):
    q, k, v = x @ w, x @ w.T, x * 0.5
    scores = np.einsum("bid,bjd->bij", q, k) / np.sqrt(x.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    p = softmax(scores)
    return np.einsum("bij,bjd->bid", p, v), p


@program(lambda r: (r.random((4, 5)), r.random((4, 5))))
def scores(predicted, target):
    error = predicted - target
    metrics = {
        "mae": np.abs(error).mean(),
        "rmse": np.sqrt((error**2).mean()),
        "worst": np.unravel_index(np.abs(error).argmax(), error.shape),
    }
    report = ", ".join(f"{k}={v:.4f}" if not isinstance(v, tuple) else f"{k}={tuple(int(i) for i in v)}" for k, v in metrics.items())
    return metrics, report
