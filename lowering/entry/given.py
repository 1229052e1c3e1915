"""The dispatcher's functions that kernels call: to poll, for memory, and to share loops among threads (`lowering/externals/`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from tierup.lowering.entry import kept, pool
from tierup.lowering.externals.allocating import FREE, MALLOC
from tierup.lowering.externals.polling import END, POLL
from tierup.lowering.externals.sharing import SHARE


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of these functions among `names`. Without a dispatcher the C library's serve for memory."""
    wanted = set(names)
    if not wanted & {POLL, END, MALLOC, SHARE}:
        return {}
    from tierup.lowering.entry.probe import unavailable  # here: generates code

    if unavailable() is not None:  # Python alone calls kernels, under the GIL: signals are looked for, and other threads wait
        python = ctypes.pythonapi
        found = {POLL: python.PyErr_CheckSignals, END: python.PyErr_Occurred, SHARE: pool.alone}  # the second does nothing
        return {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in found.items() if name in wanted}
    from tierup.lowering.entry.jit import code

    made = code()
    if MALLOC in wanted:
        kept.watcher.ready(ctypes.CFUNCTYPE(None)(made.give_back))
    if SHARE in wanted:
        pool.ready(made.pool_leaves, made.pool_comes_back)
    ours = {POLL: made.poll, END: made.poll_end, MALLOC: made.malloc, FREE: made.free, SHARE: made.share}
    return {name: address for name, address in ours.items() if name in wanted}
