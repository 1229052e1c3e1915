"""Branches and loops on data: nested ifs, early returns, while until convergence, trip counts from arguments."""

import numpy as np
from corpus import f32, f64, ints, program


@program(lambda r, n: (f32(r, n),))
def branch_on_sum(x):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@program(lambda r, n: (f32(r, n), f32(r, n)))
def nested_ifs(x, y):
    if x.max() > y.max():
        if x.min() > y.min():
            out = x - y
        else:
            out = x + y
    elif y.sum() > 1:
        out = y * x
    else:
        out = -y
    return out + 1


@program(lambda r, n: (f32(r, n),))
def early_return(x):
    if x[0] > 0.5:
        return x * 10
    y = np.exp(x)
    if y.sum() > 5:
        return y / y.sum()
    return y


@program(lambda r, n: (f32(r, n), 5), also=(lambda r, n: (f32(r, n), 0), lambda r, n: (f32(r, n), 9)))
def for_with_given_count(x, steps):
    for _ in range(steps):
        x = x * 0.5 + 1
    return x


@program(lambda r, n: (f32(r, n), 3), also=(lambda r, n: (f32(r, n), 1), lambda r, n: (f32(r, n), 4)))
def for_that_doubles_what_it_carries(x, steps):
    for _ in range(steps):
        x = np.tile(x, 2) + 1
    return x


@program(lambda r, n: (f32(r, n), f32(r, n + 2), 3), also=(lambda r, n: (f32(r, n), f32(r, n + 2), 1),))
def for_that_takes_up_another_size(x, y, steps):
    for _ in range(steps):
        x = np.concatenate((x[:1], y)) * 0.5
    return x


@program(lambda r, n: (f32(r, n), int(r.integers(1, 6))))
def for_with_index(x, steps):
    total = x * 0
    for i in range(steps):
        total = total + x * i
    return total, steps * 2


@program(lambda r, n: (f64(r, n) ** 2 + 1,), tolerance=64)
def newton_until_converged(a):
    x = a * 1.0
    error = np.abs(x * x - a).max()
    while error > 1e-6:
        x = 0.5 * (x + a / x)
        error = np.abs(x * x - a).max()
    return x


@program(lambda r, n: (f32(r, n, 3),))
def loop_over_rows(x):
    total = np.zeros(3, np.float32)
    for row in x:
        total = total * 0.5 + row
    return total


@program(lambda r, n: (f32(r, n), 2.0))
def while_with_counter(x, limit):
    count = 0
    while np.abs(x).max() > limit / 8 and count < 10:
        x = x / 2
        count += 1
    return x, count


@program(lambda r, n: (f64(r, n),), tolerance=64)
def power_series(x):
    term, total = np.ones_like(x), np.ones_like(x)
    for k in range(1, 8):
        term = term * x / k
        total = total + term
    return total


@program(lambda r, n: (ints(r, n, low=0, high=50), 7))
def break_and_continue(a, stop):
    total = 0
    for i in range(4):
        v = int(a[i])
        if v % 2 == 0:
            continue
        if v > 40 + stop:
            break
        total = total + v
    return total


@program(lambda r, n: (f32(r, n), f32(r, n)))
def conditional_expression(a, b):
    best = a if a.sum() > b.sum() else b
    return best * 2


@program(lambda r, n: (f64(r, n, n),), tolerance=256)
def power_iteration(m):
    a = m @ m.T
    v = np.ones(m.shape[0])
    for _ in range(4):
        v = a @ v
        v = v / np.sqrt((v * v).sum())
    return v, v @ a @ v


@program(lambda r, n: (int(r.integers(1, 30)), int(r.integers(1, 30))), sizes=(4, 4, 4), native=("static",))
def greatest_common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@program(lambda r, n: (f32(r, n, 4), 3))
def nested_loops(x, outer):
    for i in range(outer):
        for j in range(2):
            x = x + i * 0.1 - j
        x = np.maximum(x, -1)
    return x


@program(lambda r, n: (f64(r, n, 2), 4), tolerance=256)
def euler_integration(state, steps):
    for _ in range(steps):
        position, velocity = state[:, 0], state[:, 1]
        state = np.stack([position + 0.1 * velocity, velocity - 0.1 * np.sin(position)], axis=1)
    return state


@program(lambda r, n: (ints(r, n, low=-9, high=9), int(r.integers(2, 30))),
         also=(lambda r, n: (ints(r, n), 2**31 + n), lambda r, n: (ints(r, n), -(2**62)), lambda r, n: (ints(r, n), 2**63 - 1)))
def ints_of_any_size(x, k):
    x[0] += k % 5
    total = k * k
    for i in range(1, 4):
        total = total * k + i
    x[1:] = x[1:] * (total % 7) + (k << 2) % 3
    return total, x.sum() * 2, (total ^ k) >> 3
