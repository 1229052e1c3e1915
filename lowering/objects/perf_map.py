"""Names for `perf`: with `TIERUP_PERF=map` every piece of machine code is listed in /tmp/perf-PID.map as it is loaded.

A line is an address, a size and a name, as `perf report` and `perf annotate` look for them (tools/perf/Documentation/jit-interface.txt
in the Linux sources; the folder is fixed there). Lines are never taken back: samples are looked up when the process is over, and an
address that was used twice has the name of its last user. A forked child has its parent's code and so its parent's lines.
"""

from __future__ import annotations

import logging
import os
import threading
from functools import cache
from pathlib import Path

from tierup.lowering.objects import elf

VARIABLE = "TIERUP_PERF"

_log = logging.getLogger("tierup.perf")
_lock = threading.RLock()


def path(pid: int) -> Path:
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
    found = elf.functions(image)
    known = next(f for f in found if f.name == symbol)
    base = address - known.offset  # of the section: code that LLVM emits for one object is one section
    together = [f for f in found if f.section == known.section and f.size]
    lines = [f"{base + f.offset:x} {f.size:x} {name if f is known else f'{name}:{f.name}'}\n" for f in together]
    try:
        with _lock, path(os.getpid()).open("a") as file:
            file.write("".join(lines))
    except OSError as e:
        _log.warning("cannot write: %s", e)


def _inherit() -> None:
    """Copy the parent's lines, in a child that was forked."""
    try:
        path(os.getpid()).write_bytes(path(os.getppid()).read_bytes())
    except OSError as e:
        _log.warning("cannot write: %s", e)
