"""Steps of the compiler that end the process they run in, whichever is asked for; a worker imports this module by name."""

import os
import sys


def __getattr__(name):
    def crash(*arguments, **keywords):
        print("LLVM ERROR: in a step", file=sys.stderr, flush=True)
        os.abort()

    return crash
