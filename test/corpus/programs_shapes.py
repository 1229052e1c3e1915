"""Views, layouts, joins, gathers, images; arguments that are strided, reversed, read-only, empty, of rank 0."""

import numpy as np
from corpus import bools, f32, ints, program


def _read_only(a):
    a.flags.writeable = False
    return a


@program(lambda r, n: (f32(r, n, 6),))
def views_returned(x):
    return x.T, x[1:], x.reshape(-1), x[:, ::2], x[0]


@program(lambda r, n: (f32(r, n, 4),))
def the_argument_itself(x):
    return x, x + 1


@program(lambda r, n: (f32(r, 2, n, 3),))
def permute_and_flatten(x):
    return np.transpose(x, (2, 0, 1)) * 2, x.reshape(2, -1).sum(axis=1), np.moveaxis(x, 0, -1) + 1


@program(lambda r, n: (f32(r, n, 2), f32(r, n, 3), f32(r, 2, n)))
def joins(a, b, c):
    return np.concatenate([a, b], axis=1), np.stack([a, a + 1]), np.vstack([a.T, c])


@program(lambda r, n: (f32(r, n, 6),))
def splits(x):
    left, right = np.split(x, 2, axis=1)
    return left * right, left + 1


@program(lambda r, n: (f32(r, n, 5), ints(r, 4, low=0, high=4)))
def gather_rows_and_columns(x, rows):
    return np.take(x, rows, axis=0), x[rows, rows], x[:, rows]


@program(lambda r, n: (f32(r, 2 * n, 5)[::2, 1:], f32(r, 3, n).T))
def strided_arguments(a, b):
    return a[:, :3] * b, a.sum(axis=0)


@program(lambda r, n: (f32(r, n, 3)[::-1], f32(r, n, 3)[:, ::-1]))
def negative_strides(a, b):
    return a * 2 + b, a.sum(axis=1)


@program(lambda r, n: (_read_only(f32(r, n)), np.broadcast_to(f32(r, 3), (n, 3))))
def read_only_inputs(a, b):
    return a * 2, b + a[:, None]


@program(lambda r, n: (f32(r, 0, n), f32(r, 3, 0)))
def empty_arrays(a, b):
    return a.sum(), a * 2, a.sum(axis=0), b.mean(axis=0), b @ np.zeros((0, 2), np.float32)


@program(lambda r, n: (f32(r, 0),), sizes=(4, 4, 4), native=("static",))
def empty_vector(x):
    return np.exp(x), x.sum()


@program(lambda r, n: (np.array(r.normal(), np.float32), np.array(r.integers(9))), sizes=(4, 4, 4), native=("static",))
def rank_zero(a, i):
    return a * 2, i + 1, a + i, np.sqrt(a)


@program(lambda r, n: (f32(r, 1, n), f32(r, n, 1), f32(r, 1)))
def size_one_dims(a, b, c):
    return a + b, (a * c).squeeze(0), b.sum(axis=1), np.expand_dims(c, 0) - a


@program(lambda r, n: (f32(r, n, n),))
def triangles(x):
    return np.tril(x), np.triu(x, 1), np.trace(x), np.eye(4, dtype=np.float32) * 2


@program(lambda r, n: (f32(r, n, 6),))
def box_blur(image):
    padded = np.pad(image, 1)
    total = padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] + image
    return total / 5


@program(lambda r, n: (f32(r, n, 6),), sizes=(6, 8, 10))
def sobel_edges(image):
    gx = image[1:-1, 2:] - image[1:-1, :-2]
    gy = image[2:, 1:-1] - image[:-2, 1:-1]
    return np.sqrt(gx * gx + gy * gy)


@program(lambda r, n: (ints(r, n, 6, 3, low=0, high=256, dtype=np.uint8),))
def grey_and_threshold(image):
    grey = (0.299 * image[:, :, 0] + 0.587 * image[:, :, 1] + 0.114 * image[:, :, 2]).astype(np.float32)
    return grey, (grey > 128).astype(np.uint8) * 255


@program(lambda r, n: (f32(r, n, 4),), sizes=(4, 6, 8))
def downsample(image):
    return image.reshape(image.shape[0] // 2, 2, 2, 2).mean(axis=(1, 3))


@program(lambda r, n: (f32(r, n, 4),), views=False)
def flips(x):
    return x[::-1] + 0, np.flip(x, 1) * 2, x[:, ::-1].sum(axis=0)


@program(lambda r, n: (f32(r, n, 2),))
def repeat_and_tile(x):
    return np.repeat(x, 2, axis=0), np.tile(x, (1, 3)), np.roll(x, 1, axis=0)


@program(lambda r, n: (f32(r, n, 3), f32(r, 4, 3)))
def pairwise_distances(a, b):
    return np.sqrt(((a[:, None] - b) ** 2).sum(-1))


@program(lambda r, n: (f32(r, n), bools(r, n)), sizes=(6, 6, 6), native=("static",))
def compress_by_mask(x, mask):
    return x[mask], x[mask].sum()


@program(
    lambda r, n: (n, 3),
    sizes=(6, 6, 6),  # one version serves all numbers
    native=("static",),
    also=(lambda r, n: (n + 3, 3), lambda r, n: (0, 2)),
    bad=(lambda r, n: (-1, 3), lambda r, n: (2, -1)),
)
def factories(n, m):
    return np.zeros((n, m)), np.ones(n, np.int32), np.arange(n) * m, np.full((2, n), 0.5)
