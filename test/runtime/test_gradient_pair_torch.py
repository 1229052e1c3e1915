"""Forward and backward programs against PyTorch's autograd: values, second derivatives, and how much is kept between the two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.executors.gradients.pair import forward

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RNG = np.random.default_rng(11)


def numbers(*shape: int, dtype: str = "float64") -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def network(x, params):
    h = x
    for w, b in params:
        h = np.maximum(h @ w + b, 0)
    return (h * h).mean()


def test_a_network_of_12_layers_keeps_no_more_than_a_tenth_above_what_autograd_does() -> None:
    width, batch = 256, 32
    x = numbers(batch, width, dtype="float32")
    params = [(numbers(width, width, dtype="float32") * np.float32(0.08), numbers(width, dtype="float32")) for _ in range(12)]
    f = tierup.jit(network)
    variant, flat = f.find((x, params), {})
    wrt = tuple(range(1, len(flat)))
    _, pullback = forward(variant.executor, flat, wrt)
    gradients = pullback([np.float32(1)])

    tensors = [tuple(torch.tensor(p, requires_grad=True) for p in layer) for layer in params]
    kept: dict[int, int] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        h = torch.tensor(x)
        for w, b in tensors:
            h = torch.relu(h @ w + b)
        loss = (h * h).mean()
    loss.backward()
    for got, tensor in zip(gradients, [t for layer in tensors for t in layer], strict=True):
        np.testing.assert_allclose(got, tensor.grad.numpy(), rtol=1e-3, atol=1e-6)
    ours = sum(c.bytes for c in pullback.captured)
    assert ours <= 1.1 * sum(kept.values())
    assert len({id(v) for v in pullback._captured}) == len(pullback._captured)


def gated(x: Any, w: Any, lib: Any) -> Any:
    h = lib.tanh(x @ w)
    return h * h, lib.exp(h).sum()


def softmax(x: Any, w: Any, lib: Any) -> Any:
    e = lib.exp(x * w)
    return e / e.sum(-1, keepdims=True), e.sum()


def branches(x: Any, w: Any, lib: Any) -> Any:
    if (x * x).sum() > 0:
        y = lib.sin(x) * w
    else:
        y = w
    return y * x, y.sum()


@pytest.mark.parametrize(
    ("fn", "shapes"),
    [(gated, ((3, 4), (4, 2))), (softmax, ((3, 4), (4,))), (softmax, ((3, 4), (3, 1))), (branches, ((4,), (4,)))],
    ids=["gated", "softmax", "softmax of a column", "branches"],
)
def test_second_derivatives_agree_with_autograd(fn: Callable[..., Any], shapes: tuple[tuple[int, ...], ...]) -> None:
    compiled = tierup.jit({gated: _gated, softmax: _softmax, branches: _branches}[fn])
    arrays = [numbers(*shape) for shape in shapes]
    variant, flat = compiled.find(tuple(arrays), {})
    tensors = [torch.tensor(a, requires_grad=True) for a in arrays]
    for _ in range(3):
        results, pullback = forward(variant.executor, flat, (0, 1), order=2)
        cotangents, of_gradients = [numbers(*np.shape(r)) for r in results], [numbers(*a.shape) for a in arrays]
        gradients, second = pullback.again([np.asarray(c) for c in cotangents])
        leaves, of_cotangents = second(of_gradients)
        seeds = [torch.tensor(c, requires_grad=True) for c in cotangents]
        expected = torch.autograd.grad(fn(*tensors, torch), tensors, seeds, create_graph=True)
        again = torch.autograd.grad(expected, [*tensors, *seeds], [torch.tensor(g) for g in of_gradients])
        for got, wanted in zip((*gradients, *leaves, *of_cotangents), (*expected, *again), strict=True):
            np.testing.assert_allclose(got, wanted.detach().numpy(), rtol=1e-6, atol=1e-10)
    (pair,) = variant.executor.gradients.pairs
    (again_pair,) = pair.backward.executor.gradients.pairs
    assert again_pair.backward.executor.stats().hits == 2


def _gated(x, w):
    h = np.tanh(x @ w)
    return h * h, np.exp(h).sum()


def _softmax(x, w):
    e = np.exp(x * w)
    return e / e.sum(-1, keepdims=True), e.sum()


def _branches(x, w):
    if (x * x).sum() > 0:
        y = np.sin(x) * w
    else:
        y = w
    return y * x, y.sum()


@pytest.mark.parametrize("there", [(True, False), (False, True), (True, True)])
def test_missing_cotangents_are_undefined_as_in_autograd(there: tuple[bool, bool]) -> None:
    """A cotangent that is None is none, not zero: 0 times infinity would be NaN."""
    compiled = tierup.jit(lambda x: (np.log(x), x * 2))
    x = np.array([0.0, 1.0])
    variant, flat = compiled.find((x,), {})
    tensor = torch.tensor(x, requires_grad=True)
    seeds = [torch.ones(2, dtype=torch.float64) if t else None for t in there]
    results = [r for r, t in zip((torch.log(tensor), tensor * 2), there, strict=True) if t]
    torch.autograd.backward(results, [s for s in seeds if s is not None])
    for _ in range(3):
        with np.errstate(divide="ignore"):
            _, pullback = forward(variant.executor, flat, (0,))
            (gradient,) = pullback([None if s is None else s.numpy() for s in seeds])
        np.testing.assert_array_equal(gradient, tensor.grad.numpy())
