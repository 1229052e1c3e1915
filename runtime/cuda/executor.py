"""The profiling executor for versions on the device: the same profiles, bets, guards and misses, with arrays of either side.

A call that a version fits runs on the device: arrays of the host are moved, those on the device are not. All other calls, tier 0 first of
all, run on the host, on copies of what lies on the device; what the program writes is written back. Results are on the device where any
argument is, and of the library whose array came first.
"""

from __future__ import annotations

from typing import Any

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.arguments.signature import Unsupported
from tierup.runtime.bailing.splitting import Splitting
from tierup.runtime.cuda.arrays.arrays import DeviceArray
from tierup.runtime.cuda.arrays.interchange import handed_over, ours
from tierup.runtime.cuda.device.devices import device
from tierup.runtime.cuda.device.telling import tell
from tierup.runtime.cuda.moving import Moves
from tierup.runtime.cuda.on_host import on_host
from tierup.runtime.cuda.splits import DeviceSplit, classes_of, published
from tierup.runtime.cuda.table import make_device_table
from tierup.runtime.options import Options
from tierup.runtime.profiling import ProfilingExecutor
from tierup.runtime.regions import Publication


class CudaExecutor(ProfilingExecutor):
    """See `ProfilingExecutor`. Raises NoDevice, DriverError, and MemoryError when the device has no memory left."""

    _make_table = staticmethod(make_device_table)

    def call(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        on, options = device(), self.options()
        given = ours(on, flat)
        if not options.optimize:
            self.history.refuse_tier0(Reason.OPTIMIZE_OFF, options)
            results = on_host(self.program, lambda *host: self.history.interpret(host, Reason.OPTIMIZE_OFF), given)
        else:
            results = self.table.run(given, options.entry)
        tell(on, self.history)
        return handed_over(results, flat, given)

    def _miss(self, *flat: Any) -> tuple[Any, ...]:
        answered = self._by_split(flat)
        return on_host(self.program, super()._miss, flat) if answered is None else answered

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
        if live is not None and record is not None and self.bailing is not None and self.bailing.goes_on_by_code(record, status):
            return again(record, status, flat, live)  # arrays stay where they are
        operands = () if live is None else live

        def run(*host: Any) -> tuple[Any, ...]:
            return again(record, status, host[: len(flat)], None if live is None else host[len(flat) :])

        return on_host(self.program, run, flat, operands)

    def published(self, publish: Publication, flat: tuple[Any, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
        moves = Moves(device())
        if any(type(value) is DeviceArray for value in flat):
            return published(publish, flat, values, moves)
        return publish.results(flat, tuple([moves.host(value, "results") for value in values]))
