"""Elementwise chains, broadcasting, masks, clipping, bits."""

import numpy as np
from corpus import bools, f32, f64, ints, program


@program(lambda r, n: (f32(r, n), f32(r, n), f32(r, n)), sizes=(4, 8, 33))
def multiply_add(a, b, c):
    return a * b + c


@program(lambda r, n: (f32(r, n, 5),))
def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@program(lambda r, n: (f64(r, n, 5),), sizes=(3, 5, 8))
def long_chain(x):
    y = np.exp(-np.abs(x)) + np.log1p(x * x)
    y = np.sin(y) * np.cos(x) - np.sqrt(y + 1)
    y = np.where(y > 0, y, 0.01 * y)
    return np.floor(y * 8) / 8 + np.square(x)


@program(lambda r, n: (f32(r, n, 1), f32(r, 7), np.array(r.normal(), np.float32)))
def broadcast_three_ways(column, row, point):
    return (column - row) * point + column / 3


@program(lambda r, n: (f32(r, n, 1, 3), f32(r, 1, n, 1)))
def broadcast_size_one_dims(a, b):
    return a * b - b


@program(lambda r, n: (f32(r, n), -0.5, 0.75))
def clip_to_bounds(x, low, high):
    return np.clip(x, low, high) + np.minimum(x, high) - np.maximum(x, low)


@program(lambda r, n: (f32(r, n, 4), bools(r, n, 4)))
def masked_where(x, mask):
    return np.where(mask, x, -np.inf), np.where(~mask & (x > 0), 1.0, x)


@program(lambda r, n: (f32(r, n), f32(r, n), f32(r, n)))
def select_nested(a, b, c):
    return np.where(a > b, np.where(a > c, a, c), np.where(b > c, b, c))


@program(lambda r, n: (f32(r, n), f32(r, n)))
def compare_and_count(a, b):
    less, equal = a < b, a == a
    return less | ~equal, (less & equal).sum(), np.logical_xor(less, b >= 0)


@program(lambda r, n: (f32(r, n, 3),), tolerance=64)
def powers_and_roots(x):
    y = np.abs(x) + 0.5
    return x**2, y**1.5, np.sqrt(y) * y**3


@program(lambda r, n: (f32(r, n),))
def power_of_minus_half(x):
    return np.abs(x) ** -0.5


@program(lambda r, n: (f64(r, n), f64(r, n)))
def angles(y, x):
    return np.arctan2(y, x), np.radians(x), np.degrees(np.arctan(y)), np.sinh(x) - np.cosh(y)


@program(lambda r, n: (f32(r, n),))
def special_values(x):
    y = np.where(x > 0.5, np.nan, x)
    z = np.where(x < -0.5, np.inf, y)
    return np.isnan(y), np.isinf(z), np.isfinite(z), np.maximum(y, 0), np.sign(z), np.exp(-z)


@program(lambda r, n: (f32(r, n),))
def rounding(x):
    y = x * 4
    return np.round(y), np.floor(y), np.ceil(y), np.trunc(y), np.rint(y)


@program(lambda r, n: (ints(r, n), ints(r, n, low=1)))
def integer_division(a, b):
    return a // b, a % b, -a // b, a / b, np.abs(a) * b - a


@program(lambda r, n: (ints(r, n, low=0, high=256, dtype=np.uint8), ints(r, n, low=0, high=8, dtype=np.uint8)))
def bits(a, b):
    return (a & 15) | (b << 4), a ^ b, ~a, a >> b


@program(lambda r, n: (ints(r, n, dtype=np.int32), bools(r, n)))
def integers_and_bools(a, m):
    return a * m, m + m, np.where(m, a, -a), a + 1, m & (a > 0), a == 3


@program(lambda r, n: (f32(r, n), ints(r, n)), sizes=(5, 6, 7))
def mixed_promotion(x, i):
    return x + i, i * 0.5, x * 2, i + True, (i > 0) * x


@program(lambda r, n: (f32(r, n), 3, 0.25, True), also=(lambda r, n: (f32(r, n), 2.5, 1, False),))
def scalar_arguments(x, n, rate, flag):
    return x * n + rate, n * 2 + 1, n * rate, not flag


@program(lambda r, n: (f32(r, n), True))
def bool_argument_in_arithmetic(x, flag):
    return x - flag, x * flag
