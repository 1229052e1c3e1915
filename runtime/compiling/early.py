"""A worker that is ready by the time the first version is wanted: it is started when the process makes its first function.

Most runs of a program are not its first, and find all code on disk: these should not pay for a process that nobody asks. So a run that
asked none leaves a note of it in the cache, under the program's path, and the next starts none before it is asked for. A wrong guess
costs one start too many, or a first version that comes some 0.3 s later.
"""

from __future__ import annotations

import atexit
import os
import sys

from tierup.lowering.objects import keys, store
from tierup.runtime.arguments import placement
from tierup.runtime.options import Options

_NONE, _SOME = b"no worker was asked", b"a worker was asked"
_begun = False


def expect(options: Options) -> None:
    """A function with these options is there, and may be compiled. Cheap but for the first time."""
    global _begun
    if _begun or not options.optimize or not placement.wants_worker(options):
        return
    _begun = True
    expected = store.read(_note()) != _NONE
    if expected:
        placement.waited_for().start()
    if store.enabled():
        atexit.register(_leave_note, os.getpid(), expected)


def _note() -> str:
    return keys.name_of("worker", sys.executable, os.path.abspath(sys.argv[0] if sys.argv else ""))


def _leave_note(process: int, expected: bool) -> None:
    if os.getpid() == process and placement.asked != expected:
        store.write(_note(), _SOME if placement.asked else _NONE)
