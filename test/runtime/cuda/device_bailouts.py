"""As `bailout_driver.Native`, with kernels on the stand-in of a device: arguments on the host, then arguments on the device."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from bailout_driver import Native

from tierup.lowering.base.abi import Request
from tierup.lowering.cuda.compile import compile
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.device.devices import device
from tierup.runtime.cuda.plan import CudaPlan


class OnDevice(Native):
    """`entries`: both are in Python; which of them says where the arguments are."""

    entries = ("python", "python")

    @staticmethod
    def load(request: Request) -> tuple[Any, Any, VersionRecord]:
        artifact = compile(request, "sm_80")
        plan = CudaPlan(artifact, device())
        record = VersionRecord(
            request.arguments, artifact.results, 0, keepalive=plan, form=Form.TUPLE, scalars=False, exits=artifact.exits, on_device=True
        )
        return artifact, plan, record

    def __call__(self, arguments: list[Any], table: int = 0) -> tuple[Any, ...]:
        self.left.clear()
        mine = copy.deepcopy(arguments)
        if table:
            mine = [put(device(), v) if isinstance(v, np.ndarray) else v for v in mine]
        results = self.tables[table](*mine)
        return tuple([_on_host(v) for v in (*results, *(mine[i] for i in self.written))])

    def _failed(self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None) -> tuple[Any, ...]:
        on_host = tuple(map(_on_host, flat))
        results = super()._failed(record, status, on_host, None if live is None else tuple(map(_on_host, live)))
        for i in self.written:
            if type(flat[i]) is DeviceArray:
                put_back = put(device(), on_host[i])
                device().driver.copy(flat[i].address, put_back.address, put_back.nbytes)
            else:
                flat[i][...] = on_host[i]
        return results


def _on_host(value: Any) -> Any:
    if isinstance(value, list):
        return list(map(_on_host, value))
    return value.numpy() if type(value) is DeviceArray else value
