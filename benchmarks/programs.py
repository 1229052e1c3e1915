"""The programs that are measured: NumPy functions, written once. The NumPy run is the function itself, ours is `tierup.jit` of it.

Each is spelled so that NumPy runs it well too: float32 throughout, no `x ** 3`, no array that a careful author would not make.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Arguments = tuple[np.ndarray, ...]


def multiply_add(a, b, c):
    return a * b + c


def gelu_chain(x):
    """gelu in its tanh form (Hendrycks and Gimpel, 2016)."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x, weight, bias):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * weight + bias


def lstm_cell(x, h, c, w_x, w_h, bias):
    """One step of an LSTM; the gates stand side by side in the weights: input, forget, candidate, output."""
    gates = x @ w_x + h @ w_h + bias
    n = h.shape[1]
    i = 1 / (1 + np.exp(-gates[:, :n]))
    f = 1 / (1 + np.exp(-gates[:, n : 2 * n]))
    g = np.tanh(gates[:, 2 * n : 3 * n])
    o = 1 / (1 + np.exp(-gates[:, 3 * n :]))
    c = f * c + i * g
    return o * np.tanh(c), c


def mlp(x, w1, b1, w2, b2, w3, b3):
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    return x @ w3 + b3


@dataclass(frozen=True)
class Case:
    """A row of the table: tierup is to be at least (`strict`: more than) `least` times as fast as NumPy.

    `sizes`: of the arguments, normally distributed float32. `scale` keeps products of large matrices near 1.
    """

    name: str
    title: str
    function: Callable[..., object]
    sizes: tuple[tuple[int, ...], ...]
    least: float
    strict: bool = True
    scale: float = 1.0

    def arguments(self) -> Arguments:
        rng = np.random.default_rng(0)
        return tuple(rng.normal(size=s).astype(np.float32) * np.float32(self.scale) for s in self.sizes)

    def passes(self, speedup: float) -> bool:
        return speedup > self.least if self.strict else speedup >= self.least


CASES = (
    Case("call", "guarded call, a*b+c on 4 elements", multiply_add, ((4,),) * 3, 2.0),
    Case("gelu", "gelu-tanh chain 1024x1024", gelu_chain, ((1024, 1024),), 2.0, strict=False),
    Case("softmax", "softmax 1024x1024", softmax, ((1024, 1024),), 2.5, strict=False),
    Case("layer_norm", "layer_norm 1024x1024", layer_norm, ((1024, 1024), (1024,), (1024,)), 5.0, strict=False),
    Case(
        "lstm", "LSTM cell, batch 64, hidden 128", lstm_cell,
        ((64, 128), (64, 128), (64, 128), (128, 512), (128, 512), (512,)), 1.0, scale=0.1,
    ),
    Case("mlp", "3-layer MLP, batch 32, width 256", mlp, ((32, 256),) + ((256, 256), (256,)) * 3, 1.0, scale=0.1),
)  # fmt: skip
