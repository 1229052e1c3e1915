"""Programs that write their arguments, locals or arrays from outside in place."""

import numpy as np
from corpus import bools, f32, f64, ints, program

TOTALS = np.zeros(3, np.float32)


@program(lambda r, n: (f32(r, n, 3), f32(r, n, 3), 0.1))
def sgd_step(w, gradient, rate):
    w -= rate * gradient


@program(lambda r, n: (f32(r, n), f32(r, n), np.zeros(n, np.float32), np.zeros(n, np.float32), 3), tolerance=64)
def adam_step(w, gradient, m, v, t):
    m[...] = 0.9 * m + 0.1 * gradient
    v[...] = 0.999 * v + 0.001 * gradient * gradient
    corrected_m = m / (1 - 0.9**t)
    corrected_v = v / (1 - 0.999**t)
    w -= 0.01 * corrected_m / (np.sqrt(corrected_v) + 1e-8)
    return w


@program(lambda r, n: (f32(r, n), f32(r, n), f32(r, n)))
def momentum_step(w, velocity, gradient):
    velocity *= 0.9
    velocity += gradient
    w -= 0.1 * velocity
    return np.abs(w).max()


@program(lambda r, n: (f32(r, n, 4),))
def write_rows_and_columns(x):
    x[0] = 1
    x[:, 1] *= 2
    x[1:, 2:] += x[0, 0]
    return x.sum()


@program(lambda r, n: (f32(r, n), bools(r, n)))
def masked_write(x, mask):
    x[mask] = 0
    return x * 2


@program(lambda r, n: (f32(r, n), ints(r, 3, low=0, high=4)), bad=(lambda r, n: (f32(r, n), ints(r, 3, low=90, high=99)),))
def write_at_index(x, i):
    x[i] = 5
    return x


@program(lambda r, n: (f32(r, n),))
def write_local(x):
    y = np.zeros_like(x)
    y[1:] = x[:-1]
    y[0] = x[-1]
    return y


@program(lambda r, n: (f32(r, n, 3),))
def write_through_view(x):
    top = x[0]
    top += 10
    column = x.T[1]
    column *= 2
    return x[0, 1]


@program(lambda r, n: (f32(r, n, 3),))
def written_view_returned(x):
    x += 1
    return x[1:], x.T


@program(lambda r, n: (f32(r, n), f32(r, n)))
def swap_contents(a, b):
    keep = a.copy()
    a[...] = b
    b[...] = keep


@program(lambda r, n: (f32(r, n), 4))
def write_in_loop(x, steps):
    for i in range(steps):
        x[i] = x[i] * 2 + i
    return x


@program(lambda r, n: (f32(r, n), f32(r, n)))
def write_in_branch(x, y):
    if x.sum() > y.sum():
        x -= y
    else:
        y[0] = 0
    return x + y


@program(lambda r, n: (f32(r, n, 3),), also=(lambda r, n: (f32(r, n, 3)[:, ::-1],),))
def prefix_sum_in_place(x):
    for i in range(1, 4):
        x[i] += x[i - 1]


@program(lambda r, n: (ints(r, n, dtype=np.int32),))
def integer_write(x):
    x += 1
    x //= 2
    x[x > 2] = -1


def _overlapping(r, n):
    base = f32(r, n + 2)
    return base[:-2], base[2:]


@program(lambda r, n: (f32(r, n), f32(r, n)), also=(_overlapping,))
def overlapping_arguments(a, b):
    a *= 2
    return a + b


def _reset(r, n):
    TOTALS[...] = 1
    return (f32(r, n, 3),)


@program(_reset, state=lambda: [TOTALS])
def write_global_array(x):
    TOTALS[...] = TOTALS + x.sum(axis=0)
    return TOTALS * 2


@program(lambda r, n: (f32(r, n), int(r.integers(1, 9))))
def filled_later(x, m):
    out = np.zeros(3, np.float32)
    out += m
    mask = np.ones((2, 3))
    mask[0] = x[0]
    return out * 2, mask + 1


@program(lambda r, n: (f64(r, n), int(r.integers(1, 9))))
def written_literal(x, m):
    c = np.array([1.0, 2.0])
    c[0] = m
    return x * c[0], c
