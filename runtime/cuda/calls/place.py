"""Calls whose arrays lie on the device, or on either side: the place of programs for a device. See `protocols.Place`.

A call that a version fits runs on the device: arrays of the host are moved, those on the device are not. All other calls, tier 0 first of
all, run on the host, on copies of what lies on the device; what the program writes is written back. Results are on the device where any
argument is, and of the library whose array came first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments.argument_spec import CallSpec, spec_of
from tierup.runtime.arguments.signature import Unsupported
from tierup.runtime.base.events import EventKind
from tierup.runtime.cuda.arrays.arrays import DeviceArray, to_host
from tierup.runtime.cuda.arrays.interchange import handed_over, ours
from tierup.runtime.cuda.calls.moving import Moves
from tierup.runtime.cuda.calls.on_host import on_host
from tierup.runtime.cuda.calls.splits import DeviceSplit, classes_of, published
from tierup.runtime.cuda.calls.table import make_device_table
from tierup.runtime.cuda.device.devices import device

if TYPE_CHECKING:
    from tierup.lowering.entry.records import VersionRecord
    from tierup.runtime.account.history import History
    from tierup.runtime.base.options import Options, Overrides
    from tierup.runtime.base.protocols import Answer, Call, FindSplit, Flat
    from tierup.runtime.programs.program import Program
    from tierup.runtime.programs.publication import Publication


class OnDevice:
    """Of one program. Its calls raise NoDevice, DriverError, and MemoryError when the device has no memory left."""

    make_table = staticmethod(make_device_table)

    def __init__(self, program: Program, overrides: Overrides, history: History) -> None:
        self._program, self._overrides, self._history = program, overrides, history

    def around(self, call: Call) -> Call:
        """A call that takes arrays of any library, of one that takes ours; results are arrays of the library whose array came first."""
        def run(flat: Flat, options: Options) -> Flat:
            on = device()
            given = ours(on, flat)
            results = call(given, self._overrides.current())
            while on.unsaid:  # told once, of the program that came upon it
                self._history.emit(EventKind.FALLBACK, Reason.BROKEN_LIBRARY, action=f"our kernels multiply: {on.unsaid.pop()}")
            return handed_over(results, flat, given)

        return run

    def slow(self, answer: Answer, find: FindSplit) -> Answer:
        """Answers a call that no version fits: by a split, its arrays left where they are; else by `answer`, on the host."""
        def slow(*flat: Any) -> Flat:
            answered = self._by_split(flat, find)
            return on_host(self._program, answer, flat) if answered is None else answered

        return slow

    def _by_split(self, flat: Flat, find: FindSplit) -> Flat | None:
        """The results of a call that a split answers, its arrays left where they are until tier 0 reads them; None for any other call, and
        for one that raises: that is answered on the host, which raises what it should."""
        try:
            found = find(classes_of(flat))
        except Unsupported:
            return None
        if found is None:
            return None
        split, has_run = found
        run = split.placed = split.placed or DeviceSplit(split)
        if not run.takes(flat):
            return None
        try:
            results: Flat = run(device(), flat)
        except Exception:  # noqa: BLE001 - nothing has been written; the same run on the host says what becomes of it
            return None
        has_run(split)
        return results

    def failed(self, answer: Callable[..., Flat], stays: Callable[[Any, int], bool]) -> Callable[..., Flat]:
        """`answer(record, status, flat, live)`, on copies on the host but where it `stays(record, status)` and there are `live` values."""
        def failed(record: VersionRecord, status: int, flat: Flat, live: Flat | None = None) -> Flat:
            if live is None:
                return on_host(self._program, lambda *host: answer(record, status, host, None), flat)
            if stays(record, status):
                return answer(record, status, flat, live)
            n = len(flat)
            return on_host(self._program, lambda *host: answer(record, status, host[:n], host[n:]), flat, live)

        return failed

    def run(self, program: Program, flat: Flat) -> Flat:
        """The results of a call in tier 0, which runs on copies on the host."""
        return self.on_host(lambda *host: program.run(host), flat)

    def on_host(self, run: Answer, flat: Flat) -> Flat:
        """`run(*flat)` on copies on the host; what is written there is written on the device."""
        return on_host(self._program, run, flat)

    def copies(self, flat: Flat) -> Flat:
        """The arguments, those on the device as copies on the host."""
        copies = iter(to_host([v for v in flat if type(v) is DeviceArray]))
        return tuple([next(copies) if type(v) is DeviceArray else v for v in flat])

    def spec_of(self, flat: Flat) -> CallSpec:
        """The argument spec of a call, wherever its arrays lie."""
        # where an array lies is no part of it: one plan serves both sides
        return spec_of([np.empty((0,) * v.ndim, v.dtype) if type(v) is DeviceArray else v for v in flat])

    def results(self, publication: Publication, flat: Flat, values: Flat) -> Flat:
        """The results of a call, from the values that a continuation gives; what the program writes is written."""
        moves = Moves(device())
        if any(type(value) is DeviceArray for value in flat):
            return published(publication, flat, values, moves)
        return publication.results(flat, tuple([moves.host(value, "results") for value in values]))
