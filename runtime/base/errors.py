"""Where an exception came from in the user's program, and how tracebacks say it.

Free of MLIR. An exception keeps its type and its message; the line is a note (PEP 678), which tracebacks print: `at file.py:12: y = x[i]`.
"""

from __future__ import annotations

import linecache
import os
import re
from collections.abc import Callable

from tierup.dialect.base.paths import absolute
from tierup.dialect.base.records import dataclass

_MARK = "__tierup_origin__"


class UnsupportedOp(NotImplementedError):
    """The program has an op that no part of tierup can run. The message names the op and the user's line."""


class UnsupportedArgument(TypeError):
    """An argument that no program can hold, of a dtype or kind that there is none of. Raised before anything ran."""


class NotOptimized(RuntimeError):
    """A call that may run in native code only (`options(strict=True)`, `assert_optimized()`) has none. The message names the ops."""


class NotDifferentiable(TypeError):
    """A gradient that there is none of. The message names the op, the user's line, and what to do instead."""


class RecompileLimitWarning(UserWarning):
    """A function has as many versions as its options allow, and calls come that fit none of them."""


class SlowEntryWarning(RuntimeWarning):
    """Calls go through the entry in Python, since this build or release of Python is not one that the native entry knows."""


class NoSourceWarning(RuntimeWarning):
    """A function's source is not there (typed into a REPL, made by exec, of a .pyc file alone), so it runs as plain Python."""


class PlanError(RuntimeError):
    """A call that a plan from a file cannot answer for these values: of kernels, since a check of the program failed, and no interpreter is
    there to raise its exception; of a function, since only its Python goes on there."""


class GuardFailed(Exception):
    """A `tierup.guard` met a value that does not fit: the program must be left for its unspecialised twin."""


class RunsLong(BaseException):
    """A loop of a run in tier 0 has run for longer than it was given. No error: nobody's to catch but who has set the limit."""


class UnlessLeft:
    """Around a run: calls `tell` behind it, also where it raised; but not where RunsLong has ended it."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell = tell

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None or not issubclass(kind, RunsLong):
            self._tell()


@dataclass(frozen=True)
class Origin:
    """One op's place in the user's program. `line` and `column` count from 1; `file` is "" where the location is unknown.

    `writes`: positions of the entry's arguments whose memory the op may write. `index`, of one item of an index: how many dimensions the
    items before it took, and how many items there are.
    """

    op: str
    file: str = ""
    line: int = 0
    column: int = 0
    writes: tuple[int, ...] = ()
    index: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The source line, "" when its file cannot be read."""
        if not self.line:
            return ""
        # a relative name is the working folder's: linecache would look for it on sys.path, and quote another file
        known = self.file in linecache.cache or self.file.startswith("<")
        return linecache.getline(self.file if known else absolute(self.file), self.line).strip()

    @property
    def position(self) -> str:
        """`file.py:12`, or the op's name where the file is not known."""
        return f"{os.path.basename(self.file)}:{self.line}" if self.line else self.op

    def __str__(self) -> str:
        text = self.text
        return f"{self.position}: {text}" if text else self.position if not self.line else f"{self.position}: {self.op}"


def origin_of(error: BaseException) -> Origin | None:
    """Where in the user's program `error` was raised, if `locate` was told."""
    return getattr(error, _MARK, None)


def locate(error: Exception, origin: Origin) -> None:
    """Note the user's line with `error`, once: the innermost origin stays. An IndexError is then of the whole index, as NumPy's is."""
    if origin_of(error) is None:
        if origin.index and isinstance(error, IndexError):
            taken, count = origin.index
            text = re.sub(r"(?<=axis )\d+|(?<=array is )\d+", lambda found: str(int(found[0]) + taken), str(error))
            error.args = (re.sub(r"\d+ were indexed", f"{count} were indexed", text),)
        setattr(error, _MARK, origin)
        error.add_note(f"at {origin}")
