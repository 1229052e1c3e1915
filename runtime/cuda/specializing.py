"""The specialising executor for plans on the device: one plan per argument spec, for arrays of either side.

A plan's code answers what its guards take; all else, the first call of a spec among it, runs on the host, on copies of what lies on the
device, as in `executor.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.entry.records import VersionRecord
from tierup.runtime.arguments.argument_spec import CallSpec, spec_of
from tierup.runtime.cuda.arrays.arrays import DeviceArray, to_host
from tierup.runtime.cuda.arrays.interchange import handed_over, ours
from tierup.runtime.cuda.device.devices import device
from tierup.runtime.cuda.device.telling import tell
from tierup.runtime.cuda.on_host import on_host
from tierup.runtime.cuda.table import make_device_table
from tierup.runtime.options import Options
from tierup.runtime.program import Program
from tierup.runtime.specialized_plan import SpecializedPlan
from tierup.runtime.specializing import SpecializingExecutor


class CudaSpecializedPlan(SpecializedPlan):
    """See `SpecializedPlan`."""

    _make_table = staticmethod(make_device_table)

    def _no_version(self, *flat: Any) -> tuple[Any, ...]:
        return on_host(self._owner.program, super()._no_version, flat)


class CudaSpecializingExecutor(SpecializingExecutor):
    """See `SpecializingExecutor`. Raises NoDevice, DriverError, and MemoryError when the device has no memory left."""

    plan_type = CudaSpecializedPlan

    def call(self, flat: tuple[Any, ...], options: Options) -> tuple[Any, ...]:
        on = device()
        given = ours(on, flat)
        results = super().call(given, self.options())
        tell(on, self.history)
        return handed_over(results, flat, given)

    def _spec_of(self, flat: tuple[Any, ...]) -> CallSpec:
        # where an array lies is no part of it: one plan serves both sides
        return spec_of([np.empty((0,) * v.ndim, v.dtype) if type(v) is DeviceArray else v for v in flat])

    def _refusal(self, flat: tuple[Any, ...]) -> Reason | None:
        copies = iter(to_host([v for v in flat if type(v) is DeviceArray]))
        return super()._refusal(tuple([next(copies) if type(v) is DeviceArray else v for v in flat]))

    def _interpret(self, flat: tuple[Any, ...], reason: Reason, plan: Program | None = None) -> tuple[Any, ...]:
        interpret = super()._interpret
        return on_host(self.program, lambda *host: interpret(host, reason, plan), flat)

    def failed(
        self, record: VersionRecord | None, status: int, flat: tuple[Any, ...], live: object = None, plan: SpecializedPlan | None = None
    ) -> tuple[Any, ...]:
        again = super().failed
        return on_host(self.program, lambda *host: again(record, status, host, live, plan), flat)
