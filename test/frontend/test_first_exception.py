"""Of several parts of a statement that raise, the one that Python comes to first does: the oracle is the undecorated function."""

from __future__ import annotations

import linecache
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest
from corpus_compare import assert_same_exception
from sampling import SEED

import tierup
from tierup.frontend.errors import UnsupportedSyntax

# each raises for some arguments: an exception of a class of its own, so far as there are so many
PARTS = (
    "x.max()", "x[k]", "x[:, :, :]", "x @ y", "x + y", "x.reshape(2, 5)", "np.zeros(-n)", "1 // n", "bool(x)", "x[[7]]", "np.concatenate([x, y], axis=2)", "float(x)", "np.sum(x, axis=3)",
    "~x", "x[x > 9][0]", "np.stack([x, y])", "(1, 2)[k]", "np.squeeze(x, axis=0)", "np.diff(x.sum())", "x.argmin()", "helper(x)", "x", "1", "y", "n", "x[0]",
)  # fmt: skip
STATEMENTS = (
    "v = A + B", "v = (A, B)", "x[0] = A", "x[k] += A", "x[:, :, :] += A", "x[k, k, k] = A", "x[[k]] += A", "x += A", "x[:n] = A", "v = A if B else 0", "v = [A, B, A]", "v = np.maximum(A, B)",
    "v = A < B", "v = np.where(A, B, 0)", "x[A] = B", "x[0] -= helper(x)", "v = A and B", "v = x[B] * A", "v, w = A, B", "x[...] = A; v = B", "if A: v = B", "for i in range(n): v = A", "v = A; x[0] = B",
    "d = [x]; d[0] += A", "x[0], v = A, B", "while n > 2: n = n - 1; x[k] = A", "v = max(n, 1 // n); x[k] = B", "assert n, 'none'; v = A", "x[0:n] *= A; x.fill(B)", "np.add.at(x, [k], B)",
)  # fmt: skip
HEAD = '''import numpy as np
import tierup


@tierup.jit
def helper(x):
    x[0] = 5
    return x.sum()


def f(x, y, n, k):
'''


def programs(seed: int, count: int) -> list[str]:
    chance = random.Random(f"first exception {seed}")

    def statement() -> str:
        return re.sub(r"\b[AB]\b", lambda _: f"({chance.choice(PARTS)})", chance.choice(STATEMENTS))

    return ["\n    ".join(statement() for _ in range(chance.choice((1, 1, 2)))) for _ in range(count)]


def function(body: str, number: int) -> Any:
    source, file = f"{HEAD}    v = w = 0\n    {body}\n    return v, x\n", f"<first exception {number}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope: dict[str, Any] = {"__name__": "first_exception"}
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the lines are our own
    return scope["f"], scope["helper"]


def outcome(f: Any, given: tuple[Any, ...]) -> Any:
    """The exception and what was written, the result if there is none."""
    x, y, n, k = given
    x = x.copy()
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = f(x, y, n, k)
    except UnsupportedSyntax:
        return None
    except Exception as e:  # noqa: BLE001 - whatever comes
        return e, x.tolist()
    return repr(result), x.tolist()


ARGUMENTS = (
    (np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0]), 0, 7), (np.zeros((0, 3)), np.ones(4), 2, 1), (np.ones((2, 5)), np.ones((5, 2)), 1, 0),
    (np.arange(3), np.array(2.0), -1, -9), (np.ones((2, 2, 2)), np.ones((2, 2, 2)), 3, 1), (np.array([True, False]), np.arange(2), 1, 5),
)  # fmt: skip


def checked(body: str, number: int, options: dict[str, Any], times: int) -> str:
    """How the function and the undecorated one differ; "" if they do not."""
    plain, helper = function(body, number)
    plain.__globals__["helper"] = helper.__wrapped__
    f = tierup.jit(function(body, number)[0], **options)
    for given in ARGUMENTS:
        for _ in range(times):
            got, want = outcome(f, given), outcome(plain, given)
            if got is None:
                return ""
            try:
                if isinstance(want[0], Exception):
                    assert_same_exception(got[0] if isinstance(got[0], Exception) else None, want[0], body)
                else:
                    assert got[0] == want[0]
                assert got[1] == want[1], f"{got[1]} was written, not {want[1]}"
            except AssertionError as e:
                return f"{body} of {given}: {e}\n {got} not {want}"
    return ""


@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=str)
def test_the_first_exception_is_pythons(options: dict[str, Any]) -> None:
    count, times = (50, 1) if options else (6, 3)
    wrong = [w for number, body in enumerate(programs(SEED, count)) if (w := checked(body, number, options, times))]
    assert not wrong, "\n".join(wrong)
