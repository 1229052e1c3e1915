"""tierup-reduce: from programs with a planted fault to what the fault needs, and nothing else."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tierup.dialect.ir.walking import walk
from tierup.dialect.language.context import new_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes import registry
from tierup.dialect.passes.pipelines.reproducer import Reproducer, read
from tierup.tools.opt import __main__ as opt
from tierup.tools.opt.options import load_passes
from tierup.tools.reduce import __main__ as reduce
from tierup.tools.reduce.judge import Said, run
from tierup.tools.reduce.search import EDITS, _edited

T = "!torch.vtensor<[8,16],f32>"

PASSES = '''\
import os, time
from tierup.dialect.ir.walking import walk
from tierup.dialect.passes.registry import Pass, PassFailure, register

@register
class NoCosine(Pass):
    """Fails on the cosine of a sum, in a way of your choice."""

    name = "no-cosine"
    how: str = "failure"

    def run(self, module):
        for op in walk(module.operation):
            if op.name == "torch.aten.cos" and getattr(op.operands[0].owner, "name", "") == "torch.aten.add.Tensor":
                if self.how == "crash":
                    os.abort()
                if self.how == "hang":
                    time.sleep(60)
                if self.how == "exception":
                    raise KeyError("cosine")
                raise PassFailure(op, f"of {op.operands[0].type} is more than I can take")
'''


def program(n: int, seed: int = 0) -> str:
    """A chain of elementwise ops, in which one is the cosine of a sum; two functions, one of them called."""
    chosen = random.Random(seed)
    lines, values = [f"func.func @main(%a: {T}, %b: {T}) -> ({T}, {T}) {{", "  %one = torch.constant.int 1"], ["%a", "%b"]
    for i in range(n):
        last, other = values[-1], chosen.choice(values[-6:])
        op = "add" if i == n // 2 else "cos" if i == n // 2 + 1 else chosen.choice(["tanh", "exp", "mul", "call"])
        if op == "add":
            lines.append(f"  %{i} = torch.aten.add.Tensor {last}, {other}, %one : {T}, {T}, !torch.int -> {T}")
        elif op == "mul":
            lines.append(f"  %{i} = torch.aten.mul.Tensor {last}, {other} : {T}, {T} -> {T}")
        elif op == "call":
            lines.append(f"  %{i} = call @sine({last}) : ({T}) -> {T}")
        else:
            lines.append(f"  %{i} = torch.aten.{op} {last} : {T} -> {T}")
        values.append(f"%{i}")
    lines += [f"  return {values[-1]}, {values[2]} : {T}, {T}", "}", f"func.func private @sine(%x: {T}) -> {T} {{"]
    return "\n".join([*lines, f"  %0 = torch.aten.sin %x : {T} -> {T}", f"  return %0 : {T}", "}", ""])


NESTED = f"""
func.func @main(%a: {T}, %n: !torch.int, %p: !torch.bool) -> {T} {{
  %true = torch.constant.bool true
  %0:2 = torch.prim.Loop %n, %true, init(%a, %a) {{
  ^bb0(%i: !torch.int, %x: {T}, %y: {T}):
    %1 = torch.prim.If %p -> ({T}) {{
      %2 = torch.aten.tanh %x : {T} -> {T}
      torch.prim.If.yield %2 : {T}
    }} else {{
      %3 = torch.aten.cos %y : {T} -> {T}
      %4 = torch.aten.exp %3 : {T} -> {T}
      torch.prim.If.yield %4 : {T}
    }}
    torch.prim.Loop.condition %true, iter(%1, %y : {T}, {T})
  }} : (!torch.int, !torch.bool, {T}, {T}) -> ({T}, {T})
  return %0#0 : {T}
}}
"""


@pytest.fixture
def passes(tmp_path: Path) -> str:
    path = tmp_path / "cosine_passes.py"
    path.write_text(PASSES)
    return str(path)


def ops(text: str) -> list[str]:
    module = parse_module(text, new_context())
    return [op.name for op in walk(module.operation) if not op.name.endswith(("return", "yield", "condition"))]


def reduced(text: str, tmp_path: Path, *arguments: str) -> str:
    """The module that is left. In a process of its own: it forks for each candidate, which takes ten times as long in one that has run
    thousands of tests."""
    (tmp_path / "in.mlir").write_text(text)
    command = [sys.executable, "-m", "tierup.tools.reduce", str(tmp_path / "in.mlir"), "-o", str(tmp_path / "out.mlir"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    sys.stderr.write(done.stderr)
    assert done.returncode == 0, done.stderr
    return (tmp_path / "out.mlir").read_text()


def asks_for(word: str) -> str:
    return f"grep -q '{word}' {{}}"


def test_a_command_that_looks_for_an_op_leaves_that_op_alone(tmp_path: Path) -> None:
    text = program(24)
    assert len(ops(text)) > 24
    small = reduced(text, tmp_path, "--test", asks_for("aten.cos"))
    assert ops(small) == ["func.func", "torch.aten.cos"]
    assert "[1,1]" in small and "return\n" in small  # sizes are small, nothing is returned


def test_with_fails_the_fault_is_that_the_command_fails(tmp_path: Path) -> None:
    assert ops(reduced(program(4), tmp_path, "--fails", "--test", f"! {asks_for('aten.cos')}")) == ["func.func", "torch.aten.cos"]


def test_branches_and_loops_are_opened(tmp_path: Path) -> None:
    assert ops(reduced(NESTED, tmp_path, "--test", asks_for("aten.cos"))) == ["func.func", "torch.aten.cos"]


def test_a_loop_that_the_fault_needs_stays_with_what_it_needs(tmp_path: Path) -> None:
    small = reduced(NESTED, tmp_path, "--test", asks_for("prim.Loop %"))
    assert ops(small) == ["func.func", "torch.prim.Loop"] and "init(" in small
    assert small.count("vtensor") == 0, "no value is carried any more"


@pytest.mark.parametrize(("how", "says"), [("failure", "of !torch.vtensor"), ("exception", "KeyError: 'cosine'"), ("crash", "died of SIGABRT")])
def test_a_reproducer_keeps_its_error_and_only_the_passes_that_it_needs(
    how: str, says: str, tmp_path: Path, passes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pipeline = f"builtin.module(tierup-infer-types,no-cosine{{how={how}}},func.func(canonicalize,cse))"
    small = reduced(str(Reproducer(program(24 if how == "failure" else 5), pipeline)), tmp_path, "--reproducer", f"--load-passes={passes}")
    err = capsys.readouterr().err
    assert "the fault is no-cosine: " in err and says in err and "-> 2 ops" in err
    found = read(small)
    assert found is not None and found.pipeline == f"builtin.module(no-cosine{{how={how}}})".replace("{how=failure}", "")
    assert ops(found.module) == ["func.func", "torch.aten.add.Tensor", "torch.aten.cos"]
    if how == "failure":
        assert opt.main([str(tmp_path / "out.mlir"), "--run-reproducer", f"--load-passes={passes}"]) == 1
        assert "more than I can take" in capsys.readouterr().err


def test_a_pass_that_hangs_is_a_fault_too(passes: str) -> None:
    load_passes(passes)
    assert run(program(4), registry.parse("no-cosine{how=hang}"), 1) == Said("no-cosine", "did not end within 1 seconds")


def test_the_same_input_gives_the_same_output(tmp_path: Path) -> None:
    first, second = (reduced(program(4, seed=3), tmp_path, "--test", asks_for("aten.exp")) for _ in range(2))
    assert first == second


SIZED = """
func.func @main(%a: !torch.vtensor<[8,16],f32> {tierup.name = "a"}, %b: tensor<8x3xf32>) -> !torch.int attributes {tierup.source = "jit"} {
  %n = torch.constant.int 16
  return %n : !torch.int
}
"""


@pytest.mark.parametrize(
    ("text", "edit", "sites", "there", "gone"),
    [
        (NESTED, "loops", 1, ["return %arg0"], ["prim.Loop", "tanh"]),
        (NESTED, "bodies", 2, ["tanh", "constant.int 0"], ["prim.Loop", "prim.If", "cos"]),
        (NESTED, "other bodies", 1, ["prim.Loop", "cos"], ["prim.If", "tanh"]),
        (SIZED, "sizes", 3, ["[4,4]", "tensor<4x1xf32>", "constant.int 16"], ["[8,16]"]),  # 16 and then both 8
        (SIZED, "sizes and constants", 3, ["[4,4]", "tensor<4x1xf32>", "constant.int 4"], ["[8,16]"]),
        (SIZED, "attributes", 2, ["[8,16]", "constant.int 16"], ["tierup.name", "tierup.source"]),
        (SIZED, "results", 1, ["[8,16]", "constant.int 16", "return\n"], ["return %"]),
        (SIZED, "arguments", 2, ["@main()", "constant.int 16"], []),
        (SIZED, "functions", 1, ["module {"], ["func.func"]),
    ],
)
def test_all_sites_of_an_edit_at_once(text: str, edit: str, sites: int, there: list[str], gone: list[str]) -> None:
    module = parse_module(text, new_context())
    assert len(EDITS[edit](module)) == sites
    made, _ = _edited(text, edit, range(sites))
    assert all(word in made for word in there) and not any(word in made for word in gone), made


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--test", asks_for("aten.cosh")], "itself does not pass the test"),
        (["--test", "true"], "needs {}"),
        (["--reproducer"], "is no reproducer"),
        (["--pass-pipeline=cse"], "shows no fault"),
        (["--pass-pipeline=csee"], "does not refer to a registered pass"),
        (["--pass-pipeline=cse", "--fails"], "--fails goes with --test"),
        (["--pass-pipeline=cse", "--load-passes=nowhere.py"], "cannot load passes"),
    ],
)
def test_what_cannot_be_reduced_is_an_error_that_says_why(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.mlir").write_text(program(2))
    assert reduce.main([str(tmp_path / "in.mlir"), *arguments]) == 1
    assert says in capsys.readouterr().err


def test_help_teaches(tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "tierup.tools.reduce", "--help"], capture_output=True, text=True, check=True)
    assert "--run-reproducer" in ran.stdout and "{} is the candidate's file" in ran.stdout
