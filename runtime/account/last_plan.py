"""Which plan a thread ran last: `tierup.last_executed_plan()`.

A native call runs no line of Python, so the dispatcher notes the serial of the version in memory of the thread's own
(`lowering/entry/last.py`); all other runs note a weak reference here, and put the dispatcher's number back to 0: the newer of the two
stands. What is noted keeps nothing alive.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.records import dataclass

if TYPE_CHECKING:
    from ctypes import c_int64

    from tierup.runtime.base.protocols import AnyVersion, CompiledVersion, Executed


@dataclass(frozen=True)
class ExecutedPlan:
    """What a thread ran last. `tier`: "native" (a version), "split" (native regions with tier 0 between them) or "tier 0".

    `function`: the program's name; a region run on its own has its region's. `version`: None in tier 0. `guards`: what the version was
    compiled for. `regions`: the names of the native regions of a split.
    """

    function: str
    tier: str
    version: AnyVersion | None = None
    guards: str = ""
    regions: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [f"{self.function}: {self.tier}"]
        if self.guards:
            parts.append(self.guards)
        if self.regions:
            parts.append(f"regions: {', '.join(self.regions)}")
        return "; ".join(parts)


class _Thread(threading.local):
    cell: c_int64 | None = None  # the dispatcher's number for this thread, once it is in use
    plan: Callable[[], Any] | None = None  # a weak reference


_thread = _Thread()
_open_cell: Callable[[], c_int64] | None = None
_versions: weakref.WeakValueDictionary[int, CompiledVersion] = weakref.WeakValueDictionary()  # by serial


def watch_dispatcher(open_cell: Callable[[], c_int64]) -> None:
    """The native entry is in use from now on; `open_cell` gives a thread its number."""
    global _open_cell
    _open_cell = open_cell


def register(serial: int, version: CompiledVersion) -> None:
    """Let a version be found by the number that dispatchers note."""
    _versions[serial] = version


def function_of(serial: int) -> str:
    """The program of the version with this number, by name; "" when it is gone, or was never registered."""
    version = _versions.get(serial)
    return "" if version is None else version.function


def serial() -> int:
    """The number of the version that the dispatcher ran last in this thread, 0 where something else ran since."""
    return int(_number().value)


def note(plan: Executed) -> None:
    """This thread ran `plan`, and it has returned."""
    _thread.plan = weakref.ref(plan)
    _number().value = 0


def note_serial(serial: int) -> None:
    """As `note`, of a version by its number."""
    version = _versions.get(serial)
    if version is not None:
        note(version)


def last_executed_plan() -> ExecutedPlan | None:
    """What this thread ran last, of any function; None when it ran nothing, or when what it ran is gone.

    Set when a run has returned: a call that raises leaves what was there, unless tier 0 answered part of it.
    """
    serial = _number().value
    if serial:
        version = _versions.get(serial)
        return None if version is None else version.executed()
    plan = None if _thread.plan is None else _thread.plan()
    return None if plan is None else plan.executed()


class _NoNumber:
    value = 0


def _number() -> Any:
    cell = _thread.cell
    if cell is None:
        if _open_cell is None:
            return _NoNumber()
        cell = _thread.cell = _open_cell()
    return cell
