"""tierup.ops: the same with and without decorating; checked against formulas in float64."""

import math

import numpy as np
import pytest
from frontend_oracle import check

from tierup.frontend import ops

X = np.linspace(-4, 4, 12, dtype=np.float32).reshape(3, 4)
W = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)
B = np.array([0.5, -0.5], np.float32)


def activations(x):
    return ops.relu(x), ops.gelu(x), ops.gelu(x, "tanh"), ops.silu(x), ops.sigmoid(x), ops.softplus(x), ops.leaky_relu(x, 0.2), ops.erf(x)


def normalisations(x):
    return (
        ops.softmax(x),
        ops.softmax(x, axis=0),
        ops.log_softmax(x),
        ops.logsumexp(x),
        ops.logsumexp(x, axis=0, keepdims=True),
        ops.layer_norm(x),
    )


def layers(x, w, b, index):
    gain = x[0]
    return (
        ops.linear(x, w),
        ops.linear(x, w, b),
        ops.embedding(w, index),
        ops.layer_norm(x, (4,), gain, gain, eps=1e-3),
        ops.layer_norm(x, x.shape),
    )


def test_decorating_changes_nothing():
    check(activations, X)
    check(normalisations, X)
    check(layers, X, W, B, np.array([[1, 0], [0, 0]]))


def test_values():
    x = X.astype(np.float64)
    np.testing.assert_allclose(ops.softmax(X), np.exp(x) / np.exp(x).sum(-1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(ops.gelu(X), x * 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2))), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ops.sigmoid(X), 1 / (1 + np.exp(-x)), rtol=1e-6)
    np.testing.assert_allclose(
        ops.layer_norm(X), (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5), rtol=1e-4, atol=1e-6
    )
    np.testing.assert_allclose(ops.linear(X, W, B), x @ W.T.astype(np.float64) + B, rtol=1e-5, atol=1e-6)


def test_errors():
    with pytest.raises(IndexError):
        ops.embedding(W, np.array([2]))
    with pytest.raises(ValueError, match="."):
        ops.linear(X, X.T)
