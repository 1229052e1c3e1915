"""Texts and programs that nest too deep: refused before MLIR's parser, and before a pass, runs out of stack."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tierup import load
from tierup.dialect.ir.nesting import MAX_BRACKETS, MAX_REGIONS
from tierup.dialect.language.context import thread_context
from tierup.dialect.language.text import InvalidIR, check_nesting, parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.passes.registry import PassFailure
from tierup.frontend.errors import ProgramError
from tierup.frontend.mlir.file import load_text


def _attribute(value: str) -> str:
    return f"module attributes {{x.a = {value}}} {{}}"


SHAPES: dict[str, Callable[[int], str]] = {
    "arrays": lambda n: _attribute("[" * n + "]" * n),
    "dictionaries": lambda n: _attribute("{a = " * n + "1" + "}" * n),
    "modules": lambda n: "module {\n" * n + "}\n" * n,
    "generic ops": lambda n: '"builtin.module"() ({\n' * n + '"x.y"() : () -> ()\n' + "}) : () -> ()\n" * n,
    "parentheses": lambda n: _attribute("affine_map<(d0) -> (" + "(" * n + "d0" + ")" * n + ")>"),
    "signs": lambda n: _attribute("affine_map<(d0) -> (" + "-" * n + "d0)>"),
    "sums": lambda n: _attribute("affine_map<(d0) -> (" + "d0 + " * n + "d0)>"),
    "tuple types": lambda n: _attribute("tuple<" * n + "i1" + ">" * n),
    "function types": lambda n: _attribute("() -> (" * n + "i1" + ")" * n),
    "locations": lambda n: "module {} loc(" + 'callsite("x" at ' * n + '"x"' + ")" * n + ")",
    "attribute aliases": lambda n: "#a0 = [1]\n" + "".join(f"#a{i} = [#a{i - 1}]\n" for i in range(1, n)) + _attribute(f"#a{n - 1}"),
    "type aliases": lambda n: "!a0 = i1\n" + "".join(f"!a{i} = tuple<!a{i - 1}>\n" for i in range(1, n)) + _attribute(f"!a{n - 1}"),
    "aliases on two lines": lambda n: "#a0 = [1]\n" + "".join(f"#a{i} =\n[#a{i - 1}]\n" for i in range(1, n)) + _attribute(f"#a{n - 1}"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_nests_too_deep_is_refused_and_what_does_not_is_parsed(shape: str) -> None:
    with pytest.raises(InvalidIR, match=r"-:\d+:\d+: error: (brackets nested deeper|more than 5,000 characters)"):
        check_nesting(SHAPES[shape](100_000))
    text = SHAPES[shape](MAX_BRACKETS // 2 - 10)
    check_nesting(text)
    context = ir.Context()
    context.allow_unregistered_dialects = True
    assert str(ir.Module.parse(text, context))


_INSIDE = st.recursive(
    st.sampled_from(['"([{<"', '"\\"["', "// ((( <\n", "->", ">=", "<=", "#b", "!torch.int", "-1", "/", "%x", ", ", "\n"]),
    lambda inner: st.tuples(st.sampled_from(["()", "[]", "{}", "<>", "x<>"]), st.lists(inner, max_size=4)).map(
        lambda pair: pair[0][:-1] + " ".join(pair[1]) + pair[0][-1]
    ),
    max_leaves=20,
)


@given(_INSIDE, st.integers(-3, 3))
def test_strings_comments_and_arrows_are_no_brackets(inside: str, beyond: int) -> None:
    deepest = depth = 0
    plain = inside
    for skipped in ('"([{<"', '"\\"["', "// ((( <\n", "->", ">=", "<="):
        plain = plain.replace(skipped, "")
    for character in plain:
        depth += (character in "([{<") - (character in ")]}>")
        deepest = max(deepest, depth)
    around = MAX_BRACKETS - deepest + beyond
    text = "[" * around + " " + inside + "\n" + "]" * around
    if beyond > 0:
        with pytest.raises(InvalidIR, match="brackets nested deeper"):
            check_nesting(text)
    else:
        check_nesting(text)


def _branches(levels: int) -> str:
    lines = ["func.func @main(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {"]
    lines += [f"%r{i} = torch.prim.If %c -> (!torch.vtensor) {{" for i in range(levels)]
    lines.append("%y = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor")
    for i in range(levels - 1, -1, -1):
        given_on = f"%r{i + 1}" if i + 1 < levels else "%y"
        lines += [f"torch.prim.If.yield {given_on} : !torch.vtensor", "} else {", "torch.prim.If.yield %x : !torch.vtensor", "}"]
    return "\n".join([*lines, "return %r0 : !torch.vtensor", "}"])


def test_a_program_of_the_most_levels_runs_in_every_tier(tmp_path) -> None:  # noqa: ANN001 - pytest's
    path = tmp_path / "deep.mlir"
    path.write_text(_branches(MAX_REGIONS))
    f, x = load(path), np.ones(3)
    for _ in range(3):
        np.testing.assert_allclose(f(x, True), np.tanh(x), rtol=1e-12)
        assert f(x, False) is x
    assert f.stats().hits > 0


def test_a_program_of_more_levels_names_the_op_and_the_remedy() -> None:
    remedy = rf"-:{MAX_REGIONS + 3}:\d+: error: 'torch\.prim\.If' op stands in more than {MAX_REGIONS} branches and loops; make a function"
    with pytest.raises(ProgramError, match=remedy):
        load_text(_branches(MAX_REGIONS + 2))


def test_a_pass_that_recurses_too_deep_names_the_op() -> None:
    module = parse_module(_branches(400), thread_context())
    limit = sys.getrecursionlimit()
    with pytest.raises(PassFailure, match="stands in more than"):
        registry.pipeline("versioned").run(module)
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize("shape", ["arrays", "modules"])
def test_the_tool_ends_with_an_error_and_not_with_a_signal(shape: str) -> None:
    command = [sys.executable, "-m", "tierup.tools.opt"]
    run = subprocess.run(command, input=SHAPES[shape](100_000), capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 1
    assert "error: brackets nested deeper than 512 levels" in run.stderr
    assert max(map(len, run.stderr.splitlines())) < 1000, "a source line of any length is shown in part"
