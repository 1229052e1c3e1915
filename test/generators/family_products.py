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


# of A, whose elements are small, and of W, which is far from singular
DECOMPOSED = ("np.linalg.solve(W, A)", "np.linalg.solve(W, A[..., 0])", "np.linalg.inv(W)", "np.linalg.det(W)", "np.linalg.slogdet(W)[1]", "np.linalg.cholesky(W)",
              "np.linalg.eigvalsh(W)", "np.linalg.svd(A, compute_uv=False)", "np.abs(np.linalg.qr(A).R)", "np.linalg.pinv(W)", "np.linalg.matrix_rank(W)",
              "np.linalg.lstsq(W, A)[0]", "np.linalg.norm(A, 2, axis=(-2, -1))", "np.linalg.matrix_power(W, 3)", "np.linalg.cond(W)")  # fmt: skip


@statement("products", 1)
def decomposition(d: Draft) -> bool:
    small, regular = d.new(), d.new()
    lines = [f"{small} = np.tanh(np.nan_to_num({d.array('fib', least=2, most=3)}))", f"{regular} = {small} @ {small}.swapaxes(-1, -2) + 4 * np.eye({small}.shape[-2])"]
    return d.keep([*lines, f"{d.new()} = {d.of(*DECOMPOSED).replace('A', small).replace('W', regular)}"])
