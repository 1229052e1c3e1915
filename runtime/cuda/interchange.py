"""Arguments of calls on the device as our arrays, and results as arrays of the library that the arguments are of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.runtime.cuda.arrays import DeviceArray, like, taken
from tierup.runtime.cuda.devices import Device

_OF_THE_HOST = (np.ndarray, int, float, bool)


def taken_or_same(on: Device, value: Any) -> Any:
    """An array on the device as ours, in the same memory; anything else as it is. Raises as `taken`."""
    found = None if type(value) in _OF_THE_HOST else taken(on, value)
    return value if found is None else found


def handed_over(results: tuple[Any, ...], arguments: Sequence[Any], flat: Sequence[Any]) -> tuple[Any, ...]:
    """Results as arrays of the library that the first array on the device is of; an argument is that object again. `flat`: the arguments as
    `taken_or_same` gave them."""
    theirs = next((value for value, ours in zip(arguments, flat, strict=True) if type(ours) is DeviceArray), None)
    if theirs is None or type(theirs) is DeviceArray:
        return results
    back = {id(ours): value for value, ours in zip(arguments, flat, strict=True)}
    return tuple([r if type(r) is not DeviceArray else back[id(r)] if id(r) in back else like(theirs, r) for r in results])
