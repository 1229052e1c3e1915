"""How names are spelled: suggestions for misspelt ones, and MLIR's escapes."""

from __future__ import annotations

import re
from collections.abc import Iterable


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
