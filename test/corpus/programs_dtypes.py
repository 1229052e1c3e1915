"""Each dtype, and casts between them."""

import ml_dtypes
import numpy as np
from corpus import bools, f32, f64, ints, program

bfloat16 = ml_dtypes.bfloat16


@program(lambda r, n: (f32(r, n, 4, dtype=np.float16), f32(r, 4, dtype=np.float16)))
def half_precision(x, w):
    return x * w + 1, np.exp(x), x.max(axis=1), np.sqrt(np.abs(x))


@program(lambda r, n: (f32(r, n, 4, dtype=np.float16),), tolerance=8)
def half_softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@program(lambda r, n: (f32(r, n, 4, dtype=bfloat16), f32(r, 4, dtype=bfloat16)), tolerance=8)
def brain_float(x, w):
    return x * w, x + w, -x, x > w, x.astype(np.float32) * 2


@program(lambda r, n: (f64(r, n, 3),), tolerance=32)
def double_precision(x):
    return np.exp(x) / (1 + np.exp(x)), np.tanh(x), np.log(np.abs(x) + 1), x.sum(axis=0)


@program(lambda r, n: (ints(r, n, low=-128, high=128, dtype=np.int8), ints(r, n, low=-128, high=128, dtype=np.int8)))
def int8_wraps(a, b):
    return a + b, a * b, -a, a - b, a > b


@program(lambda r, n: (ints(r, n, low=-3000, high=3000, dtype=np.int16), ints(r, n, dtype=np.int16)))
def int16_arithmetic(a, b):
    return a * 20 + b, np.minimum(a, b), a.sum(), a & b


@program(lambda r, n: (ints(r, n, low=-3000, high=3000, dtype=np.int32), f32(r, n)))
def int32_with_float32(a, x):
    return a + x, a * 2, a / 4, a.astype(np.float32) * x


@program(lambda r, n: (ints(r, n, low=-(2**40), high=2**40),))
def int64_large(a):
    return a * 3 - 1, a // 7, a % 1000, a.sum(), a >> 3, np.abs(a)


@program(lambda r, n: (ints(r, n, low=0, high=256, dtype=np.uint8), ints(r, n, low=0, high=256, dtype=np.uint8)))
def uint8_saturating_add(a, b):
    wide = a.astype(np.int32) + b.astype(np.int32)
    return np.minimum(wide, 255).astype(np.uint8), a + b, a - b


@program(lambda r, n: (bools(r, n, 3), bools(r, n, 3)))
def bool_algebra(a, b):
    return a & b, a | b, a ^ b, ~a, a.sum(axis=0), np.logical_and(a, ~b), a == b


@program(lambda r, n: (f32(r, n) * 50,))
def casts(x):
    i = x.astype(np.int32)
    return i, i.astype(np.float64) / 3, x.astype(np.float64), (x > 0).astype(np.float32), np.float32(2) * x, i.astype(bool)


@program(lambda r, n: (ints(r, n, dtype=np.int8), ints(r, n, dtype=np.int16), ints(r, n, low=0, dtype=np.uint8), f32(r, n, dtype=np.float16)))
def promotion_among_small(a, b, c, h):
    return a + b, a + c, b * c, a * h, c + h, b + h


@program(lambda r, n: (f32(r, n), f64(r, n)))
def promotion_of_floats(x, y):
    return x + y, x * 0.1, y * np.float32(0.5), np.where(x > 0, x, y)
