"""Arguments of calls on the device as our arrays, and results as arrays of the library that the arguments are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.runtime.cuda.arrays.arrays import DeviceArray, like, taken
from tierup.runtime.cuda.device.devices import Device

_AS_THEY_ARE = (DeviceArray, np.ndarray, int, float, bool)


def ours(on: Device, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with other libraries' arrays on the device as ours, in the same memory. Raises as `taken`."""
    for value in arguments:
        if type(value) not in _AS_THEY_ARE:
            return tuple([_ours(on, value) for value in arguments])
    return arguments


def _ours(on: Device, value: Any) -> Any:
    found = None if type(value) in _AS_THEY_ARE else taken(on, value)
    return value if found is None else found


def handed_over(results: tuple[Any, ...], arguments: Sequence[Any], flat: Sequence[Any]) -> tuple[Any, ...]:
    """Results as arrays of the library that the first array on the device is of; an argument is that object again. `flat`: the arguments as
    `ours` gave them."""
    if flat is arguments:
        return results
    theirs = next((value for value, ours in zip(arguments, flat, strict=True) if type(ours) is DeviceArray), None)
    if theirs is None or type(theirs) is DeviceArray:
        return results
    back = {id(ours): value for value, ours in zip(arguments, flat, strict=True)}
    return tuple([r if type(r) is not DeviceArray else back[id(r)] if id(r) in back else like(theirs, r) for r in results])
