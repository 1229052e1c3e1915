"""What a front end says of a program that it does not take."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tierup.runtime.base import errors

Position = tuple[str, int, int, int | None, int | None]
"""What tells a node from all others of its file, in every tree that was made of it: kind, first line and column, last ones."""


def position(node: ast.AST | None) -> Position | None:
    """None for a node that stands nowhere."""
    place = [getattr(node, name, None) for name in ("lineno", "col_offset", "end_lineno", "end_col_offset")]
    return None if None in place else (type(node).__name__, *place)  # type: ignore[return-value]  # the tree's numbers


class UnsupportedSyntax(SyntaxError):
    """Python code that `tierup.jit` does not translate. Names file, line, the construct, and what to write instead.

    A SyntaxError, so that Python prints the line and a caret. `construct` and `remedy` are the message's two halves. `errors`: all that is
    refused in the function, this first; the message has a line for each. `called_at`: the decorated function's line, where what is refused
    stands in a function that it calls.
    """

    called_at: int | None = None
    where: Position | None = None  # of what is refused, or of that call

    def __init__(
        self, construct: str, remedy: str = "", *, filename: str = "<unknown>", lineno: int = 0, offset: int = 0, text: str = ""
    ) -> None:
        self.construct, self.remedy = construct, remedy
        message = f"{filename}:{lineno}: {construct}" + (f"; {remedy}" if remedy else "")
        super().__init__(message, (filename, lineno, offset or None, text or None))
        self.errors: tuple[UnsupportedSyntax, ...] = (self,)

    def __str__(self) -> str:
        return self.msg or ""

    def plain(self) -> UnsupportedSyntax:
        """Itself without the subclass that a front end uses to try something else first."""
        return self._as(NotDifferentiable if isinstance(self, NotDifferentiable) else UnsupportedSyntax, self.remedy)

    def but(self, reason: str) -> UnsupportedSyntax:
        """Itself, and why what it advises may not do."""
        return self._as(type(self), f"{self.remedy} ({reason})")

    def with_others(self, others: Sequence[UnsupportedSyntax]) -> UnsupportedSyntax:
        """Itself, and what else is refused in the function."""
        if others:
            self.errors = (self, *others)
            self.msg = "\n".join(e.msg or "" for e in self.errors)
        return self

    def as_gradient(self) -> UnsupportedSyntax:
        """Itself, where what is asked for is the gradient of the function."""
        return self._as(NotDifferentiable, self.remedy).with_others(self.errors[1:])

    def _as(self, cls: type[UnsupportedSyntax], remedy: str) -> UnsupportedSyntax:
        made = cls(
            self.construct,
            remedy,
            filename=self.filename or "<unknown>",
            lineno=self.lineno or 0,
            offset=self.offset or 0,
            text=self.text or "",
        )
        vars(made).update({name: value for name, value in vars(self).items() if name not in vars(made)})
        return made


class NotDifferentiable(UnsupportedSyntax, errors.NotDifferentiable):
    """A gradient that there is none of: at an operation without one, or through a write to what the function does not own. Names file,
    line, the operation, and what to write instead."""


class ProgramError(ValueError):
    """An MLIR program that does not parse, verify, or have the entry asked for."""
