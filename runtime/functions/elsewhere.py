"""Functions of which there is no graph as a whole: who answers their calls instead.

Free of MLIR. Front ends make these; `runtime.function` hands calls over to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

from tierup.dialect.base.records import dataclass
from tierup.dialect.speculation.reasons import Reason

MOST_UNSUPPORTED = 8  # calls with arguments that no program takes, of a function that has answered no others


@dataclass(frozen=True)
class Left:
    """What Python answers, since it is not translated: `what` it is, its `line`, and what to write in its place, where that is known."""

    what: str
    line: str
    remedy: str = ""


class Elsewhere(Protocol):
    """What answers the calls of such a function."""

    @property
    def functions(self) -> Sequence[Any]:
        """Those in it that programs answer, each a `Function`."""
        ...

    @property
    def call(self) -> Callable[..., Any]:
        """What answers calls now."""
        ...

    @property
    def left(self) -> Sequence[Left]:
        """What is not translated, in the order of lines."""
        ...

    def explain(self) -> list[str]:
        """Lines for people: what is answered by what, and why."""
        ...

    def race_again(self) -> None:
        """Find out anew who answers what: arguments may have grown."""
        ...


class AnsweredElsewhere(Exception):
    """What `build` raises where the front end has no graph: all calls are answered by `elsewhere` from now on. `of_a_kind`: none for calls
    of this kind, so that a function of which there are graphs for others keeps these. `for_now`: the call at hand alone, since something
    ran out."""

    def __init__(self, elsewhere: Elsewhere, *, of_a_kind: bool = False, for_now: bool = False) -> None:
        super().__init__(elsewhere)
        self.elsewhere, self.of_a_kind, self.for_now = elsewhere, of_a_kind, for_now


class NeedsOther(Exception):
    """What `build` raises where it has no graph for calls of a structure, and the same arguments have another one: `Structures`."""


@dataclass
class PlainPython:
    """The Python function itself, and why. `left`: what of it is not translated, where that is why."""

    call: Callable[..., Any]
    why: str
    functions: Sequence[Any] = ()
    left: Sequence[Left] = ()
    reason: ClassVar[Reason] = Reason.NOT_WORTH_IT

    def explain(self) -> list[str]:
        """That it is so."""
        return [f"runs as plain Python: {self.why}"]

    def race_again(self) -> None:
        """Nothing else answers."""
