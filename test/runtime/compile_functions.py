"""What tests of compiles in the background have a worker call in place of the compiler."""

import os
import signal
import sys
import time

from tierup.lowering.base import llvm
from tierup.runtime.compiling.version import produce


def aborting(graph, entry, arguments, options, dumped=None):
    """Dies in LLVM, as it would."""

    def emit(*_, **__):
        print("LLVM ERROR: out of registers", file=sys.stderr, flush=True)
        os.abort()

    llvm.emit = emit
    return produce(graph, entry, arguments, options, dumped)


def raising(graph, entry, arguments, options, dumped=None):
    raise ZeroDivisionError("in the compiler")


def killed(graph, entry, arguments, options, dumped=None):
    os.kill(os.getpid(), signal.SIGKILL)


def slow(graph, entry, arguments, options, dumped=None):
    """Waits for the file that TIERUP_TEST_GATE names, having made the one beside it that says so."""
    gate = os.environ["TIERUP_TEST_GATE"]
    with open(gate + ".waiting", "w"):
        pass
    while not os.path.exists(gate):
        time.sleep(0.01)
    return produce(graph, entry, arguments, options, dumped)


def nothing():
    """For who wants a worker to be there."""
