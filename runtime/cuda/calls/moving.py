"""Where the arrays of one run of a split program lie: on the device for its native regions, on the host for what tier 0 runs between them.

    moves = Moves(device())
    moves.host(array, "sort")           # a copy on the host, made once
    moves.device(array)                 # an array on the device: a host's copy is the array that it is a copy of

In a graph of values nothing is written, so a copy stays what it is a copy of until the run is over.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from tierup.runtime.cuda.arrays.arrays import DeviceArray, put, shown, to_host
from tierup.runtime.cuda.device.devices import Device


class Moves:
    """`read`, `sent`: bytes that were moved to the host, by the op of tier 0 that read them, and to the device."""

    def __init__(self, on: Device) -> None:
        self.on = on
        self.read: Counter[str] = Counter()
        self.sent = 0
        self._pairs: list[tuple[DeviceArray, np.ndarray]] = []  # the same elements at the same strides
        self._hosts: dict[int, np.ndarray] = {}
        self._devices: dict[int, DeviceArray] = {}
        self._held: list[Any] = []  # what the ids are of

    def host(self, value: Any, op: str) -> Any:
        """A value as tier 0's kernel `op` takes it. A list stays that list: others may hold it too."""
        if type(value) is DeviceArray:
            found = self._hosts.get(id(value))
            if found is None:
                (found,) = to_host([value])
                self.read[op] += value.nbytes
                self._pair(value, found)
            return found
        if type(value) is list:
            for i, item in enumerate(value):
                value[i] = self.host(item, op)
        return tuple([self.host(item, op) for item in value]) if type(value) is tuple else value

    def device(self, value: Any) -> Any:
        """A value as a region takes it: arrays on the device."""
        if isinstance(value, np.ndarray):
            found = self._devices.get(id(value))
            return self._moved(value) if found is None else found
        if type(value) is list:
            return [self.device(item) for item in value]
        return tuple([self.device(item) for item in value]) if type(value) is tuple else value

    def _moved(self, value: np.ndarray) -> DeviceArray:
        for array, copy in self._pairs:
            if value.dtype == copy.dtype and np.shares_memory(value, copy):
                self._held.append(value)
                return self._devices.setdefault(id(value), shown(array, copy, value))
        made = put(self.on, value)
        self.sent += made.nbytes
        if value.flags.c_contiguous:
            self._pair(made, value)
        else:
            self._devices[id(value)] = made
            self._held.append(value)
        return made

    def _pair(self, array: DeviceArray, copy: np.ndarray) -> None:
        self._pairs.append((array, copy))
        self._hosts[id(array)], self._devices[id(copy)] = copy, array

    def told(self) -> str:
        """What was moved, for explain()."""
        read = ", ".join(f"{count:,} bytes for {op}" for op, count in self.read.items())
        return f"moved to the host: {read or 'nothing'}; to the device: {self.sent:,} bytes" if read or self.sent else ""
