"""Kernels for `python -m benchmarks.loops`: stencils, linear algebra by elements and slices, dynamic programming, sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def go_fast(a):
    t = 0.0
    for i in range(a.shape[0]):
        t += np.tanh(a[i, i])
    return a + t


def jacobi_1d(n, A, B):
    for _ in range(1, n):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return A


def jacobi_2d(n, A, B):
    for _ in range(1, n):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A


def heat_3d(n, A, B):
    for _ in range(1, n):
        B[1:-1, 1:-1, 1:-1] = (
            0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, 0:-2])
            + A[1:-1, 1:-1, 1:-1]
        )
        A[1:-1, 1:-1, 1:-1] = (
            0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
            + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
            + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, 0:-2])
            + B[1:-1, 1:-1, 1:-1]
        )
    return A


def floyd(path):
    for k in range(path.shape[0]):
        path[:] = np.minimum(path, path[:, k : k + 1] + path[k : k + 1, :])
    return path


def cholesky(A):
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, A.shape[0]):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return A


def gramschmidt(A):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        nrm = np.dot(A[:, k], A[:, k])
        R[k, k] = np.sqrt(nrm)
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return (Q, R)


def lu(A):
    for i in range(A.shape[0]):
        for j in range(i):
            A[i, j] -= A[i, :j] @ A[:j, j]
            A[i, j] /= A[j, j]
        for j in range(i, A.shape[0]):
            A[i, j] -= A[i, :i] @ A[:i, j]
    return A


def trisolv(L, x, b):
    for i in range(x.shape[0]):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def trmm(alpha, A, B):
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] += np.dot(A[i + 1 :, i], B[i + 1 :, j])
    B *= alpha
    return B


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, : i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, : i + 1] += alpha * A[i, k] * A[: i + 1, k]
    return C


def symm(alpha, beta, C, A, B):
    temp2 = np.empty((C.shape[1],))
    C *= beta
    for i in range(C.shape[0]):
        for j in range(C.shape[1]):
            C[:i, j] += alpha * B[i, j] * A[i, :i]
            temp2[j] = B[:i, j] @ A[i, :i]
        C[i, :] += alpha * B[i, :] * A[i, i] + alpha * temp2
    return C


def nussinov(seq):
    N = seq.shape[0]
    table = np.zeros((N, N), np.int32)
    for i in range(N - 1, -1, -1):
        for j in range(i + 1, N):
            if j - 1 >= 0:
                table[i, j] = max(table[i, j], table[i, j - 1])
            if i + 1 < N:
                table[i, j] = max(table[i, j], table[i + 1, j])
            if j - 1 >= 0 and i + 1 < N:
                if i < j - 1:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1] + (1 if seq[i] + seq[j] == 3 else 0))
                else:
                    table[i, j] = max(table[i, j], table[i + 1, j - 1])
            for k in range(i + 1, j):
                table[i, j] = max(table[i, j], table[i, k] + table[k + 1, j])
    return table


def covariance(M, data):
    mean = np.mean(data, axis=0)
    data -= mean
    cov = np.zeros((M, M))
    for i in range(M):
        cov[i:M, i] = cov[i, i:M] = data[:, i] @ data[:, i:M] / (data.shape[0] - 1.0)
    return cov


def fdtd(tmax, ex, ey, hz, fict):
    for t in range(tmax):
        ey[0, :] = fict[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return hz


def crc16(data):
    crc = 65535
    for b in data:
        cur = 255 & b
        for _ in range(8):
            if crc & 1 ^ cur & 1:
                crc = crc >> 1 ^ 33800
            else:
                crc >>= 1
            cur >>= 1
    crc = ~crc & 65535
    return (crc << 8 | crc >> 8 & 255) & 65535


def mandel_r(xs, ys, maxiter):
    out = np.zeros((len(ys), len(xs)), np.int64)
    for i in range(len(ys)):
        for j in range(len(xs)):
            a = b = 0.0
            n = 0
            while n < maxiter and a * a + b * b <= 4.0:
                a, b = (a * a - b * b + xs[j], 2 * a * b + ys[i])
                n += 1
            out[i, j] = n
    return out


def nbody(pos, vel, mass, steps):
    n = len(mass)
    for _ in range(steps):
        for i in range(n):
            ax = ay = az = 0.0
            for j in range(n):
                if i != j:
                    dx = pos[j, 0] - pos[i, 0]
                    dy = pos[j, 1] - pos[i, 1]
                    dz = pos[j, 2] - pos[i, 2]
                    inv = (dx * dx + dy * dy + dz * dz + 0.01) ** (-1.5)
                    ax += mass[j] * dx * inv
                    ay += mass[j] * dy * inv
                    az += mass[j] * dz * inv
            vel[i, 0] += 0.01 * ax
            vel[i, 1] += 0.01 * ay
            vel[i, 2] += 0.01 * az
        pos += 0.01 * vel
    return pos


def spmv(row, col, val, x):
    y = np.empty(row.size - 1)
    for i in range(row.size - 1):
        cols = col[row[i] : row[i + 1]]
        vals = val[row[i] : row[i + 1]]
        y[i] = vals @ x[cols]
    return y


def spmv2(row, col, val, x):
    y = np.zeros(row.size - 1)
    for i in range(row.size - 1):
        s = 0.0
        for k in range(row[i], row[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s
    return y


def azimint(data, radius, npt):
    rmax = radius.max()
    res = np.zeros(npt)
    for i in range(npt):
        r1 = rmax * i / npt
        r2 = rmax * (i + 1) / npt
        mask = np.logical_and(r1 <= radius, radius < r2)
        res[i] = data[mask].mean()
    return res


def conv2d(x, k):
    K = k.shape[0]
    out = np.empty((x.shape[0], x.shape[1] - K + 1, x.shape[2] - K + 1, k.shape[3]))
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j, :] = np.sum(x[:, i : i + K, j : j + K, :, np.newaxis] * k[np.newaxis], axis=(1, 2, 3))
    return out


def sieve(n):
    is_p = np.ones(n + 1, np.bool_)
    is_p[:2] = False
    i = 2
    while i * i <= n:
        if is_p[i]:
            for j in range(i * i, n + 1, i):
                is_p[j] = False
        i += 1
    return is_p.sum()


def knap(w, v, cap):
    best = np.zeros(cap + 1, np.int64)
    for i in range(len(w)):
        for c in range(cap, w[i] - 1, -1):
            t = best[c - w[i]] + v[i]
            if t > best[c]:
                best[c] = t
    return best[cap]


def insertion(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


def binsearch(a, q):
    out = np.empty(len(q), np.int64)
    for t in range(len(q)):
        lo, hi = (0, len(a))
        while lo < hi:
            mid = (lo + hi) // 2
            if a[mid] < q[t]:
                lo = mid + 1
            else:
                hi = mid
        out[t] = lo
    return out


def viterbi(logA, logB, obs):
    n = logA.shape[0]
    T = len(obs)
    d = logB[:, obs[0]].copy()
    back = np.zeros((T, n), np.int64)
    for t in range(1, T):
        e = np.empty(n)
        for j in range(n):
            b = 0
            bv = d[0] + logA[0, j]
            for i in range(1, n):
                s = d[i] + logA[i, j]
                if s > bv:
                    bv = s
                    b = i
            back[t, j] = b
            e[j] = bv + logB[j, obs[t]]
        d = e
    return d.max()


def pairdist(X):
    n = X.shape[0]
    D = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(X.shape[1]):
                t = X[i, k] - X[j, k]
                s += t * t
            D[i, j] = np.sqrt(s)
    return D


def lcg(n):
    x = 12345
    c = 0
    for _ in range(n):
        x = (1103515245 * x + 12345) % 2147483648
        if x & 1:
            c += 1
    return c


def collatz(n):
    best = 0
    for i in range(1, n):
        k = i
        s = 0
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            s += 1
        if s > best:
            best = s
    return best


def _definite(r: np.random.Generator, n: int) -> np.ndarray:
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n)


KERNELS: dict[str, tuple[Callable[..., Any], Callable[[np.random.Generator], tuple[Any, ...]]]] = {
    "trace of tanh": (go_fast, lambda r: (r.random((300, 300)),)),
    "Jacobi, one dimension": (jacobi_1d, lambda r: (50, r.random(400), r.random(400))),
    "Jacobi, two dimensions": (jacobi_2d, lambda r: (20, r.random((100, 100)), r.random((100, 100)))),
    "heat, three dimensions": (heat_3d, lambda r: (10, r.random((25, 25, 25)), r.random((25, 25, 25)))),
    "shortest paths": (floyd, lambda r: (r.random((100, 100)),)),
    "Cholesky by elements": (cholesky, lambda r: (_definite(r, 60),)),
    "Gram-Schmidt by columns": (gramschmidt, lambda r: (r.random((60, 50)),)),
    "LU by products": (lu, lambda r: (_definite(r, 50),)),
    "triangular system": (trisolv, lambda r: (_definite(r, 200), np.zeros(200), r.random(200))),
    "triangular product": (trmm, lambda r: (1.5, r.random((50, 50)), r.random((50, 60)))),
    "rank-k update": (syrk, lambda r: (1.5, 1.2, r.random((50, 50)), r.random((50, 40)))),
    "symmetric product": (symm, lambda r: (1.5, 1.2, r.random((40, 50)), r.random((40, 40)), r.random((40, 50)))),
    "RNA folding": (nussinov, lambda r: (r.integers(0, 4, 60),)),
    "covariance by rows": (covariance, lambda r: (50, r.random((60, 50)))),
    "waves on a grid": (fdtd, lambda r: (20, r.random((80, 90)), r.random((80, 90)), r.random((80, 90)), r.random(20))),
    "CRC-16": (crc16, lambda r: (r.integers(0, 256, 2000).astype(np.uint8),)),
    "Mandelbrot by floats": (mandel_r, lambda r: (np.linspace(-2, 1, 60), np.linspace(-1, 1, 50), 50)),
    "n bodies": (nbody, lambda r: (r.random((30, 3)), r.random((30, 3)), r.random(30), 3)),
    "sparse product by slices": (spmv, lambda r: (np.arange(0, 2001, 10), r.integers(0, 300, 2000), r.random(2000), r.random(300))),
    "sparse product by elements": (spmv2, lambda r: (np.arange(0, 2001, 10), r.integers(0, 300, 2000), r.random(2000), r.random(300))),
    "azimuthal integration": (azimint, lambda r: (r.random(5000), r.random(5000), 50)),
    "convolution by windows": (conv2d, lambda r: (r.random((2, 16, 16, 3)), r.random((3, 3, 3, 4)))),
    "sieve of primes": (sieve, lambda r: (20000,)),
    "knapsack": (knap, lambda r: (r.integers(1, 30, 40), r.integers(1, 90, 40), 300)),
    "insertion sort": (insertion, lambda r: (r.random(300),)),
    "binary search": (binsearch, lambda r: (np.sort(r.random(3000)), r.random(500))),
    "Viterbi": (viterbi, lambda r: (r.random((12, 12)), r.random((12, 6)), r.integers(0, 6, 60))),
    "distances of pairs": (pairdist, lambda r: (r.random((60, 8)),)),
    "linear congruences": (lcg, lambda r: (20000,)),
    "Collatz": (collatz, lambda r: (3000,)),
}
