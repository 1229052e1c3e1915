"""--verify-diagnostics: what the input's comments expect, against what was reported. As in mlir-opt:

    // expected-error@+1 {{part of the message}}
    // expected-note@above {{...}}   @below, @-2, @unknown; without @: this line
    // expected-error-re {{unknown op '{{[a-z]+}}'}}

Each diagnostic, notes included, must be expected on its line; each expectation must be met.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tierup.dialect.passes.diagnostics import Diagnostic, Place
from tierup.tools.opt.chunks import Chunk

_DIRECTIVE = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<regex>-re)? *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)
_ATTEMPT = re.compile(r"//.*expected-(error|warning|note|remark)")
_CURRENT = "see current operation"  # a note for people that MLIR adds to what its verifier says


@dataclass
class Expected:
    """One directive. `line` is 0 for a diagnostic without a place."""

    severity: str
    line: int
    text: str
    pattern: re.Pattern[str]
    at: Place
    met: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        """Whether a diagnostic has the severity, the line and the words that are expected."""
        here = self.severity == diagnostic.severity and self.line == diagnostic.place.line
        return here and self.pattern.search(diagnostic.message) is not None


def check_expected(chunk: Chunk, found: list[Diagnostic]) -> list[Diagnostic]:
    """The differences, as errors; empty when all is as expected."""
    expected, wrong = _directives(chunk)
    for diagnostic in _flat(found):
        hits = [e for e in expected if e.matches(diagnostic)]
        for hit in [e for e in hits if not e.met][:1] or hits[:1]:
            hit.met = True
        if not hits:
            wrong.append(Diagnostic("error", diagnostic.place, f"unexpected {diagnostic.severity}: {diagnostic.message}"))
    missed = [Diagnostic("error", e.at, f'expected {e.severity} "{e.text}" was not produced') for e in expected if not e.met]
    return wrong + missed


def _flat(found: list[Diagnostic]) -> list[Diagnostic]:
    return [d for top in found for d in (top, *top.notes) if not d.message.startswith(_CURRENT)]


def _directives(chunk: Chunk) -> tuple[list[Expected], list[Diagnostic]]:
    expected: list[Expected] = []
    wrong: list[Diagnostic] = []
    lines = chunk.lines()
    code = [number for number, line in lines if not _ATTEMPT.search(line) or not line.strip().startswith("//")]
    for number, line in lines:
        if not _ATTEMPT.search(line):
            continue
        match = _DIRECTIVE.search(line)
        at = Place(chunk.name, number, line.index("expected-") + 1)
        if match is None:
            wrong.append(Diagnostic("error", at, "malformed directive; it reads `// expected-error@+1 {{part of the message}}`"))
            continue
        target = _target(match["where"], number, code)
        if target is None:
            wrong.append(Diagnostic("error", at, f"there is no line {match['where']}"))
            continue
        expected.append(Expected(match["severity"], target, match["text"], _pattern(match["text"], match["regex"] is not None), at))
    return expected, wrong


def _target(where: str | None, number: int, code: list[int]) -> int | None:
    """The line that a directive speaks of. `@above` and `@below` skip other directives, so that several can be stacked."""
    if where is None:
        return number
    if where == "unknown":
        return 0
    if where == "above":
        return next((n for n in reversed(code) if n < number), None)
    if where == "below":
        return next((n for n in code if n > number), None)
    return number + int(where)


def _pattern(text: str, regex: bool) -> re.Pattern[str]:
    if not regex:
        return re.compile(re.escape(text))
    parts = re.split(r"\{\{(.*?)\}\}", text)
    return re.compile("".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))
