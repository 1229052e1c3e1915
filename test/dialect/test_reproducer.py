"""The text form of reproducers: what is written is read back, and files of mlir-opt's are read."""

from __future__ import annotations

import pytest

from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines.reproducer import Reproducer, read

MODULE = 'func.func @f() attributes {a = "{-# mlir_reproducer #-}"} {\n  return\n}\n'


@pytest.mark.parametrize(
    "made",
    [
        Reproducer(MODULE, pipeline='builtin.module(a{x="b c"},func.func(d))'),
        Reproducer(MODULE, request='{"entry": "f\\\\\\"", "arguments": []}\n', verify_each=False),
    ],
)
def test_what_is_written_is_read_back(made: Reproducer) -> None:
    found = read(str(made))
    assert found is not None and found.module.strip() == MODULE.strip()
    assert (found.pipeline, found.request, found.verify_each) == (made.pipeline, made.request, made.verify_each)


def test_the_error_stands_in_comments_and_mlir_parses_the_file() -> None:
    text = str(Reproducer(MODULE, pipeline="cse", error="first: line\nsecond"))
    assert text.startswith("// first: line\n// second\n")
    with ir.Context():
        assert "func.func @f" in str(ir.Module.parse(text))


@pytest.mark.parametrize("text", ["", MODULE, MODULE + "\n{-# external_resources: {} #-}\n", MODULE + "\n{-# mlir_reproducer: {\n"])
def test_a_file_that_says_nothing_to_run_is_none(text: str) -> None:
    assert read(text) is None
