"""What `tierup.testing` lets a compile meet, in this process or in a worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.lowering.base import faults as stages

CRASH = "crash"
_CRASHES_AT = "linalg"  # in the middle


class InjectedFault(RuntimeError):
    """What a stage of the compiler raises because a test asked for it."""


@dataclass(frozen=True)
class CompilerFault:
    """`stage`: which raises, "crash", or "" for none; `delay`: seconds that it takes longer."""

    stage: str
    delay: float

    @property
    def text(self) -> str:
        """What `Faults.fired` says of it."""
        return f"compiler: {self.stage}" if self.stage else "delay"


class _Meeting:
    """A worker's hook: the faults of the one compile that it does."""

    def __init__(self, met: Sequence[CompilerFault]) -> None:
        self._met = met

    def begins(self, stage: str) -> None:
        for fault in self._met:
            if fault.stage == CRASH and stage == _CRASHES_AT:
                os.kill(os.getpid(), signal.SIGKILL)
            if fault.stage == stage:
                raise InjectedFault(f"a fault was injected into the compiler: {stage}")

    def compiles_anew(self) -> bool:
        return True


def failing_compile(met: Sequence[CompilerFault], function: tuple[str, str], arguments: tuple[object, ...]) -> Any:
    """In a worker: what `function`, a module and a name, gives for these arguments while its compiler meets these faults."""
    time.sleep(sum(fault.delay for fault in met))
    stages.hook = _Meeting(met)
    try:
        module, name = function
        return getattr(import_module(module), name)(*arguments)
    finally:
        stages.hook = None
