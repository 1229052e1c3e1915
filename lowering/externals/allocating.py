"""Memory that kernels allocate: `malloc` and `free` of the dispatcher's (`generated/called/allocations.py`), under which one that gets none
ends.

A kernel whose allocations may be large, which is known when it is compiled, names them among what it needs of the process, and is called
with its large blocks noted down: where one cannot be had, the others are freed, and the call raises MemoryError.

Free of MLIR and LLVM.
"""

from __future__ import annotations

from collections.abc import Iterable

MALLOC, FREE = "malloc", "free"
LARGE = 1 << 16  # bytes: from here on a block is noted


def may_fail(names: Iterable[str]) -> bool:
    """Whether a kernel that needs these functions allocates much."""
    return MALLOC in names
