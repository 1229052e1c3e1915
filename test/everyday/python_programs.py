"""Programs that are Python more than NumPy: classes, exceptions, generators, closures, files, strings."""

from __future__ import annotations

import abc
import bisect
import collections
import contextlib
import csv
import enum
import functools
import heapq
import io
import itertools
import logging
import math
import pathlib
import statistics
import tempfile
import warnings
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from everyday_programs import Programs, registered

PROGRAMS: Programs = {}
program = registered(PROGRAMS)


class Shape(abc.ABC):
    count = 0

    def __init__(self, name):
        self.name = name
        Shape.count += 1

    @abc.abstractmethod
    def area(self): ...
    def __repr__(self):
        return f"{type(self).__name__}({self.name})"

    def __lt__(self, other):
        return self.area() < other.area()


class Circle(Shape):
    def __init__(self, r):
        super().__init__("circle")
        self.r = r

    def area(self):
        return math.pi * self.r**2


class Rect(Shape):
    def __init__(self, w, h):
        super().__init__("rect")
        self.w, self.h = w, h

    def area(self):
        return self.w * self.h


@program(lambda r: (list(r.random(5)),))
def shapes(radii):
    Shape.count = 0
    things = [Circle(r) if r > 0.5 else Rect(r, 2 * r) for r in radii]
    things.sort()
    total = sum(t.area() for t in things)
    return [repr(t) for t in things], total, Shape.count


@program(lambda r: (r.integers(0, 50, 30).tolist(), int(r.integers(0, 50))))
def two_sum(nums, target):
    seen = {}
    for i, n in enumerate(nums):
        if target - n in seen:
            return seen[target - n], i
        seen[n] = i
    raise LookupError(f"no pair sums to {target}")


def count_calls(f):
    @functools.wraps(f)
    def w(*a, **k):
        w.calls += 1
        return f(*a, **k)

    w.calls = 0
    return w


@count_calls
def step_(v):
    return v * 0.5 + 1


@program(lambda r: (float(r.random()), 10))
def decorated_helper(v, n):
    step_.calls = 0
    for _ in range(n):
        v = step_(v)
    return v, step_.calls


@program(lambda r: (r.random(40),))
def generator_pipeline(x):
    def windows(seq, k):
        buf = collections.deque(maxlen=k)
        for v in seq:
            buf.append(v)
            if len(buf) == k:
                yield tuple(buf)

    means = [statistics.fmean(w) for w in windows(x.tolist(), 4)]
    acc = list(itertools.accumulate(means, max))
    best, where = max((m, i) for i, m in enumerate(means))
    return np.array(acc), best, where


@program(lambda r: (r.random(10), r.integers(0, 3)))
def try_finally(x, k):
    log = []
    try:
        log.append("start")
        y = x / (x[0] - x[k])
        if not np.isfinite(y).all():
            raise FloatingPointError("not finite")
        return y, log
    except FloatingPointError as e:
        log.append(str(e))
        return None, log
    finally:
        log.append("end")


@program(lambda r: (r.random(20),))
def nested_closures(x):
    count = 0

    def outer(v):
        nonlocal count
        count += 1

        def inner(w):
            nonlocal count
            count += 10
            return w * count

        return inner(v) + count

    res = [outer(v) for v in x[:4]]
    y = outer(x)
    return res, y, count


@program(lambda r: ("the quick brown fox jumps over the lazy dog " * 3,))
def word_stats(text):
    words = text.split()
    freq = collections.Counter(words)
    longest = max(words, key=len)
    table = "\n".join(f"{w:<8}|{c:>3}" for w, c in freq.most_common(3))
    by_len = collections.defaultdict(set)
    for w in words:
        by_len[len(w)].add(w)
    return longest, table, {k: sorted(v) for k, v in sorted(by_len.items())}


@program(lambda r: (r.random((5, 5)),))
def file_roundtrip(a):
    with tempfile.TemporaryDirectory() as d:
        p = pathlib.Path(d) / "a.npy"
        np.save(p, a)
        b = np.load(p)
        with open(pathlib.Path(d) / "t.csv", "w", newline="") as f:
            w = csv.writer(f)
            w.writerow(["i", "v"])
            for i, v in enumerate(b.diagonal()):
                w.writerow([i, f"{v:.3f}"])
        text = (pathlib.Path(d) / "t.csv").read_text()
    return np.array_equal(a, b), text.replace("\r\n", "\n"), b * 2


class Color(enum.Enum):
    RED = 1
    GREEN = 2


@program(lambda r: (int(r.integers(0, 4)), r.random(4)))
def matcher(kind, x):
    what = [Color.RED, ("scale", 3.0), {"op": "shift", "by": 2}, [1, 2, 3]][kind]
    match what:
        case Color.RED:
            y = x * 2
        case ("scale", k):
            y = x * k
        case {"op": op, "by": by}:
            y = x + by
            print(op)
        case [first, *rest]:
            y = x * first + sum(rest)
        case _:
            y = None
    return y, kind


@program(lambda r: (r.integers(1, 40, 20).tolist(),))
def heap_merge(xs):
    h = []
    for x in xs:
        heapq.heappush(h, (-x, str(x)))
    out = []
    while h and len(out) < 5:
        p, s = heapq.heappop(h)
        out.append(s)
    return out, len(h), bisect.bisect_left(sorted(xs), 20)


@program(lambda r: (r.random(8), 3))
def walrus_and_del(x, n):
    total = 0.0
    if (m := x.mean()) > 0.2:
        total += m
    tmp = x * n
    del tmp
    try:
        print(tmp)
    except NameError as e:
        total += len(str(e)) * 0.01
    while (n := n - 1) > 0:
        total += n
    vals = [v2 for v in x if (v2 := v * v) > 0.25]
    return total, n, vals, v2


@program(lambda r: (r.random(6),))
def args_kwargs(x):
    def f(a, *rest, scale=1.0, **opts):
        return a * scale + sum(rest) + opts.get("bias", 0)

    conf = {"scale": 2.0, "bias": x[0]}
    y = f(x, *[1, 2], **conf)
    a, *b, c = x
    return y, a, b, c, [*b, *"ab"], {**conf, "k": 1}


@dataclass
class Account:
    balance: float = 0.0
    history: list = field(default_factory=list)

    def apply(self, amount):
        if self.balance + amount < 0:
            raise ValueError(f"insufficient funds: {self.balance:.2f} < {-amount:.2f}")
        self.balance += amount
        self.history.append(amount)
        return self


@program(lambda r: (r.normal(size=12) * 10,))
def bank(moves):
    acc = Account(5.0)
    refused = 0
    for m in moves:
        try:
            acc.apply(float(m))
        except ValueError as e:
            refused += 1
            last = str(e)
        else:
            last = "ok"
    return acc.balance, acc.history, refused, last, replace(acc, history=[]) == acc


@program(lambda r: (r.random(16),))
def fft_filter(x):
    X = np.fft.rfft(x)
    X[4:] = 0
    y = np.fft.irfft(X, n=len(x))
    power = np.abs(X) ** 2
    return y, power, np.angle(X[:3])


@program(lambda r: (complex(*r.random(2)), 30))
def mandel_point(c, n):
    z = 0j
    for k in range(n):
        z = z * z + c
        if abs(z) > 2:
            return k, z
    return n, z


@program(lambda r: (r.random(10),))
def raise_from(x):
    try:
        {}["missing"]
    except KeyError as e:
        raise RuntimeError(f"lookup failed after {x.sum():.3f}") from e


@program(lambda r: (r.random(10), "bad"))
def type_error(x, k):
    y = x * 2
    return y + k


@program(lambda r: (r.random(5), 7))
def index_error(x, k):
    y = x * 2
    print("about to fail")
    return y[k]


class MyError(Exception):
    def __init__(self, code, data):
        super().__init__(code, data)
        self.code = code
        self.data = data


@program(lambda r: (r.random(5),))
def own_exception(x):
    y = np.sort(x)[::-1]
    if y[0] > y[1]:
        raise MyError(3, y)


@program(lambda r: (r.random((10, 3)), r.integers(0, 2, 10)))
def perceptron(X, y):
    w = np.zeros(3)
    b = 0.0
    errors = 1
    epochs = 0
    while errors and epochs < 5:
        errors = 0
        for xi, t in zip(X, y):
            pred = 1 if xi @ w + b > 0 else 0
            if pred != t:
                w += (t - pred) * xi
                b += t - pred
                errors += 1
        epochs += 1
    return w, b, errors, epochs


@program(lambda r: (10,))
def lru_fib(n):
    @functools.cache
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n), fib.cache_info().hits, [fib(i) for i in range(5)]


@program(lambda r: (r.integers(0, 100, 12).tolist(),))
def quicksort(xs):
    def qs(a):
        if len(a) <= 1:
            return a
        p, *rest = a
        return qs([v for v in rest if v < p]) + [p] + qs([v for v in rest if v >= p])

    return qs(xs), xs


@program(lambda r: ([[1, 2, 3], [4, 5, 6]], {"a": [1]}))
def mutate_args(rows, d):
    for row in rows:
        row.append(sum(row))
        row[0] *= 10
    d.setdefault("b", []).append(len(rows))
    d["a"] += [2]
    rows[:] = [list(t) for t in zip(*rows)]
    return rows, d is d, rows is rows


@program(lambda r: (r.random(4), [], {}))
def identity(x, l, d):
    l.append(x)
    d["x"] = x
    same = l[0] is x and d["x"] is x
    x += 1
    t = (x, l)
    return x, l, d, same, t[0] is x, t[1] is l


COUNTER = 0
TABLE = np.arange(5.0)


@program(lambda r: (3,))
def global_counter(n):
    global COUNTER
    for _ in range(n):
        COUNTER += 1
    TABLE[0] += n
    r = COUNTER, TABLE.sum()
    COUNTER = 0
    TABLE[0] = 0
    return r


@program(lambda r: (r.random(30),))
def logging_prog(x):
    buf = io.StringIO()
    logger = logging.getLogger("own")
    logger.handlers.clear()
    logger.propagate = False
    h = logging.StreamHandler(buf)
    h.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logger.addHandler(h)
    logger.setLevel(logging.INFO)
    for i, chunk in enumerate(np.array_split(x, 3)):
        logger.info("chunk %d mean %.4f", i, chunk.mean())
        if chunk.max() > 0.99:
            logger.warning("large")
    return buf.getvalue()


class Point(NamedTuple):
    x: float
    y: float

    def norm(self):
        return math.hypot(self.x, self.y)


@program(lambda r: (Point(3.0, 4.0), [Point(float(a), float(b)) for a, b in r.random((4, 2))]))
def named_tuples(p, pts):
    far = max(pts, key=lambda q: q.norm())
    moved = [q._replace(x=q.x + 1) for q in pts]
    cx = sum(q.x for q in pts) / len(pts)
    return p.norm(), far, moved, Point(cx, p.y), p


@program(lambda r: (r.random((8, 8)) > 0.6,))
def flood_fill(grid):
    labels = np.zeros(grid.shape, int)
    cur = 0
    for i, j in np.ndindex(grid.shape):
        if grid[i, j] and not labels[i, j]:
            cur += 1
            stack = [(i, j)]
            while stack:
                a, b = stack.pop()
                if not (0 <= a < grid.shape[0] and 0 <= b < grid.shape[1]) or not grid[a, b] or labels[a, b]:
                    continue
                labels[a, b] = cur
                stack += [(a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)]
    return labels, cur, np.bincount(labels.ravel())[1:].tolist()


@program(lambda r: (Fraction(1, 3), Decimal("1.10"), 2**70))
def exact(f, d, n):
    s = sum(f / k for k in range(1, 6))
    t = d * 3
    big = n * n + 1
    fact = 1
    for i in range(1, 30):
        fact *= i
    return s, t, big, fact, big % 1000007, divmod(n, 7)


@program(lambda r: (r.random(12).reshape(3, 4),))
def warn_prog(a):
    with warnings.catch_warnings(record=True) as w:
        warnings.simplefilter("always")
        warnings.warn("careful", UserWarning, stacklevel=1)
        b = a - a[:, :1]
    return [str(x.message) for x in w], b


@program(lambda r: (b"hello world", "h\u00e9llo"))
def bytes_prog(b, s):
    e = s.encode("utf8")
    x = np.frombuffer(b, np.uint8)
    return e, bytes(x[::-1]), x.sum(), hash(s) == hash(str(s)), s.upper(), b.hex()


@program(lambda r: (r.random(20), r.random(20)))
def loop_else(a, b):
    for i, (p, q) in enumerate(zip(a, b)):
        if abs(p - q) < 1e-9:
            break
    else:
        i = -1
    for n in range(2, 8):
        for k in range(2, n):
            if n % k == 0:
                break
        else:
            print(n, "prime")
    return i, n, k


@contextlib.contextmanager
def section(name, log):
    log.append(f"<{name}>")
    try:
        yield log
    except ZeroDivisionError:
        log.append("div")
    finally:
        log.append(f"</{name}>")


@program(lambda r: (r.random(5), int(r.integers(0, 2))))
def ctx(x, d):
    log = []
    v = 0
    with section("a", log) as l, section("b", log):
        v = x.sum()
        v = v + 1 // d
        log.append("after")
    return v, log, l is log


@program(lambda r: (list("hello"), {"k": 1, "z": 0}))
def comps(s, d):
    a = {c: i for i, c in enumerate(s)}
    b = {len(k) for k in d}
    c = sorted(d.items(), key=lambda kv: kv[1])
    g = (x * 2 for x in range(3))
    return a, b, c, list(g), next(g, None), list(map(str.upper, s)), list(filter(None, d.values())), any(v > 0 for v in d.values())


@program(lambda r: (r.random(100), 5))
def histogram_text(x, bins):
    counts, edges = np.histogram(x, bins=bins, range=(0, 1))
    lines = []
    for c, lo, hi in zip(counts, edges, edges[1:]):
        lines.append("%.2f-%.2f %s" % (lo, hi, "#" * int(c)))  # noqa: UP031
    return "\n".join(lines), int(counts.sum())


@program(lambda r: (r.random((4, 4)),))
def power_iteration(a):
    a = a @ a.T
    v = np.ones(4) / 2
    for it in range(1, 101):
        w = a @ v
        lam = np.linalg.norm(w)
        w /= lam
        if np.allclose(w, v, atol=1e-10):
            break
        v = w
    return lam, v, it


@program(lambda r: (r.integers(0, 9, (9,)).tolist(),))
def bit_tricks(xs):
    h = 5381
    for x in xs:
        h = ((h << 5) + h + x) & 0xFFFFFFFF
    big = 1
    for x in xs:
        big = big * 31 + (x + 1)
    return h, big, [bin(x).count("1") for x in xs], ~h, h >> 3


class Tree:
    def __init__(self):
        self.root = None
        self.n = 0

    def insert(self, k):
        self.n += 1
        if self.root is None:
            self.root = [k, None, None]
            return
        node = self.root
        while True:
            side = 1 if k < node[0] else 2
            if node[side] is None:
                node[side] = [k, None, None]
                return
            node = node[side]

    def __iter__(self):
        def walk(n):
            if n:
                yield from walk(n[1])
                yield n[0]
                yield from walk(n[2])

        return walk(self.root)

    def __len__(self):
        return self.n


@program(lambda r: (r.integers(0, 100, 15).tolist(),))
def bst(keys):
    t = Tree()
    for k in keys:
        t.insert(k)
    return list(t), len(t), t.root[0], bool(t)


@program(lambda r: (r.random(8),))
def object_array(x):
    o = np.array([None, "a", x[0], [1]], dtype=object)
    s = np.array(["b", "a"])
    s.sort()
    dt = np.datetime64("2020-01-01") + np.arange(3)
    rec = np.array([(1, 2.0)], dtype=[("i", int), ("f", float)])
    return o[2], s.tolist(), str(dt[-1]), rec["f"][0], np.char.upper(s).tolist()


@program(lambda r: (r.random(8),))
def masked(x):
    m = np.ma.masked_less(x, 0.5)
    return float(m.mean()), m.count(), np.uint64(2**63) + np.uint64(1), x.astype(np.complex128) * 1j


@program(lambda r: (5,))
def yields(n):
    for i in range(n):
        got = yield i * 2
        if got:
            print("got", got)
    return "done"
