"""Kernels of what a TorchScript program does to its modules and of functions that it leaves to Python: both named by numbers."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

import numpy as np

from tierup.dialect.optable.kernels import torch_tensors

_objects: dict[int, Any] = {}
_numbers = itertools.count()


def number(thing: Any, keeper: object) -> int:
    """A number for an object, as long as `keeper` lives."""
    made = next(_numbers)
    _objects[made] = thing
    weakref.finalize(keeper, _objects.pop, made, None)
    return made


def get_attribute(owner: int, name: str) -> Any:
    """prim.GetAttr of an attribute that the program sets: as it is now."""
    return torch_tensors.to_arrays(_objects[owner].getattr(name))


def set_attribute(owner: int, name: str, value: Any) -> None:
    """prim.SetAttr: at once, as in TorchScript, so an exception later leaves it set. An attribute that was written in place (`self.n += 1`)
    stays the tensor that it is: another on its memory would be one of inference mode, where the call is."""
    held = _objects[owner]
    if not (isinstance(value, np.ndarray) and torch_tensors.is_tensor(held.getattr(name)) and _shows(held.getattr(name), value)):
        held.setattr(name, torch_tensors.to_tensors(value))


def _shows(tensor: Any, values: np.ndarray[Any, Any]) -> bool:
    """Whether an array is all of a tensor, in its memory."""
    own = torch_tensors.array(tensor)
    return own.ctypes.data == values.ctypes.data and (own.dtype, own.shape, own.strides) == (values.dtype, values.shape, values.strides)


def call_python(function: int, *values: Any) -> Any:
    """prim.PythonOp: a function under `torch.jit.ignore`."""
    return torch_tensors.to_arrays(_objects[function](*map(torch_tensors.to_tensors, values)))
