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
        return type(self), (self.message, self.stage, self.reproducer)


class CompilerCrashed(CompileError):
    """The process that compiled died, or was ended because it took too long. `message` has what it printed last."""


class RemoteError(Exception):
    """What the process that compiled raised, where that cannot be pickled. `trace` is its traceback."""

    def __init__(self, message: str, trace: str) -> None:
        super().__init__(message)
        self.message = message
        self.trace = trace

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str, str]]:
        return RemoteError, (self.message, self.trace)


class WorkerUnavailable(Exception):
    """No process that compiles can be started here. The message says why."""
