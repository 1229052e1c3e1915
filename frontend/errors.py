"""What a front end says of a program that it does not take."""

from __future__ import annotations

from tierup.runtime.base import errors


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

    def __str__(self) -> str:
        return self.msg or ""

    def plain(self) -> UnsupportedSyntax:
        """Itself without the subclass that a front end uses to try something else first."""
        return self._as(NotDifferentiable if isinstance(self, NotDifferentiable) else UnsupportedSyntax, self.remedy)

    def but(self, reason: str) -> UnsupportedSyntax:
        """Itself, and why what it advises may not do."""
        return self._as(type(self), f"{self.remedy} ({reason})")

    def _as(self, cls: type[UnsupportedSyntax], remedy: str) -> UnsupportedSyntax:
        return cls(
            self.construct,
            remedy,
            filename=self.filename or "<unknown>",
            lineno=self.lineno or 0,
            offset=self.offset or 0,
            text=self.text or "",
        )


class NotDifferentiable(UnsupportedSyntax, errors.NotDifferentiable):
    """A gradient that there is none of: at an operation without one, or through a write to what the function does not own. Names file,
    line, the operation, and what to write instead."""


class ProgramError(ValueError):
    """An MLIR program that does not parse, verify, or have the entry asked for."""
