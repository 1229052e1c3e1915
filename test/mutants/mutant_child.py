"""Runs the tests of one pass in this process, with a module's source replaced: what a forked child of the driver does."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import io
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import run_lines


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
    """Whether a lit test passes. Raises run_lines.Unknown for a test that needs lit's own shell."""
    with tempfile.TemporaryDirectory() as scratch:
        return run_lines.run(path, Path(scratch)).passed
