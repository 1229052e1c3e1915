"""The command `tierup`, which is `python -m tierup`: its version, its help, the cache on disk, and the tools by their short names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tierup
from tierup.lowering.objects import store
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
        for word in ("tierup opt", "tierup run", "tierup reduce", "tierup compile", "docs/", "options.md", "tierup cache --clear", "--version"):
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


def test_the_cache_is_told_and_cleared(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(place))
    assert said(capsys, "cache", "--path") == (0, f"{place}\n", "")
    assert said(capsys, "cache") == (0, f"{place}: 0 entries, 0.0 MiB\n", "")
    assert said(capsys, "cache", "--clear")[0] == 0 and not place.exists()  # looking makes no folder
    store.write("one", b"1" * 2**20)
    store.write("two", b"2")
    (place / "unfinished.new").write_bytes(b"")
    (place / "mine.txt").write_text("not the cache's")
    os.symlink(place / "mine.txt", place / "link.artifact")
    assert said(capsys, "cache") == (0, f"{place}: 2 entries, 1.0 MiB\n", "")
    assert said(capsys, "cache", "--clear") == (0, f"2 entries removed from {place}\n", "")
    assert store.read("one") is None and {p.name for p in place.iterdir()} == {"key", "mine.txt", "link.artifact"}
    store.write("one", b"1")
    assert store.read("one") == b"1"  # the key is still there
    monkeypatch.setenv("TIERUP_CACHE", "0")
    assert said(capsys, "cache")[1].endswith("; TIERUP_CACHE=0: not used\n")


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
def test_a_folder_that_others_write_is_not_cleared(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "x.artifact").write_bytes(b"")
    tmp_path.chmod(0o777)
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path))
    code, out, error = said(capsys, "cache", "--clear")
    assert code == 1 and not out and "tierup cache: error: others can write" in error and (tmp_path / "x.artifact").exists()
