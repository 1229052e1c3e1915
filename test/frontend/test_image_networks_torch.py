"""Networks over images, written with `tierup.ops`: trained in one native plan, against PyTorch's autograd of the same network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tierup
from tierup import ops

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
F = torch.nn.functional

RNG = np.random.default_rng(5)


def normal(*sizes: int, dtype: Any = np.float32) -> np.ndarray:
    return (0.5 * RNG.normal(size=sizes)).astype(dtype)


def loss(p: Any, x: Any, target: Any) -> Any:
    h = ops.relu(ops.conv2d(x, p["w1"], p["b1"], stride=(1, 2), padding=1))
    h = ops.max_pool2d(h, 2, 1)
    h = np.tanh(ops.conv2d(h, p["w2"], None, 2, "valid", groups=2))
    h = ops.avg_pool2d(ops.upsample_nearest2d(ops.conv_transpose2d(h, p["w3"], p["b3"], 2, output_padding=1), (7, 6)), 3, 2, 1)
    return np.mean((ops.adaptive_avg_pool2d(h, 1)[:, :, 0, 0] @ p["v"] - target) ** 2) + np.mean(h * h)


def torch_loss(p: Any, x: Any, target: Any) -> Any:
    h = torch.relu(F.conv2d(x, p["w1"], p["b1"], stride=(1, 2), padding=1))
    h = F.max_pool2d(h, 2, 1)
    h = torch.tanh(F.conv2d(h, p["w2"], None, 2, "valid", groups=2))
    h = F.avg_pool2d(F.interpolate(F.conv_transpose2d(h, p["w3"], p["b3"], 2, output_padding=1), (7, 6)), 3, 2, 1)
    return ((F.adaptive_avg_pool2d(h, 1)[:, :, 0, 0] @ p["v"] - target) ** 2).mean() + (h * h).mean()


def parameters(dtype: Any = np.float32) -> dict[str, np.ndarray]:
    shapes = {"w1": (4, 2, 3, 3), "b1": (4,), "w2": (6, 2, 2, 2), "w3": (6, 3, 2, 3), "b3": (3,), "v": (3, 2)}
    return {name: normal(*shape, dtype=dtype) for name, shape in shapes.items()}


def sample(batch: int, dtype: Any = np.float32) -> tuple[np.ndarray, np.ndarray]:
    return normal(batch, 2, 8, 9, dtype=dtype), normal(batch, 2, dtype=dtype)


def test_gradients_are_pytorchs_for_every_batch() -> None:
    g = tierup.value_and_grad(loss)
    params = parameters()
    held = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    for batch in (3, 3, 3, 5, 9, 9, 20):
        x, target = sample(batch)
        value, gradients = g(params, x, target)
        wanted = torch_loss(held, torch.tensor(x), torch.tensor(target))
        np.testing.assert_allclose(value, wanted.item(), rtol=1e-5)
        for name, want in zip(held, torch.autograd.grad(wanted, list(held.values())), strict=True):
            np.testing.assert_allclose(gradients[name], want.numpy(), rtol=1e-3, atol=1e-5, err_msg=name)
    assert g.versions[-1].speculation.kind == "dynamic" and g.stats().hits >= 2, g.explain()
    assert "in tier 0: aten" not in g.explain(), g.explain()


def test_second_derivatives_are_pytorchs() -> None:
    """The gradient of the norm of the gradient, in float64."""
    params = parameters(np.float64)
    x, target = sample(2, np.float64)
    held = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    first = torch.autograd.grad(torch_loss(held, torch.tensor(x), torch.tensor(target)), list(held.values()), create_graph=True)
    second = torch.autograd.grad(sum((t * t).sum() for t in first), list(held.values()))
    inner = tierup.grad(loss)

    def norm(p: Any, x: Any, target: Any) -> Any:
        total = np.float64(0)
        for gradient in inner(p, x, target).values():
            total = total + np.sum(gradient * gradient)
        return total

    found = tierup.grad(norm)(params, x, target)
    for name, want in zip(held, second, strict=True):
        np.testing.assert_allclose(found[name], want.numpy(), rtol=1e-8, atol=1e-12, err_msg=name)


def test_a_training_step_with_its_update_is_one_native_plan_and_learns() -> None:
    @tierup.jit
    def step(p: Any, x: Any, target: Any) -> Any:
        value, gradients = tierup.value_and_grad(loss)(p, x, target)
        return value, {name: p[name] - 0.05 * gradients[name] for name in p}

    params = parameters()
    x, target = sample(6)
    values = []
    for _ in range(30):
        value, params = step(params, x, target)
        values.append(float(value))
    assert values[-1] < 0.7 * values[0] and step.stats().hits >= 27, step.explain()
    assert "in tier 0: aten" not in step.explain(), step.explain()
