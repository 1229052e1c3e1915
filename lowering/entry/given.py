"""The dispatcher's functions that kernels call: to poll, and for memory (`lowering/externals/`)."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

from tierup.lowering.entry import kept
from tierup.lowering.externals.allocating import FREE, MALLOC, may_fail
from tierup.lowering.externals.polling import END, POLL


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of these functions among `names`. Without a dispatcher the C library's serve for memory."""
    polls, allocates = [name for name in names if name in (POLL, END)], may_fail(names)
    if not polls and not allocates:
        return {}
    from tierup.lowering.entry.probe import unavailable  # here: generates code

    if unavailable() is not None:  # Python alone calls kernels, under the GIL: signals are looked for, and other threads wait
        python = ctypes.pythonapi
        found = {POLL: python.PyErr_CheckSignals, END: python.PyErr_Occurred}  # the latter does nothing
        return {name: ctypes.cast(found[name], ctypes.c_void_p).value or 0 for name in polls}
    from tierup.lowering.entry.jit import code

    made = code()
    if allocates:
        kept.watcher.ready(ctypes.CFUNCTYPE(None)(made.give_back))
    memory = {MALLOC: made.malloc, FREE: made.free} if allocates else {}
    return {name: address for name, address in ((POLL, made.poll), (END, made.poll_end)) if name in polls} | memory
