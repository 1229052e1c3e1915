"""Whole programs against PyTorch: programs/*.mlir."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interpreter_programs import FOLDER, load

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

F = torch.nn.functional


def mlp(x, w0, b0, w1, b1, w2, b2):
    return F.linear(F.relu(F.linear(F.relu(F.linear(x, w0, b0)), w1, b1)), w2, b2)


def lstm_cell(x, h, c, wi, wh, b):
    i, f, g, o = (F.linear(x, wi, b) + F.linear(h, wh)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def lstm(x, h, c, wi, wh, b):
    cell = torch.nn.LSTM(x.shape[-1], h.shape[-1])
    with torch.no_grad():
        for name, value in (("weight_ih_l0", wi), ("weight_hh_l0", wh), ("bias_ih_l0", b), ("bias_hh_l0", torch.zeros_like(b))):
            getattr(cell, name).copy_(value)
        out, (_, last) = cell(x, (h[None], c[None]))
    return out, last[0]


def attention(q, k, v, causal):
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal)


def newton_sqrt(x, tolerance, limit):
    guess, steps = x, 0
    while steps < limit:
        following = (guess + x / guess) * 0.5
        error, guess, steps = float((following - guess).abs().max()), following, steps + 1
        if not error > tolerance:
            break
    return guess, steps


def power_iteration(a, v, steps):
    for _ in range(steps):
        w = a @ v
        v = w / torch.sqrt(w @ w)
    return v @ (a @ v), v


def sgd_step(x, target, w, b, rate):
    w.requires_grad_(True), b.requires_grad_(True)
    loss = F.cross_entropy(x @ w + b, target)
    loss.backward()
    with torch.no_grad():
        w -= rate * w.grad
        b -= rate * b.grad
    w.requires_grad_(False), b.requires_grad_(False)
    return loss.detach()


def cumulative_rows(x):
    for i in range(1, x.shape[0]):
        x[i] += x[i - 1]
    return x


def layer_norm_gelu(x, scale, shift):
    y = F.gelu(F.layer_norm(x, x.shape[-1:], scale, shift), approximate="tanh")
    return y, y.mean(-1)


def embedding_bag(table, indices):
    picked = table[indices].sum(1)
    return picked / indices.shape[1] if indices.shape[1] else picked


R = np.random.default_rng(7)


def normal(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


_A = normal(6, 6)
_ONE_HOT = np.eye(3, dtype=np.float32)[R.integers(0, 3, 8)]

CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (mlp, (normal(5, 4), normal(8, 4), normal(8), normal(6, 8), normal(6), normal(3, 6), normal(3))),
    (mlp, (normal(0, 4), normal(8, 4), normal(8), normal(6, 8), normal(6), normal(3, 6), normal(3))),
    (lstm_cell, (normal(3, 4), normal(3, 5), normal(3, 5), normal(20, 4), normal(20, 5), normal(20))),
    (lstm, (normal(7, 3, 4), normal(3, 5), normal(3, 5), normal(20, 4), normal(20, 5), normal(20))),
    (lstm, (normal(1, 3, 4), normal(3, 5), normal(3, 5), normal(20, 4), normal(20, 5), normal(20))),
    (attention, (normal(2, 5, 4), normal(2, 5, 4), normal(2, 5, 4), False)),
    (attention, (normal(2, 5, 4), normal(2, 5, 4), normal(2, 5, 4), True)),
    (newton_sqrt, (np.abs(normal(4, 3)) + 0.5, 1e-6, 50)),
    (newton_sqrt, (np.abs(normal(4, 3)) + 0.5, 0.0, 3)),
    (newton_sqrt, (np.abs(normal(4, 3)) + 0.5, 0.0, 0)),
    (power_iteration, (_A + _A.T, normal(6), 30)),
    (sgd_step, (normal(8, 4), _ONE_HOT, normal(4, 3), normal(3), 0.5)),
    (cumulative_rows, (normal(5, 3),)),
    (cumulative_rows, (normal(0, 3),)),
    (layer_norm_gelu, (normal(5, 16), normal(16), normal(16))),
    (embedding_bag, (normal(9, 4), R.integers(0, 9, (3, 5)))),
    (embedding_bag, (normal(9, 4), np.zeros((3, 0), np.int64))),
]


def test_every_program_has_a_case() -> None:
    assert {path.stem for path in FOLDER.glob("*.mlir")} == {oracle.__name__ for oracle, _ in CASES}


@pytest.mark.parametrize(("oracle", "leaves"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_program_agrees_with_torch_results_and_written_arguments(oracle: Callable[..., Any], leaves: tuple[Any, ...]) -> None:
    ours = [v.copy() if isinstance(v, np.ndarray) else v for v in leaves]
    theirs = [torch.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for v in leaves]
    got = load(oracle.__name__)(*ours)
    expected = oracle(*theirs)
    if not isinstance(got, tuple):
        got, expected = (got,), (expected,)
    for a, b in zip((*got, *ours), (*expected, *theirs), strict=True):
        if isinstance(b, torch.Tensor):
            assert str(b.dtype).removeprefix("torch.") == a.dtype.name
            np.testing.assert_allclose(a, b.numpy(), rtol=2e-5, atol=2e-5, strict=True)
        else:
            assert a == b and type(a) is type(b)
