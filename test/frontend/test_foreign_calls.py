"""What is not translated inside an expression runs in Python alone, in Python's order; the rest of the statement is native."""

from __future__ import annotations

import ast
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from running import function_of

import tierup
from tierup.frontend.errors import position
from tierup.frontend.python.islands import worth
from tierup.frontend.python.islands.foreign import Scope, take_out
from tierup.runtime.functions.weighing import Weighed

X = np.linspace(0.1, 1.3, 4096)
OUTSIDE = np.sin(X).astype(np.longdouble)


# --- both sides run ----------------------------------------------------------------------------------------------------------


def spectrum(x: Any) -> Any:
    return np.exp(np.fft.fft(x * 2).real / 4096) + 1


def decomposed(x: Any) -> Any:
    a = np.outer(x[:20], x[:20]) + np.eye(20)
    values, scale = np.linalg.tensorsolve(a * 2, x[:20]) * 3, 2.0
    return np.sort(values)[::-1] ** 2 / scale + np.linalg.tensorsolve(a, x[20:40])[1]


def drawn(x: Any) -> Any:
    return x * 2 + np.random.default_rng(7).normal(size=x.shape[0]) * np.tanh(x)


def long_argument(x: Any) -> Any:
    return np.tanh(x.astype(float) * 2) + np.abs(x).astype(float) * 3


def long_outside(x: Any) -> Any:
    return np.tanh(x) * np.exp(OUTSIDE.astype(float) * x)


class Tank:
    def __init__(self) -> None:
        self.level = X.copy()


def stored(x: Any) -> Any:
    tank = Tank()
    tank.level = np.tanh(x) * 2 + np.exp(-x)
    return tank.level


@pytest.mark.parametrize(("function", "argument", "regions", "named"), [
    (spectrum, X, 2, "foreign call of numpy.fft.fft at"), (decomposed, X, 3, "foreign call of numpy.linalg.tensorsolve at"),
    (drawn, X, 2, "foreign call of numpy.random.default_rng at"), (long_argument, OUTSIDE, 2, f"`x` is an array of {OUTSIDE.dtype}"),
    (long_outside, X, 2, f"`OUTSIDE` is an array of {OUTSIDE.dtype}"), (stored, X, 1, "assignment to the attribute `.level`"),
])  # fmt: skip
def test_what_is_around_a_foreign_call_is_native(
    function: Callable[..., Any], argument: Any, regions: int, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worth, "_ADVANTAGE", 1e9)  # native code wins whatever the clock says
    monkeypatch.setattr(Weighed, "weigh_parts", lambda _: None)
    monkeypatch.setattr(worth, "_TINY", 0.0)
    jitted = tierup.jit(function)
    for _ in range(25):
        np.testing.assert_allclose(jitted(argument), function(argument), rtol=1e-12)
    text = jitted.explain()
    assert text.count("answered by native code\n") == regions and jitted.stats().hits > 10 * regions, text
    assert named in text and text.count("graph for") == regions


def test_regions_of_one_line_are_told_apart(define: Callable[[str], Any]) -> None:
    function = define("def f(x):\n    y = x * 2; len(str(y)); z = y + 1; len(str(z)); return z * y + x\n")
    jitted = tierup.jit(function, optimize=False)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(X), function(X))


def test_a_traceback_names_the_line_and_the_expression_of_the_user(define: Callable[[str], Any]) -> None:
    function = define("def f(x):\n    y = x + 1\n    z = (y * 2 +\n         np.unravel_index(9999, y.shape)[0])\n    return z * 2\n")
    outcomes = []
    for called in (function, jitted := tierup.jit(function), jitted, jitted):
        with pytest.raises(ValueError, match="out of bounds for array") as caught:
            called(X)
        frame = next(f for f in traceback.extract_tb(caught.value.__traceback__) if "program_" in f.filename and f.name == "f")
        outcomes.append((frame.lineno, frame.colno, frame.end_colno))
    assert outcomes[0][0] == 4 and len(set(outcomes)) == 1


def test_a_name_behind_a_loop_is_refused_for_itself_alone(define: Callable[[str], Any]) -> None:
    """A loop over what a refused statement binds is no reason to refuse the loop."""
    function = define("def f(x, n):\n    z = np.frombuffer(b'12345678', np.uint8)\n    for i in range(n):\n        z = z * x + i\n    return z * 2\n")
    jitted = tierup.jit(function)
    with tierup.options(strict=True), pytest.raises(tierup.UnsupportedSyntax) as caught:
        jitted(2.0, 3)
    assert [e.lineno for e in caught.value.errors] == [2]


def test_values_that_were_taken_out_do_not_outlive_their_last_use(define: Callable[[str], Any]) -> None:
    function = define("def f(x):\n    y = np.fft.fft(x * 2).real + np.fft.fftfreq(x.shape[0])\n    note()\n    return y * 2\n")
    seen: list[str] = []

    def note() -> None:
        seen[:] = [name for name, value in sys._getframe(1).f_locals.items() if isinstance(value, np.ndarray)]

    function.__globals__["note"] = note
    jitted = tierup.jit(function, optimize=False)
    for _ in range(3):
        jitted(X)
        assert seen == ["x", "y"]


def test_names_of_the_users_are_no_temporary_ones(define: Callable[[str], Any]) -> None:
    text = "def f(x, seen):\n    for i in range(2):\n        y = i\n        seen.append((lambda: y)() + x)\n    seen.append(5 < (y := x))\n    return y, seen\n"
    function, jitted = define(text), tierup.jit(define(text), optimize=False)
    for _ in range(3):
        assert jitted(3, []) == function(3, [])


def test_nothing_is_native_under_an_error_state_that_raises(define: Callable[[str], Any]) -> None:
    text = (
        "def f(x, out):\n    with np.errstate(divide='raise'):\n        try:\n            out.append(x / 0.0)\n"
        "            y = x / 0.0\n        except FloatingPointError as e:\n            y = str(e)\n    return y\n"
    )
    function, jitted = define(text), tierup.jit(define(text), optimize=False)
    for _ in range(3):
        assert jitted(X, []) == function(X, []) == "divide by zero encountered in divide"


def test_a_branch_may_leave_a_try(define: Callable[[str], Any]) -> None:
    text = "def f(x):\n    try:\n        if x.sum() > 0:\n            return x * 2\n        y = x + 1\n    except ValueError:\n        y = x\n    return y\n"
    function, jitted = define(text), tierup.jit(define(text))
    for x in (X, -X, X, -X):
        np.testing.assert_array_equal(jitted(x), function(x))


# --- order of evaluation -----------------------------------------------------------------------------------------------------


def F(*args: Any, **kwargs: Any) -> Any:
    """What is not translated."""


def _split(text: str, refused: str) -> str:
    """The statement `text`, in a function of x, y and o, without the expression `refused`."""
    body = ast.parse(text).body[0]
    where = next(position(n) for n in ast.walk(body) if isinstance(n, ast.expr) and ast.unparse(n) == refused)
    names = frozenset({"x", "y", "o"})
    taken = take_out(body, where, Scope(_split, names, names), lambda i: f"_{i + 1}")
    return "as it is" if taken is None else "; ".join("! " * (n is taken.foreign) + ast.unparse(n) for n in taken.statements)


@pytest.mark.parametrize(("text", "refused", "expected"), [
    ("y = np.exp(F(x * 2).real) + 1", "F(x * 2)", "_1 = x * 2; ! _2 = F(_1); y = np.exp(_2.real) + 1"),
    ("y = x + F(y)", "F(y)", "! _1 = F(y); y = x + _1"),
    ("y = np.tanh(x) + F(y) * np.exp(x)", "F(y)", "_1 = np.tanh(x); ! _2 = F(y); y = _1 + _2 * np.exp(x)"),
    ("y = 2 * np.pi * F(x)", "F(x)", "! _1 = F(x); y = 2 * np.pi * _1"),
    ("y = o.scale * F(x)", "F(x)", "_1 = o.scale; ! _2 = F(x); y = _1 * _2"),
    ("y = F(x)", "F(x)", "as it is"), ("y = F(x).real", "F(x)", "as it is"),
    ("y = F(x * 2)", "F(x * 2)", "_1 = x * 2; ! y = F(_1)"), ("u, v = F(x * 2, 3)", "F(x * 2, 3)", "_1 = x * 2; ! u, v = F(_1, 3)"),
    ("return x if F(x) else y * 2", "F(x)", "! _1 = F(x); return x if _1 else y * 2"),
    ("return [F(x), y * 2]", "F(x)", "! _1 = F(x); return [_1, y * 2]"),
    ("return {'a': x * 2, 'b': F(x)}", "F(x)", "_1 = x * 2; ! return {'a': _1, 'b': F(x)}"),
    ("y = np.exp(x if y > 0 else F(x))", "F(x)", "_1 = y > 0; ! _2 = x if _1 else F(x); y = np.exp(_2)"),
    ("y = np.exp(x > 0 and F(x))", "F(x)", "_1 = x > 0; ! _2 = _1 and F(x); y = np.exp(_2)"),
    ("y = (x < y * 2 < F(x)) + 1", "F(x)", "_1 = y * 2; ! _2 = x < _1 < F(x); y = _2 + 1"),
    ("y = (x < F(y) < 2) + 1", "F(y)", "! _1 = F(y); y = (x < _1 < 2) + 1"),
    ("y = np.array([F(v) for v in x * 2]) + 1", "F(v)", "_1 = x * 2; ! _2 = [F(v) for v in _1]; y = np.array(_2) + 1"),
    ("y = np.exp(o.clip(F(x), 1))", "F(x)", "_1 = o.clip; _2 = F(x); ! _3 = _1(_2, 1); y = np.exp(_3)"),
    ("y = x + np.exp((y := F(x)) * 2) + y", "F(x)", "! _1 = F(x); y = x + np.exp((y := _1) * 2) + y"),
    ("y = x * 2 + np.exp(F(*x, k=y * 2))", "F(*x, k=y * 2)", "_1 = x * 2; ! _2 = F(*x, k=y * 2); y = _1 + np.exp(_2)"),
    ("x[0] = F(y) * 2", "F(y)", "! _1 = F(y); x[0] = _1 * 2"), ("x[F(y)] = y * 2", "F(y)", "_1 = y * 2; ! x[F(y)] = _1"),
    ("o.level = x * 2", "o.level", "_1 = x * 2; ! o.level = _1"), ("x += F(y) * 2", "F(y)", "! _1 = F(y); x += _1 * 2"),
    ("x[0] += F(y) * 2", "F(y)", "as it is"), ("o.level += x * 2", "o.level", "as it is"),
    ("y = x.tofile(p) + 1", "x.tofile", "! _1 = x.tofile(p); y = _1 + 1"), ("y = x * 2 + o", "o", "_1 = x * 2; ! y = _1 + o"),
    ("y = f'{x:.2f}' + g(x * 2)", "f'{x:.2f}'", "! _1 = f'{x:.2f}'; y = _1 + g(x * 2)"),
])  # fmt: skip
def test_what_is_taken_out_of_a_statement(text: str, refused: str, expected: str) -> None:
    assert _split(text, refused) == expected


KEPT_ITERATORS = {
    "taken out": "return [f'{a:.3f} {b}' for i, (a, b) in enumerate(zip(y, x))], np.exp(y).sum()",
    "named": "z = enumerate(zip(y, x))\n    return [f'{a:.3f} {b}' for i, (a, b) in z], np.exp(y).sum()",
    "in a loop": "out = []\n    for a, b in zip(reversed(y), map(float, x)):\n        out.append(f'{a:.3f} {b}')\n    return out, np.exp(y).sum()",
    "of a call": "return ', '.join(map(str, filter(None, np.round(y, 3)))), np.exp(y).sum()",
}


@pytest.mark.parametrize("body", KEPT_ITERATORS.values(), ids=KEPT_ITERATORS)
def test_a_function_is_cut_a_few_times_and_no_more(body: str, tmp_path: Path) -> None:
    function = function_of(f"def f(x):\n    y = np.tanh(x) * 2\n    {body}\n", tmp_path)
    jitted, x = tierup.jit(function), np.linspace(-1, 1, 5)
    for _ in range(24):
        assert jitted(x)[0] == function(x)[0]
    made = len(jitted.elsewhere.functions)
    for _ in range(24):
        jitted(x)
    assert len(jitted.elsewhere.functions) == made <= 6
