"""What a pass's option may be beyond its type, written beside the type:

    count: Annotated[int, AtLeast(1)] = 1
    policy: Annotated[str, OneOf(POLICIES)] = "native"

Checked whenever the pass is made, from a command line or in Python; `--help` and docs/passes.md show it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect.base.records import dataclass


@dataclass(frozen=True)
class AtLeast:
    """A number from `least` on."""

    least: int

    def allows(self, value: int) -> bool:
        """Whether the option may have this value."""
        return value >= self.least

    def __str__(self) -> str:
        return f"at least {self.least}"


class OneOf:
    """One of some words; of an option with several, each is."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = tuple(words)

    def allows(self, value: str | tuple[str, ...]) -> bool:
        """Whether the option may have this value; of several words each must be allowed."""
        return all(word in self.words for word in ((value,) if isinstance(value, str) else value))

    def __str__(self) -> str:
        return f"one of {', '.join(self.words)}"


Limit = AtLeast | OneOf
