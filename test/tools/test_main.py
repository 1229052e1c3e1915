"""The command `tierup`, which is `python -m tierup`: its version, its help, and the tools by their short names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import tierup
from tierup.tools import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = main.main(words)
    except SystemExit as e:  # argparse's
        code = int(e.code or 0)
    return code, *capsys.readouterr()


def test_python_m_tierup_is_the_command() -> None:
    ran = subprocess.run([sys.executable, "-m", "tierup", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"tierup {tierup.__version__}\n"


def test_help_teaches_the_tools_and_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    for words in ((), ("--help",)):
        code, out, _ = said(capsys, *words)
        assert code == 0
        for word in ("tierup opt", "tierup run", "tierup reduce", "tierup compile", "docs/", "options.md", "cache.md", "tierup cache", "--version"):
            assert word in out


def test_a_tool_is_called_with_what_follows_its_name(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    program = tmp_path / "negate.mlir"
    program.write_text(
        "func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {\n"
        "  %y = torch.aten.neg %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>\n  return %y : !torch.vtensor<[2],f32>\n}\n"
    )
    code, out, _ = said(capsys, "opt", str(program))
    assert code == 0 and "torch.aten.neg" in out
    assert said(capsys, "run", str(tmp_path / "none.mlir"))[0] == 1
    code, _, error = said(capsys, "optimise")
    assert code == 2 and "invalid choice: 'optimise'" in error
