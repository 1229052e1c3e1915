"""How names are spelled: suggestions for misspelt ones, MLIR's escapes, and the places of functions."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterable
from types import CodeType


def nearest(word: str, words: Iterable[str]) -> list[str]:
    """At most three that are spelled alike, the nearest first. Leading parts that two names share (`tierup-`, `max_`) say nothing."""
    return [w for _, w in _likenesses(word, words)[:3]]


def closest(word: str, words: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing when no word is close."""
    found = _likenesses(word, words)[:3]
    near = [w for likeness, w in found if likeness > found[0][0] - 0.1]
    return f"; did you mean {' or '.join(repr(w) for w in near)}?" if near else ""


def _likenesses(word: str, words: Iterable[str]) -> list[tuple[float, str]]:
    """Those that are alike, the most alike first."""
    from difflib import SequenceMatcher  # on the way to an error only: 5 ms that no start should pay

    found = []
    for other in words:
        a, b = re.split(r"[._-]+", word), re.split(r"[._-]+", other)
        shared = next((i for i, (p, q) in enumerate(zip(a, b, strict=False)) if p != q), 0)
        likeness = SequenceMatcher(None, "-".join(b[shared:]), "-".join(a[shared:])).ratio()
        if likeness >= 0.6:
            found.append((likeness, other))
    return sorted(found, key=lambda pair: -pair[0])


def unescaped(text: str) -> str:
    r"""A string as it was before MLIR printed it: `\\` is a backslash, `\22` the byte 0x22."""
    if "\\" not in text:
        return text
    plain = re.sub(rb"\\([0-9A-F]{2}|\\)", lambda m: b"\\" if m[1] == b"\\" else bytes.fromhex(m[1].decode()), text.encode())
    return plain.decode(errors="replace")


def printable(text: str) -> str:
    r"""What MLIR takes. A file's name need not be UTF-8, and Python then has half characters in it: here they are spelled (`\udce9`)."""
    return text.encode("utf-8", "backslashreplace").decode()


def line_of(code: CodeType) -> int:
    """The line of a function's `def`: that of its code is the first decorator's."""
    first = code.co_firstlineno
    if linecache.getline(code.co_filename, first).lstrip().startswith("@"):
        definition = re.compile(rf"\s*(async\s+)?def\s+{re.escape(code.co_name)}\b")
        lines = linecache.getlines(code.co_filename)[first:]
        return next((first + i for i, line in enumerate(lines, 1) if definition.match(line)), first)
    return first


def place_of(code: CodeType) -> str:
    """`model.py:12`: where a function is defined, as events, errors and `explain()` name it."""
    return printable(f"{code.co_filename}:{line_of(code)}")


def short_time(seconds: float) -> str:
    """`12.3 ms`, `4.56 us`."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.3g} us"
