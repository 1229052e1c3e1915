"""What a compile may raise. None of it reaches a user of `tierup.jit`: the executor stays in tier 0 and says why."""

from __future__ import annotations


class Unsupported(Exception):
    """A program, or one op of it, that has no native code. Names the user's op and line, never an internal op."""

    def __init__(self, op: str, location: str, reason: str) -> None:
        super().__init__(f"{location}: {op}: {reason}" if location else f"{op}: {reason}")
        self.op = op
        self.location = location
        self.reason = reason

    def __reduce__(self) -> tuple[type[Unsupported], tuple[str, str, str]]:
        return Unsupported, (self.op, self.location, self.reason)


class BadRequest(ValueError):
    """A request that contradicts itself: no such entry, arguments of other types than the program's."""


class CompileError(Exception):
    """The compiler itself failed. `reproducer` is a text that shows it again: the request, the stage, the message."""

    def __init__(self, message: str, stage: str, reproducer: str) -> None:
        super().__init__(f"{stage}: {message}")
        self.message = message
        self.stage = stage
        self.reproducer = reproducer

    def __reduce__(self) -> tuple[type[CompileError], tuple[str, str, str]]:
        return CompileError, (self.message, self.stage, self.reproducer)
