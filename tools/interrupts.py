"""Ctrl-C in a command-line program: one line, no traceback, and the process ends by the signal, as a shell expects."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeAlias

Main: TypeAlias = Callable[..., int]


def interruptible(program: str) -> Callable[[Main], Main]:
    """A `main` that Ctrl-C ends with one line which names the program."""

    def around(main: Main) -> Main:
        @wraps(main)
        def run(arguments: Sequence[str] | None = None) -> int:
            try:
                return main(arguments)
            except KeyboardInterrupt:
                print(f"{program}: interrupted", file=sys.stderr, flush=True)
                sys.stdout.flush()
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                os.kill(os.getpid(), signal.SIGINT)
                return 128 + signal.SIGINT

        return run

    return around
