"""Functions written for NumPy, called with tensors: the text means what it means for arrays on the same memory; results are tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tierup.frontend.torch.calls import by_python, calling, tracing, watched
from tierup.frontend.torch.errors import UnsupportedProgram

if TYPE_CHECKING:
    from tierup.runtime.functions.function import Function


def call(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any], python: Callable[..., Any] | None = None) -> Any:
    """The result of a call with tensors, or proxies of torch.fx, among the arguments. `python`: what answers in the place of a program, if
    Python does; a function whose text names something of PyTorch's is then called as it is.

    Raises TypeError for an array among the arguments, and what `calling.call` or `by_python.call` raises."""
    if python is not None and by_python.names_pytorch(function, args, kwargs):
        return getattr(function, "__wrapped__", python)(*args, **kwargs)
    proxy = watched.proxy_call(function, args, kwargs)
    if proxy is not None:
        return proxy
    in_graph = watched.in_graph(lambda *a, **k: call(function, a, k, python), function, args, kwargs)
    if in_graph is not None:
        return in_graph
    for where, value in _leaves(args, kwargs):
        if isinstance(value, np.ndarray):
            raise TypeError(
                f"{function.__name__}(): {where} is a numpy.ndarray beside tensors, and results are arrays or tensors: "
                "pass torch.from_numpy of it"
            )
    if torch._C._get_tracing_state() is not None:
        if python is not None:
            raise UnsupportedProgram(f"{function.__name__} cannot be traced: Python answers its calls, all of them or in part")
        return tracing.call(function, args, kwargs)
    if python is not None:
        return by_python.call(function, python, args, kwargs)
    result = calling.call(function, args, kwargs)
    function.take_tensors()  # the next such call need not come here
    return result


def _leaves(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for i, value in enumerate(args):
        yield from _of(value, f"argument {i}")
    for name, value in kwargs.items():
        yield from _of(value, f"argument {name}")


def _of(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (tuple, list)):
        for i, item in enumerate(value):
            yield from _of(item, f"{where}[{i}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _of(item, f"{where}[{key!r}]")
    else:
        yield where, value
