"""Programs in MLIR, with torch's semantics; each oracle is NumPy code that spells the same out. Tier 0's tests own the files in `SHARED`."""

import numpy as np
from corpus import bools, f32, ints, program

SHARED = "../runtime/interpreter/programs/"
VALUES = ("size", "layout", "read-only")  # programs for f32 alone: PyTorch refuses operands of two dtypes where NumPy promotes


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@program(lambda r, n: (f32(r, 2, n, 4), f32(r, 2, n, 4), f32(r, 2, n, 4), bool(r.integers(2))),
         mlir=SHARED + "attention.mlir", spoil=VALUES, tolerance=64)
def mlir_attention(q, k, v, causal):
    scores = q @ np.swapaxes(k, 1, 2) / np.float32(np.sqrt(q.shape[-1]))
    if causal:
        scores = np.where(np.triu(np.ones(scores.shape[1:], bool), 1), np.float32(-np.inf), scores)
    return _softmax(scores) @ v


@program(lambda r, n: (f32(r, n, 3),), mlir=SHARED + "cumulative_rows.mlir")
def mlir_cumulative_rows(x):
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    return x


@program(lambda r, n: (f32(r, 10, 4), ints(r, n, 3, low=0, high=10)), mlir=SHARED + "embedding_bag.mlir", spoil=VALUES,
         bad=(lambda r, n: (f32(r, 10, 4), ints(r, n, 3, low=10, high=20)),))
def mlir_embedding_bag(table, indices):
    total = table[indices].sum(axis=1)
    return total / np.float32(indices.shape[1]) if indices.shape[1] else total


@program(lambda r, n: (f32(r, n, 8), f32(r, 8), f32(r, 8)), mlir=SHARED + "layer_norm_gelu.mlir", spoil=VALUES, tolerance=64)
def mlir_layer_norm_gelu(x, scale, shift):
    if scale.shape != x.shape[-1:] or shift.shape != x.shape[-1:]:
        raise ValueError("the weights must have the width of x")
    y = (x - x.mean(axis=-1, keepdims=True)) / np.sqrt(x.var(axis=-1, keepdims=True) + np.float32(1e-5)) * scale + shift
    y = np.float32(0.5) * y * (1 + np.tanh(np.float32(0.7978845608) * (y + np.float32(0.044715) * y * y * y)))
    return y, y.mean(axis=-1)


@program(lambda r, n: (f32(r, n, 2, 3), f32(r, 2, 4), f32(r, 2, 4), f32(r, 16, 3), f32(r, 16, 4), f32(r, 16)),
         mlir=SHARED + "lstm.mlir", spoil=(), tolerance=256)
def mlir_lstm(x, h, c, w_x, w_h, bias):
    states = []
    for row in x:
        i, f, g, o = np.split(row @ w_x.T + bias + h @ w_h.T, 4, axis=1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states), c


@program(lambda r, n: (f32(r, n, 3), f32(r, n, 4), f32(r, n, 4), f32(r, 16, 3), f32(r, 16, 4), f32(r, 16)),
         mlir=SHARED + "lstm_cell.mlir", spoil=("layout", "read-only"), tolerance=64)
def mlir_lstm_cell(x, h, c, w_x, w_h, bias):
    i, f, g, o = np.split(x @ w_x.T + bias + h @ w_h.T, 4, axis=1)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


@program(lambda r, n: (f32(r, n, 5), f32(r, 6, 5), f32(r, 6), f32(r, 4, 6), f32(r, 4), f32(r, 3, 4), f32(r, 3)),
         mlir=SHARED + "mlp.mlir", spoil=VALUES, tolerance=64)
def mlir_mlp(x, w0, b0, w1, b1, w2, b2):
    for w, b in ((w0, b0), (w1, b1)):
        x = np.maximum(x @ w.T + b, 0)
    return x @ w2.T + b2


@program(lambda r, n: (f32(r, n) ** 2 + 1, 1e-3, 20), mlir=SHARED + "newton_sqrt.mlir", spoil=VALUES, tolerance=64)
def mlir_newton_sqrt(x, tolerance, limit):
    guess, steps = x, 0
    for _ in range(limit):
        new = (guess + x / guess) * np.float32(0.5)
        delta, guess, steps = new - guess, new, steps + 1
        if not float(np.abs(delta).max()) > tolerance:
            break
    return guess, steps


@program(lambda r, n: (np.eye(n, dtype=np.float32) + 1, np.ones(n, np.float32), 3), mlir=SHARED + "power_iteration.mlir", spoil=VALUES, tolerance=64)
def mlir_power_iteration(a, v, steps):
    for _ in range(steps):
        v = a @ v
        v = v / np.sqrt(v @ v)
    return np.asarray(v @ (a @ v)), v


@program(lambda r, n: (f32(r, n, 3), np.eye(4, dtype=np.float32)[r.integers(0, 4, n)], f32(r, 3, 4), f32(r, 4), 0.1),
         mlir=SHARED + "sgd_step.mlir", spoil=("layout", "read-only"), tolerance=64)
def mlir_sgd_step(x, target, w, b, rate):
    logits = x @ w + b
    log_p = logits - logits.max(axis=1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=1, keepdims=True))
    loss = -(log_p * target).sum(axis=1).mean()
    g = (np.exp(log_p) - target) / np.float32(len(x))
    w -= np.float32(rate) * (x.T @ g)
    b -= np.float32(rate) * g.sum(axis=0)
    return np.asarray(loss)


@program(lambda r, n: (ints(r, n, 3, dtype=np.int32), bools(r, n, 3), 5), mlir="integers.mlir", spoil=VALUES)
def mlir_integers(x, mask, k):
    y = np.where(mask, x * np.int32(k), x // np.int32(2) + np.int32(-7 % 3 + -7 % k))
    return y, np.asarray(y.sum(dtype=np.int64)), (y > x).any(axis=1)


@program(lambda r, n: (f32(r, n, 4), f32(r, 4)), mlir="views.mlir")
def mlir_views(x, row):
    x[0] = row
    return x[1:], x.T


@program(lambda r, n: (f32(r, n), 0.25), mlir="branches.mlir", spoil=VALUES, tolerance=32)
def mlir_branches(x, limit):
    if float(x.sum()) > limit:
        y = np.exp(-x)
    elif float(x.max()) > 0:
        y = np.maximum(x, np.float32(limit))
    else:
        y = -x
    return y, np.asarray(y.mean())
