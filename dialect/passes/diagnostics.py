"""Diagnostics as plain data: what MLIR's verifiers and parsers report, and what our passes report, in one form.

`collect(context)` gathers both while it is open; without a collector, MLIR's errors travel in the MLIRError and our
passes' warnings and remarks are dropped, as they are in mlir-opt without a handler.
"""

from __future__ import annotations

import re
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import unescaped
from tierup.dialect.mlir import ir

_FILE_LOCATION = re.compile(r'loc\("(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')
_PLAIN_LOCATION = re.compile(r'"(?P<file>(?:[^"\\]|\\.)*)":(?P<line>\d+):(?P<column>\d+)')

_SHOWN = 400  # characters of a source line
_PASSES = Path(__file__).parent
_CALLERS_OF_PASSES = tuple(str(_PASSES / name) for name in ("core.py", "pipelines/pipeline.py", "pipelines/custom.py"))

_local = threading.local()


@dataclass(frozen=True)
class Place:
    """A file position; line and column count from 1. `file` is empty and line 0 for an unknown location."""

    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else "<unknown>"


@dataclass(frozen=True)
class Diagnostic:
    """One message at one place, with its notes."""

    severity: str  # error, warning, note, remark
    place: Place
    message: str
    notes: tuple[Diagnostic, ...] = field(default=())

    def __str__(self) -> str:
        lines = [f"{self.place}: {self.severity}: {self.message}", *map(str, self.notes)]
        return "\n".join(lines)


def place_of(location: ir.Location | str) -> Place:
    """The first file position in a location: of a fused or call-site location the innermost written first."""
    text = str(location)
    match = _FILE_LOCATION.search(text) or _PLAIN_LOCATION.search(text)
    if match is None:
        return Place()
    return Place(unescaped(match["file"]), int(match["line"]), int(match["column"]))


def where(location: ir.Location | str) -> str:
    """The first file position in a location as text, "" where there is none."""
    place = place_of(location)
    return str(place) if place.line else ""


def excerpt(line: str, column: int) -> list[str]:
    """A source line with a caret under the column; of a very long line what stands around it."""
    start = max(0, column - _SHOWN // 2) if len(line) > _SHOWN else 0
    shown = line[start : start + _SHOWN]
    return [shown, " " * (column - 1 - start) + "^"]


def at(op: ir.Operation, severity: str, message: str, *notes: tuple[ir.Operation, str]) -> Diagnostic:
    """A diagnostic at an op, in MLIR's own wording: `'torch.aten.mm' op <message>`. Notes are (op, message) pairs."""
    attached = tuple(Diagnostic("note", place_of(other.location), text) for other, text in notes)
    return Diagnostic(severity, place_of(op.location), f"'{op.name}' op {message}", attached)


def of_exception(what: str, error: BaseException) -> Diagnostic:
    """`what KeyError: 'x'` at the line of the pass that raised, with the traceback below the pass manager as a note."""
    frames = traceback.extract_tb(error.__traceback__)
    callers = [i for i, f in enumerate(frames) if f.filename in _CALLERS_OF_PASSES]
    own = frames[callers[-1] + 1 :] if callers and callers[-1] + 1 < len(frames) else frames
    # the pass's own file is the one whose `run` was called; what it called in turn is in the note
    at_fault = next(f for f in reversed(own) if f.filename == own[0].filename)
    place = Place(at_fault.filename, at_fault.lineno or 0, (at_fault.colno or 0) + 1)
    shown = "".join(["traceback (most recent call last):\n", *traceback.format_list(own)]).rstrip()
    said = "".join(traceback.format_exception_only(error)).strip()
    return Diagnostic("error", place, f"{what} {said}", (Diagnostic("note", Place(), shown),))


def emit(diagnostic: Diagnostic) -> None:
    """Hand a diagnostic to the innermost open `collect` of this thread."""
    sinks = getattr(_local, "sinks", None)
    if sinks:
        sinks[-1].append(diagnostic)


def warn(op: ir.Operation, message: str, *notes: tuple[ir.Operation, str]) -> None:
    """A pass's warning at an op."""
    emit(at(op, "warning", message, *notes))


def remark(op: ir.Operation, message: str, *notes: tuple[ir.Operation, str]) -> None:
    """A pass's remark at an op: something it did or left, for people who ask."""
    emit(at(op, "remark", message, *notes))


def from_mlir(diagnostic: ir.Diagnostic | ir.DiagnosticInfo) -> Diagnostic:
    """A binding's diagnostic as plain data; the binding's object dies with its callback."""
    severity = str(diagnostic.severity).rpartition(".")[2].lower()
    notes = tuple(from_mlir(note) for note in diagnostic.notes)
    return Diagnostic(severity, place_of(diagnostic.location), diagnostic.message, notes)


def from_error(error: ir.MLIRError) -> tuple[Diagnostic, ...]:
    """What an MLIRError carries."""
    return tuple(from_mlir(d) for d in error.error_diagnostics)


@contextmanager
def collect(context: ir.Context) -> Iterator[list[Diagnostic]]:
    """All diagnostics of `context` and of our passes in this thread, in order, while open. MLIRErrors then carry none."""
    found: list[Diagnostic] = []

    def take(diagnostic: ir.Diagnostic) -> bool:
        found.append(from_mlir(diagnostic))
        return True

    if not hasattr(_local, "sinks"):
        _local.sinks = []
    before = context.emit_error_diagnostics
    context.emit_error_diagnostics = True
    handler = context.attach_diagnostic_handler(take)
    _local.sinks.append(found)
    try:
        yield found
    finally:
        _local.sinks.pop()
        handler.detach()
        context.emit_error_diagnostics = before
