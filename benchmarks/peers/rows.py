"""The programs: each in NumPy, which also Numba and JAX take, and where it is one of PyTorch's users' in PyTorch, too.

A row says what it must do at least: bytes that it reads and writes once, and floating-point operations of its products. Its limit is the
longer of the two times that the machine takes for these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks import loops, programs

f32 = np.float32


@dataclass(frozen=True)
class Row:
    """`arguments` makes them of a generator. `in_place`: the program writes its arguments, which are made anew for each call."""

    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    numpy: Callable[..., Any]
    torch: str = ""  # the name of its function in torch_rows.py
    moved: float = 0.0  # bytes
    products: float = 0.0  # floating-point operations
    tolerance: float = 2e-4
    in_place: bool = False


def normal(*shapes: tuple[int, ...], scale: float = 1.0) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    return lambda rng: tuple((rng.standard_normal(shape) * scale).astype(f32) for shape in shapes)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def small(a, b):
    """21 operations on few elements."""
    c = a * b + a
    d = c - b * 2.0
    e = np.maximum(d, c) * a
    f = e + d - c * b
    g = f * f + e * 0.5
    h = np.minimum(g, a) + f
    i = h * d - g
    return i * 2.0 + h * a - b


def black_scholes(spot, strike, time, rate, volatility):
    """Prices of European call options (Black and Scholes, 1973); the normal distribution by Abramowitz and Stegun 26.2.17."""
    root = volatility * np.sqrt(time)
    d1 = (np.log(spot / strike) + (rate + volatility * volatility * 0.5) * time) / root
    return spot * cumulative(d1) - strike * np.exp(-rate * time) * cumulative(d1 - root)


def cumulative(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    tail = np.exp(x * x * -0.5) * 0.3989422804014327 * k
    tail = tail * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    return np.where(x < 0.0, tail, 1.0 - tail)


def options(rng):
    n = 1_000_000
    return rng.uniform(50, 150, n), rng.uniform(50, 150, n), rng.uniform(0.1, 2, n), 0.02, 0.3


def attention(q, k, v):
    """Scaled products (Vaswani et al., 2017), of [batch, heads, tokens, width]."""
    scores = np.matmul(q, np.swapaxes(k, -1, -2)) * 0.125
    e = np.exp(scores - np.max(scores, axis=-1, keepdims=True))
    return np.matmul(e / np.sum(e, axis=-1, keepdims=True), v)


def lstm_cell(x, h, c, w, u, b):
    g = x @ w + h @ u + b
    n = h.shape[1]
    kept = sigmoid(g[:, n : 2 * n]) * c + sigmoid(g[:, :n]) * np.tanh(g[:, 2 * n : 3 * n])
    return sigmoid(g[:, 3 * n :]) * np.tanh(kept), kept


def lstm_loop(xs, h, c, w, u, b):
    for t in range(xs.shape[0]):
        h, c = lstm_cell(xs[t], h, c, w, u, b)
    return h, c


def training_step(x, y, w1, b1, w2, b2):
    """Forward, backward and the update of a perceptron of two layers, by hand."""
    h = np.maximum(x @ w1 + b1, 0.0)
    error = (h @ w2 + b2 - y) * (2.0 / y.size)
    back = (error @ w2.T) * (h > 0.0)
    rate = 0.01
    return w1 - rate * (x.T @ back), b1 - rate * np.sum(back, axis=0), w2 - rate * (h.T @ error), b2 - rate * np.sum(error, axis=0)


def greedy_decode(h, w, u, words, out):
    """64 steps of a recurrent net that reads its own last word."""
    word = 0
    found = np.zeros(64, np.int64)
    for t in range(64):
        h = np.tanh(h @ w + words[word] @ u)
        word = np.argmax(h @ out)
        found[t] = word
    return found


def suppressed(boxes, order, threshold):
    """Which boxes are kept: those that no kept box of a higher score overlaps by more than `threshold`."""
    n = boxes.shape[0]
    kept = np.ones(n, np.bool_)
    for i in range(n):
        a = order[i]
        if kept[a]:
            area = (boxes[a, 2] - boxes[a, 0]) * (boxes[a, 3] - boxes[a, 1])
            for j in range(i + 1, n):
                b = order[j]
                width = min(boxes[a, 2], boxes[b, 2]) - max(boxes[a, 0], boxes[b, 0])
                height = min(boxes[a, 3], boxes[b, 3]) - max(boxes[a, 1], boxes[b, 1])
                if width > 0 and height > 0:
                    both = width * height
                    other = (boxes[b, 2] - boxes[b, 0]) * (boxes[b, 3] - boxes[b, 1])
                    if both / (area + other - both) > threshold:
                        kept[b] = False
    return kept


def boxes(rng):
    corner, size = rng.random((200, 2)), rng.random((200, 2)) * 0.3
    return np.concatenate([corner, corner + size], axis=1), rng.permutation(200), 0.5


def distances(points):
    """Of all pairs of points in space."""
    apart = points[:, None, :] - points[None, :, :]
    return np.sqrt(np.sum(apart * apart, axis=-1))


def standardised(x):
    return (x - np.mean(x, axis=0)) / (np.std(x, axis=0) + 1e-6)


def masked_mean(x, low):
    chosen = x > low
    return np.sum(np.where(chosen, x, 0.0)) / np.sum(chosen)


def _layers(*sizes: int) -> tuple[tuple[int, ...], ...]:
    return tuple(shape for a, b in zip(sizes, sizes[1:], strict=False) for shape in ((a, b), (b,)))


def _mlp(batch: int, width: int) -> Row:
    shapes = ((batch, width), *_layers(width, width, width, width))
    made = normal(*shapes, scale=1 / math.sqrt(width))
    return Row(made, programs.mlp, "mlp", moved=4.0 * 3 * width * width, products=6.0 * batch * width * width)


def _lstm(steps: int, batch: int, width: int) -> Row:
    state, weights = (batch, width), (width, 4 * width)
    shapes = ((steps, batch, width) if steps else state, state, state, weights, weights, (4 * width,))
    flops = 16.0 * max(1, steps) * batch * width * width
    function = lstm_loop if steps else lstm_cell
    return Row(normal(*shapes, scale=1 / math.sqrt(width)), function, "lstm_loop" if steps else "lstm_cell", products=flops)


_MEGA = 1024 * 1024
ROWS: dict[str, Row] = {
    "21 small operations, 4 elements": Row(normal((4,), (4,)), small, "small"),
    "gelu chain 1024x1024": Row(normal((1024, 1024)), programs.gelu_chain, "gelu_chain", moved=8.0 * _MEGA),
    "softmax 1024x1024": Row(normal((1024, 1024)), programs.softmax, "softmax", moved=8.0 * _MEGA),
    "softmax 64x512": Row(normal((64, 512)), programs.softmax, "softmax", moved=8.0 * 64 * 512),
    "layer_norm 1024x1024": Row(normal((1024, 1024), (1024,), (1024,)), programs.layer_norm, "layer_norm", moved=8.0 * _MEGA),
    "standardised columns 4096x256": Row(normal((4096, 256)), standardised, "standardised", moved=8.0 * _MEGA),
    "mean of some, 4M": Row(lambda rng: (rng.standard_normal(4 * _MEGA).astype(f32), f32(0.5)), masked_mean, moved=16.0 * _MEGA),
    "distances of 1000 points": Row(normal((1000, 3)), distances, "distances", moved=4e6),
    "Black-Scholes 1M, float64": Row(options, black_scholes, "black_scholes", moved=32e6, tolerance=1e-9),
    "MLP 256x1024": _mlp(256, 1024),
    "MLP 32x1024": _mlp(32, 1024),
    "MLP 32x256": _mlp(32, 256),
    "MLP 1x1024": _mlp(1, 1024),
    "training step 32x1024": Row(
        normal((32, 1024), (32, 1024), (1024, 1024), (1024,), (1024, 1024), (1024,), scale=0.03), training_step, "training_step",
        moved=16.0 * _MEGA, products=10.0 * 32 * _MEGA,
    ),
    "attention, batch 4": Row(
        normal((4, 8, 128, 64), (4, 8, 128, 64), (4, 8, 128, 64)), attention, "attention", products=4.0 * 32 * 128 * 128 * 64
    ),
    "LSTM cell 32x512": _lstm(0, 32, 512),
    "LSTM of 64 steps, 32x128": _lstm(64, 32, 128),
    "LSTM of 64 steps, 32x512": _lstm(64, 32, 512),
    "greedy decode of 64 steps": Row(
        normal((1, 256), (256, 256), (256, 256), (500, 256), (256, 500), scale=0.1), greedy_decode,
        products=64 * 2 * (256 * 256 * 2 + 256 * 500),
    ),
    "suppression of 200 boxes": Row(boxes, suppressed),
    **{
        name: Row(loops.CASES[name][1], loops.CASES[name][0], tolerance=1e-9, in_place=True)
        for name in (
            "edit distance", "bubble sort", "LU by elements", "Gauss-Seidel", "windows of an image", "moving average", "RNA folding",
            "Jacobi, two dimensions", "heat, three dimensions", "shortest paths", "waves on a grid", "n bodies", "CRC-16",
            "Mandelbrot by floats", "knapsack", "Viterbi",
        )
    },
}  # fmt: skip
