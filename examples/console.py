"""What the examples print with: a table whose rows come one by one, and a progress bar under it; a curve. Plain text, no dependency."""

from __future__ import annotations

import math
import shutil
import sys
import textwrap
from collections.abc import Sequence


class Screen:
    """Rows of a table above one progress bar. On a terminal the bar is redrawn in place; elsewhere it is a line now and then."""

    def __init__(self, headings: tuple[str, ...], widths: tuple[int, ...]) -> None:
        """`widths` of all columns but the last, which takes the rest of the line; a negative width aligns to the right."""
        self.live = sys.stdout.isatty()
        self.columns = max(shutil.get_terminal_size((110, 24)).columns, 60)
        self.widths = widths
        self.rest = self.columns - sum(abs(w) + 2 for w in widths) - 1
        self.quarter = 0
        self.row(*headings)
        self.row(*("-" * abs(w) for w in widths), "-" * self.rest)

    def row(self, *cells: str) -> None:
        """One row; the last cell is wrapped."""
        left = "".join((f"{c:>{-w}}" if w < 0 else f"{c:{w}}") + "  " for c, w in zip(cells, self.widths, strict=False))
        for i, text in enumerate(textwrap.wrap(cells[-1], self.rest) or [""]):
            print(("\r\x1b[K" if self.live else "") + ((" " * len(left) if i else left) + text).rstrip(), flush=True)

    def progress(self, done: int, total: int, text: str) -> None:
        """`done` of `total` steps; `text` stands behind the bar."""
        bar = "#" * round(30 * done / total)
        line = f"[{bar:30}] {100 * done // total:3}%  {text}"
        if self.live:
            print("\r\x1b[K" + line[: self.columns - 1], end="" if done < total else "\n", flush=True)
        elif 4 * done // total > self.quarter:
            self.quarter = 4 * done // total
            print(line, flush=True)


def curve(title: str, values: Sequence[float], height: int = 8, *, logarithmic: bool = False) -> str:
    """A plot of values over their index from 1 on, as lines of text: a column each, or several where the line has room."""
    heights = [math.log(v) for v in values] if logarithmic else values
    low, span = min(heights), max(heights) - min(heights) or 1.0
    wide = max(1, min(4, (max(shutil.get_terminal_size((80, 24)).columns, 60) - 12) // len(values)))
    rows = [round((height - 1) * (h - low) / span) for h in heights]
    labels = {0: f"{min(values):.3f}", height - 1: f"{max(values):.3f}"}
    lines = [title]
    for row in reversed(range(height)):
        lines.append(f"{labels.get(row, ''):>9} |" + "".join(("*" if r == row else " ").ljust(wide) for r in rows).rstrip())
    lines.append(" " * 10 + "+" + "-" * (wide * len(values)))
    return "\n".join([*lines, f"{'1':>12}{len(values):>{wide * (len(values) - 1)}}"]) + "\n"
