"""What a normal run leaves to `make exhaustive`: which rows of a long table it draws. TIERUP_SEED in the environment draws others."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from hypothesis import settings

Row = TypeVar("Row")

_PARTS = 2  # of the cases of a test, of which `make test` runs one
_FEW = 3  # cases of a test: these all run

SEED = int(os.environ.get("TIERUP_SEED", "0"))  # the head of a run says it
IS_EXHAUSTIVE = settings.default.max_examples > 1000  # --hypothesis-profile=exhaustive


def examples(few: int) -> int:
    """How many random examples a test has that takes long for each: so few, and twenty times as many in `make exhaustive`."""
    return few * 20 if IS_EXHAUSTIVE else few


def drawn(table: str, rows: Sequence[Row], one_of: int, kind: Callable[[Row], Hashable] = lambda row: None) -> list[Row]:
    """One row in `one_of` of each kind, at least one, in their order; `make exhaustive` has all. Tables of other names draw others."""
    if IS_EXHAUSTIVE:
        return list(rows)
    of_kind: dict[Hashable, list[int]] = {}
    for number, row in enumerate(rows):
        of_kind.setdefault(kind(row), []).append(number)
    chance = random.Random(f"{SEED} {table}")
    chosen = {number for numbers in of_kind.values() for number in chance.sample(numbers, -(-len(numbers) // one_of))}
    return [row for number, row in enumerate(rows) if number in chosen]


def part_of(name: str, cases: int) -> set[int]:
    """Which cases of a test of this name `make test` runs: every second of many, the others under the next seed."""
    if cases <= _FEW:
        return set(range(cases))
    shuffled = random.Random(name).sample(range(cases), cases)  # or all would be of one dtype or tier
    return set(shuffled[SEED % _PARTS :: _PARTS])
