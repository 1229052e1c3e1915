"""A worker that is ready by the time the first version is wanted: it is started when the process first takes something from tierup that
makes functions (`tierup.jit`), before the rest of tierup is imported. Both processes import side by side from there.

Most runs of a program are not its first, and find all code on disk: these should not pay for a process that nobody asks. So a run that
asked none leaves a note of it in the cache, under the program's path, and the next starts none before it is asked for. A wrong guess
costs one start too many, or a first version that comes some 0.3 s later.
"""

from __future__ import annotations

import atexit
import os
import sys

from tierup.dialect.base.paths import absolute
from tierup.lowering.objects import keys, store
from tierup.runtime.base.options import Options
from tierup.runtime.compiling.processes import workers

_NONE, _SOME = b"no worker was asked", b"a worker was asked"
_begun = False


def expect(options: Options) -> None:
    """There are functions with these options, or will be soon, and may be compiled. Cheap but for the first time."""
    global _begun
    if _begun or not options.optimize or not workers.wanted(options):
        return
    _begun = True
    expected = store.read(_note().name) != _NONE
    if expected:
        workers.waited_for().start()
    if store.enabled():
        atexit.register(_leave_note, os.getpid(), expected)


def _note() -> keys.Key:
    program = absolute(str(sys.argv[0])) if sys.argv else ""  # a program may set what it likes
    return keys.Key("note", f"whether {program} asks for a worker", (keys.Part("Python", sys.executable), keys.Part("program", program)))


def _leave_note(process: int, expected: bool) -> None:
    if os.getpid() == process and workers.asked != expected:
        note = _note()
        store.write(note.name, _SOME if workers.asked else _NONE, note.description())
