"""How much of Python's stack is left: what would find no room half way is refused before it begins."""

from __future__ import annotations

import sys


def has_room(frames: int) -> bool:
    """Whether so many calls may be in one another from here on; half of what the recursion limit allows is always called enough."""
    frame, limit = sys._getframe(1), sys.getrecursionlimit()
    there = 1
    while (outer := frame.f_back) is not None:
        frame, there = outer, there + 1
    return there + min(frames, limit // 2) <= limit
