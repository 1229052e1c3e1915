"""Which of a function's calls run on the device: the options that choose it, as executors see them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.cuda import targets
from tierup.runtime.cuda.device.devices import device
from tierup.runtime.cuda.errors import NoDevice
from tierup.runtime.events import EventKind
from tierup.runtime.explaining.history import History
from tierup.runtime.options import Options, Overrides
from tierup.runtime.program import Program
from tierup.runtime.protocols import MakeExecutor

if TYPE_CHECKING:
    from tierup.runtime.cuda.executor import CudaExecutor
    from tierup.runtime.cuda.specializing import CudaSpecializingExecutor


class _Changed(Overrides):
    """The options of a function with some of them settled."""

    def __init__(self, above: Overrides) -> None:
        self._above = above
        self._made: tuple[Options, Options] | None = None

    def base(self) -> Options:
        return self._changed(self._above.base())

    def current(self) -> Options:
        now, made = self._above.current(), self._made  # one read: another thread may put in its own
        if made is None or made[0] is not now:
            made = self._made = (now, self._changed(now))
        return made[1]

    def _changed(self, options: Options) -> Options:
        raise NotImplementedError


class OnCpu(_Changed):
    """Where there is no device."""

    def _changed(self, options: Options) -> Options:
        return replace(options, backend="cpu")


class OnDevice(_Changed):
    """Where there is one: its target, unless another was asked for; guards are checked in Python, since plans are Python."""

    def _changed(self, options: Options) -> Options:
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


def executor(
    program: Program,
    options: Options,
    overrides: Overrides,
    history: History,
    make_region: MakeExecutor,
    *,
    is_region: bool,
    make_rest: MakeExecutor | None,
) -> CudaExecutor | CudaSpecializingExecutor:
    """The executor of a program's calls on the device, of the kind that `options` ask for."""
    settled = OnDevice(overrides)
    if options.executor == "specializing":
        from tierup.runtime.cuda.specializing import CudaSpecializingExecutor  # here, as below

        return CudaSpecializingExecutor(program, settled, history, make_region, is_region=is_region)
    from tierup.runtime.cuda.executor import CudaExecutor  # here: it needs NumPy and more, and `choosing` may end without

    return CudaExecutor(program, settled, history, None, make_region, is_region=is_region, make_rest=make_rest)
