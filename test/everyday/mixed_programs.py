"""Programs with enough numbers for native code between statements that Python runs."""

from __future__ import annotations

import math

import numpy as np
from everyday_programs import Programs, registered

PROGRAMS: Programs = {}
program = registered(PROGRAMS)


@program(lambda r: (r.random(3000), r.random(3000)))
def swapped_in_a_loop(x, y):
    log = []
    for k in range(3):
        a = np.sqrt(x * x + y * y) + k
        b = np.exp(-a) * np.tanh(y)
        log.append(float(b.sum()))
        x = x + b * 0.1
        if log[-1] > 1e5:
            break
        y, x = x, y
    return x, y, log, a, k


@program(lambda r: (r.random(3000),))
def mix_try_native(x):
    out = []
    for k in (1, 2, 0, 3):
        try:
            y = np.tanh(x) * k + np.exp(x)
            z = y.reshape(3, 1000) if k else y.reshape(7, 7)
            w = z.sum(axis=0)
            out.append(w)
        except ValueError as e:
            out.append((str(e), y.sum(), k))
        finally:
            last = k
    return out, last, w is out[-1]


@program(lambda r: (r.random(3000),))
def mix_closure_native(x):
    state = {"n": 0}

    def upd(v):
        state["n"] += 1
        return v * state["n"]

    y = np.tanh(x) + np.sqrt(x) * 2
    y = upd(y)
    z = np.cos(y) * np.sin(y) + y
    z = upd(z) + upd(x)
    return z, state


@program(lambda r: (r.random((50, 50)),))
def mix_views(a):
    v = a[1:-1, 1:-1]
    n = np.abs(a).sum()
    print(n > 0)
    v *= 2
    v += np.sin(v) * np.cos(v)
    t = a.T
    print(t.shape)
    t[0, :] = 7
    b = np.tanh(t) + t * t
    print(b.shape)
    a[...] = b
    return a, v, t, np.shares_memory(v, a), t.base is a


@program(lambda r: (r.random(2000), [1.0, 2.0], {"k": r.random(2000)}))
def mix_struct(x, l, d):
    y = d["k"] * l[0] + np.tanh(x) * l[1]
    d["new"] = y
    l.append(float(y.sum()))
    z = d["k"] + d["new"] * l[2] + np.exp(-y)
    d["k"] = z
    return z, d["k"] is z, l, list(d)


class Model:
    def __init__(self, r):
        self.w = r.random((20, 20))
        self.b = np.zeros(20)
        self.calls = 0
        self.cache = {}

    def forward(self, x):
        h = np.tanh(x @ self.w + self.b)
        return h * h + np.exp(-h)

    def train(self, x):
        self.calls += 1
        h = self.forward(x)
        g = x.T @ h / len(x)
        self.w -= 0.01 * g
        self.b = self.b - 0.01 * h.mean(axis=0)
        if self.calls not in self.cache:
            self.cache[self.calls] = h
        return float((h**2).mean())

    def __repr__(self):
        return f"<Model {self.calls}>"


@program(lambda r: (Model(r), r.random((30, 20))))
def model_prog(m, x):
    w = m.w
    losses = [m.train(x) for _ in range(3)]
    return losses, m.w is w, m.calls, sorted(m.cache), repr(m), m.b


@program(lambda r: (r.random(3000), 2))
def cond_names(x, n):
    if n > 1:
        a = np.tanh(x) * 2 + np.sqrt(x)
    print("mid")
    if n > 1:
        b = a * 2 + np.exp(-a)
    else:
        b = x
    print("end")
    for i in range(n):
        c = b * i + np.sin(b)
    print("loop")
    return b.sum() + c.sum(), i


@program(lambda r: (r.random(3000), 0))
def cond_names_unbound(x, n):
    y = np.tanh(x) * 2 + np.sqrt(x)
    print("mid")
    for i in range(n):
        c = y * i + np.sin(y)
    print("loop")
    return c.sum() + (y * 2 + np.exp(y)).sum()


@program(lambda r: (r.random(3000), r.random(3000)))
def generator_native(x, y):
    def gen():
        z = np.tanh(x) + np.exp(-y)
        for k in range(3):
            z = z * 0.5 + np.sqrt(x)
            yield z.sum(), k

    return list(gen())


@program(lambda r: (r.random(3000).astype(np.float32), r.integers(0, 5, 3000)))
def gen_func(x, idx):
    z = np.tanh(x) * np.float32(2) + x
    s = yield z.sum()
    for k in range(3):
        z = np.where(idx > k, z * 2, z) + np.exp(-z)
        s = yield (k, z.dtype.name, s)
    return z.sum() > 0


@program(lambda r: (r.random(500), r.random(500), 20))
def while_native(x, v, n):
    t = 0.0
    hist = []
    while t < 1.0 and n:
        acc = -np.sin(x) * 4 + np.cos(v) * 0.1
        v = v + acc * 0.05
        x = x + v * 0.05
        e = float((v * v).sum() + np.cos(x).sum())
        hist.append(e)
        t += 0.05
        n -= 1
        if n % 7 == 0:
            continue
        if e > 1e6:
            raise OverflowError(f"blew up at {t:.2f}")
    return x, v, hist, t, n


@program(lambda r: (r.random(200), r.integers(0, 200, 50)))
def fancy(x, idx):
    y = x[idx] * 2 + np.sqrt(x[idx])
    m = y > y.mean()
    print(m.sum())
    z = y[m]
    x[idx] = -1
    x[m.nonzero()[0]] += 5
    s = {int(i) for i in idx}
    w = np.bincount(idx, minlength=200) * 1.0 + np.tanh(x)
    return z, x, len(s), w, y[::-1][:3], x[-3:], y[m][::2]


@program(lambda r: (r.random(1000), "linear"))
def string_modes(x, mode):
    fs = {"linear": lambda t: t * 2 + 1, "tanh": np.tanh}
    y = np.exp(x) * 2 + np.sqrt(x)
    if mode == "linear":
        y = fs[mode](y)
    elif mode.startswith("t"):
        y = fs["tanh"](y)
    name = f"{mode.upper()}-{len(y):04d}"
    return y, name, mode is mode


@program(lambda r: (np.array(2.5), np.float64(3.5), 4))
def zero_d(a, b, c):
    d = a + b
    print(type(d).__name__)
    e = a * 2
    f = np.sqrt(b) * c
    a += 1
    print(type(e).__name__, type(f).__name__)
    g = d.item(), float(e), a[()]
    return d, e, f, a, g, isinstance(d, np.ndarray), (a == 3.5) is True, a.ndim


@program(lambda r: (r.random(10), True, None, 3))
def bools(x, flag, none, n):
    a = flag + n
    b = x * flag
    c = none is None and not flag or x.sum() > 1
    print(type(c).__name__)
    d = flag and x.max() or 0
    e = x.any() & flag
    f = n if none is None else 0
    g = not x.sum()
    print(type(d).__name__, type(e).__name__)
    return a, b, c, d, e, f, g, type(a).__name__, flag == 1, n > 2 > 1


@program(lambda r: (7, -3, 2.5))
def ints(a, b, c):
    out = [
        a // b,
        a % b,
        a / b,
        a**2,
        a**-1,
        -a // 2,
        a << 2,
        a >> 1,
        a & 6,
        a | 8,
        a ^ b,
        ~a,
        divmod(a, b),
        round(c),
        round(c, 1),
        int(c),
        abs(b),
        a * c,
        c // 1,
        c % 2,
        math.floor(c),
        math.gcd(a, 14),
        max(a, b, c),
        min(a, c),
        sum([a, b]),
        pow(a, 3, 5),
    ]
    print(*[type(v).__name__ for v in out])
    k = 0
    for i in range(a, 0, -2):
        k += i * b
    return out, k, i
