"""Reductions, running sums, positions, distances."""

import numpy as np
from corpus import bools, f32, f64, ints, program


@program(lambda r, n: (f32(r, n, 6),))
def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@program(lambda r, n: (f32(r, n, 6),), bad=(lambda r, n: (f32(r, n),),))
def log_sum_exp(x):
    top = x.max(axis=1)
    return top + np.log(np.exp(x - top[:, None]).sum(axis=1))


@program(lambda r, n: (f32(r, 3, n, 5),))
def sums_over_axes(x):
    return x.sum(), x.sum(axis=0), x.sum(axis=(0, 2)), x.sum(axis=-1, keepdims=True), x.mean(axis=1)


@program(lambda r, n: (f64(r, n, 4),))
def spread(x):
    return x.var(axis=0), x.std(), np.ptp(x, axis=1), x.mean()


@program(lambda r, n: (f32(r, n, 4),), tolerance=64)
def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


@program(lambda r, n: (ints(r, n, 3), bools(r, n, 3)))
def integer_reductions(a, m):
    return a.sum(), a.max(axis=0), a.min(axis=1), m.sum(axis=0), m.any(), m.all(axis=1), a.prod(axis=1)


@program(lambda r, n: (f32(r, n, 4), ints(r, n, low=0, high=5, dtype=np.int32)))
def running_sums(x, counts):
    return np.cumsum(x, axis=0), np.cumsum(counts), x.cumsum(axis=1)[:, -1]


@program(lambda r, n: (f32(r, n, 5),))
def one_hot_of_argmax(x):
    best = np.argmax(x, axis=1)
    return best, (best[:, None] == np.arange(5)).astype(np.float32), np.argmin(x)


@program(lambda r, n: (f32(r, n, 2), f32(r, 3, 2)))
def k_means_step(points, centres):
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    nearest = distances.argmin(axis=1)
    member = (nearest[:, None] == np.arange(3)).astype(np.float32)
    counts = member.sum(axis=0)
    sums = member.T @ points
    return np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres), nearest


@program(lambda r, n: (f32(r, n, 4), bools(r, n, 4)))
def masked_mean(x, mask):
    kept = np.where(mask, x, 0).sum(axis=1)
    return kept / np.maximum(mask.sum(axis=1), 1).astype(x.dtype)


@program(lambda r, n: (f64(r, n), f64(r, n)), tolerance=64)
def correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    return (a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum())


@program(lambda r, n: (f32(r, n, 3),))
def norms(x):
    return np.linalg.norm(x), np.linalg.norm(x, axis=1), np.abs(x).max(axis=1)


@program(lambda r, n: (f32(r, n, 4),), sizes=(5, 6, 7))
def count_and_diff(x):
    return np.count_nonzero(x > 0), np.diff(x, axis=0), np.any(x > 1, axis=1)


@program(lambda r, n: (f32(r, n, 8),))
def image_histogram_bins(x):
    bins = np.floor((np.tanh(x) + 1) * 2).astype(np.int64)
    return (bins.reshape(-1)[:, None] == np.arange(4)).sum(axis=0)


@program(lambda r, n: (f64(r, n, 4), np.array(r.normal())))
def sums_of_a_number(x, c):
    return np.sum(x), (x * np.sum(c)).sum(axis=0), np.prod(c), (x - np.mean(c)).prod(axis=1), np.mean(c)
