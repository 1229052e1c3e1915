"""What tierup-reduce asks of a candidate, each in a process of its own: a compiler that dies takes only that process along.

`Judge` answers (candidate text, whether it still shows the fault). The two judges are a command of the user's, and "tierup-opt says
the same as at first", which is run here without starting a program.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import re
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from tierup.dialect.language.context import new_context
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.core import PassFailure
from tierup.tools.opt.hooks import Running
from tierup.tools.opt.reproducer import Runnable

Send = Callable[[Any], None]


class Judge(Protocol):
    """Whether a program still shows the fault."""

    def shows(self, text: str) -> bool:
        """Whether the program of this text shows the fault."""


@dataclass(frozen=True)
class Command:
    """A shell command in which `{}` stands for the candidate's file. `fails`: its failure is the fault, not its success."""

    command: str
    fails: bool
    seconds: float

    def shows(self, text: str) -> bool:
        """Whether the command ends on this program as the fault says; False when it runs out of time."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "candidate.mlir"
            path.write_text(text)
            try:
                ran = subprocess.run(
                    self.command.replace("{}", str(path)), shell=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=self.seconds
                )
            except subprocess.TimeoutExpired:
                return False
        return (ran.returncode != 0) is self.fails


@dataclass(frozen=True)
class Said:
    """How a run of passes ended: the pass that failed and the first line of what it said, both "" when all went well."""

    stage: str = ""
    line: str = ""

    def __str__(self) -> str:
        return f"{self.stage}: {self.line}" if self.stage or self.line else "no error"


@dataclass(frozen=True)
class SameError:
    """The same pass fails with the same words. Names of values and sizes in types may differ: shrinking changes them."""

    steps: Runnable
    wanted: Said
    seconds: float

    def shows(self, text: str) -> bool:
        """Whether the passes end on this program with the error that is wanted."""
        return run(text, self.steps, self.seconds) == self.wanted


def run(text: str, steps: Runnable, seconds: float) -> Said:
    """Run passes on a program, in a process of its own."""
    answer = isolated(lambda send: _run(text, steps, send), seconds)
    if isinstance(answer.result, Said):
        return answer.result
    return Said(answer.sent[-1] if answer.sent else "parse", answer.ended)


def _run(text: str, steps: Runnable, send: Send) -> Said:
    @dataclass
    class Telling(Running):
        """Says which pass runs, for the one that never comes back."""

        def before(self, name: str, op: ir.Operation) -> None:
            super().before(name, op)
            send(self.name)

    context, running = new_context(), Telling()
    with diagnostics.collect(context) as found:
        try:
            steps.run(parse_module(text, context), hooks=(running,))
        except PassFailure as e:
            errors = [d.message for d in (*found, *e.diagnostics) if d.severity == "error"]
            return Said(e.pass_name, _normal(errors[0] if errors else ""))
        except Exception as e:  # noqa: BLE001 - whatever a pass raises is what it says
            return Said(running.name or "parse", _normal(f"{type(e).__name__}: {e}"))
    return Said()


def _normal(message: str) -> str:
    first = message.strip().partition("\n")[0]
    return re.sub(r"<[^<>]*(?:<[^<>]*>)?[^<>]*>", lambda m: re.sub(r"\d+", "N", m[0]), re.sub(r"%\w+", "%", first))


@dataclass
class Answer:
    """What came from a process: what it sent on its way, its result, or how it ended without one."""

    sent: list[Any] = field(default_factory=list)
    result: Any = None
    ended: str = ""


@cache
def _warm() -> None:
    """Import what reading and verifying a program imports, so that no child has to. This leaves no thread behind: a fork is safe."""
    parse_module("module {}", new_context())


def isolated(work: Callable[[Send], Any], seconds: float) -> Answer:
    """Run `work(send)` in a fork of this process, whose output is thrown away. Exceptions are in `ended`."""
    _warm()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _child(work, reading, writing)
    os.close(writing)
    answer, data, late = Answer(), b"", False
    end = time.monotonic() + seconds
    with os.fdopen(reading, "rb", buffering=0) as pipe:
        while True:
            if not select.select([pipe], [], [], max(0, end - time.monotonic()))[0]:
                os.kill(child, signal.SIGKILL)
                late = True
                break
            part = pipe.read(1 << 16)
            if not part:
                break
            data += part
    _, status = os.waitpid(child, 0)
    _read(data, answer)
    if late:
        answer.result, answer.ended = None, f"did not end within {seconds:g} seconds"
    elif os.WIFSIGNALED(status):
        answer.result, answer.ended = None, f"died of {signal.Signals(os.WTERMSIG(status)).name}"
    return answer


def _child(work: Callable[[Send], Any], reading: int, writing: int) -> None:
    """Never returns."""
    gc.disable()  # it would touch, and so copy, all that the parent has
    os.close(reading)
    faulthandler.disable()  # its copy of stderr is not ours to redirect
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)

    def send(kind: str, value: Any) -> None:
        data = pickle.dumps((kind, value))
        left = memoryview(len(data).to_bytes(8, "little") + data)
        while left:
            left = left[os.write(writing, left) :]

    try:
        send("result", work(lambda value: send("sent", value)))
    except BaseException as e:  # noqa: BLE001 - it crosses to the parent, which decides
        send("raised", f"{type(e).__name__}: {e}")
    os._exit(0)  # nothing of the parent's is flushed or torn down twice


def _read(data: bytes, answer: Answer) -> None:
    at = 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 8], "little")
        if at + 8 + size > len(data):
            return  # it died while it wrote
        kind, value = pickle.loads(data[at + 8 : at + 8 + size])
        at += 8 + size
        if kind == "sent":
            answer.sent.append(value)
        elif kind == "result":
            answer.result = value
        else:
            answer.ended = value
