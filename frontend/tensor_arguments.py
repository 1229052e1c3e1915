"""PyTorch's tensors as arguments of functions of arrays, those of `tierup.jit` and `tierup.load`. Free of PyTorch until one comes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from tierup.runtime.functions.function import ENTRIES, Function

_here = threading.local()


def are_given() -> bool:
    """Whether this thread answers a call with tensors: Python's own operations would be those of tensors."""
    return getattr(_here, "calls", 0) > 0


class TensorArguments:
    """`runtime.function.TensorCalls`: a call with tensors gives tensors, one without is none of its business."""

    always = False

    def __init__(self) -> None:
        if hasattr(sys.modules.get("torch"), "Tensor"):
            from tierup.frontend.torch.calls import untraced  # here: PyTorch is there, and may be about to read our bytecode

            untraced.leave_alone(*ENTRIES)

    def concern(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a tensor of PyTorch's, or a Proxy of torch.fx, is among the arguments."""
        torch, fx = sys.modules.get("torch"), sys.modules.get("torch.fx")
        kinds = getattr(torch, "Tensor", None), getattr(fx, "Proxy", None)  # None while PyTorch is being imported
        return None not in kinds and (_has(kinds, args) or bool(kwargs) and _has(kinds, kwargs.values()))

    def answer(self, function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any], python: Callable[..., Any] | None = None) -> Any:
        """`python`: what answers in the place of a program.

        Raises TypeError for arrays beside tensors, and for a tensor that no array can stand for; else what the function raises."""
        from tierup.frontend.torch.calls import jit_calls  # here: it imports PyTorch

        _here.calls = getattr(_here, "calls", 0) + 1
        try:
            return jit_calls.call(function, args, kwargs, python)
        finally:
            _here.calls -= 1


def _has(kind: Any, values: Any) -> bool:
    for value in values:
        if isinstance(value, kind):
            return True
        if type(value) in (tuple, list) and _has(kind, value) or type(value) is dict and _has(kind, value.values()):
            return True
    return False
