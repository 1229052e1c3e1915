"""The parts of an input: where --split-input-file cuts, and how a diagnostic shows its source line."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from pathlib import Path

from tierup.dialect.language.text import check_nesting
from tierup.dialect.mlir import ir
from tierup.dialect.passes.diagnostics import Diagnostic, excerpt

MARKER = "// -----"


@dataclass(frozen=True)
class Chunk:
    """A part of an input. `first`: how many lines of the file stand before it."""

    name: str
    text: str
    first: int
    bytecode: bytes = b""

    def parse(self, context: ir.Context) -> ir.Module:
        """The chunk's module. Line numbers are the whole file's. Raises MLIRError; InvalidIR for what nests too deep for MLIR."""
        if self.bytecode:
            return ir.Module.parse(self.bytecode, context)
        check_nesting("\n" * self.first + self.text, self.name)
        if self.first == 0 and Path(self.name).is_file() and Path(self.name).read_text() == self.text:
            return ir.Module.parseFile(self.name, context)  # locations then name the file
        return ir.Module.parse("\n" * self.first + self.text, context)

    def lines(self) -> list[tuple[int, str]]:
        """Each line with its number in the file, from 1."""
        return list(enumerate(self.text.splitlines(), start=self.first + 1))

    def owns(self, file: str) -> bool:
        """Whether a location's file is this input: what was parsed from text says `-`."""
        return file in ("-", self.name)

    def _line(self, number: int) -> str:
        lines = self.text.splitlines()
        at = number - self.first - 1
        return lines[at] if 0 <= at < len(lines) else ""

    def show(self, diagnostic: Diagnostic) -> str:
        """The diagnostic as compilers print it: place, message, the source line and a caret."""
        place = diagnostic.place
        here = self.owns(place.file)
        where = f"{self.name if here else place.file}:{place.line}:{place.column}" if place.line else self.name
        shown = [f"{where}: {diagnostic.severity}: {diagnostic.message}"]
        line = self._line(place.line) if here else linecache.getline(place.file, place.line).rstrip("\n")
        if line.strip():
            shown += excerpt(line, place.column)
        return "\n".join([*shown, *map(self.show, diagnostic.notes)])


def split(name: str, text: str) -> list[Chunk]:
    """The chunks between lines that are `// -----`."""
    chunks: list[Chunk] = []
    lines = text.splitlines(keepends=True)
    start = 0
    for number, line in enumerate([*lines, MARKER]):
        if line.rstrip() == MARKER:
            chunks.append(Chunk(name, "".join(lines[start:number]), start))
            start = number + 1
    return chunks
