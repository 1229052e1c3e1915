"""What the examples print with: a table whose rows come one by one, and a progress bar under it. Plain text, no dependency."""

from __future__ import annotations

import shutil
import sys
import textwrap


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
