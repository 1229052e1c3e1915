"""What is wrong with a device's libraries, as events."""

from __future__ import annotations

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.history import History
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.events import EventKind


def tell(on: Device, history: History) -> None:
    """Tell what nobody has been told, of the program that came upon it."""
    while on.unsaid:
        history.emit(EventKind.FALLBACK, Reason.BROKEN_LIBRARY, action=f"our kernels multiply: {on.unsaid.pop()}")
