"""The text form of pipelines: `builtin.module(a,func.func(b{x=1}),c)`, parsed into elements without looking any pass up."""

from __future__ import annotations

import re

from tierup.dialect.base.records import dataclass
from tierup.dialect.passes.core import PipelineError

_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


@dataclass(frozen=True)
class Element:
    """A pass, or an anchor around others. `at`: offset in the text."""

    name: str
    at: int
    options: str | None = None  # the text between the braces of a pass
    children: tuple[Element, ...] | None = None  # not None: an anchor

    def __str__(self) -> str:
        if self.children is not None:
            return f"{self.name}({','.join(map(str, self.children))})"
        return self.name + (f"{{{self.options}}}" if self.options else "")


def parse_elements(text: str) -> tuple[Element, ...]:
    """The elements of a pipeline's text. Raises PipelineError with the offset."""
    parser = _Parser(text)
    elements = parser.elements()
    if parser.at < len(text):
        raise PipelineError("unbalanced ')' in the pipeline" if text[parser.at] == ")" else f"unexpected '{text[parser.at]}'", parser.at)
    return elements


def split_options(text: str) -> tuple[tuple[str, str | None], ...]:
    """`a=1 b="x y" c={p q} d` as pairs; None for a flag without a value. Raises PipelineError."""
    found: list[tuple[str, str | None]] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _NAME.match(text, at)
        if match is None:
            raise PipelineError(f"expected an option's name in '{text}'")
        at = match.end()
        if at < len(text) and text[at] == "=":
            end = _end_of_value(text, at + 1)
            found.append((match[0], _unquote(text[at + 1 : end])))
            at = end
        else:
            found.append((match[0], None))
    return tuple(found)


def _end_of_value(text: str, at: int) -> int:
    """Where the value at `at` ends: at a blank outside quotes and braces."""
    depth, quote = 0, ""
    while at < len(text):
        c = text[at]
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
        elif c.isspace() and depth == 0:
            break
        at += 1
    return at


def _unquote(value: str) -> str:
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'" else value


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def elements(self) -> tuple[Element, ...]:
        self.blanks()
        if self.peek() in ("", ")"):
            return ()
        found = [self.element()]
        while self.peek() == ",":
            self.at += 1
            found.append(self.element())
        return tuple(found)

    def element(self) -> Element:
        self.blanks()
        start = self.at
        match = _NAME.match(self.text, start)
        if match is None:
            got = f"got '{self.peek()}'" if self.peek() else "the text ends"
            raise PipelineError(f"expected the name of a pass or of an op to nest under, {got}", start)
        self.at = match.end()
        self.blanks()
        if self.peek() == "(":
            self.at += 1
            children = self.elements()
            if self.peek() != ")":
                raise PipelineError(f"'{match[0]}(' is never closed", start)
            self.at += 1
            self.blanks()
            return Element(match[0], start, children=children)
        options = None
        if self.peek() == "{":
            options = self.braces()
            self.blanks()
        return Element(match[0], start, options=options)

    def braces(self) -> str:
        start, depth, quote = self.at, 0, ""
        while self.at < len(self.text):
            c = self.text[self.at]
            self.at += 1
            if quote:
                quote = "" if c == quote else quote
            elif c in "\"'":
                quote = c
            elif c == "{":
                depth += 1
            elif c == "}":
                depth -= 1
                if depth == 0:
                    return self.text[start + 1 : self.at - 1].strip()
        raise PipelineError("'{' is never closed", start)

    def blanks(self) -> None:
        while self.peek().isspace():
            self.at += 1

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""
