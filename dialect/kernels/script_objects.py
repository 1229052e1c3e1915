"""Kernels of what a TorchScript program does to its modules and of functions that it leaves to Python: both named by numbers."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from tierup.dialect.kernels import torch_tensors

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
    """prim.SetAttr: at once, as in TorchScript, so an exception later leaves it set."""
    _objects[owner].setattr(name, torch_tensors.to_tensors(value))


def call_python(function: int, *values: Any) -> Any:
    """prim.PythonOp: a function under `torch.jit.ignore`."""
    return torch_tensors.to_arrays(_objects[function](*map(torch_tensors.to_tensors, values)))
