"""What code that may run for long asks of the process it runs in: `poll`, now and then, and `end`, where it has polled.

    i32 tierup_poll(i64 state)      nonzero: an exception is set, and the kernel has to leave with status INTERRUPTED
    void tierup_poll_end(i64 state)

`state` is the address of WORDS words of the call, 0 at first. A kernel that is called under the GIL holds it until it polls for the first
time, which is a sign that it takes long, and has it back when `tierup_poll_end` returns; other threads run meanwhile. Every so often `poll`
takes the GIL to run the handlers of signals that have come, as Python does between two lines. The functions are the dispatcher's
(`entry/polls.py`), for which see `addresses`.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable

POLL, END = "tierup_poll", "tierup_poll_end"
WORDS = 2


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of these functions among `names`."""
    wanted = [name for name in names if name in (POLL, END)]
    if not wanted:
        return {}
    from tierup.lowering.entry.probe import unavailable  # here: generates code

    if unavailable() is None:
        from tierup.lowering.entry.jit import code

        found = {POLL: code().poll, END: code().poll_end}
    else:  # Python alone calls kernels, under the GIL: signals are looked for, and other threads wait
        python = ctypes.pythonapi
        found = {POLL: _address(python.PyErr_CheckSignals), END: _address(python.PyErr_Occurred)}  # the latter does nothing
    return {name: found[name] for name in wanted}


def _address(function: ctypes._NamedFuncPointer) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
