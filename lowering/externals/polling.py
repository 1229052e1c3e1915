"""What code that may run for long asks of the process it runs in: `poll`, now and then, and `end`, where it has polled.

    i32 tierup_poll(i64 state)      nonzero: an exception is set, and the kernel has to leave with status INTERRUPTED
    void tierup_poll_end(i64 state)

`state` is the address of WORDS words of the call, 0 at first. A kernel that is called under the GIL holds it until it polls for the first
time, which is a sign that it takes long, and has it back when `tierup_poll_end` returns; other threads run meanwhile. Every so often `poll`
takes the GIL to run the handlers of signals that have come, as Python does between two lines. The functions are the dispatcher's
(`generated/called/polls.py`; `entry/given.py` has their addresses).

Free of MLIR and LLVM.
"""

from __future__ import annotations

POLL, END = "tierup_poll", "tierup_poll_end"
WORDS = 2
