"""Calls with tensors that Python answers, of functions written for NumPy: the text means there what it means in native code.

A text that names something of PyTorch's is another matter: `torch.relu(x)`, a module, a tensor from outside. It takes no arrays, so such a
function is called as it is (jit_calls.py).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CellType, CodeType, FunctionType, GeneratorType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tierup.dialect.optable.kernels import torch_tensors
from tierup.frontend.torch.calls import autograd
from tierup.runtime.base.errors import NotDifferentiable

if TYPE_CHECKING:
    from tierup.runtime.functions.function import Function

_NAME_NONE = frozenset({"numpy", "scipy", "ml_dtypes", "tierup", "builtins", *sys.stdlib_module_names})  # packages that do not


def call(function: Function, python: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What `python` gives of the tensors' arrays, as tensors. Lists and dicts among the arguments that it changes are changed.

    Raises NotDifferentiable where a gradient is wanted, TypeError for a tensor that no array can stand for, and what `python` raises."""
    handed = _Handed()
    arrays, named = [handed.over(a) for a in args], {k: handed.over(v) for k, v in kwargs.items()}
    if autograd.wanted(list(handed.tensors.values())):
        raise NotDifferentiable(
            f"{function.__name__} has no gradient where Python answers a call, all of it or in part (explain() says which lines and why): "
            "call it under torch.no_grad, or with x.detach()"
        )
    try:
        return handed.back(python(*arrays, **named))
    finally:
        handed.changes()


class _Handed:
    """Arguments with arrays in the place of tensors. What is one object stays one."""

    def __init__(self) -> None:
        self.tensors: dict[int, torch.Tensor] = {}  # by the ids of their arrays
        self._others: dict[int, Any] = {}  # what stands for an argument, by its id
        self._kept: list[Any] = []  # what has its id here
        self._containers: list[tuple[Any, Any, Any]] = []  # a list or dict, what stands for it, and what that held

    def over(self, value: Any) -> Any:
        """What stands for an argument."""
        if id(value) in self._others:
            return self._others[id(value)]
        if isinstance(value, torch.Tensor):
            made: Any = torch_tensors.array(value)
            self.tensors[id(made)] = value
        elif type(value) in (list, dict):
            made = self._others[id(value)] = type(value)()  # before its items, of which it may be one
            made.extend(map(self.over, value)) if type(value) is list else made.update((k, self.over(v)) for k, v in value.items())
            self._containers.append((value, made, made.copy()))
        elif isinstance(value, tuple):
            items = [self.over(v) for v in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            made = type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        else:
            return value
        self._others[id(value)] = made
        self._kept.append((value, made))
        return made

    def back(self, value: Any) -> Any:
        """What a result, or what a list now holds, is to the caller."""
        for given, made, _ in self._containers:
            if value is made:
                return given
        if id(value) in self.tensors:
            return self.tensors[id(value)]
        if isinstance(value, (list, tuple)):
            items = [self.back(v) for v in value]
            if all(new is old for new, old in zip(items, value, strict=True)):
                return value
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        if type(value) is dict:
            return {k: self.back(v) for k, v in value.items()}
        if type(value) is GeneratorType:
            return map(self.back, value)
        is_number = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "OSUMm"
        return torch_tensors.tensor(value) if is_number else value

    def changes(self) -> None:
        """Let the caller's lists and dicts hold what those hold that stood for them."""
        for given, made, before in self._containers:
            if type(made) is list and not _same(made, before):
                given[:] = map(self.back, made)
            elif type(made) is dict and not (_same(list(made), list(before)) and _same(list(made.values()), list(before.values()))):
                changed = {k: given[k] if k in before and made[k] is before[k] else self.back(v) for k, v in made.items()}
                given.clear()
                given.update(changed)


def _same(now: list[Any], before: list[Any]) -> bool:
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))


def names_pytorch(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the text of a function, or of one that it names, names something of PyTorch's, or an argument beside the tensors is such."""
    seen: set[int] = set()
    others = (a for a in (*args, *kwargs.values()) if not isinstance(a, torch.Tensor))
    return _names(getattr(function, "__wrapped__", None), seen) or any(_is_pytorchs(a) or _names(a, seen) for a in others)


def _names(function: Any, seen: set[int]) -> bool:
    if not isinstance(function, FunctionType) or id(function) in seen:
        return False
    seen.add(id(function))
    return any(_is_pytorchs(value) or _names(value, seen) for value in _named(function, function.__code__))


def _named(function: FunctionType, code: CodeType) -> Iterator[Any]:
    """The values of the names in a text, and what it takes from modules."""
    free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in (*code.co_names, *code.co_freevars):
        if name.partition(".")[0] == "torch":
            yield torch
        value = _contents(free[name]) if name in free else function.__globals__.get(name)
        for each in (value, *((vars(value).get(n) for n in code.co_names) if isinstance(value, ModuleType) else ())):
            each = getattr(each, "__wrapped__", each)
            if _package(each) not in _NAME_NONE or _is_program(each):
                yield each
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            yield from _named(function, inside)


def _is_program(value: Any) -> bool:
    """Whether a value is a program of PyTorch's as `tierup.torch` gives it."""
    return getattr(type(value), "takes_tensors_alone", False) is True


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not bound yet
        return None


def _is_pytorchs(value: Any) -> bool:
    """Whether something is PyTorch's: a function, a class, a module, a tensor, or an object that has one of these."""
    return _of_pytorch(value) or any(map(_of_pytorch, getattr(value, "__dict__", {}).values()))


def _of_pytorch(value: Any) -> bool:
    if _is_program(value):
        return True
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "torch"
    return any(_package(each) == "torch" for each in (value, *(value.__mro__ if isinstance(value, type) else type(value).__mro__)))


def _package(value: Any) -> str:
    return str(getattr(value, "__module__", None)).partition(".")[0]
