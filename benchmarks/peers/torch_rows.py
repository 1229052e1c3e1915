"""The rows that PyTorch's users would write with PyTorch's own functions. Imports PyTorch."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor


def small(a: Tensor, b: Tensor) -> Tensor:
    c = a * b + a
    d = c - b * 2.0
    e = torch.maximum(d, c) * a
    f = e + d - c * b
    g = f * f + e * 0.5
    h = torch.minimum(g, a) + f
    i = h * d - g
    return i * 2.0 + h * a - b


def gelu_chain(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, -1)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return F.layer_norm(x, [x.shape[-1]], weight, bias, 1e-5)


def standardised(x: Tensor) -> Tensor:
    return (x - x.mean(0)) / (torch.std(x, dim=0, unbiased=False) + 1e-6)


def distances(points: Tensor) -> Tensor:
    apart = points[:, None, :] - points[None, :, :]
    return torch.sqrt(torch.sum(apart * apart, -1))


def cumulative(x: Tensor) -> Tensor:
    k = 1.0 / (1.0 + 0.2316419 * torch.abs(x))
    tail = torch.exp(x * x * -0.5) * 0.3989422804014327 * k
    tail = tail * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    return torch.where(x < 0.0, tail, 1.0 - tail)


def black_scholes(spot: Tensor, strike: Tensor, time: Tensor, rate: float, volatility: float) -> Tensor:
    root = volatility * torch.sqrt(time)
    d1 = (torch.log(spot / strike) + (rate + volatility * volatility * 0.5) * time) / root
    return spot * cumulative(d1) - strike * torch.exp(-rate * time) * cumulative(d1 - root)


def mlp(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, w3: Tensor, b3: Tensor) -> Tensor:
    return torch.relu(torch.relu(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return torch.matmul(torch.softmax(torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(64.0), -1), v)


def lstm_cell(x: Tensor, h: Tensor, c: Tensor, w: Tensor, u: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    i, f, g, o = (x @ w + h @ u + b).chunk(4, 1)
    kept = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(kept), kept


def lstm_loop(xs: Tensor, h: Tensor, c: Tensor, w: Tensor, u: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    for t in range(xs.shape[0]):
        h, c = lstm_cell(xs[t], h, c, w, u, b)
    return h, c


def training_step(
    x: Tensor, y: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    h = torch.relu(x @ w1 + b1)
    error = (h @ w2 + b2 - y) * (2.0 / y.numel())
    back = (error @ w2.t()) * (h > 0.0)
    return w1 - 0.01 * (x.t() @ back), b1 - 0.01 * back.sum(0), w2 - 0.01 * (h.t() @ error), b2 - 0.01 * error.sum(0)
