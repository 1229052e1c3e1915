"""Runs the RUN lines of a lit test in forks of this process, where tierup and FileCheck are imported already: half a second less each.

A command is a child of its own with files for its streams, as a shell would have it: it may crash, exit or change what it likes. Known
are `tierup-opt`, `tierup-run`, `FileCheck`, `diff` of two files and `not` before one of them; pipes, `<`, `>`, `2>` and `2>&1`.
"""

from __future__ import annotations

import filecmp
import io
import os
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lit.ShCommands import Command, Pipeline
from lit.ShUtil import ShParser

_LINE = re.compile(r"RUN: (.*)$", re.MULTILINE)
_MORE_OF_LIT = re.compile(r"(REQUIRES|UNSUPPORTED|XFAIL|DEFINE|END\.):|RUN: .*\\$", re.MULTILINE)


class Unknown(Exception):
    """A test that needs lit's own shell."""


@dataclass(frozen=True)
class Outcome:
    """Whether every line ended with 0; and the first that did not, with what it printed."""

    passed: bool
    output: str = ""


def run(path: Path, scratch: Path) -> Outcome:
    """Run a test; `%t` begins with the folder `scratch`. Raises Unknown, with nothing run, for what only lit knows."""
    text = path.read_text()
    if _MORE_OF_LIT.search(text):
        raise Unknown(path)
    lines = [_substituted(line, path, scratch) for line in _LINE.findall(text)]
    if not lines:
        raise Unknown(path)
    parsed = [(line, _commands(line)) for line in lines]
    for line, commands in parsed:
        errors = _run_pipe(commands)
        if errors is not None:
            return Outcome(False, f"RUN: {line}\n{errors}")
    return Outcome(True)


def _substituted(line: str, path: Path, scratch: Path) -> str:
    for sign, value in (("%s", path), ("%S", path.parent), ("%t", scratch / "t")):
        line = re.sub(rf"{sign}\b", str(value), line)
    return line


def _commands(line: str) -> Sequence[Command]:
    try:
        parsed = ShParser(line, False).parse()
    except ValueError as e:
        raise Unknown(str(e)) from e
    if not isinstance(parsed, Pipeline) or parsed.negate or any(_words(c)[0] not in _KNOWN for c in parsed.commands):
        raise Unknown(line)
    return list(parsed.commands)


def _words(command: Command) -> list[str]:
    words = [str(word) for word in command.args]
    return words[1:] if words[0] == "not" and len(words) > 1 else words


# --- the commands ------------------------------------------------------------------------------------------------------


def _tierup_opt(words: list[str]) -> int:
    from tierup.tools.opt import __main__ as opt

    return opt.main(words[1:])


def _tierup_run(words: list[str]) -> int:
    from tierup.tools.run import __main__ as tool

    return tool.main(words[1:])


def _filecheck(words: list[str]) -> int:
    from filecheck.main import main

    main(words)
    return 0


def _diff(words: list[str]) -> int:
    if filecmp.cmp(words[1], words[2], shallow=False):
        return 0
    print(f"{words[1]} and {words[2]} differ")
    return 1


_KNOWN: dict[str, Callable[[list[str]], int]] = {
    "tierup-opt": _tierup_opt, "tierup-run": _tierup_run, "FileCheck": _filecheck, "diff": _diff,
}  # fmt: skip


def preload() -> None:
    """Import what the commands need, every pass and the op table, so that forks find it: what a fork imports the next one imports again."""
    import filecheck.main  # noqa: F401
    import torch_mlir.dialects.builtin  # noqa: F401

    import tierup.tools.opt.__main__
    import tierup.tools.run.__main__  # noqa: F401
    from tierup.dialect import optable
    from tierup.dialect.ops import gradients
    from tierup.dialect.passes import registry

    registry.passes()
    optable.table()
    gradients.table()


# --- processes -----------------------------------------------------------------------------------------------------------


def _run_pipe(commands: Sequence[Command]) -> str | None:
    """Run the commands one after another, each on what the last one printed. None, or what was printed where one failed."""
    with tempfile.TemporaryFile() as nothing, tempfile.TemporaryFile() as errors:
        given, opened = nothing, []
        for command in commands:
            out = tempfile.TemporaryFile()  # noqa: SIM115 - closed below, with what redirects open
            opened.append(out)
            streams = [given.fileno(), out.fileno(), errors.fileno()]
            for operator, target in command.redirects:
                sign = operator[0]
                if sign == ">&":
                    streams[operator[1]] = streams[int(target)]
                elif sign in ("<", ">"):
                    file = open(target, "rb" if sign == "<" else "wb")  # noqa: SIM115
                    opened.append(file)
                    streams[operator[1] if len(operator) > 1 else int(sign == ">")] = file.fileno()
                else:
                    raise Unknown(f"{sign} in {command}")
            given.seek(0)
            failed = _forked(_words(command), streams) != 0
            if failed != (command.args[0] == "not"):
                shown = "".join(_contents(f) for f in (out, errors))
                _close(opened)
                return shown or "it succeeded, and should not have"
            given = out
        _close(opened)
    return None


def _contents(file: io.BufferedRandom) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def _close(files: Sequence[io.IOBase]) -> None:
    for file in files:
        file.close()


def _forked(words: list[str], streams: Sequence[int]) -> int:
    """Run a command in a child; its exit code, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            os.lseek(0, 0, os.SEEK_SET)
            # as Python has them in a pipe: output in blocks, errors at once
            sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
            code = int(_KNOWN[words[0]](words) or 0)
        except SystemExit as e:
            code = e.code if isinstance(e.code, int) else int(e.code is not None)
        except BaseException:  # noqa: BLE001 - whatever it is, a process would print it and end
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


