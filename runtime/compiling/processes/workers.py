"""The workers of this process: which there are, and who wants them. Quick to import, since the first is started before all else."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from tierup.dialect.base import switches
from tierup.dialect.base.forking import no_fork
from tierup.runtime.base.options import Options

if TYPE_CHECKING:
    from tierup.lowering.service.service import Service

READY = "tierup.runtime.compiling.ready:get_ready"

_READ = ("HOME", "XDG_CACHE_HOME", "CUDA_HOME", "PATH", "LD_LIBRARY_PATH")  # of the environment, beside what requests bring
_NICENESS = 5  # of compiles that nobody waits for: the callers keep the cores
asked = False  # whether a worker was ever needed

services: dict[str, Service] = {}
_closed = False


def waited_for() -> Service:
    """The worker of compiles that a call waits for. Its caller needs no core meanwhile, and would compile at its own priority: at a
    lower one it would wait long for a busy machine."""
    return _service("waited for", 0)


def in_background() -> Service:
    """The worker of compiles that nobody waits for: no call is to wait for one of these."""
    return _service("in the background", _NICENESS)


def _service(name: str, niceness: int) -> Service:
    from tierup.lowering.service.service import Service  # here: what starts processes costs 10 ms to import, and few programs need it

    with no_fork:  # which is a lock: one thread at a time
        if name not in services:
            shared = shared_name()
            services[name] = Service(niceness=niceness, preload=READY, shared_name=shared, shared_seconds=_seconds() if shared else 0.0)
            if _closed:  # after it can be seen: `close` missed it, or ends it too
                services[name].close()
        return services[name]


def shared_name() -> str:
    """Of the compiler that processes share which have loaded, and would import, what this one has; "" where none is wanted."""
    if os.environ.get("TIERUP_COMPILER") != "shared" or os.name != "posix":
        return ""
    from tierup.lowering.externals.sharing import usable  # here: few programs share one
    from tierup.lowering.objects import keys

    ours = keys.sources("dialect", "lowering") + keys.sources("frontend", "runtime")  # as the keys of code and graphs have them
    around = [f"{name}={os.environ.get(name)}" for name in _READ]
    of_process = (sys.version, sys.executable, str(sys.flags), str(usable()), str(os.getpriority(os.PRIO_PROCESS, 0)))
    return keys.name_of(ours, *of_process, *around, *map(str, sys.path))[:32]


def _seconds() -> float:
    return switches.number("TIERUP_COMPILER_SECONDS", 600)


def close() -> None:
    """End all workers, for good. Takes no lock, and starts nothing."""
    global _closed
    _closed = True
    for service in tuple(services.values()):
        service.close()


def wanted(options: Options) -> bool:
    """Whether calls under these options leave their compiles to a worker."""
    return options.worker and switches.is_on("TIERUP_WORKER")
