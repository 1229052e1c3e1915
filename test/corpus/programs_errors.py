"""Programs whose bad calls raise: the same exception in every tier, and the next good call works."""

import numpy as np
from corpus import f32, f64, ints, program


@program(lambda r, n: (f32(r, n), 2), bad=(lambda r, n: (f32(r, n), n), lambda r, n: (f32(r, n), -n - 1)),
         also=(lambda r, n: (f32(r, n), -1),))
def index_out_of_range(x, i):
    return x[i] * 2


@program(lambda r, n: (f32(r, n), f32(r, n)), bad=(lambda r, n: (f32(r, n), f32(r, n + 1)), lambda r, n: (f32(r, n), f32(r, 2, n + 3))))
def shapes_do_not_fit(a, b):
    return a + b


@program(lambda r, n: (f32(r, n, 3), f32(r, 3, n)), tolerance=32,
         bad=(lambda r, n: (f32(r, n, 3), f32(r, 4, n)), lambda r, n: (f32(r, n), f32(r, 3, n))))
def inner_sizes_do_not_fit(a, b):
    return a @ b


@program(lambda r, n: (f32(r, n), 7, 2), bad=(lambda r, n: (f32(r, n), 7, 0),))
def zero_divisor(x, a, b):
    return x * (a // b), a % b


@program(lambda r, n: (f32(r, n), 4.0), bad=(lambda r, n: (f32(r, n), 0.0),))
def float_zero_divisor(x, b):
    return x * (1 / b)


@program(lambda r, n: (f32(r, n, 4),), sizes=(4, 6, 8), bad=(lambda r, n: (f32(r, n + 1, 3),), lambda r, n: (f32(r, n),)))
def impossible_reshape(x):
    return x.reshape(2, -1, 4).sum(axis=1)


@program(lambda r, n: (np.abs(f32(r, n)) - 0.1,), bad=(lambda r, n: (np.full(n, -1, np.float32),), lambda r, n: (f32(r, 0),)))
def user_raises(x):
    if x.max() < 0:
        raise ValueError("all are negative")
    return np.sqrt(np.maximum(x, 0))


@program(lambda r, n: (np.abs(f64(r, n)),), bad=(lambda r, n: (-1 - np.abs(f64(r, n)),),))
def user_asserts(x):
    assert x.min() >= 0, "negative"
    return np.sqrt(x)


@program(lambda r, n: (f32(r, n), ints(r, n, low=0, high=4)), bad=(lambda r, n: (f32(r, n), ints(r, n, low=50, high=60)),))
def error_after_write(x, i):
    x[0] = 7
    return x[i]


@program(lambda r, n: (f32(r, n, 3), 1), bad=(lambda r, n: (f32(r, n, 3),), lambda r, n: (f32(r, n, 3), 1, 2)))
def wrong_arguments(x, k):
    return x.sum(axis=0) * k


@program(lambda r, n: (f32(r, n, 3),), bad=(lambda r, n: (f32(r, 0, 3),),))
def maximum_of_nothing(x):
    return x.max(axis=0)


@program(lambda r, n: (f32(r, n),), bad=(lambda r, n: (np.array([None] * n),),),
         also=(lambda r, n: (np.zeros(4 * n + 1, np.uint8)[1:].view(np.float32),),))
def odd_arrays(x):
    return x + np.float32(1)
