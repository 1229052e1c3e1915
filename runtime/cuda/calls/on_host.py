"""What a device does not answer runs on the host, on copies of the arrays that lie on the device; what it writes is written there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.runtime.arguments.guards import extent
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put_together, shown, to_host
from tierup.runtime.cuda.host.exits import arrays_in
from tierup.runtime.programs.program import Program

Run = Callable[..., tuple[Any, ...]]


def on_host(program: Program, run: Run, flat: tuple[Any, ...], live: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    """Run on copies of the arrays that lie on the device. What is written to them is written there, also when `run` raises; where any
    argument lies there, so do the results. `live`: values that `run` is given behind the program's arguments, views of these among them:
    copies of views are views of the copies."""
    there = [(value, p.written) for value, p in zip(flat, program.tier0.parameters, strict=True) if type(value) is DeviceArray]
    arrays = [array for array, _ in there]
    moved = list({id(array): array for array in (*arrays, *arrays_in([v for v in flat if isinstance(v, list)]), *arrays_in(live))}.values())
    if not moved:
        return run(*flat, *live)
    by_identity = {id(array): copy for array, copy in zip(moved, to_host(moved), strict=True)}
    copies = [by_identity[id(array)] for array in arrays]

    def copied(value: Any) -> Any:
        return [copied(item) for item in value] if isinstance(value, list) else by_identity.get(id(value), value)

    try:
        results = run(*[copied(value) for value in (*flat, *live)])
    finally:
        for (array, written), copy in zip(there, copies, strict=True):
            if written and array.writeable:
                _write(array, copy)
    if not there:
        return results
    here = [value for value in flat if isinstance(value, np.ndarray)]
    found = [_there(result, arrays, copies) for result in results]
    own = list({id(v): v for v, result in zip(found, results, strict=True) if v is result and _is_moved(v, here)}.values())
    moved_to = {id(v): made for v, made in zip(own, put_together(arrays[0].on, own), strict=True)}
    return tuple([moved_to.get(id(value), value) for value in found])


def _write(array: DeviceArray, copy: np.ndarray) -> None:
    """The contents of an array on the device, from a copy of the same strides. What lies between its elements is written as it was."""
    low, high = extent(array)
    if low == high:
        return
    start = extent(copy)[0]
    with array.on.lock:
        array.on.driver.to_device(low, start, high - low)


def _there(result: Any, there: list[DeviceArray], copies: list[np.ndarray]) -> Any:
    """A result of tier 0 that is an argument on the device, or a view of one; any other as it is."""
    if not isinstance(result, np.ndarray):
        return result
    for array, copy in zip(there, copies, strict=True):
        if result is copy:
            return array
    for array, copy in zip(there, copies, strict=True):
        if np.shares_memory(result, copy):
            return shown(array, copy, result)
    return result


def _is_moved(result: Any, here: list[np.ndarray]) -> bool:
    """Whether a result is memory of its own, which goes to the device."""
    return isinstance(result, np.ndarray) and not any(result is other or np.shares_memory(result, other) for other in here)
