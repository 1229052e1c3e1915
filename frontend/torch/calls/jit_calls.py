"""Functions written for NumPy, called with tensors: the text means what it means for arrays on the same memory; results are tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tierup.frontend.torch.calls import calling, tracing, watched

if TYPE_CHECKING:
    from tierup.runtime.functions.function import Function


def call(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a call with tensors, or proxies of torch.fx, among the arguments. Raises TypeError for an array among them, and what
    `calling.call` raises."""
    proxy = watched.proxy_call(function, args, kwargs)
    if proxy is not None:
        return proxy
    in_graph = watched.in_graph(lambda *a, **k: call(function, a, k), function, args, kwargs)
    if in_graph is not None:
        return in_graph
    for where, value in _leaves(args, kwargs):
        if isinstance(value, np.ndarray):
            raise TypeError(
                f"{function.__name__}(): {where} is a numpy.ndarray beside tensors, and results are arrays or tensors: "
                "pass torch.from_numpy of it"
            )
    if torch._C._get_tracing_state() is not None:
        return tracing.call(function, args, kwargs)
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
