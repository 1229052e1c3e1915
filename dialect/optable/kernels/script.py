"""Kernels of TorchScript's ops on dicts, lists, strings and the world outside a program: what Python does, by the names in its schemas.

One function serves all overloads of an op, since Python's containers take any values. Those that change their operand 0 do so in
place. KeyError, IndexError and ValueError as Python raises them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, MutableSequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.optable.kernels import torch_tensors

_MISSING = object()

# --- dicts ---------------------------------------------------------------------------------------------------------------


def dict_construct(*parts: Any) -> dict[Any, Any]:
    """prim.DictConstruct: all keys, then their values."""
    half = len(parts) // 2
    return dict(zip(parts[:half], parts[half:], strict=True))


def dict_(items: Any = ()) -> dict[Any, Any]:
    """aten.dict: of a dict or of pairs."""
    return dict(items)


def keys(mapping: dict[Any, Any]) -> list[Any]:
    return list(mapping)


def values(mapping: dict[Any, Any]) -> list[Any]:
    return list(mapping.values())


def items(mapping: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return list(mapping.items())


def get(mapping: dict[Any, Any], key: Any, default: Any = None) -> Any:
    return mapping.get(key, default)


def getitem(container: Any, key: Any) -> Any:
    return container[key]


def setdefault(mapping: dict[Any, Any], key: Any, default: Any) -> Any:
    return mapping.setdefault(key, default)


def popitem(mapping: dict[Any, Any]) -> tuple[Any, Any]:
    """The first item: TorchScript's takes that, Python's the last. Raises KeyError where there is none."""
    if not mapping:
        raise KeyError("popitem(): dictionary is empty")
    key = next(iter(mapping))
    return key, mapping.pop(key)


def update(mapping: dict[Any, Any], other: dict[Any, Any]) -> None:
    mapping.update(other)


# --- dicts and lists -----------------------------------------------------------------------------------------------------


def set_item(container: Any, key: Any, value: Any) -> Any:
    container[key] = value
    return container


def delete(container: Any, key: Any) -> None:
    del container[key]


def pop(container: Any, key: Any = -1, default: Any = _MISSING) -> Any:
    return container.pop(key) if default is _MISSING else container.pop(key, default)


def clear(container: Any) -> None:
    container.clear()


def copy(container: Any) -> Any:
    return container.copy()


def contains(container: Any, item: Any) -> bool:
    return item in container


def length(container: Any) -> int:
    return len(container)


# --- lists ---------------------------------------------------------------------------------------------------------------


def extend(target: list[Any], other: list[Any]) -> None:
    target.extend(other)


def extended(target: list[Any], other: list[Any]) -> list[Any]:
    """aten.add_.t."""
    target += other
    return target


def repeated(target: list[Any], times: int) -> list[Any]:
    """aten.mul_.t."""
    target *= times
    return target


def repeat(a: Any, b: Any) -> Any:
    """aten.mul.right_."""
    return a * b


def sort(target: list[Any], reverse: bool = False) -> None:
    target.sort(reverse=reverse)


def sorted_(items: list[Any], reverse: bool = False) -> list[Any]:
    return sorted(items, reverse=reverse)


def reverse(target: MutableSequence[Any]) -> None:
    target.reverse()


def remove(target: list[Any], item: Any) -> None:
    target.remove(item)


def index(items: Any, item: Any) -> int:
    return int(items.index(item))


def count(items: Any, item: Any) -> int:
    return int(items.count(item))


def range_(stop: int) -> list[int]:
    """prim.rangelist."""
    return list(range(stop))


def to_list(tensor: np.ndarray[Any, Any], dim: int, element: int) -> Any:
    """prim.tolist: nested lists of numbers, for a tensor of rank 0 a number. `dim` and `element` say the type that the program states."""
    if tensor.ndim != dim:
        raise RuntimeError(f"tolist(): the program states {dim} dimensions, the tensor has {tensor.ndim}")
    dtype = dtypes.from_numpy(tensor.dtype)
    if not (dtype is dtypes.i64, dtype is not None and dtype.is_float, dtype is dtypes.bool_)[element]:
        raise RuntimeError("Output annotation element type and runtime tensor element type must match for tolist()")
    return tensor.tolist()


def list_(items: Iterable[Any]) -> list[Any]:
    return list(items)


def equal(a: Any, b: Any) -> bool:
    return bool(a == b)


def unequal(a: Any, b: Any) -> bool:
    return bool(a != b)


# --- strings -------------------------------------------------------------------------------------------------------------


def format_(template: str, *values: Any) -> str:
    """aten.format: `str.format` of tensors as PyTorch prints them."""
    return template.format(*map(torch_tensors.to_tensors, values))


def percent_format(template: str, *values: Any) -> str:
    """aten.percentFormat: the operator `%`."""
    given = tuple(map(torch_tensors.to_tensors, values))
    return template % (given[0] if len(given) == 1 and isinstance(given[0], tuple) else given)


def text(value: Any) -> str:
    """aten.str."""
    return str(torch_tensors.to_tensors(value))


def join(separator: str, parts: list[str]) -> str:
    return separator.join(parts)


# --- outside -------------------------------------------------------------------------------------------------------------


def print_(*values: Any) -> None:
    """prim.Print: to `sys.stdout`, tensors as PyTorch prints them."""
    print(*map(torch_tensors.to_tensors, values))


_warned: dict[str, dict[Any, Any]] = {}  # by file, what `warnings` notes in a module: a line warns once under the default filter


def warn(message: str, file: str, line: int) -> None:
    """aten.warn: a UserWarning at the user's line."""
    warnings.warn_explicit(message, UserWarning, file, line, registry=_warned.setdefault(file, {}))


def note_warning(message: str, file: str, line: int) -> None:
    """Somebody else gave it: as if it had been given here."""
    _warned.setdefault(file, {})[message, UserWarning, line] = True


def is_heard(message: str, file: str, line: int) -> bool:
    """Whether `warn` would do anything: not where a filter of `warnings` ignores it, or lets a line warn once, and this one has."""
    for action, text, category, module, at in warnings.filters:  # noqa: B007 - read behind the loop
        if issubclass(UserWarning, category) and at in (0, line) and _fits(text, message) and _fits(module, file.removesuffix(".py")):
            break
    else:
        action = warnings.defaultaction  # type: ignore[attr-defined]  # no stub has it
    return action != "ignore" and (action in ("always", "all", "error") or (message, UserWarning, line) not in _warned.get(file, ()))


def _fits(pattern: Any, text: str) -> bool:
    """Whether a filter's pattern fits; Python's own filters have plain texts."""
    return pattern is None or (pattern == text if isinstance(pattern, str) else pattern.match(text) is not None)
