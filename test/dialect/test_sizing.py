"""Which int arguments sizes hang on, of programs from Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from frontend_oracle import graph

from tierup.dialect.analysis.sizing import sizing_arguments
from tierup.dialect.ir.walking import function_names

X = np.ones((4, 6))


def through_arithmetic(x, a, b, c):
    return np.zeros(max(a, 2) * b + 1) * c


def through_a_branch(x, a, b, c):
    return x[: a if c > 0 else b]


def through_a_loop(x, a, b, c):
    m = a
    for _ in range(c):
        m = m + b
    return np.ones(m)


def made(shape, value):
    return np.full(shape, value)


def larger(k):
    return k + 1


def through_calls(x, a, b, c):
    return made((larger(a), 2), b) + c


def of_windows(x, a, b, c):
    s = 0.0
    for i in range(a):
        s = s + x[i : i + b, 0].sum()
    return s * c


CASES: list[tuple[Any, str]] = [
    (lambda x, a, b, c: np.zeros((a, 3)) + b * c, "a"),
    (lambda x, a, b, c: np.empty(a) * 0 + np.arange(b)[:1], "ab"),
    (lambda x, a, b, c: np.full(a, b) + c, "a"),
    (lambda x, a, b, c: x.reshape(a, -1)[b], "a"),
    (lambda x, a, b, c: x[a:, :b], "ab"),
    (lambda x, a, b, c: x[a] * b, ""),
    (lambda x, a, b, c: np.roll(x, a) ** b, ""),
    (lambda x, a, b, c: np.eye(a, b) * c, "ab"),
    (lambda x, a, b, c: np.zeros(len(x) - a) + x.shape[0] * b, "a"),
    (lambda x, a, b, c: np.broadcast_to(x[0, 0], (a, b)), "ab"),
    (through_arithmetic, "ab"),
    (through_a_branch, "ab"),
    (through_a_loop, "ab"),
    (through_calls, "a"),
    (of_windows, "b"),
]


@pytest.mark.parametrize(("function", "wanted"), CASES)
def test_sizes_hang_on_these_arguments_and_no_others(function: Any, wanted: str) -> None:
    built, *_ = graph(function, X, 3, 2, 1)
    names = [name for name, _ in built.leaves]
    found = sizing_arguments(function_names(built.module), built.entry)
    assert "".join(names[i] for i in sorted(found)) == wanted
