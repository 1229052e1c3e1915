"""The families of statements, and programs that are put together of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from draft import Draft, Nothing

Statement = Callable[[Draft], bool]


@dataclass(frozen=True)
class Row:
    family: str
    weight: float
    write: Statement


ROWS: list[Row] = []


def statement(family: str, weight: float = 1.0) -> Callable[[Statement], Statement]:
    """Adds a function that writes one statement, and says whether it was kept. It may raise Nothing."""

    def add(write: Statement) -> Statement:
        ROWS.append(Row(family, weight, write))
        return write

    return add


def grow(draft: Draft, count: int, weights: dict[str, float]) -> None:
    """Write up to `count` statements. `weights`: how often each family is asked, 1 for those not named."""
    asked_for = {"islands": draft.islands, "keywords": draft.keywords, "lists": draft.lists}
    rows = [r for r in ROWS if (draft.depth < 2 or r.family not in ("control", "islands")) and asked_for.get(r.family, True)]
    shares = [r.weight * weights.get(r.family, 1.0) for r in rows]
    for _ in range(count):
        for _ in range(12):
            try:
                if draft.chance.choices(rows, shares)[0].write(draft):
                    break
            except Nothing:
                continue
