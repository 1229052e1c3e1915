"""Programs whose statements see of each other what is easily lost: names, objects, order, exceptions half way."""

from __future__ import annotations

import collections
import queue
import threading
from dataclasses import dataclass, field

import numpy as np
from everyday_programs import Programs, registered

PROGRAMS: Programs = {}
program = registered(PROGRAMS)


@program(lambda r: (r.random(300), r.random(300)))
def region_between_prints(x, y):
    a = np.tanh(x) + y
    b = a * a
    print("b", round(float(b.sum()), 8))
    c = b - a.mean()
    d = np.exp(-c * c)
    print("d", d.shape, end=";\n")
    for k in range(3):
        d = d * 0.5 + np.sqrt(np.abs(c))
        if k == 1:
            print("k", k)
    return d, c is not a, a


@program(lambda r: (r.random((60, 8)), r.random(60), 15))
def sgd(X, y, epochs):
    w = np.zeros(X.shape[1])
    hist = []
    for e in range(epochs):
        p = X @ w
        g = X.T @ (p - y) / len(y)
        w -= 0.1 * g
        l = float(((p - y) ** 2).mean())
        hist.append(l)
        if len(hist) > 2 and abs(hist[-1] - hist[-2]) < 1e-6:
            break
    else:
        print("no convergence")
    return w, hist, e


@program(lambda r: (r.random(200), r.random(200), "up"))
def early_returns(x, y, mode):
    z = np.sin(x) * y + np.cos(y)
    try:
        if mode == "down":
            return z
        for i in range(3):
            if z.sum() > 1e9:
                return i
            z = z + x
        return z, i
    finally:
        print("leaving", mode)


@program(lambda r: (r.random(100),))
def in_place_through_view(x):
    v = x[10:20]
    w = np.exp(v) + v * 2
    print(len(w))
    v[:] = w
    v += 1
    x[0] = -1
    t = x * 2
    print(t[0])
    u = x[::2]
    u *= 3
    return x, v, v.base is x, u


@program(lambda r: (r.random(100), r.random(100)))
def aliases(x, y):
    z = x
    z += y * 2 + np.sin(y)
    print(float(x[0]))
    x, y = y, x
    x[0] = 5
    q = [x, y, z]
    return q[1] is z, q, x is z


@program(lambda r: (r.random(100).astype(np.float32), 3))
def dtypes_across(x, n):
    a = x * n
    print(a.dtype)
    b = a * 2.0 + np.float64(1)
    c = a.sum()
    print(type(c).__name__)
    d = c * n
    e = n / 3
    f = int(c)
    return a, b, c, d, e, f, type(f).__name__, n // 2, n**2, True + n


@program(lambda r: (r.random(50), int(r.integers(0, 3))))
def exc_in_region(x, k):
    y = np.tanh(x) * 3
    print("one")
    z = y[:10] / 2
    w = z[k * 7]
    v = w * 2
    print("two")
    return v, w


@program(lambda r: (r.random(50), 0))
def zero_div(x, k):
    s = 0
    for i in range(5):
        s += i
        try:
            s += int(x.sum()) // k
        except ZeroDivisionError as e:
            print(type(e).__name__, e)
            k = 1
    return s, k


@program(lambda r: (r.random(50), r.random((3, 3))))
def shape_errors(x, m):
    out = []
    for f in (
        lambda: x @ m,
        lambda: x.reshape(7, 7),
        lambda: x + m,
        lambda: np.linalg.inv(np.zeros((2, 2))),
        lambda: x["a"],
        lambda: m[5],
        lambda: np.concatenate([x, m]),
        lambda: x.nope,
    ):
        try:
            f()
        except Exception as e:
            out.append((type(e).__name__, str(e)))
    return out


@program(lambda r: (r.random(50),))
def shape_error_uncaught(x):
    y = x * 2
    print("x")
    return y.reshape(7, 7) + 1


@dataclass
class Particle:
    pos: np.ndarray
    vel: np.ndarray
    mass: float = 1.0
    trail: list = field(default_factory=list)

    def kick(self, f, dt):
        self.vel = self.vel + f / self.mass * dt
        self.pos = self.pos + self.vel * dt
        self.trail.append(self.pos.copy())


@program(lambda r: ([Particle(r.random(3), r.random(3), float(r.random()) + 1) for _ in range(3)], 6))
def particles(ps, n):
    for _ in range(n):
        c = sum(p.pos * p.mass for p in ps) / sum(p.mass for p in ps)
        for p in ps:
            d = c - p.pos
            p.kick(d / (np.linalg.norm(d) + 0.1) ** 2, 0.1)
    return [p.pos for p in ps], ps[0].trail[-1] is ps[0].pos, len(ps[0].trail)


@program(lambda r: (r.random(64), 4))
def stateful_gen(x, n):
    def chunks(a):
        for i in range(0, len(a), 16):
            c = a[i : i + 16]
            yield c.mean(), np.sqrt((c * c).sum())

    tot = 0.0
    for m, s in chunks(x):
        tot = tot + m * s
        n -= 1
    g = chunks(x)
    next(g)
    return tot, n, next(g), list(g)[-1]


@program(lambda r: (r.random(40), {"a": 1.0, "b": 2.0}))
def dict_params(x, params):
    y = x * params["a"] + params["b"]
    params["c"] = float(y.max())
    for k, v in list(params.items()):
        params[k] = v * 2
    y = y + params["c"]
    old = params.pop("a")
    return y, old, params, sorted(params)


@program(lambda r: (r.random(30), r.random(30)))
def star_everything(x, y):
    def agg(*arrs, how="sum", **kw):
        t = np.stack(arrs)
        return getattr(t, how)(**kw)

    a = agg(x, y, axis=0)
    b = agg(*[x, y, x], how="mean", **{"axis": 1})
    first, *mid, last = a
    return a, b, first, len(mid), last, (*b, 1)


@program(lambda r: (r.random(10), 3))
def nested_try(x, n):
    log = []

    def risky(k):
        if k % 2:
            raise KeyError(k)
        return x[k] * 2

    tot = 0
    for k in range(n + 2):
        try:
            try:
                v = risky(k)
            except KeyError as e:
                log.append(e.args)
                if k == 3:
                    raise ValueError("three") from e
                continue
            finally:
                log.append(k)
            tot = tot + v
        except ValueError as e:
            log.append((str(e), type(e.__cause__).__name__, type(e.__context__).__name__))
            break
    return tot, log, k


@program(lambda r: (5,))
def mutual(n):
    def even(k):
        return True if k == 0 else odd(k - 1)

    def odd(k):
        return False if k == 0 else even(k - 1)

    return even(n), odd(n), [even(i) for i in range(4)]


@program(lambda r: (r.random(20),))
def local_class(x):
    class Acc:
        scale = 2

        def __init__(self):
            self.v = np.zeros(20)
            self.n = 0

        def add(self, a):
            self.v = self.v + a * self.scale
            self.n += 1
            return self

        def __enter__(self):
            return self

        def __exit__(self, *a):
            self.n = -self.n
            return True

        def __getitem__(self, i):
            return self.v[i]

        def __len__(self):
            return self.n

        def __iadd__(self, o):
            self.v = self.v + o
            return self

    acc = Acc()
    with acc as a:
        a.add(x).add(x * 2)
        a += 1
        raise RuntimeError("swallowed")
    return acc.v, acc.n, acc[3]


@program(lambda r: (r.random(30),))
def threads_prog(x):
    res = {}

    def work(i):
        res[i] = float((x * i).sum())

    ts = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    [t.start() for t in ts]
    [t.join() for t in ts]
    q = queue.Queue()
    q.put(x)
    y = q.get()
    return sorted(res.items()), y is x


@program(lambda r: (r.integers(0, 5, 40),))
def counting(a):
    c = collections.Counter(a.tolist())
    u, n = np.unique(a, return_counts=True)
    assert dict(zip(u.tolist(), n.tolist())) == dict(c), "mismatch"
    groups = {k: [i for i, v in enumerate(a) if v == k] for k in c}
    inv = np.empty(len(a), int)
    for k, idx in groups.items():
        inv[idx] = k
    return u, n, groups, (inv == a).all(), np.add.at(inv, [0, 0], 1), inv[0]


@program(lambda r: (r.random((6, 6)), 2))
def conv2d(img, k):
    h, w = img.shape
    out = np.zeros((h - k + 1, w - k + 1))
    ker = np.arange(k * k).reshape(k, k) / 10
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = (img[i : i + k, j : j + k] * ker).sum()
    print(f"{out.mean():.5f}")
    return out, ker


@program(lambda r: (r.random(60), 5))
def moving(x, w):
    s = 0.0
    out = []
    for i, v in enumerate(x):
        s += v
        if i >= w:
            s -= x[i - w]
        if i >= w - 1:
            out.append(s / w)
    return out, np.array(out).std(), s


@program(lambda r: (r.random(20) - 0.5, 0.1))
def newton(x, tol):
    def f(t):
        return t**3 - 2 * t + 0.5

    def df(t):
        return 3 * t**2 - 2

    roots = []
    for t in x[:5]:
        for it in range(50):
            d = df(t)
            if d == 0:
                break
            step = f(t) / d
            t = t - step
            if abs(step) < tol:
                break
        roots.append((t, it))
    return roots


@program(lambda r: (np.arange(6), [1, 2], (3, 4), "s", None, True, 2.5, {1, 2}, b"x", slice(1, 3), range(3), np.float32(1.5), print, int))
def passthrough(a, l, t, s, n, b, f, st, by, sl, rg, g, fn, ty):
    y = a * 2 + 1
    r = (a, l, t, s, n, b, f, st, by, sl, rg, g, fn, ty)
    return all(u is v for u, v in zip(r, (a, l, t, s, n, b, f, st, by, sl, rg, g, fn, ty))), y, a[sl], list(rg), ty(f), type(g).__name__, l


class Lazy:
    reads = 0

    def __init__(self, v):
        self.v = v

    def __getattr__(self, name):
        if name.startswith("x_"):
            Lazy.reads += 1
            return self.v * float(name[2:])
        raise AttributeError(name)

    @property
    def twice(self):
        Lazy.reads += 10
        return self.v * 2


@program(lambda r: (Lazy(r.random(5)),))
def lazies(o):
    Lazy.reads = 0
    a = o.x_2 + o.x_3
    b = o.twice + 1
    try:
        o.nope  # noqa: B018
    except AttributeError as e:
        c = str(e)
    return a, b, c, Lazy.reads


class Loud:
    log = []

    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        Loud.log.append("eq")
        return self.v == getattr(o, "v", o)

    def __bool__(self):
        Loud.log.append("bool")
        return self.v > 0

    def __add__(self, o):
        Loud.log.append("add")
        return Loud(self.v + getattr(o, "v", o))

    __radd__ = __add__

    def __len__(self):
        Loud.log.append("len")
        return 3

    def __iter__(self):
        Loud.log.append("iter")
        return iter([1, 2])

    def __hash__(self):
        return 1

    def __contains__(self, k):
        Loud.log.append("in")
        return k == 1

    def __array__(self, dtype=None, copy=None):
        Loud.log.append("array")
        return np.ones(3)


@program(lambda r: (Loud(2), r.random(3)))
def louds(o, x):
    Loud.log.clear()
    a = o + 1
    b = 3 + o
    t = 1 if o else 0
    y = np.add(x, o)
    z = sum([o, 1], 0)
    u = [*o]
    v = 1 in o, o == 2, len(o)
    return a.v, b.v, t, y, z.v, u, v, list(Loud.log)


@program(lambda r: (r.random(4), r.random(4)))
def np_misc(x, y):
    a = np.where(x > 0.5, x, y)
    b = np.argsort(x)
    c = np.searchsorted(np.sort(x), 0.5)
    x.sort()
    d = x.tolist()
    e = np.array2string(x, precision=2)
    f = repr(y.round(2))
    g = str(x.dtype)
    h = np.isclose(x, d).all()
    i = np.vectorize(lambda t: t * 2)(y)
    j = np.apply_along_axis(np.sum, 0, y)
    k = np.random.RandomState(3).rand(2)
    l = np.random.default_rng(3).integers(0, 9, 3)
    m = np.fromiter((v * v for v in y), float, 4)
    n = np.meshgrid(x, y)[0].sum()
    o = np.poly1d([1, 2])(2)
    p = np.busday_count("2020-01", "2020-02")
    return a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p


@program(lambda r: (r.random(20), 4))
def rebind_arg_in_loop(x, n):
    keep = []
    while n:
        x = x[x > x.mean()] if len(x) > 3 else x
        keep.append(len(x))
        n -= 1
    return x, keep, n


@program(lambda r: (r.random(20), [0.0] * 3))
def swap_and_slices(x, acc):
    acc[0], acc[-1] = float(x[0]), float(x[-1])
    a, b = x[:10].copy(), x[10:].copy()
    a[:5], b[:5] = b[:5].copy(), a[:5].copy()
    i = 0
    i, acc[i] = 1, 9.0
    x[[0, 1]] = x[[1, 0]]
    x[x < 0.2] = 0
    return a, b, acc, i, x


@program(lambda r: (r.random(9),))
def iterator_state(x):
    it = iter(x)
    a = next(it)
    s = 0.0
    for v in it:
        s = s + v
        if s > 1.5:
            break
    rest = sum(1 for _ in it)
    z = zip(range(3), "abc")
    first = next(z)
    e = enumerate(x)
    next(e)
    return a, s, rest, first, list(z), next(e)[0], next(it, "end")
