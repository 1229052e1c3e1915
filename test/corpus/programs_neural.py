"""Layers of neural networks, forward and backward, and matrix products of all shapes."""

import numpy as np
from corpus import bools, f32, f64, ints, part, program

from tierup import ops


@part
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


@program(lambda r, n: (f32(r, n, 8), f32(r, 8), f32(r, 8)), tolerance=64)
def layer_norm(x, weight, bias):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5) * weight + bias


@program(lambda r, n: (f32(r, n, 8), f32(r, 8, 6), f32(r, 6), f32(r, 6, 3), f32(r, 3)), tolerance=64,
         bad=(lambda r, n: (f32(r, n, 7), f32(r, 8, 6), f32(r, 6), f32(r, 6, 3), f32(r, 3)),))
def mlp(x, w1, b1, w2, b2):
    return np.maximum(x @ w1 + b1, 0) @ w2 + b2


@program(lambda r, n: (f32(r, n, 3), f32(r, n, 4), f32(r, n, 4), f32(r, 3, 16), f32(r, 4, 16), f32(r, 16)), tolerance=64)
def lstm_cell(x, h, c, w_x, w_h, bias):
    gates = x @ w_x + h @ w_h + bias
    n = h.shape[1]
    i = 1 / (1 + np.exp(-gates[:, :n]))
    f = 1 / (1 + np.exp(-gates[:, n : 2 * n]))
    g = np.tanh(gates[:, 2 * n : 3 * n])
    o = 1 / (1 + np.exp(-gates[:, 3 * n :]))
    c = f * c + i * g
    return o * np.tanh(c), c


@program(lambda r, n: (f32(r, n, 3), f32(r, n, 4), f32(r, 3, 12), f32(r, 4, 12)), tolerance=64)
def gru_cell(x, h, w_x, w_h):
    a, b = x @ w_x, h @ w_h
    reset = sigmoid(a[:, :4] + b[:, :4])
    update = sigmoid(a[:, 4:8] + b[:, 4:8])
    candidate = np.tanh(a[:, 8:] + reset * b[:, 8:])
    return update * h + (1 - update) * candidate


@program(lambda r, n: (f32(r, n, 4), f32(r, n, 4), f32(r, n, 4)), tolerance=64)
def attention_head(q, k, v):
    scores = q @ k.T / 2.0
    scores = scores - scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    return (weights / weights.sum(axis=-1, keepdims=True)) @ v


@program(lambda r, n: (f32(r, 2, n, 4), f32(r, 2, n, 4), bools(r, n, n)), tolerance=64)
def batched_masked_attention(q, k, mask):
    scores = q @ np.swapaxes(k, 1, 2)
    scores = np.where(mask, scores, np.float32(-1e9))
    e = np.exp(scores - np.max(scores, axis=2, keepdims=True))
    return (e / np.sum(e, axis=2, keepdims=True)) @ k


@program(lambda r, n: (f32(r, n, 5), f32(r, 5), f32(r, 5)), tolerance=64)
def batch_norm(x, gamma, beta):
    mean, variance = x.mean(axis=0), x.var(axis=0)
    return gamma * (x - mean) / np.sqrt(variance + 1e-5) + beta, mean, variance


@program(lambda r, n: (f32(r, n, 3), ints(r, n, low=0, high=3)), bad=(lambda r, n: (f32(r, n, 3), ints(r, n, low=3, high=4)),))
def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -log_probabilities[np.arange(labels.shape[0]), labels].mean()


@program(lambda r, n: (f32(r, 10, 4), ints(r, n, low=0, high=10)),
         bad=(lambda r, n: (f32(r, 10, 4), ints(r, n, low=10, high=12)), lambda r, n: (f32(r, 10, 4), ints(r, n, low=-12, high=-10))),
         also=(lambda r, n: (f32(r, 10, 4), ints(r, n, low=-10, high=0)),))
def embedding(table, tokens):
    return table[tokens]


@program(lambda r, n: (f32(r, n, 4), f32(r, 4, 5), f32(r, n, 5)), tolerance=64)
def linear_gradient(x, w, target):
    error = x @ w - target
    return (error * error).mean(), x.T @ error * (2 / error.size), error @ w.T


@program(lambda r, n: (f32(r, n, 2, 7, 6), f32(r, 4, 2, 3, 3), f32(r, 4), f32(r, 4, 1, 2, 2), f32(r, 4, 3)), tolerance=256,
         bad=(lambda r, n: (f32(r, n, 3, 7, 6), f32(r, 4, 2, 3, 3), f32(r, 4), f32(r, 4, 1, 2, 2), f32(r, 4, 3)),))
def image_classifier(x, w1, b1, w2, v):
    h = np.maximum(ops.conv2d(x, w1, b1, padding=1), 0)
    h = np.tanh(ops.conv2d(ops.max_pool2d(h, 2, 1), w2, groups=4, stride=(2, 1)))
    return ops.adaptive_avg_pool2d(h, 1)[:, :, 0, 0] @ v, ops.avg_pool2d(h, 2)


@program(lambda r, n: (f32(r, n, 4), f32(r, 4), f32(r, n)), tolerance=32)
def matrix_vector(m, v, u):
    return m @ v, u @ m, u @ u, np.dot(m, v)


@program(lambda r, n: (f32(r, 3, n, 4), f32(r, 3, 4, 2)), tolerance=32, bad=(lambda r, n: (f32(r, 3, n, 4), f32(r, 2, 4, 2)),))
def batched_product(a, b):
    return a @ b


@program(lambda r, n: (f64(r, n, 3), f64(r, n, 5)), tolerance=32)
def transposed_products(a, b):
    return a.T @ b, b.T @ a, np.matmul(a.T, a)


@program(lambda r, n: (f32(r, n, n), f32(r, 2, 1, n, n)), tolerance=64)
def broadcast_product(a, b):
    return a @ b


@program(lambda r, n: (f32(r, 2, n, 4), f32(r, 4, 3)), tolerance=32)
def one_matrix_for_a_batch(a, b):
    return a @ b


@program(lambda r, n: (ints(r, n, 3), ints(r, 3, 4)))
def integer_product(a, b):
    return a @ b


@program(lambda r, n: (f32(r, n, 3), f32(r, 3, 3)), tolerance=128)
def rnn_unrolled(xs, w):
    h = np.zeros(3, np.float32)
    for step in range(3):
        h = np.tanh(xs[step] + h @ w)
    return h


@program(lambda r, n: (f32(r, n, 6),), tolerance=64)
def rotary_embedding(x):
    position = np.arange(x.shape[0])[:, None]
    angle = (position / 10.0 ** np.arange(3)).astype(np.float32)
    left, right = x[:, :3], x[:, 3:]
    return np.concatenate([left * np.cos(angle) - right * np.sin(angle), left * np.sin(angle) + right * np.cos(angle)], axis=1)
