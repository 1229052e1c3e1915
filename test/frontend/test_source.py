"""Finding a function's syntax tree."""

from __future__ import annotations

import ast
import functools
import linecache
from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.frontend.python import source

FACTOR = 2


def double(x):
    return x + x


def calling(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs) * FACTOR

    return inner


class Holder:
    __private = 3

    def method(self, x, *, scale: float = 1.5):
        "A docstring, a nested function, a private name and the class's own."
        terms = [x * k for k in range(1, 3)]
        return sum(terms) * self.__private + Holder.__private * scale

    @calling
    @tierup.jit
    def wrapped(self, x):
        return x + 1

    @staticmethod
    def closed(k):
        return lambda x: x * k - FACTOR, lambda x: x * k - 3 * FACTOR


def test_a_method_a_closure_and_a_wrapper_are_found_by_their_code() -> None:
    x, holder = np.arange(3.0), Holder()
    for f in (Holder.method, Holder.wrapped):
        np.testing.assert_array_equal(tierup.jit(f)(holder, x), f(holder, x))
    for f in (*Holder.closed(5), lambda x: x + 1, double):
        np.testing.assert_array_equal(tierup.jit(f)(x), f(x))


@calling
@tierup.jit
def decorated_twice(x):
    return x + 1


@tierup.jit
def calls_one_decorated_twice(x):
    return decorated_twice(x) - x


def test_a_wrapper_of_a_decorated_function_is_not_taken_for_it() -> None:
    with pytest.raises(tierup.UnsupportedSyntax, match="the plain Python function `decorated_twice`"):
        calls_one_decorated_twice(np.ones(2))
    np.testing.assert_array_equal(tierup.jit(decorated_twice)(np.ones(2)), [4, 4])
    assert tierup.grad(decorated_twice)(2.0) == 2


@pytest.mark.parametrize("edited", ["x * 300", "x * 2 if x.ndim else x", "x - 2", "x * 2.0", "np.abs(x)", "x *"])
def test_a_file_that_is_edited_while_its_functions_run_changes_nothing(edited: str, tmp_path: Path) -> None:
    path = tmp_path / "edited_while_running.py"
    path.write_text("import numpy as np, tierup\ndef plain(x):\n    return x * 2\n@tierup.jit\ndef f(x):\n    return x * 2\n")
    module = {"__name__": "edited_while_running"}
    exec(compile(path.read_text(), str(path), "exec"), module)
    assert module["f"](2.0) == 4
    path.write_text(path.read_text().replace("x * 2", edited))
    assert module["f"](np.ones(2)).tolist() == [2, 2]  # another graph: the code is read again
    linecache.checkcache(str(path))  # as tracebacks do
    with pytest.raises(tierup.UnsupportedSyntax, match="not its definition.* has not changed since it was imported"):
        module["f"](np.ones((2, 2)))
    with pytest.raises(tierup.UnsupportedSyntax, match="not its definition"):
        tierup.jit(module["plain"])(np.ones(2))


def test_parsing_is_tried_again_when_another_thread_of_python_311_was_parsing_too(monkeypatch: pytest.MonkeyPatch) -> None:
    failures = ["before=51, after=72"] * 3

    def parse(text: str) -> ast.Module:
        if failures:
            raise SystemError(f"AST constructor recursion depth mismatch ({failures.pop()})")
        return ast.parse(text)

    monkeypatch.setattr(source, "ast", type("Parsing", (), {**vars(ast), "parse": staticmethod(parse)}))
    np.testing.assert_array_equal(tierup.jit(double)(np.arange(3.0)), [0, 2, 4])
    assert not failures


def test_parsing_that_never_succeeds_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(text: str) -> ast.Module:
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(source, "ast", type("Parsing", (), {**vars(ast), "parse": staticmethod(parse)}))
    with pytest.raises(SystemError, match="recursion depth"):
        tierup.jit(double)(np.arange(3.0))
