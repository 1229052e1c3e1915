"""What a kernel calls to have a loop's iterations done by several threads.

    void tierup_share(void (*part)(void *context, i64 number, i64 count), void *context, i64 count, i64 threads)

runs `part(context, number, count)` once for every number from 0 to count, on this thread and up to `threads - 1` others, and returns when
all have run. Parts are taken in order, each by the next thread that is free, and one thread alone does them all where another kernel is
sharing a loop at this moment. A part calls nothing of Python's, takes no memory of a kernel's, and shares nothing itself. The function is
the dispatcher's (`generated/called/pool.py`).

Free of MLIR and LLVM.
"""

from __future__ import annotations

import os
from functools import cache

SHARE = "tierup_share"
MOST_THREADS = 64  # OpenBLAS in NumPy's wheels is built for so many
_VARIABLES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")  # in the order in which OpenBLAS reads them


@cache
def usable() -> int:
    """How many threads NumPy's BLAS takes in this process: what the environment says, else one for each CPU that the process may use."""
    for name in _VARIABLES:
        said = os.environ.get(name, "").strip()
        if said.isdecimal() and int(said) > 0:
            return min(int(said), MOST_THREADS)
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, MOST_THREADS)
