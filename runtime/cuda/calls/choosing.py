"""Which of a function's calls run on the device: the options that choose it, as executors see them."""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.cuda import targets
from tierup.runtime.account.history import History
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options, Overrides
from tierup.runtime.base.protocols import Place
from tierup.runtime.cuda.device.devices import device
from tierup.runtime.cuda.errors import NoDevice
from tierup.runtime.programs.program import Program


def on_cpu(options: Options) -> Options:
    """Where there is no device."""
    return replace(options, backend="cpu")


def on_device(options: Options) -> Options:
    """Where there is one: its target, unless another was asked for; guards are checked in Python, since plans are Python."""
    target = options.target or targets.for_capability(*device().driver.capability).name
    return replace(options, backend="cuda", target=target, entry="python")


def wants_device(options: Options, history: History) -> bool:
    """Whether calls with these options run on the device. Raises NoDevice where they must and there is none; where they may go to the
    CPU, an event says that they do, and why."""
    try:
        device()
    except NoDevice as e:
        if options.backend == "cuda":
            raise
        history.emit(EventKind.FALLBACK, Reason.NO_DEVICE, action=f"runs on the CPU: {e}")
        return False
    return True


def place(program: Program, overrides: Overrides, history: History) -> Place:
    """Where the arrays of a program's calls on the device lie."""
    from tierup.runtime.cuda.calls.place import OnDevice  # here: it needs NumPy and more, and `choosing` may end without

    return OnDevice(program, overrides, history)
