"""Finding a function's syntax tree."""

from __future__ import annotations

import ast

import numpy as np
import pytest

import tierup
from tierup.frontend.python import source


def double(x):
    return x + x


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
