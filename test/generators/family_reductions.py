"""Reductions, scans, sorting and searching."""

from __future__ import annotations

from draft import Draft
from families import statement

REDUCE = ("sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin", "var", "std")
SCANS = ("np.cumsum(X, axis=D)", "np.cumprod(X, axis=D)", "np.sort(X, axis=D)", "np.sort(X, kind='stable')", "np.argsort(X, axis=D)", "np.sort(X, axis=None)", "np.diff(X, axis=D)", "np.cumsum(X)", "np.cumprod(X)")
OTHERS = ("np.count_nonzero(X)", "np.ptp(X)", "np.trace(X)", "np.linalg.norm(X)", "np.nonzero(X)[0]", "np.flatnonzero(X)", "np.count_nonzero(X, axis=D)",
          "np.searchsorted(np.sort(X, axis=None), X)", "np.digitize(X, [-1.0, 0.0, 2.0])", "np.bincount(np.argsort(X, axis=None) // 2)", "np.median(X, axis=D)", "np.percentile(X, 30)", "np.unique(X)", "np.unique(X, return_counts=True)[1]", "np.interp(X, [-1.0, 0.0, 2.5], [3.0, 1.0, 2.0])")  # fmt: skip


@statement("reductions", 4)
def reduce(d: Draft) -> bool:
    x, name = d.array(least=0), d.of(*REDUCE)
    rank = d.env[x].ndim
    how = d.chance.random()
    arguments = [] if not rank or how < 0.3 else [f"axis={d.axis(x)}"]
    if rank > 1 and how > 0.85 and not name.startswith("arg"):
        arguments = [f"axis={tuple(sorted(d.chance.sample(range(rank), 2)))}"]
    if arguments and d.chance.random() < 0.35:
        arguments.append("keepdims=True")
    if name in ("sum", "prod", "mean") and d.chance.random() < 0.15:
        arguments.append(f"dtype={d.of('np.float32', 'np.float64')}")
    if name in ("var", "std") and d.chance.random() < 0.2:
        arguments.append("ddof=1")
    inside = ", ".join(arguments)
    text = f"{x}.{name}({inside})" if d.chance.random() < 0.5 else f"np.{name}({', '.join([x, *arguments])})"
    return d.keep([f"{d.new()} = {text}"])


@statement("reductions", 1.2)
def scan(d: Draft) -> bool:
    x = d.array(least=1)
    return d.keep([f"{d.new()} = {d.of(*SCANS).replace('X', x).replace('D', str(d.axis(x)))}"])


@statement("reductions", 0.6)
def other(d: Draft) -> bool:
    x = d.array(least=1)
    return d.keep([f"{d.new()} = {d.of(*OTHERS).replace('X', x).replace('D', str(d.axis(x)))}"])


@statement("reductions", 1.5)
def combined(d: Draft) -> bool:
    """A reduction of something that is computed there, often used with the array itself."""
    x = d.array("fi")
    text = d.of(
        "(X * np.sum(X)).sum(axis=0)", "X - X.mean()", "X / (1 + np.abs(X).sum(axis=-1, keepdims=True))", "np.sum(X * X)", "(X + X.max()).sum()", "X * np.prod(X)",
        "np.sum(np.abs(X), axis=0) * 2", "(X - X.min(axis=0)).max(axis=-1)", "np.exp(X - X.max()).sum()", "(X > X.mean()).sum()", "np.mean(X * 2 + 1, axis=-1)",
    )  # fmt: skip
    return d.keep([f"{d.new()} = {text.replace('X', x)}"])
