"""What became of each pass of TorchScript's executors (ancestors.txt): the table in docs/passes.md.

Names are PyTorch's own (torch/csrc/jit/passes and runtime). Where one of its passes does what several of ours do, or ours is no pass,
the row says so.
"""

from __future__ import annotations

import pkgutil
import re
from dataclasses import dataclass
from functools import cache

TRANSFORMS = "test/dialect/transforms"


@dataclass(frozen=True)
class Ancestor:
    """A row. `ours`: passes of ours, with options where they matter. `instead`: why there is no pass, or what is different.

    `tests`: files beside `TRANSFORMS/<stem>.mlir`, which every pass has.
    """

    name: str
    ours: tuple[str, ...]
    instead: str = ""
    tests: tuple[str, ...] = ()

    @property
    def passes(self) -> tuple[str, ...]:
        """The names of our passes, without options."""
        return tuple(step.partition("{")[0] for step in self.ours)


def _row(line: str) -> Ancestor:
    name, ours, instead, tests = ([part.strip() for part in line.split("|")] + [""] * 3)[:4]
    found = tuple(t if "/" in t else f"{TRANSFORMS}/{t}" for t in tests.split())
    return Ancestor(name, tuple(filter(None, ours.split("; "))), instead, found)


@cache
def groups() -> tuple[tuple[str, tuple[Ancestor, ...]], ...]:
    """The table by its headings."""
    parts = re.findall(r"^(\S.*)\n((?: +.*\n)+)", (pkgutil.get_data(__package__, "ancestors.txt") or b"").decode(), re.MULTILINE)
    return tuple((title, tuple(map(_row, lines.splitlines()))) for title, lines in parts)


def rows() -> dict[str, Ancestor]:
    """All rows by the ancestor's name."""
    return {row.name: row for _, group in groups() for row in group}
