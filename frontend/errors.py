"""What a front end says of a program that it does not take."""

from __future__ import annotations


class UnsupportedSyntax(SyntaxError):
    """Python code that `tierup.jit` does not translate. Names file, line, the construct, and what to write instead.

    A SyntaxError, so that Python prints the line and a caret. `construct` and `remedy` are the message's two halves.
    """

    def __init__(
        self, construct: str, remedy: str = "", *, filename: str = "<unknown>", lineno: int = 0, offset: int = 0, text: str = ""
    ) -> None:
        self.construct, self.remedy = construct, remedy
        message = f"{filename}:{lineno}: {construct}" + (f"; {remedy}" if remedy else "")
        super().__init__(message, (filename, lineno, offset or None, text or None))


class ProgramError(ValueError):
    """An MLIR program that does not parse, verify, or have the entry asked for."""
