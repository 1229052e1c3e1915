"""Tensors beside Python's complex numbers, and in lists that loops append to: what eager gives, from native code too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import tierup

pytestmark = pytest.mark.torch


def kept(x: torch.Tensor) -> Any:
    out = []
    for i in range(len(x)):
        if x[i] > 0:
            out.append(x[i] * 2)
    return out


def pairs(x: torch.Tensor) -> Any:
    out = []
    for i in range(len(x)):
        out.append((x[i] * 2, i, float(x[i])))
    return out


def turned(x: torch.Tensor) -> Any:
    return x * 1j


def turned_by(x: torch.Tensor, z: complex = 2 - 1j) -> Any:
    return z * z, x * z


@pytest.mark.parametrize("function", [kept, pairs, turned, turned_by])
def test_tensors_in_lists_and_beside_complex_numbers_are_eager_s(function: Callable[..., Any]) -> None:
    jitted, x = tierup.jit(function, weigh=False), torch.tensor([1.0, -2.0, 3.0])
    for _ in range(4):
        assert repr(jitted(x)) == repr(function(x))
    assert jitted.stats().hits >= 2, jitted.explain()


def test_elements_in_a_list_have_gradients() -> None:
    jitted, x = tierup.jit(kept, weigh=False), torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    for _ in range(3):
        (gradient,) = torch.autograd.grad(sum(v * v for v in jitted(x)), x)
        torch.testing.assert_close(gradient, torch.tensor([8.0, 0.0, 24.0]))
