"""The threads that share loops with a kernel's (`generated/called/pool.py`), as the process forks: they end before it, since a child would
have none of them and Python warns of forks beside threads, and come back with the next loop. Without a dispatcher there are none."""

from __future__ import annotations

import ctypes
import os
from functools import cache

_PART = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@cache
def ready(leaves: int, comes_back: int) -> None:
    """Let kernels share loops: the addresses of the functions that end the threads, and allow them again."""
    end, again = (ctypes.CFUNCTYPE(None)(address) for address in (leaves, comes_back))
    os.register_at_fork(before=end, after_in_parent=again, after_in_child=again)


def _alone(part: int, context: int | None, count: int, threads: int) -> None:
    for number in range(count):
        _PART(part)(context, number, count)


alone = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(_alone)
"""What kernels call where there is no dispatcher: all parts of a loop in this thread."""
