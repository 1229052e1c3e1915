"""How names are spelled: suggestions for misspelt ones, and MLIR's escapes."""

from __future__ import annotations

import re
from collections.abc import Iterable


def nearest(word: str, words: Iterable[str]) -> list[str]:
    """At most three that are spelled alike, the nearest first."""
    from difflib import get_close_matches  # on the way to an error only: 5 ms that no start should pay

    return get_close_matches(word, list(words), n=3, cutoff=0.6)


def closest(word: str, words: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing when no word is close."""
    from difflib import SequenceMatcher

    near = nearest(word, words)
    ratios = {w: SequenceMatcher(None, w, word).ratio() for w in near}
    near = [w for w in near if ratios[w] > max(ratios.values()) - 0.1]
    return f"; did you mean {' or '.join(repr(w) for w in near)}?" if near else ""


def unescaped(text: str) -> str:
    r"""A string as it was before MLIR printed it: `\\` is a backslash, `\22` the byte 0x22."""
    if "\\" not in text:
        return text
    plain = re.sub(rb"\\([0-9A-F]{2}|\\)", lambda m: b"\\" if m[1] == b"\\" else bytes.fromhex(m[1].decode()), text.encode())
    return plain.decode(errors="replace")


def printable(text: str) -> str:
    r"""What MLIR takes. A file's name need not be UTF-8, and Python then has half characters in it: here they are spelled (`\udce9`)."""
    return text.encode("utf-8", "backslashreplace").decode()
