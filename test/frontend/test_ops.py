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


IMAGE = np.random.default_rng(0).standard_normal((2, 4, 8, 9)).astype(np.float32)
KERNEL = np.random.default_rng(1).standard_normal((6, 2, 3, 2)).astype(np.float32)


def convolutions(x, w, b):
    line, small, volume = x[0], w[:, :, 0], x[:, :, None]
    return (
        ops.conv2d(x, w, b, groups=2),
        ops.conv2d(x[0], w, None, (2, 1), [1, 0], 2, 2),
        ops.conv2d(x, w, b, 1, "same", groups=2),
        ops.conv1d(line, small, padding=1, groups=2),
        ops.conv3d(volume, w[:, :, None], groups=2),
        ops.conv_transpose2d(x, w[:4], None, 2, 1, 1, 1, 1),
        ops.conv_transpose1d(line, small[:4], stride=2),
        ops.conv_transpose3d(volume, w[:4, :, None], dilation=(1, 2, 1)),
    )


def pools(x):
    volume = x[:, :, None]
    return (
        ops.max_pool2d(x, 2),
        ops.max_pool2d(x, (3, 2), 2, padding=1, ceil_mode=True),
        ops.max_pool1d(x[0], 3, stride=1),
        ops.max_pool3d(volume, (1, 2, 2)),
        ops.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        ops.avg_pool2d(x, 2, divisor_override=3),
        ops.avg_pool1d(x[0], 2),
        ops.avg_pool3d(volume, (1, 2, 2)),
        ops.adaptive_avg_pool2d(x, 1),
        ops.adaptive_avg_pool2d(x, (3, 4)),
        ops.adaptive_avg_pool1d(x[0], 2),
        ops.adaptive_avg_pool3d(volume, (1, 2, 2)),
        ops.upsample_nearest2d(x, (11, 5)),
    )


def classify(x, w, b, v):
    """A small network: sizes computed by the program."""
    h = ops.max_pool2d(ops.relu(ops.conv2d(x, w, b, padding=1, groups=2)), 2)
    h = ops.upsample_nearest2d(h, x.shape[2:])
    h = np.sum(ops.adaptive_avg_pool2d(h, 1), axis=(2, 3))
    return ops.softmax(h @ v)


def test_decorating_changes_nothing():
    check(activations, X)
    check(normalisations, X)
    check(layers, X, W, B, np.array([[1, 0], [0, 0]]))
    check(convolutions, IMAGE, KERNEL, KERNEL[:, 0, 0, 0])
    check(pools, IMAGE)
    check(classify, IMAGE, KERNEL, KERNEL[:, 0, 0, 0], KERNEL[:, 0, :, 0])


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
    with pytest.raises(ValueError, match="channels of the input do not fit"):
        ops.conv2d(IMAGE, KERNEL)
    with pytest.raises(ValueError, match="Output size is too small"):
        ops.max_pool2d(IMAGE, 10)


def test_images_agree_with_sums_written_out():
    x, w = IMAGE.astype(np.float64), KERNEL.astype(np.float64)
    seen = np.lib.stride_tricks.sliding_window_view(x, (3, 2), (2, 3))  # (n, c, h, w, 3, 2)
    wanted = [np.einsum("nchwij,ocij->nohw", seen[:, 2 * g : 2 * g + 2], w[3 * g : 3 * g + 3]) for g in (0, 1)]
    np.testing.assert_allclose(ops.conv2d(IMAGE, KERNEL, groups=2), np.concatenate(wanted, 1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(ops.max_pool2d(IMAGE, (3, 2), 1), seen.max((-2, -1)).astype(np.float32))
    np.testing.assert_allclose(ops.avg_pool2d(IMAGE, (3, 2), 1), seen.mean((-2, -1)), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ops.adaptive_avg_pool2d(IMAGE, 1)[..., 0, 0], x.mean((2, 3)), rtol=1e-5, atol=1e-6)
