"""Which of some values are lists of arrays. Free of MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.runtime.interpreter.parameters import Parameter


def takes_list(parameter: Parameter) -> bool:
    """Whether a program takes a list of arrays there."""
    return parameter.kind.name == "list" and parameter.kind.items[0].name == "tensor"


@dataclass(frozen=True)
class Nesting:
    """Which of some values are lists. `counts`: of each value how many items it has, -1 for what is no list."""

    counts: tuple[int, ...]

    @staticmethod
    def of(leaves: Sequence[Any], parameters: Sequence[Parameter]) -> Nesting:
        """Of a program's leaves: lists of numbers are no lists here."""
        each = zip(leaves, parameters, strict=True)
        return Nesting(tuple([len(leaf) if takes_list(p) and isinstance(leaf, list | tuple) else -1 for leaf, p in each]))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Of the lists alone."""
        return tuple(n for n in self.counts if n >= 0)

    def flat(self, values: Sequence[Any], what: str) -> list[Any]:
        """All items in a row, those of None are None. Raises ValueError for values that are not of this nesting."""
        if len(values) != len(self.counts):
            raise ValueError(f"{len(self.counts)} {what} expected, not {len(values)}")
        found: list[Any] = []
        for i, (value, count) in enumerate(zip(values, self.counts, strict=True)):
            if count < 0:
                found.append(value)
            elif value is None:
                found += [None] * count
            elif isinstance(value, list | tuple) and len(value) == count:
                found += value
            else:
                raise ValueError(f"number {i} of the {what} is a list of {count}")
        return found

    def nested(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Lists where there were lists."""
        items = iter(values)
        return tuple([next(items) if count < 0 else [next(items) for _ in range(count)] for count in self.counts])

    def positions(self, chosen: Sequence[int]) -> tuple[tuple[int, ...], Nesting]:
        """Where the items of some values are in the row; and the nesting of these values."""
        start, starts = 0, []
        for count in self.counts:
            starts.append(start)
            start += 1 if count < 0 else count
        found = [range(starts[i], starts[i] + (1 if self.counts[i] < 0 else self.counts[i])) for i in chosen]
        return tuple([k for each in found for k in each]), Nesting(tuple([self.counts[i] for i in chosen]))
