"""Views and what moves elements: reshapes, transposes, slices that are kept, joins, factories."""

from __future__ import annotations

from draft import Draft
from families import statement
from family_indexing import basic_index

VIEWS = (
    "X.T", "np.transpose(X)", "X.reshape(-1)", "X.reshape(X.shape[::-1])", "np.squeeze(X)", "X[None]", "X[..., None]", "np.expand_dims(X, 0)", "X.ravel()", "np.moveaxis(X, 0, -1)",
    "np.swapaxes(X, 0, -1)", "np.atleast_2d(X)", "np.atleast_1d(X)", "X[...]", "X[:]", "np.broadcast_to(X, (2,) + X.shape)", "np.diagonal(X)", "X.reshape(1, -1)", "X.reshape(X.size, 1)",
    "np.split(X, [1])[0]", "X.flatten()",
)  # fmt: skip
MOVES = (
    "np.flip(X) * 1", "np.flip(X, D) + 0", "np.roll(X, 1)", "np.roll(X, -2, axis=D)", "np.repeat(X, 2, axis=D)", "np.tile(X, 2)", "np.pad(X, 1)", "np.concatenate([X, X], axis=D)",
    "np.stack([X, X], axis=D)", "np.concatenate([X, X * 2])", "np.hstack([X, X])", "np.vstack([X, X])", "np.tril(X)", "np.triu(X, 1)", "X[::-1] * 1", "X[..., ::-1].copy()", "np.outer(X, X)",
    "np.array([X, X])", "np.asarray([X, X * 2])", "np.full((2,) + X.shape, X)", "np.take(X, 0, axis=D)", "np.take(X, [0, 0], axis=D)", "np.take(X, 0)", "np.clip(X, None, None)",
)  # fmt: skip
FACTORIES = (
    "np.zeros(X.shape)", "np.zeros(X.shape, X.dtype)", "np.ones(X.shape, np.float32)", "np.zeros_like(X)", "np.ones_like(X)", "np.full_like(X, 2)", "np.arange(X.shape[0])",
    "np.full(X.shape, 1.5)", "np.eye(X.shape[0])", "np.zeros(3, np.float32)", "np.array([1.0, 2.0])", "np.array([1, 2, 3])", "np.linspace(0, 1, 5)", "np.arange(4)", "np.zeros((2, 3))",
    "np.arange(X.size).reshape(X.shape)", "np.zeros(X.shape[-1], X.dtype)", "np.full((), 2.0)", "np.array([[True, False]])",
)  # fmt: skip

SIZED = (
    "np.zeros(N)", "np.ones((N, 2))", "np.full((N, N + 1), 1.5)", "np.arange(N)", "np.arange(N, N + 3)", "np.eye(N)", "np.empty(N, bool) & False", "np.zeros(len(X) - N)", "X[:N]", "X[N:] * 1", "X[:-N]",
    "X[N : N + 2].copy()", "X.reshape(N, -1)", "np.broadcast_to(X, (N,) + X.shape) * 2", "np.repeat(X, N)", "np.tile(X, N)", "np.zeros(N) + X[:N]", "np.pad(X, N)", "X[:N] * np.arange(N)",
)  # fmt: skip


@statement("movement", 2.5)
def view(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {d.of(*VIEWS).replace('X', d.array())}"])


@statement("movement", 2)
def slice_(d: Draft) -> bool:
    x = d.array(least=1)
    return d.keep([f"{d.new()} = {x}[{basic_index(d, x, backwards=False)}]"])


@statement("movement", 1.5)
def move(d: Draft) -> bool:
    x = d.array(least=1)
    return d.keep([f"{d.new()} = {d.of(*MOVES).replace('X', x).replace('D', str(d.axis(x)))}"])


@statement("movement", 0.7)
def join(d: Draft) -> bool:
    x, y = d.array(least=1), d.array(least=1)
    return d.keep([f"{d.new()} = np.{d.of('concatenate', 'stack', 'hstack', 'vstack')}([{x}, {y}])"])


def few(d: Draft) -> str:
    """An int that sizes may hang on: an argument, or what is left of another int."""
    n = d.number_((int,))
    return n if n == "i" and -1 <= d.env[n] <= 5 else f"({n} % 7)"


@statement("movement", 1)
def sized(d: Draft) -> bool:
    """An array or a part whose size hangs on an int."""
    return d.keep([f"{d.new()} = {d.of(*SIZED).replace('N', few(d)).replace('X', d.array(least=1))}"])


@statement("movement", 1)
def table(d: Draft) -> bool:
    """An array whose size hangs on an int, filled in loops up to it."""
    v, n = d.new(), few(d)
    made, rest = d.of((f"np.zeros({n} + 1)", "j + 1"), (f"np.zeros(({n}, {n}))", f"j, {n} - 1 - j"), (f"np.full(({n}, 3), 2)", "j, 1"), (f"np.ones({n})", "-j"))
    value = d.of("j", f"{v}[{rest}] + 1", f"{v}[{rest}] * j", "0.5")
    return d.keep([f"{v} = {made}", f"for j in range({n}):", f"    {v}[{rest}] {d.of('=', '=', '+=')} {value}"], lambda name: name != "j")


@statement("movement", 1)
def factory(d: Draft) -> bool:
    return d.keep([f"{d.new()} = {d.of(*FACTORIES).replace('X', d.array(least=1))}"])
