"""The profiling executor for versions on the device: the same profiles, bets, guards and misses, with arrays of either side.

A call that a version fits runs on the device: arrays of the host are moved, those on the device are not. All other calls, tier 0 first of
all, run on the host, on copies of what lies on the device; what the program writes is written back. Results are on the device where any
argument is, and of the library whose array came first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.arguments.signature import Unsupported
from tierup.runtime.bailing.splitting import Splitting
from tierup.runtime.cuda.arrays import DeviceArray, put, to_host
from tierup.runtime.cuda.devices import device
from tierup.runtime.cuda.interchange import handed_over, taken_or_same
from tierup.runtime.cuda.splits import DeviceSplit, classes_of
from tierup.runtime.dispatching.guards import extent
from tierup.runtime.events import EventKind
from tierup.runtime.options import Options
from tierup.runtime.profiling import ProfilingExecutor

Run = Callable[..., tuple[Any, ...]]


class CudaExecutor(ProfilingExecutor):
    """See `ProfilingExecutor`. Raises NoDevice, DriverError, and MemoryError when the device has no memory left."""
    def call(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        on, options = device(), self.options()
        given = tuple([taken_or_same(on, value) for value in flat])
        if not options.optimize:
            self.history.refuse_tier0(Reason.OPTIMIZE_OFF, options)
            results = self._on_host(lambda *host: self.history.interpret(host, Reason.OPTIMIZE_OFF), given)
        else:
            results = self.table.run(given, options.entry)
        if on.unsaid:
            self.history.emit(EventKind.FALLBACK, Reason.BROKEN_LIBRARY, action=f"our kernels multiply: {on.unsaid.pop()}")
        return handed_over(results, flat, given)

    def _miss(self, *flat: Any) -> tuple[Any, ...]:
        answered = self._by_split(flat)
        return self._on_host(super()._miss, flat) if answered is None else answered

    def _by_split(self, flat: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The results of a call that a split answers, its arrays left where they are until tier 0 reads them; None for any other call, and
        for one that raises: that is answered on the host, which raises what it should."""
        splitting = self.splitting
        if not splitting.splits or type(splitting) is not Splitting or self.options().strict or getattr(self._local, "retrying", False):
            return None
        try:
            split = splitting.regions.splits.get(classes_of(flat))
        except Unsupported:
            return None
        if split is None:
            return None
        run = split.placed = split.placed or DeviceSplit(split)
        if not run.takes(flat):
            return None
        try:
            results = run(device(), flat)
        except Exception:  # noqa: BLE001 - nothing has been written; the same run on the host says what becomes of it
            return None
        splitting.regions.count(split)
        splitting.has_run(split)
        return results

    def failed(
        self, record: VersionRecord | None, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None = None
    ) -> tuple[Any, ...]:
        again = super().failed
        return self._on_host(lambda *host: again(record, status, host, live), flat)

    def _on_host(self, run: Run, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run on copies of the arrays that lie on the device. What is written to them is written there, also when `run` raises."""
        there = [(value, p.written) for value, p in zip(flat, self.program.tier0.parameters, strict=True) if type(value) is DeviceArray]
        if not there:
            return run(*flat)
        arrays = [array for array, _ in there]
        copies = to_host(arrays)
        given = iter(copies)
        try:
            results = run(*[next(given) if type(value) is DeviceArray else value for value in flat])
        finally:
            for (array, written), copy in zip(there, copies, strict=True):
                if written and array.writeable:
                    _write(array, copy)
        return tuple([_there(result, arrays, copies) for result in results])


def _write(array: DeviceArray, copy: np.ndarray) -> None:
    """The contents of an array on the device, from a copy of the same strides. What lies between its elements is written as it was."""
    low, high = extent(array)
    if low == high:
        return
    start = extent(copy)[0]
    with array.on.lock:
        array.on.driver.to_device(low, start, high - low)


def _there(result: Any, there: list[DeviceArray], copies: list[np.ndarray]) -> Any:
    """A result of tier 0 on the device: an argument itself, a view of one, or a copy."""
    if not isinstance(result, np.ndarray):
        return result
    for array, copy in zip(there, copies, strict=True):
        if result is copy:
            return array
    for array, copy in zip(there, copies, strict=True):
        if result.size and np.may_share_memory(result, copy) and np.shares_memory(result, copy):
            moved = array.address - copy.ctypes.data
            return DeviceArray(array.on, result.ctypes.data + moved, result.dtype, result.shape, result.strides, array, array.writeable)
    return put(there[0].on, result)
