"""What is kept of compiles for the people who work on them: a folder per compile under the one that `TIERUP_DUMP_DIR` names.

    003-layer-f32_64x8-f32_8x4/
        00-pristine.mlir  01-values.mlir  02-specialized.mlir  03-torch.mlir  04-linalg.mlir  05-buffers.mlir  06-loops.mlir
        07-llvm.ll  08-optimized.ll  09-asm.s  kernel.o
        request.json       the guards, options, target and pipelines, how it ended and what it cost
        reproducer.mlir    when a step failed: tierup-opt --run-reproducer shows the failure again

Each file is written as soon as its stage stands, so a compile that never ends shows how far it came. Without the variable nothing
is done. A folder that cannot be written to is no reason to fail a call: the logger "tierup.dump" says so.
"""

from __future__ import annotations

import contextvars
import json
import logging
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "TIERUP_DUMP_DIR"

_log = logging.getLogger("tierup.dump")
_LONGEST_NAME = 80
_REPRODUCER = "reproducer.mlir"
_SUFFIXES = {"llvm": ".ll", "optimized": ".ll", "asm": ".s"}  # of all other stages: .mlir


class Dump:
    """The folder of one compile."""

    def __init__(self, folder: Path, stages: int = 0) -> None:
        self.folder = folder
        self.facts: dict[str, Any] = {}
        self.reproducer = ""  # its path, when one was written
        self._stages = stages
        self._start = time.perf_counter()

    def stage(self, name: str, text: str) -> None:
        """A stage's text; "reproducer" is one too, but for its number."""
        if name == "reproducer":
            self.reproducer = self.write(_REPRODUCER, text)
            return
        self.write(f"{self._stages:02}-{name}{_SUFFIXES.get(name, '.mlir')}", text)
        self._stages += 1

    def begin(self, reproducer: str) -> None:
        """Before a step that may end the process: the reproducer that is to be found then."""
        self.write(_REPRODUCER, reproducer)

    def passed(self) -> None:
        """The step went well."""
        (self.folder / _REPRODUCER).unlink(missing_ok=True)

    def found_reproducer(self) -> str:
        """The path of what `begin` left, in whatever process that was; "" when there is none."""
        path = self.folder / _REPRODUCER
        self.reproducer = str(path) if path.exists() else ""
        return self.reproducer

    @property
    def where(self) -> tuple[str, int]:
        """What another process needs to keep stages here: see `continued`."""
        return str(self.folder), self._stages

    def note(self, **facts: Any) -> None:
        """What `request.json` is to say beside."""
        self.facts |= facts

    def close(self) -> None:
        """Write `request.json`, with how long the compile took."""
        total = round((time.perf_counter() - self._start) * 1e3, 3)
        self.write("request.json", json.dumps(self.facts | {"total_ms": total}, indent=2, default=str) + "\n")

    def write(self, name: str, contents: str | bytes) -> str:
        """The path of the file, "" when it could not be written."""
        path = self.folder / name
        try:
            path.write_bytes(contents.encode() if isinstance(contents, str) else contents)
        except OSError as e:
            _log.warning("cannot write %s: %s", path, e)
            return ""
        return str(path)


_current: contextvars.ContextVar[Dump | None] = contextvars.ContextVar("tierup_dump", default=None)


def current() -> Dump | None:
    """The dump of the compile that runs here; None where nothing is to be kept."""
    return _current.get()


def stage(name: str, text: str) -> None:
    """Keep a stage's text, where texts are kept."""
    dump = _current.get()
    if dump is not None:
        dump.stage(name, text)


@contextmanager
def compiling(function: str, version: str = "", **facts: Any) -> Iterator[Dump | None]:
    """Around a compile of `version`, a description, of `function`. Nested in another's it is part of that.

    An exception is noted as how it ended and goes on.
    """
    folder = os.environ.get(VARIABLE)
    if not folder or _current.get() is not None:
        yield _current.get()
        return
    made = _make(Path(folder), "-".join(filter(None, (function, version))))
    if made is None:
        yield None
        return
    dump = Dump(made)
    dump.note(function=function, version=version, outcome="unfinished", **facts)
    token = _current.set(dump)
    try:
        yield dump
    except BaseException as e:
        dump.note(outcome="failed", error=f"{type(e).__name__}: {e}")
        raise
    else:
        if dump.facts["outcome"] == "unfinished":
            dump.note(outcome="done")
    finally:
        _current.reset(token)
        dump.close()


@contextmanager
def continued(folder: str, stages: int) -> Iterator[Dump]:
    """In a process that compiles for another, which holds the dump: keep stages there. What is noted is the other's to write."""
    dump = Dump(Path(folder), stages)
    token = _current.set(dump)
    try:
        yield dump
    finally:
        _current.reset(token)


def write(name: str, text: str) -> str:
    """Keep a reproducer with the compile that runs here, or in a folder of its own; its path, "" when nothing is to be kept."""
    with compiling(name) as dump:
        if dump is None:
            return ""
        dump.stage("reproducer", text)
        return dump.reproducer


def _make(folder: Path, name: str) -> Path | None:
    """A new folder with the next free number: processes may share the one above."""
    stem = re.sub(r"[^\w.-]+", "_", name).strip("_")[:_LONGEST_NAME] if name else "compile"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = sum(1 for _ in folder.iterdir())
        while True:
            path = folder / f"{number:03}-{stem}"
            number += 1
            try:
                if not any(folder.glob(f"{path.name[:4]}*")):
                    path.mkdir()
                    return path
            except FileExistsError:
                continue  # another process was quicker
    except OSError as e:
        _log.warning("cannot make a folder in %s: %s", folder, e)
        return None
