"""Where paths meet of which one has a NumPy scalar and the other an array of rank 0, the run says which it is: NumPy is the oracle."""

from __future__ import annotations

import linecache
from itertools import product
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup


def returned(c, x):
    v = x
    if np.all(c == c):
        return v
    return np.tanh(x)


def joined(c, x):
    v = x
    if np.all(c == c):
        v = np.tanh(x)
    return v, 1


def chosen(c, x):
    return x if np.all(c > 0) else x * 2


def made(c, x):
    s = np.zeros(()) if np.all(c > 0) else np.sum(x)
    return [s, s + 1, np.ravel(s)]


def nested(c, x):
    if np.all(c > 0):
        pair = (x, {"k": x + 1})
    else:
        pair = (x - 1, {"k": np.array(2.5)})
    return pair


def written(c, x):
    v = x.copy()
    kept = v
    if np.all(c > 0):
        v = np.exp(v)
    v += 1
    return v, np.sum(kept)


def through_a_loop(c, x):
    v = x
    for i in range(len(c)):
        if c[i] > 0:
            v = v + c[i]
    return v * 1


@tierup.jit
def helper(v):
    return v


def called(c, x):
    v = x if np.all(c > 0) else np.tanh(x)
    return helper(v)


def of_three(c, x):
    if np.all(c > 1):
        return np.array(3.5)
    elif np.all(c > 0):
        return x
    return np.sin(x)


PROGRAMS = [returned, joined, chosen, made, nested, written, through_a_loop, called, of_three]
OPTIONS = [{}, {"optimize": False}, {"speculate": "bailout"}, {"executor": "specializing"}]


def leaves(value):
    if isinstance(value, dict):
        return leaves(list(value.values()))
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_scalar_on_one_path_is_one_there_alone(program):
    f = tierup.jit(program)
    for c in ([0.5, 2.0], [np.nan, -1.0], [0.5, 2.0], [2.0, 2.0], [-1.0, 1.0], [0.5, 0.5], [np.nan, -1.0]):
        for x in (np.array(2.0), np.array([1.0, 2.0])):
            _compare(f, program, np.array(c), x)
    assert f.stats().hits >= 4 or program is written  # a write to what is one of two arrays stays in tier 0


@pytest.mark.parametrize("options", OPTIONS[1:], ids=str)
@pytest.mark.parametrize("program", [returned, written], ids=lambda p: p.__name__)
def test_so_it_is_whatever_runs_the_program(program, options):
    f = tierup.jit(**options)(program)
    for c in ([0.5, 2.0], [np.nan, -1.0], [0.5, 2.0], [0.5, 0.5], [np.nan, -1.0]):
        _compare(f, program, np.array(c), np.array(2.0))


def _compare(f, program, c, x):
    found, expected = leaves(f(c, x)), leaves(program(c, x))
    assert [type(v) for v in found] == [type(v) for v in expected]
    assert [v is x for v in found] == [v is x for v in expected]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_function_that_is_called_is_differentiated_with_such_a_value():
    def loss(x, c):
        v = x if np.all(c > 0) else np.tanh(x)
        return np.sum(v * v)

    f = tierup.jit(lambda x, c: tierup.grad(loss)(x if np.all(c > 1) else x * 2, c))
    for x, c in ((2.0, 2.0), (2.0, 0.5), (2.0, -1.0), (2.0, 2.0)):
        given = x if c > 1 else x * 2
        expected = 2 * given if c > 0 else 2 * np.tanh(given) * (1 - np.tanh(given) ** 2)
        np.testing.assert_allclose(f(np.array(x), np.array([c])), expected, rtol=1e-12)


# what gives a scalar for some arguments and an array for others, and what is done to it
MADE = (
    "x.sum()", "x.max()", "x.ravel()[0]", "x[()]", "x[...]", "x * 2", "x.copy()", "+x", "np.square(x)", "np.array(x.sum())", "np.asarray(x.sum())", "np.copy(x.sum())", "np.zeros(())",
    "np.zeros(()) + 1", "x.T", "np.squeeze(x)", "x.sum(keepdims=True)", "np.float32(x.sum())", "x.sum() > 1", "np.dot(x.ravel(), x.ravel())", "np.where(x > 0, x, 0)", "x",
    "np.full_like(x, 2.0)", "x.sum().reshape(())", "x.sum().ravel()", "np.flip(x) if x.ndim == 0 else x", "np.round(x.sum())", "x.argmax()", "np.clip(x, 0, 1)", "np.float32(3)",
    "np.dot(x[x < 9], x[x < 9]).squeeze()", "np.transpose(np.dot(x[x < 9], x[x < 9]))", "np.dot(x[x < 9], x[x < 9]).reshape(x.sum().shape)", "x[x < 9].squeeze()",
)  # fmt: skip
IN_BETWEEN = (
    "pass", "y[...] = 1", "y[()] = 1", "y[()] += 1", "y[None] = 1", "y[0] = 1", "y[:] = 1", "y[0] += 1", "y += 1", "z = y; y = y + 1; y[...] = 3", "y.fill(3)",
    "for i in range(n): y = y + 1", "for i in range(n): y += 1", "for i in range(n): y = np.array(y)", "for i in range(n): y[...] = 1", "y = x.sum() if x.sum() > 0 else y",
    "y = x.sum() if x.sum() > 0 else y; y[...] = 2", "y = x.sum() if x.sum() > 0 else y; y += 2",
    "w = y[None]; w[...] = 7", "w = y.reshape(-1); w[...] = 7", "y = x.sum() if x.sum() > 0 else y; w = y[None]; w[...] = 7",
)  # fmt: skip


def _function(number: int, made: str, between: str) -> Any:
    lines = ["def f(x, n):", f"y = {made}", *between.split("; "), "return y, x"]
    source, file = "import numpy as np\n\n" + "\n    ".join(lines), f"<scalar or array {number}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope: dict[str, Any] = {"__name__": "scalar_or_array"}
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the lines are our own
    return scope["f"]


def _outcome(f: Any, x: Any, n: int) -> Any:
    x = x.copy()
    try:
        result = f(x, n)
    except (TypeError, IndexError, ValueError) as e:
        return type(e), x.tolist()
    kinds = [(type(r), r.dtype, r.tolist(), isinstance(r, np.ndarray) and bool(np.shares_memory(r, x))) for r in result]
    return kinds, x.tolist()


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_items_of_a_scalar_cannot_be_assigned_and_loops_keep_what_is_an_array(options):
    rows = drawn("scalars or arrays", list(product(MADE, IN_BETWEEN)), 36 if "optimize" in options else 200, lambda row: row[1])
    for number, (made, between) in enumerate(rows):
        plain = _function(number, made, between)
        f = tierup.jit(_function(number, made, between), **options)
        for x, n in ((np.array(2.0), 2), (np.array(2.0), 0), (np.ones((2, 2)), 0), (-np.ones(2), 1), (np.ones(1), 2), (np.float32(3), 1), (np.float32(3), 1)):
            assert _outcome(f, x, n) == _outcome(plain, x, n), f"y = {made}; {between} with {x!r}, {n}"


@tierup.jit
def items(x):
    total = x.sum().item()
    return total, [x[0, 0].item(), {"one": x[:1, :1].item()}], x * 2


def test_an_item_that_is_returned_is_pythons_number_of_the_arrays_kind():
    plain = items.__wrapped__
    for dtype in ("float32", "float64", "int64", "uint8", "bool", "float16"):
        x = np.array([[3, 1]]).astype(dtype)
        for _ in range(3):
            total, (first, kept), _ = items(x)
            expected, (wanted, held), _ = plain(x)
            for ours, theirs in ((total, expected), (first, wanted), (kept["one"], held["one"])):
                assert type(ours) is type(theirs) and ours == theirs
    assert items.stats().hits >= 10
    several = tierup.jit(lambda x: x.item())
    assert [several(np.array([[2.5]])) for _ in range(2)] == [2.5, 2.5]
    with pytest.raises(ValueError, match="can only convert an array of size 1 to a Python scalar"):
        several(np.ones((1, 2)))
