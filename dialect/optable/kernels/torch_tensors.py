"""PyTorch's tensors as NumPy's arrays and back, on the same memory. PyTorch is imported when the first is met."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tierup.dialect.base import dtypes

if TYPE_CHECKING:
    import torch

_BFLOAT16 = dtypes.bf16.numpy
_PLAIN: set[type] = set()  # classes of tensors that are no more than their memory; PyTorch's first import fills it


@cache
def _torch() -> Any:
    import torch  # here: optional, and a second to import

    _PLAIN.update((torch.Tensor, torch.nn.Parameter, torch.nn.Buffer))
    return torch


class NoArray(TypeError):
    """A tensor that no array can stand for. The message says what to pass."""


def is_tensor(value: object) -> bool:
    """Whether it is one of PyTorch's tensors."""
    return isinstance(value, _torch().Tensor)


def is_script_module(value: object) -> bool:
    """Whether it is the inside of a scripted module, and no other object of TorchScript's."""
    return isinstance(value, _torch()._C.ScriptModule)


def is_float32_default() -> bool:
    """Whether floats become tensors of float32, as the rules of results' types have it."""
    torch = _torch()
    return torch.get_default_dtype() is torch.float32


def transformed() -> bool:
    """Whether the caller is inside a transform of torch.func, or where forward-mode derivatives are taken."""
    torch = _torch()
    return torch._C._functorch.peek_interpreter_stack() is not None or torch.autograd.forward_ad._current_level >= 0


def array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor's values, without a copy: writes are seen on both sides. What gradient it requires is not looked at.

    Raises NoArray, with the remedy, for a tensor that no array can stand for: on another device, sparse, quantized, meta,
    complex, of a dtype that PyTorch computes little with, of a subclass with rules of its own.
    """
    if type(tensor) in _PLAIN:
        try:  # most are looked at so; which are not, and what to do then, is said below
            found: np.ndarray[Any, Any] = (tensor.detach() if tensor.requires_grad else tensor).numpy()
        except (TypeError, RuntimeError):
            return _other_array(tensor)
        if found.dtype.kind not in "cu" or found.dtype.itemsize == 1:
            return found
    return _other_array(tensor)


def _other_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    torch = _torch()
    if tensor.is_nested:
        raise NoArray("a nested tensor is not supported: pass torch.nested.to_padded_tensor(x, 0.0)")
    if type(tensor) not in _PLAIN:
        raise NoArray(f"a tensor of the class {type(tensor).__name__} is not supported: pass x.as_subclass(torch.Tensor)")
    if tensor.device.type != "cpu":
        raise NoArray(f"a tensor on {tensor.device} is not supported: pass x.cpu()")
    if tensor.layout is not torch.strided:
        raise NoArray(f"a tensor of the layout {tensor.layout} is not supported: pass x.to_dense()")
    if tensor.is_quantized:
        raise NoArray("a quantized tensor is not supported: pass x.dequantize()")
    found = tensor.detach()
    if found.is_conj() or found.is_neg():
        found = found.resolve_conj().resolve_neg()
    if found.dtype is torch.bfloat16:
        halves: np.ndarray[Any, Any] = found.view(torch.int16).numpy().view(_BFLOAT16)
        return halves
    if found.dtype in (torch.uint16, torch.uint32, torch.uint64):
        raise NoArray(f"a tensor of {found.dtype} is not supported: PyTorch has few ops on it, and their rules are not followed")
    if found.dtype.is_complex:
        raise NoArray(f"a tensor of {found.dtype} is not supported: complex numbers are taken in NumPy arrays alone")
    try:
        array: np.ndarray[Any, Any] = found.numpy()
        return array
    except (TypeError, RuntimeError) as e:
        raise NoArray(f"a tensor of {found.dtype} is not supported: {e}") from None


def requires_grad(value: Any) -> bool:
    """Whether a tensor in a tree requires a gradient."""
    if isinstance(value, (list, tuple)):
        return any(map(requires_grad, value))
    if isinstance(value, dict):
        return any(map(requires_grad, value.values()))
    return is_tensor(value) and bool(value.requires_grad)


def tensor(values: np.ndarray[Any, Any] | np.generic) -> torch.Tensor:
    """An array as a tensor, without a copy where PyTorch can look at it so: not with negative strides, nor where it may not write. An
    expanded array is read-only for NumPy's sake; PyTorch may write what it is of."""
    torch = _torch()
    if type(values) is np.ndarray and values.flags.c_contiguous and values.flags.writeable and values.dtype != _BFLOAT16:
        return torch.from_numpy(values)
    values = np.asarray(values)
    if not values.flags.writeable and 0 in values.strides:
        values = values.view()
        with suppress(ValueError):  # of memory that is read-only itself
            values.flags.writeable = True
    if any(s < 0 for s in values.strides) or not values.flags.writeable or any(s % values.itemsize for s in values.strides):
        values = values.copy()
    if values.dtype == _BFLOAT16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)


def memory(values: Iterable[Any]) -> set[int]:
    """What tells the memory of tensors, also in lists, from that of others: views of a tensor have its own. It holds while they live."""
    found: set[int] = set()
    for value in values:
        if isinstance(value, (list, tuple)):
            found |= memory(value)
        elif is_tensor(value):
            found.add(value.untyped_storage()._cdata)
    return found


def address(base: object) -> int | None:
    """Where the values of an array begin whose `base` this is, if it is the tensor that the array was made of."""
    return int(cast("torch.Tensor", base).data_ptr()) if type(base) in _PLAIN else None


def to_arrays(value: Any, seen: dict[int, torch.Tensor] | None = None) -> Any:
    """A tree of tensors, numbers and None as one of arrays. `seen` is given the tensor of each array, by the array's id."""
    if isinstance(value, (list, tuple)):
        items = [to_arrays(v, seen) for v in value]
        return type(value)(items) if not hasattr(value, "_fields") else tuple(items)
    if isinstance(value, dict):
        return {k: to_arrays(v, seen) for k, v in value.items()}
    if not is_tensor(value):
        return value
    found = array(value)
    if seen is not None:
        seen[id(found)] = value
    return found


def to_tensors(value: Any, made: Mapping[int, torch.Tensor] | None = None) -> Any:
    """A tree of arrays, numbers and None as one of tensors. `made`: tensors that stand for some of the arrays, by the arrays' ids."""
    if made is None and type(value) is np.ndarray:
        return tensor(value)
    if isinstance(value, (list, tuple)):
        return type(value)([to_tensors(v, made) for v in value])
    if isinstance(value, dict):
        return {k: to_tensors(v, made) for k, v in value.items()}
    if made is not None and id(value) in made:
        return made[id(value)]
    return tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value
