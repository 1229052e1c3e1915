"""`tierup.report()`: what all functions of a process took, by source line."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.runtime.functions.verdict import process

AS_PRINTED = True

PROGRAM = """
import numpy as np
import tierup

def solve(x, k):
    @tierup.jit
    def inner(v):
        return np.tanh(v) * k
    return inner(x)

@tierup.jit
def outer(x):
    return x + 1

for i in range(8):
    solve(np.ones(8), float(i))
    outer(np.ones(8))
"""


def test_what_is_no_path_listener_registry_entry_or_key_is_named(tmp_path: Path) -> None:
    """A number would be taken for an open file: whose it is, the page would be written there."""
    f = tierup.jit(lambda x: x + 1)
    file = tmp_path / "f.mlir"
    file.write_text("func.func @main(%x: !torch.vtensor) -> !torch.vtensor { return %x : !torch.vtensor }")
    f(np.ones(2)), f(np.ones(2))
    f.save(tmp_path / "f.plan")
    for refused, what in (
        (lambda: f.report(3), "PathLike"),
        (lambda: tierup.report(3), "PathLike"),
        (lambda: tierup.load(3), "PathLike"),
        (lambda: tierup.load(file, entry=3), "the name of a function, got 3"),
        (lambda: tierup.events.subscribe(3).__enter__(), "not 3"),
        (lambda: tierup.metrics(3), "a CollectorRegistry of prometheus_client's, not 3"),
        (lambda: tierup.spans(3).__enter__(), "a TracerProvider of OpenTelemetry's, not 3"),
        (lambda: tierup.load_plan(tmp_path / "f.plan", key=3), "a key is bytes, not int"),
    ):
        with pytest.raises(TypeError, match=what):
            refused()
    with pytest.raises(FileNotFoundError, match=r"nowhere/f\.plan'$"):
        f.save(tmp_path / "nowhere" / "f.plan")


def test_functions_that_are_gone_are_there_by_their_line_and_how_often_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_MOST_LINES", 10**6)  # whatever tests before this one took
    monkeypatch.setattr(process, "_LEAST", 0.0)

    def made(k: float) -> None:
        @tierup.jit
        def short_lived(v):
            return np.tanh(v) * k

        short_lived(np.ones(4))

    for k in range(6):
        made(float(k))
    lines = tierup.report().splitlines()
    at = next(i for i, line in enumerate(lines) if " in short_lived at " in line)
    assert f"{__file__}:" in lines[at] and lines[at].endswith("decorated 6 times")
    assert lines[at + 1].startswith("    time: ") and "graphs" in lines[at + 1]
    assert lines[1].startswith("  time: ") and all(len(line) <= 160 for line in lines)


def test_the_report_is_written_at_exit(tmp_path: Path) -> None:
    program, written = tmp_path / "program.py", tmp_path / "report.txt"
    program.write_text(PROGRAM)
    subprocess.run([sys.executable, str(program)], env={**os.environ, "TIERUP_REPORT": str(written)}, check=True)
    text = written.read_text()
    assert text.startswith("tierup: 9 functions decorated at 2 lines\n  time: ")
    assert f"in inner at {program}:7, decorated 8 times" in text and f"in outer at {program}:12\n" in text
    assert "Slow in its first calls alone" in text.partition("in outer")[2]


def test_a_report_that_cannot_be_written_is_said_and_no_error(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "TIERUP_REPORT": str(tmp_path / "no folder" / "report.txt")}
    run = subprocess.run([sys.executable, str(program)], env=environment, check=True, capture_output=True, text=True)
    assert "tierup: TIERUP_REPORT: " in run.stderr
