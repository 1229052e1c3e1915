"""Calls inside transforms of PyTorch that a program of arrays would not see: torch.func (vmap, grad, jvp) and forward-mode derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.autograd import forward_ad


def refuse(name: str, values: Any) -> None:
    """Raise TypeError where a transform is after one of these tensors, in a tree of tuples, lists and dicts."""
    for t in values.values() if isinstance(values, dict) else values:
        if isinstance(t, (tuple, list, dict)):
            refuse(name, t)
        if not isinstance(t, torch.Tensor):
            continue
        if torch._C._functorch.is_functorch_wrapped_tensor(t):
            raise TypeError(
                f"{name}: torch.func's transforms (vmap, grad, jvp) do not see into tierup's functions: transform the original program, "
                "or take gradients by torch.autograd.grad"
            )
        if forward_ad._current_level >= 0 and forward_ad.unpack_dual(t).tangent is not None:
            raise TypeError(f"{name} has no forward-mode derivatives: take gradients by torch.autograd.grad, or call the original program")


def refuse_batches(name: str, cotangents: Sequence[torch.Tensor | None]) -> None:
    """Raise TypeError for cotangents that stand for many, as `torch.autograd.grad(..., is_grads_batched=True)` gives them."""
    for cotangent in cotangents:
        if cotangent is not None and torch._C._functorch.is_legacy_batchedtensor(cotangent):
            raise TypeError(
                f"{name}: gradients for a batch of cotangents (is_grads_batched, vectorize=True) are not supported: take them one by one"
            )
