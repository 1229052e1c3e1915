"""The mutation tester notices what it should: mutants differ from the module in one place, and a broken pass fails its lit test."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from mutant_child import passes_lit
from mutation_run import FILES, TESTS, Subject
from mutations import mutants

SOURCE = '''
"""Words."""

def f(x: int, y: bool = True) -> None:
    """More words."""
    if x < 3 and not y:
        g(x + 1)
    for i in [a for a in h() if a > 0]:
        continue
'''


def test_each_mutant_is_one_change() -> None:
    found = {m.what for m in mutants(SOURCE)}
    assert found >= {
        "condition negated: x < 3 and (not y)", "comparison: x < 3 -> x <= 3", "3 -> 4", "3 -> 2", "not dropped: not y", "dropped: g(x + 1)",
        "operator: x + 1 -> x - 1", "filter dropped: a > 0", "dropped: continue", "f returns at once", "and/or swapped: x < 3 and (not y)",
    }  # fmt: skip
    whole = ast.unparse(ast.parse(SOURCE))
    assert all(m.source != whole for m in mutants(SOURCE))
    assert not any("words" in what or "True" in what for what in found), "docstrings and defaults of parameters stay"


def test_a_lit_file_belongs_to_one_pass() -> None:
    owners: dict[Path, str] = {}
    for path in FILES.values():
        for lit in Subject(path.stem).lit():
            assert owners.setdefault(lit, path.stem) == path.stem
    assert Subject("peephole").lit() == [TESTS / "peephole.mlir"]
    assert TESTS / "insert_profiling_uses.mlir" in Subject("insert_profiling").lit()


@pytest.mark.parametrize(("check", "passes"), [("return %arg0", True), ("return %arg1", False)])
def test_lit_files_are_run_without_a_shell(tmp_path: Path, check: str, passes: bool) -> None:
    path = tmp_path / "a.mlir"
    path.write_text(
        "// RUN: tierup-opt %s --tierup-dce | FileCheck %s\n// RUN: not tierup-opt %s --no-such-pass 2>&1 | FileCheck %s --check-prefix=ERROR\n"
        f"// CHECK: {check}\n// ERROR: no-such-pass\n"
        "func.func @f(%x: !torch.int, %y: !torch.int) -> !torch.int {\n  return %x : !torch.int\n}\n"
    )
    assert passes_lit(path) is passes
