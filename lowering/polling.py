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
import threading
from collections.abc import Iterable
from functools import cache
from typing import Any

POLL, END = "tierup_poll", "tierup_poll_end"
WORDS = 2

_raised = threading.local()


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The addresses of these functions among `names`."""
    wanted = [name for name in names if name in (POLL, END)]
    if not wanted:
        return {}
    from tierup.lowering.entry.probe import unavailable  # here: generates code

    if unavailable() is None:
        from tierup.lowering.entry.jit import code

        found = {POLL: code().poll, END: code().poll_end}
    else:
        found = {name: ctypes.cast(function, ctypes.c_void_p).value or 0 for name, function in _in_python().items()}
    return {name: found[name] for name in wanted}


@cache
def _in_python() -> dict[str, Any]:
    """The same where there is no dispatcher, and Python alone calls kernels: as it enters a function, Python looks for signals, and for
    threads that wait."""

    def poll(_: int) -> int:
        try:
            _raised.exception = None
        except BaseException as e:  # noqa: BLE001  what a handler raised, for `reraise`
            _raised.exception = e
        return int(_raised.exception is not None)

    return {POLL: ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64)(poll), END: ctypes.CFUNCTYPE(None, ctypes.c_int64)(lambda _: None)}


def reraise() -> None:
    """Raise what ended a kernel with status INTERRUPTED, in the thread that called it from Python."""
    raise _raised.__dict__.pop("exception")
