"""tierup-opt with a user's pass: where the flags stand does not matter, and what the pass raises is shown at its line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PASS_FILE = '''\
from dataclasses import dataclass
import tierup

def look_up(table):
    return table["word"]

@tierup.register_pass("pre-fusion")
@dataclass(frozen=True)
class Moody(tierup.Pass):
    """Look a word up, in vain."""

    name = "moody"
    fine: bool = False

    def run(self, module):
        if not self.fine:
            look_up({})
'''


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "moody.py").write_text(PASS_FILE)
    (tmp_path / "p.mlir").write_text("func.func @f() { return }\n")
    return str(tmp_path / "moody.py"), str(tmp_path / "p.mlir")


def opt(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tierup.tools.opt", *arguments], capture_output=True, text=True, check=False)


def test_an_exception_in_a_pass_is_an_error_at_its_line_with_its_traceback_as_a_note(files: tuple[str, str]) -> None:
    ran = opt(files[1], "--moody", "--mlir-print-ir-after-all", f"--load-passes={files[0]}")
    assert ran.returncode == 1 and ran.stdout == ""
    dump, _, said = ran.stderr.partition("IR Dump After moody Failed")
    assert not dump.strip("/- ") and said
    assert f"{files[0]}:5:12: error: pass 'moody' raised KeyError: 'word'\n    return table[\"word\"]\n           ^\n" in said
    note = said.partition("note: traceback (most recent call last):\n")[2]
    assert note.startswith(f'  File "{files[0]}", line 17, in run\n') and f'File "{files[0]}", line 5, in look_up' in note
    assert "tierup" not in note  # the pass manager's frames are of no use to who wrote the pass


def test_a_pass_run_by_the_custom_passes_pass_has_its_traceback_too(files: tuple[str, str]) -> None:
    ran = opt(files[1], "--tierup-custom-passes=when=pre-fusion", "--load-passes", files[0])
    assert ran.returncode == 1
    assert "error: 'builtin.module' op moody (pre-fusion) raised KeyError: 'word'" in ran.stderr
    assert f'note: traceback (most recent call last):\n  File "{files[0]}", line 17, in run\n' in ran.stderr


def test_passes_are_loaded_first_wherever_load_passes_stands(files: tuple[str, str]) -> None:
    ran = opt("--moody=fine=true", files[1], "--load-passes", files[0])
    assert (ran.returncode, ran.stderr) == (0, "") and "func.func @f" in ran.stdout
    assert "Look a word up, in vain." in opt("--help", "--moody", f"--load-passes={files[0]}").stdout
    unknown = opt("--mody", f"--load-passes={files[0]}")
    assert unknown.returncode == 1 and "did you mean '--moody'" in unknown.stderr


def test_help_says_how_passes_of_ones_own_get_in() -> None:
    shown = opt("--help").stdout
    assert "--load-passes=mine.py --my-pass" in shown and "entry point group `tierup.passes`" in shown
