"""What the examples print with: a table whose rows come one by one, and a progress bar under it. Plain text, no dependency."""

from __future__ import annotations

import shutil
import sys


class Screen:
    """Rows of a table above one progress bar. On a terminal the bar is redrawn in place; elsewhere it is a line now and then."""

    def __init__(self, headings: tuple[str, ...], widths: tuple[int, ...]) -> None:
        self.widths = widths
        self.live = sys.stdout.isatty()
        self.columns = shutil.get_terminal_size((110, 24)).columns
        self.quarter = 0
        self.row(*headings)
        self.line("  ".join("-" * (abs(w) or 40) for w in widths))

    def row(self, *cells: str) -> None:
        """One row; a width of 0 is a last column as wide as its text, a negative width aligns to the right."""
        self.line("  ".join(f"{c:>{-w}}" if w < 0 else f"{c:{w}}" if w else c for c, w in zip(cells, self.widths, strict=True)))

    def line(self, text: str) -> None:
        print(("\r\x1b[K" if self.live else "") + text.rstrip(), flush=True)

    def progress(self, done: int, total: int, text: str) -> None:
        """`done` of `total` steps; `text` stands behind the bar."""
        bar = "#" * round(30 * done / total)
        line = f"[{bar:30}] {100 * done // total:3}%  {text}"
        if self.live:
            print("\r\x1b[K" + line[: self.columns - 1], end="" if done < total else "\n", flush=True)
        elif 4 * done // total > self.quarter:
            self.quarter = 4 * done // total
            print(line, flush=True)
