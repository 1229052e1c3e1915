"""The dispatch table of versions on the device: the one in Python, behind an inline cache of calls that look like an earlier one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tierup.lowering.entry.records import Inputs
from tierup.runtime.account import last_plan
from tierup.runtime.cuda.plan import CudaPlan, Outcome
from tierup.runtime.cuda.steady import InlineCache, valued
from tierup.runtime.dispatching.dispatch import PythonTable, Row
from tierup.runtime.faults import faults


class DeviceTable(PythonTable):
    """See `PythonTable`; its versions' plans are CudaPlans."""

    entry = "python"

    def _set(self, rows: tuple[Row, ...]) -> None:
        super()._set(rows)
        self._cache = InlineCache(i for e in rows for i in valued(e.record.arguments, _plan(e).free_numbers))

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Answer a call: by what the inline cache has for calls like it, else as `PythonTable` does."""
        cache = self._cache  # another thread may put in its own: what we note in an old one is lost
        found = None if kwargs or faults.active else cache.get(cache.key(args))
        if found is None:
            return super().__call__(*args, **kwargs)
        entry, steady = found
        with self._lock:
            entry.hits += 1
            self._hits += 1
        results = steady.run(args)
        last_plan.note_serial(entry.record.serial)
        return results

    def _ran_on_device(self, entry: Row, flat: tuple[Any, ...], symbols: dict[str, int], outcome: Outcome) -> None:
        cache = self._cache
        if entry in self._rows:
            cache.note(cache.key(flat), entry, _plan(entry), outcome, symbols)


def _plan(entry: Row) -> CudaPlan:
    plan: Any = entry.record.keepalive
    assert isinstance(plan, CudaPlan)
    return plan


def make_device_table(
    inputs: int | Inputs, slow: Callable[..., Any], failed: Callable[..., Any] | None = None, *, entry: str = "python"
) -> DeviceTable:
    """As `make_table`: there is one entry to versions on the device."""
    return DeviceTable(Inputs(inputs) if isinstance(inputs, int) else inputs, slow, failed)
