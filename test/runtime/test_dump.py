"""A compile that fails leaves a reproducer where the user asks for one, and the program runs on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.lowering import compile as lowering
from tierup.runtime import dump


def doubled(x):
    return np.tanh(x) * 2.0


def broken(*_: object, **__: object) -> None:
    raise RuntimeError("out of registers")


@pytest.mark.parametrize("kept", [True, False])
def test_a_failed_compile(kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowering.llvm, "emit", broken)
    if kept:
        monkeypatch.setenv(dump.VARIABLE, str(tmp_path / "dump"))
    f = tierup.jit(doubled)
    x = np.ones(3)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), doubled(x))
    assert "out of registers" in f.explain() and not f.versions
    files = sorted((tmp_path / "dump").glob("*")) if kept else []
    assert len(files) == kept
    assert all(str(file) in f.explain() and "define" in file.read_text() for file in files)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(dump.VARIABLE, str(tmp_path / "file" / "below"))
    assert dump.write("f", "text").startswith("nowhere: ")
