"""Runs the tests of one pass in this process, with a module's source replaced: what a forked child of the driver does.

lit's RUN lines are run here too, without a shell: they are `tierup-opt`, `FileCheck`, `not` and `diff`, and pipes of these.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import io
import re
import shlex
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import filecheck.main
import pytest

from tierup.tools import opt


class Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module from a text of ours."""

    def __init__(self, module: str, path: Path, source: str) -> None:
        self.module, self.path, self.source = module, path, source

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, self, origin=str(self.path)) if name == self.module else None

    def exec_module(self, module: Any) -> None:
        module.__file__ = str(self.path)
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)  # noqa: S102 - a mutant of our own module


def survives(lit: Sequence[Path], pytests: Sequence[Path]) -> bool:
    """Whether every test passes. lit's come first: they are quicker."""
    if not all(passes_lit(path) for path in lit):
        return False
    if not pytests:
        return True
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        arguments = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-m", "not torch", *map(str, pytests)]
        return pytest.main(arguments) in (0, 5)  # 5: only tests that need PyTorch


def passes_lit(path: Path) -> bool:
    """Whether a lit test passes. Raises ValueError for a RUN line that is more than the docstring says."""
    with tempfile.TemporaryDirectory() as scratch:
        for line in re.findall(r"^// RUN: (.*)$", path.read_text(), re.MULTILINE):
            line = line.replace("%s", str(path)).replace("%S", str(path.parent)).replace("%t", f"{scratch}/t")
            if not _run(line):
                return False
    return True


def _run(line: str) -> bool:
    data = ""
    code = 0
    for part in line.split(" | "):
        words = shlex.split(part.replace("2> /dev/null", "").replace("2>/dev/null", ""))
        inverted = words[0] == "not"
        words = words[inverted:]
        merged = "2>&1" in words
        words = [w for w in words if w != "2>&1"]
        targets = {}
        for sign in (">", "2>"):
            if sign in words:
                at = words.index(sign)
                targets[sign] = words[at + 1]
                del words[at : at + 2]
        code, data, errors = _command(words, data, merged)
        for sign, target in targets.items():
            Path(target).write_text(data if sign == ">" else errors)
        if inverted:
            code = int(code == 0)
        if code:
            return False  # lit's shell fails a pipe with any of its parts
    return True


def _command(words: list[str], data: str, merged: bool) -> tuple[int, str, str]:
    """Its exit code, what it printed, and what it printed to stderr."""
    if words[0] == "diff":
        return int(Path(words[1]).read_text() != Path(words[2]).read_text()), "", ""
    if words[0] not in ("tierup-opt", "FileCheck"):
        raise ValueError(f"a RUN line with {words[0]}")
    out = io.StringIO()
    err = out if merged else io.StringIO()
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(data.encode()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = opt.main(words[1:]) if words[0] == "tierup-opt" else _filecheck(words)
    finally:
        sys.stdin = stdin
    return code, out.getvalue(), "" if merged else err.getvalue()


def _filecheck(words: list[str]) -> int:
    try:
        filecheck.main.main(words)
    except SystemExit as e:
        return int(e.code or 0)
    return 0
