"""Gradients of whole NumPy programs, in tier 0 and native, against PyTorch's autograd of the same program in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RNG = np.random.default_rng(3)


def normal(*sizes: int) -> np.ndarray:
    return RNG.normal(size=sizes)


def attention(p: Any, x: Any) -> Any:
    q, k, v = x @ p["q"], x @ p["k"], x @ p["v"]
    weights = tierup.ops.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]), -1)
    return np.mean((weights @ v) ** 2)


def torch_attention(p: Any, x: Any) -> Any:
    q, k, v = x @ p["q"], x @ p["k"], x @ p["v"]
    weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1)
    return ((weights @ v) ** 2).mean()


def normed(p: Any, x: Any) -> Any:
    h = tierup.ops.layer_norm(x @ p["w"], None, p["g"], p["b"])
    return np.sum(tierup.ops.gelu(h) * np.exp(-(x @ p["w"]) ** 2))


def torch_normed(p: Any, x: Any) -> Any:
    h = torch.nn.functional.layer_norm(x @ p["w"], (p["w"].shape[1],), p["g"], p["b"])
    return (torch.nn.functional.gelu(h) * torch.exp(-((x @ p["w"]) ** 2))).sum()


def recurrent(p: Any, x: Any) -> Any:
    h = p["h"]
    for t in range(x.shape[0]):
        h = np.tanh(x[t] @ p["w"] + h @ p["u"])
        if t == 1:
            h = h * 0.5
    return np.sum(h * h)


def torch_recurrent(p: Any, x: Any) -> Any:
    h = p["h"]
    for t in range(x.shape[0]):
        h = torch.tanh(x[t] @ p["w"] + h @ p["u"])
        if t == 1:
            h = h * 0.5
    return (h * h).sum()


def classes(p: Any, x: Any) -> Any:
    logits = np.maximum(x @ p["w"] + p["b"], 0.1) @ p["v"]
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    picked = shifted[np.arange(3), np.array([0, 1, 1])]
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - picked)


def torch_classes(p: Any, x: Any) -> Any:
    logits = torch.clamp(x @ p["w"] + p["b"], min=0.1) @ p["v"]
    return torch.nn.functional.cross_entropy(logits, torch.tensor([0, 1, 1]))


PROGRAMS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, np.ndarray], np.ndarray]] = {
    "attention": (attention, torch_attention, {n: normal(4, 4) for n in "qkv"}, normal(2, 3, 4)),
    "normed": (normed, torch_normed, {"w": normal(4, 5), "g": normal(5), "b": normal(5)}, normal(3, 4)),
    "recurrent": (recurrent, torch_recurrent, {"w": normal(4, 5), "u": normal(5, 5), "h": normal(5)}, normal(3, 4)),
    "classes": (classes, torch_classes, {"w": normal(4, 5), "b": normal(5), "v": normal(5, 3)}, normal(3, 4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_first_order(name: str) -> None:
    function, wanted, params, x = PROGRAMS[name]
    held = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    image = torch.tensor(x, requires_grad=True)
    value = wanted(held, image)
    gradients = torch.autograd.grad(value, [*held.values(), image])
    g = tierup.value_and_grad(function, (0, 1))
    for _ in range(3):
        got, (of_params, of_x) = g(params, x)
        np.testing.assert_allclose(got, value.item(), rtol=1e-10)
        for found, want in zip([*of_params.values(), of_x], gradients, strict=True):
            np.testing.assert_allclose(found, want.numpy(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["attention", "normed", "classes"])
def test_second_order(name: str) -> None:
    """The gradient of the norm of the gradient."""
    function, wanted, params, x = PROGRAMS[name]
    held = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    first = torch.autograd.grad(wanted(held, torch.tensor(x)), list(held.values()), create_graph=True)
    second = torch.autograd.grad(sum((g * g).sum() for g in first), list(held.values()), allow_unused=True)

    def norm(p: Any, x: Any) -> Any:
        total = np.float64(0)
        for gradient in inner(p, x).values():
            total = total + np.sum(gradient * gradient)
        return total

    inner = tierup.grad(function)
    found = tierup.grad(norm)(params, x)
    for got, want in zip(found.values(), second, strict=True):
        np.testing.assert_allclose(got, 0 if want is None else want.numpy(), rtol=1e-7, atol=1e-11)
