"""Kernels for what only PyTorch computes: `aten_dot_cdist` is its `aten::cdist`, called on tensors that share the arrays' memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tierup.dialect.kernels import torch_tensors

_DOT = "_dot_"


def spelled(op: str) -> str:
    """The kernel's name for an op: `aten.add.Tensor` is `aten_dot_add_dot_Tensor`."""
    return op.replace(".", _DOT)


@cache
def kernel(name: str) -> Callable[..., Any]:
    """The kernel of that name. Raises AttributeError for an op that PyTorch has not."""
    import torch  # here: optional, and a second to import

    namespace, op, *overload = name.split(_DOT)
    found = getattr(getattr(getattr(torch.ops, namespace), op), overload[0] if overload else "default")

    def call(*operands: Any) -> Any:
        with torch.no_grad():
            return torch_tensors.to_arrays(found(*map(torch_tensors.to_tensors, operands)))

    call.__name__ = name
    return call


def __getattr__(name: str) -> Callable[..., Any]:
    if _DOT not in name:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kernel(name)
