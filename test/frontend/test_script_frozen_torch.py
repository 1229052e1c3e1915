"""Modules as PyTorch's own optimisations leave them: frozen, with oneDNN's layouts, saved and loaded."""

from __future__ import annotations

import copy
import io

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import nn  # noqa: E402

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.b, self.d = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.l, self.n, self.p = nn.Linear(144, 5), nn.LayerNorm(5), nn.AvgPool2d(1)

    def forward(self, x):
        y = F.relu(self.b(self.c(F.relu(x))))
        z = F.hardtanh(F.hardswish(self.d(y)) + y, -0.5, 0.7) * 0.5
        z = self.d(F.hardsigmoid(self.p(F.relu6(z)))).clamp(0.0, 1.0) * y
        return self.n(self.l(z.flatten(1))).sigmoid()


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.p = nn.Conv2d(3, 4, 3, padding=1), nn.AdaptiveAvgPool2d(1)

    def forward(self, x):
        y = self.c(x)
        return self.p(y).sigmoid() * y + self.p(y)


def saved(module):
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(module), file)
    file.seek(0)
    return torch.jit.load(file)


@pytest.mark.parametrize("network", [Network, Weighted])
@pytest.mark.parametrize(
    "made",
    [
        lambda module: torch.jit.freeze(torch.jit.script(module)),
        lambda module: torch.jit.freeze(torch.jit.trace(module, torch.randn(2, 3, 6, 6))),
        lambda module: torch.jit.optimize_for_inference(torch.jit.script(module)),
        saved,
    ],
    ids=["frozen", "frozen trace", "for inference", "loaded"],
)
def test_what_pytorch_has_optimised_is_native(network, made):
    module = network().eval()
    ours, x = from_torchscript(made(copy.deepcopy(module))), torch.randn(2, 3, 6, 6)
    before = x.clone()
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(ours(x), module(x), rtol=1e-4, atol=1e-5)
    assert torch.equal(x, before)
    assert ours.stats().hits == 2, ours.explain()
