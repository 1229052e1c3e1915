"""Suggestions for misspelt names."""

from __future__ import annotations

from collections.abc import Iterable


def closest(word: str, words: Iterable[str]) -> str:
    """`; did you mean 'x' or 'y'?`, or nothing when no word is close."""
    from difflib import SequenceMatcher, get_close_matches  # on the way to an error only: 5 ms that no start should pay

    near = get_close_matches(word, list(words), n=3, cutoff=0.6)
    ratios = {w: SequenceMatcher(None, w, word).ratio() for w in near}
    near = [w for w in near if ratios[w] > max(ratios.values()) - 0.1]
    return f"; did you mean {' or '.join(repr(w) for w in near)}?" if near else ""
