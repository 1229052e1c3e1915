"""Names for `perf`: with `TIERUP_PERF=map` every piece of machine code is listed in /tmp/perf-PID.map as it is loaded.

A line is an address, a size and a name, as `perf report` and `perf annotate` look for them (tools/perf/Documentation/jit-interface.txt
in the Linux sources; the folder is fixed there). Lines are never taken back: samples are looked up when the process is over, and an
address that was used twice has the name of its last user. A forked child has its parent's code and so its parent's lines.
"""

from __future__ import annotations

import logging
import os
import stat
from functools import cache
from pathlib import Path

from tierup.dialect.base import forking
from tierup.lowering.objects import elf

VARIABLE = "TIERUP_PERF"

_log = logging.getLogger("tierup.perf")
_lock = forking.lock()
_file: int | None = None  # this process' own


def path(pid: int) -> Path:
    """The file in which perf looks for the names of a process's generated code."""
    return Path(f"/tmp/perf-{pid}.map")


@cache
def _enabled(value: str) -> bool:
    """Whether the variable asks for maps; what it asks for besides is said once."""
    if value not in ("", "0", "map"):
        _log.warning("%s=%s: there is only %s=map", VARIABLE, value, VARIABLE)
    if value == "map":
        os.register_at_fork(after_in_child=_inherit)
    return value == "map"


def loaded(name: str, image: bytes, symbol: str, address: int) -> None:
    """List an object's functions under `name`; `symbol` is the one of them that was linked to `address`."""
    if not _enabled(os.environ.get(VARIABLE, "")):
        return
    found = elf.Object(image).functions()
    known = next(f for f in found if f.name == symbol)
    base = address - known.offset  # of the section: code that LLVM emits for one object is one section
    together = [f for f in found if f.section == known.section and f.size]
    lines = [f"{base + f.offset:x} {f.size:x} {name if f is known else f'{name}:{f.name}'}\n" for f in together]
    _write("".join(lines).encode())


def _write(lines: bytes) -> None:
    global _file
    try:
        with _lock:
            if _file is None:
                _file = _open(path(os.getpid()))
            while lines:
                lines = lines[os.write(_file, lines) :]
    except OSError as e:
        _log.warning("cannot write %s: %s", path(os.getpid()), e)


def _open(file: Path) -> int:
    """The folder is everybody's, and the name is easily guessed: what stands there already is written to only where it is a file of this
    user's, under one name, that no other can write. Raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(file, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:  # of an earlier process of this number, or Python's own for `-X perf`
        handle = os.open(file, flags)
        found = os.fstat(handle)
        if stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and found.st_uid == os.geteuid() and not found.st_mode & 0o022:
            return handle
        os.close(handle)
        raise PermissionError("it is another's, or others can write it") from None


def _inherit() -> None:
    """Copy the parent's lines, in a child that was forked."""
    global _file
    parents, _file = _file, None
    if parents is not None:
        lines = os.pread(parents, os.fstat(parents).st_size, 0)
        os.close(parents)
        _write(lines)
