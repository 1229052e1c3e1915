"""Products of matrices and vectors."""

from __future__ import annotations

from draft import Draft
from families import statement

PRODUCTS = ("X @ Y", "X @ Y.T", "X.T @ Y", "np.dot(X, Y)", "np.matmul(X, Y)", "np.outer(X, Y)", "np.inner(X, Y)", "np.vdot(X, Y)", "X @ X.T", "X.T @ X", "X @ Y + X", "(X @ Y) * 2", "X @ Y @ X", "np.tanh(X @ Y.T)",
            "X @ Y[0]", "X[0] @ Y")  # fmt: skip


@statement("products", 1)
def product(d: Draft) -> bool:
    x, y = d.array("fib", least=1, most=3), d.array("fib", least=1, most=3)
    return d.keep([f"{d.new()} = {d.of(*PRODUCTS).replace('X', x).replace('Y', y)}"])
