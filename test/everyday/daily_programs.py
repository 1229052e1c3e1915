"""Programs of everyday Python: tables as lists of lists, graphs as adjacency lists, queues, text, accounts, parsers, classes with state."""

from __future__ import annotations

import collections
import functools
import heapq
import math
import random
from dataclasses import dataclass, field

import numpy as np
from everyday_programs import Programs, registered

PROGRAMS: Programs = {}
program = registered(PROGRAMS)


def word(r, n, letters="abcd"):
    return "".join(r.choice(list(letters), n))


def graph_of(r, n, degree):
    return [sorted({int(v) for v in r.integers(0, n, degree)}) for _ in range(n)]


# --- dynamic programming -------------------------------------------------------------------------------------------------


@program(lambda r: (word(r, 40), word(r, 35)))
def edit_distance_table(a, b):
    m, n = len(a), len(b)
    dp = [[0] * (n + 1) for _ in range(m + 1)]
    for i in range(m + 1):
        dp[i][0] = i
    for j in range(n + 1):
        dp[0][j] = j
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            dp[i][j] = min(dp[i - 1][j] + 1, dp[i][j - 1] + 1, dp[i - 1][j - 1] + cost)
    return dp[m][n], dp[1]


@program(lambda r: (r.integers(1, 30, 25), r.integers(1, 100, 25), 120))
def knapsack_table(weights, values, capacity):
    n = len(weights)
    best = [[0.0] * (capacity + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        w, v = int(weights[i - 1]), float(values[i - 1])
        for c in range(capacity + 1):
            best[i][c] = best[i - 1][c]
            if w <= c and best[i - 1][c - w] + v > best[i][c]:
                best[i][c] = best[i - 1][c - w] + v
    chosen, c = [], capacity
    for i in range(n, 0, -1):
        if best[i][c] != best[i - 1][c]:
            chosen.append(i - 1)
            c -= int(weights[i - 1])
    return best[n][capacity], chosen


@program(lambda r: (200, [1, 2, 5, 10, 25, 50]))
def coin_ways(amount, coins):
    ways = [0] * (amount + 1)
    ways[0] = 1
    for coin in coins:
        for a in range(coin, amount + 1):
            ways[a] += ways[a - coin]
    return ways[amount]


@program(lambda r: (r.integers(0, 50, 24).tolist(),))
def longest_increasing(xs):
    best = [1] * len(xs)
    before = [-1] * len(xs)
    for i in range(len(xs)):
        for j in range(i):
            if xs[j] < xs[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
                before[i] = j
    k = best.index(max(best))
    path = []
    while k >= 0:
        path.append(xs[k])
        k = before[k]
    return path[::-1]


# --- matrices as lists ----------------------------------------------------------------------------------------------------


@program(lambda r: (r.random((12, 12)).tolist(), r.random((12, 12)).tolist()))
def matmul_lists(a, b):
    n, k, m = len(a), len(b), len(b[0])
    c = [[0.0] * m for _ in range(n)]
    for i in range(n):
        for j in range(m):
            s = 0.0
            for t in range(k):
                s += a[i][t] * b[t][j]
            c[i][j] = s
    return c


@program(lambda r: ((r.random((8, 8)) + 4 * np.eye(8)).tolist(), r.random(8).tolist()))
def gauss_solve(a, b):
    a = [row[:] for row in a]
    b = b[:]
    n = len(b)
    for k in range(n):
        p = max(range(k, n), key=lambda i: abs(a[i][k]))
        if a[p][k] == 0:
            raise ZeroDivisionError("singular")
        a[k], a[p] = a[p], a[k]
        b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i][k] / a[k][k]
            for j in range(k, n):
                a[i][j] -= f * a[k][j]
            b[i] -= f * b[k]
    x = [0.0] * n
    for i in reversed(range(n)):
        x[i] = (b[i] - sum(a[i][j] * x[j] for j in range(i + 1, n))) / a[i][i]
    return x


@program(lambda r: (r.integers(0, 2, (8, 8)).tolist(), 3))
def life_lists(board, steps):
    n, m = len(board), len(board[0])
    for _ in range(steps):
        new = [[0] * m for _ in range(n)]
        for i in range(n):
            for j in range(m):
                s = sum(board[(i + di) % n][(j + dj) % m] for di in (-1, 0, 1) for dj in (-1, 0, 1) if di or dj)
                new[i][j] = 1 if s == 3 or (s == 2 and board[i][j]) else 0
        board = new
    return board


@program(lambda r: (30, 30, 40))
def mandelbrot_lists(w, h, depth):
    rows = []
    for y in range(h):
        row = []
        for x in range(w):
            c = complex(-2 + 3 * x / w, -1.5 + 3 * y / h)
            z = 0j
            n = 0
            while abs(z) <= 2 and n < depth:
                z = z * z + c
                n += 1
            row.append(n)
        rows.append(row)
    return rows


# --- graphs ----------------------------------------------------------------------------------------------------------------


@program(lambda r: (graph_of(r, 60, 4), 0))
def bfs_distances(graph, start):
    dist = [-1] * len(graph)
    dist[start] = 0
    queue = collections.deque([start])
    while queue:
        u = queue.popleft()
        for v in graph[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


@program(lambda r: ([[(int(v), float(r.random())) for v in vs] for vs in graph_of(r, 50, 5)], 0))
def dijkstra_heap(graph, source):
    dist = {source: 0.0}
    done = set()
    heap = [(0.0, source)]
    while heap:
        d, u = heapq.heappop(heap)
        if u in done:
            continue
        done.add(u)
        for v, w in graph[u]:
            if d + w < dist.get(v, math.inf):
                dist[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return dist, len(done)


@program(lambda r: (graph_of(r, 50, 3),))
def topological(graph):
    state = [0] * len(graph)
    order = []
    cycles = 0

    def visit(u):
        nonlocal cycles
        state[u] = 1
        for v in graph[u]:
            if state[v] == 0:
                visit(v)
            elif state[v] == 1:
                cycles += 1
        state[u] = 2
        order.append(u)

    for u in range(len(graph)):
        if state[u] == 0:
            visit(u)
    return order[::-1], cycles


@program(lambda r: (40, r.integers(0, 40, (60, 2)).tolist()))
def union_find(n, edges):
    parent = list(range(n))

    def find(x):
        while parent[x] != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    joined = 0
    for a, b in edges:
        ra, rb = find(a), find(b)
        if ra != rb:
            parent[ra] = rb
            joined += 1
    return joined, len({find(x) for x in range(n)})


@program(lambda r: (r.random((25, 25)),))
def floyd_warshall(w):
    d = w.copy()
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


# --- simulation and state --------------------------------------------------------------------------------------------------


@dataclass
class Account:
    owner: str
    balance: float = 0.0
    history: list = field(default_factory=list)

    def deposit(self, amount):
        if amount <= 0:
            raise ValueError("amount must be positive")
        self.balance += amount
        self.history.append(("deposit", amount))

    def withdraw(self, amount):
        if amount > self.balance:
            raise ValueError(f"{self.owner} has only {self.balance:.2f}")
        self.balance -= amount
        self.history.append(("withdraw", amount))


@program(lambda r: ([Account("ann", 100.0), Account("bob", 50.0)], (r.random(40) * 60).round(2).tolist()))
def bank(accounts, amounts):
    failed = []
    for i, amount in enumerate(amounts):
        a, b = accounts[i % 2], accounts[(i + 1) % 2]
        try:
            a.withdraw(amount)
            b.deposit(amount)
        except ValueError as e:
            failed.append(str(e))
    return failed, [round(a.balance, 6) for a in accounts], [len(a.history) for a in accounts]


@program(lambda r: (3000, 5))
def monte_carlo_pi(n, seed):
    rng = random.Random(seed)
    inside = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if math.hypot(x, y) <= 1.0:
            inside += 1
    return 4 * inside / n


@program(lambda r: (r.exponential(1.0, 300), r.exponential(0.8, 300)))
def queue_times(arrivals, services):
    t, free = 0.0, 0.0
    waits = []
    longest = 0
    waiting = collections.deque()
    for a, s in zip(arrivals, services):
        t += a
        while waiting and waiting[0] <= t:
            waiting.popleft()
        start = max(t, free)
        waits.append(start - t)
        free = start + s
        waiting.append(free)
        longest = max(longest, len(waiting))
    return sum(waits) / len(waits), max(waits), longest


class Pendulum:
    def __init__(self, angle, speed):
        self.angle, self.speed, self.time = angle, speed, 0.0
        self.trace = []

    def energy(self):
        return 0.5 * self.speed**2 - 9.81 * math.cos(self.angle)

    def step(self, dt):
        a1 = -9.81 * math.sin(self.angle)
        mid = self.speed + 0.5 * dt * a1
        self.angle = math.remainder(self.angle + dt * mid, 2 * math.pi)
        self.speed = mid - 0.5 * dt * 9.81 * math.sin(self.angle)
        self.time += dt
        self.trace.append((self.time, self.angle))


@program(lambda r: (Pendulum(1.0, 0.2), 200))
def pendulum(p, steps):
    e0 = p.energy()
    for _ in range(steps):
        p.step(0.01)
    return p.energy() - e0, p.trace[-1], len(p.trace)


@program(lambda r: (0.5, 3.7, 500))
def logistic_orbit(x, k, n):
    seen = collections.Counter()
    for _ in range(n):
        x = k * x * (1 - x)
        seen[math.floor(x * 10)] += 1
    return x, sorted(seen.items())


# --- statistics and signals ------------------------------------------------------------------------------------------------


@program(lambda r: (r.normal(size=200).tolist(), r.normal(size=200).tolist()))
def regression(xs, ys):
    n = len(xs)
    mx, my = math.fsum(xs) / n, math.fsum(ys) / n
    sxy = math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys))
    sxx = math.fsum((x - mx) ** 2 for x in xs)
    slope = sxy / sxx
    return slope, my - slope * mx, math.sqrt(sxx / n)


@program(lambda r: (r.normal(size=256),))
def fft_by_hand(x):
    def fft(v):
        n = len(v)
        if n == 1:
            return v
        even, odd = fft(v[0::2]), fft(v[1::2])
        t = np.exp(-2j * np.pi * np.arange(n // 2) / n) * odd
        return np.concatenate([even + t, even - t])

    return fft(x.astype(complex))


@program(lambda r: (r.normal(size=300), 0.2))
def smoothing_closure(x, alpha):
    level = 0.0

    def update(v):
        nonlocal level
        level = alpha * v + (1 - alpha) * level
        return level

    return [update(float(v)) for v in x], level


@program(lambda r: (r.normal(size=400), 9))
def running_median(x, w):
    out = np.empty(len(x) - w + 1)
    for i in range(len(out)):
        out[i] = sorted(x[i : i + w])[w // 2]
    return out


@program(lambda r: (r.normal(size=300),))
def filtered_values(x):
    positive = list(filter(lambda v: v > 0, x))
    big = sum(1 for v in positive if v > 1)
    total = sum(filter(None, (v if v > 0.5 else 0 for v in x)))
    return len(positive), big, total, max(filter(lambda v: v < 0, x))


@program(lambda r: (r.random((24, 24)), r.random((3, 3))))
def convolve_image(img, k):
    h, w = img.shape
    out = np.zeros((h - 2, w - 2))
    for i in range(h - 2):
        for j in range(w - 2):
            s = 0.0
            for a in range(3):
                for b in range(3):
                    s += img[i + a, j + b] * k[a, b]
            out[i, j] = s
    return np.clip(out, 0, 4)


@program(lambda r: ([r.random(30) for _ in range(6)],))
def sum_of_chosen(rows):
    total = sum(row for row in rows if row[0] > 0.3)
    return total, sum(float(row.max()) for row in rows if row.mean() > 0.45)


@program(lambda r: (60,))
def pascal(n):
    rows = [[1]]
    for k in range(1, n):
        last = rows[-1]
        rows.append([1] + [last[i] + last[i + 1] for i in range(k - 1)] + [1])
    return sum(rows[n // 2]), rows[5], math.comb(n, n // 2) == max(rows[-1]) * 2 - 0


# --- text ------------------------------------------------------------------------------------------------------------------


@program(lambda r: (" ".join(word(r, 3, "abc") for _ in range(150)),))
def word_counts(text):
    counts = {}
    for w in text.split():
        counts[w] = counts.get(w, 0) + 1
    most = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:5]
    entropy = -math.fsum(c / len(text) * math.log2(c / len(text)) for c in counts.values())
    for w, c in most:
        print(f"{w:>5} {c}")
    return most, entropy


@program(lambda r: ("3 + 4 * (2 - 1.5) / -(5) + 2 ^ 3",))
def calculator(text):
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace("-(", "- (").split()
    pos = 0

    def take():
        nonlocal pos
        pos += 1
        return tokens[pos - 1]

    def peek():
        return tokens[pos] if pos < len(tokens) else None

    def atom():
        t = take()
        if t == "(":
            v = expr()
            take()
            return v
        if t == "-":
            return -atom()
        return float(t)

    def power():
        base = atom()
        if peek() == "^":
            take()
            return base ** power()
        return base

    def term():
        v = power()
        while peek() in ("*", "/"):
            v = v * power() if take() == "*" else v / power()
        return v

    def expr():
        v = term()
        while peek() in ("+", "-"):
            v = v + term() if take() == "+" else v - term()
        return v

    return expr()


@program(lambda r: ("attack at dawn, retreat at dusk. " * 4, 3))
def caesar(text, shift):
    out = []
    for ch in text:
        if ch.isalpha():
            base = ord("a") if ch.islower() else ord("A")
            out.append(chr((ord(ch) - base + shift) % 26 + base))
        else:
            out.append(ch)
    return "".join(out)


@program(lambda r: (28,))
def memoised(n):
    @functools.cache
    def fib(k):
        return k if k < 2 else fib(k - 1) + fib(k - 2)

    return fib(n), fib.cache_info().hits


@program(lambda r: (2000,))
def primes_and_gcds(n):
    sieve = [True] * (n + 1)
    sieve[0] = sieve[1] = False
    for i in range(2, math.isqrt(n) + 1):
        if sieve[i]:
            for j in range(i * i, n + 1, i):
                sieve[j] = False
    primes = [i for i in range(n + 1) if sieve[i]]
    coprime = 0
    for i in range(1, 60):
        for j in range(1, 60):
            if math.gcd(i, j) == 1:
                coprime += 1
    return len(primes), primes[-1], coprime


@program(lambda r: (r.random((40, 2)).tolist(), 4, 6))
def kmeans_lists(points, k, rounds):
    centres = [list(p) for p in points[:k]]
    for _ in range(rounds):
        groups = [[] for _ in range(k)]
        for p in points:
            d = [math.dist(p, c) for c in centres]
            groups[d.index(min(d))].append(p)
        for i, g in enumerate(groups):
            if g:
                centres[i] = [sum(v[0] for v in g) / len(g), sum(v[1] for v in g) / len(g)]
    return centres, [len(g) for g in groups]


@program(lambda r: (r.integers(1, 100, 40).tolist(),))
def heap_sort(xs):
    a = list(xs)
    n = len(a)

    def sift(root, end):
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if a[root] >= a[child]:
                return
            a[root], a[child] = a[child], a[root]
            root = child

    for i in range(n // 2 - 1, -1, -1):
        sift(i, n)
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        sift(0, end)
    return a


@program(lambda r: (8,))
def n_queens(n):
    count = 0
    cols, d1, d2 = set(), set(), set()

    def place(row):
        nonlocal count
        if row == n:
            count += 1
            return
        for c in range(n):
            if c in cols or row + c in d1 or row - c in d2:
                continue
            cols.add(c), d1.add(row + c), d2.add(row - c)
            place(row + 1)
            cols.remove(c), d1.remove(row + c), d2.remove(row - c)

    place(0)
    return count


@program(lambda r: (r.random((16, 16)),))
def power_iteration(m):
    a = m @ m.T
    v = np.ones(len(a))
    for i in range(200):
        w = a @ v
        n = np.linalg.norm(w)
        w = w / n
        if np.abs(w - v).max() < 1e-12:
            break
        v = w
    return n, v, i
