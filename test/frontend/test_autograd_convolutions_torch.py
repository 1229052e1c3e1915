"""Gradients of sums and products of convolutions, in place and not: the backward program is native, whatever sizes the windows have."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def added(x, w):
    return (F.conv2d(x, w) + F.conv2d(x * 2, w)).tanh()


def added_in_place(x, w):
    y = F.conv2d(x, w)
    y += F.conv2d(x * 2, w)
    return F.relu_(y)


def residual(x, w):
    y = F.conv2d(x, w, padding=w.size(2) // 2)
    return F.relu_(y.mul_(2) + x)


def residual_of_known_padding(x, w):
    return (F.conv2d(x, w, padding=1) + F.conv2d(x.tanh(), w.flip([2, 3]), padding=1)) * F.avg_pool2d(x, 3, 1, 1)


def downsampled(x, w):
    y = F.conv2d(x, w, stride=2, padding=1)
    return F.relu(y + F.conv2d(x, w[:, :, :1, :1], stride=2))


def gated(x, w):
    y = F.conv2d(x, w, padding=1)
    return F.adaptive_avg_pool2d(y, 1).sigmoid() * y


NATIVE = [added, added_in_place, residual_of_known_padding, downsampled, gated]


@pytest.mark.parametrize("f", [*NATIVE, residual], ids=lambda f: f.__name__)
def test_gradients_of_joined_convolutions_are_eagers_and_native(f):
    ours = from_torchscript(torch.jit.script(f))
    for kernel, size in [(3, 8)] * 4 + [(3, 9)] * 3 + [(1, 6)] + [(3, 1)]:
        if kernel == 1 and f not in (added, added_in_place, residual):
            continue  # the sum of sizes that differ, which eager refuses too
        if size == 1 and f in (added, added_in_place):
            continue  # smaller than the window
        x, w = torch.randn(2, 3, size, size), torch.randn(3, 3, kernel, kernel)
        found = []
        for g in (ours, f):
            given = [x.clone().requires_grad_(), w.clone().requires_grad_()]
            y = g(*given)
            found.append([y, *torch.autograd.grad((y * y).sum(), given)])
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    assert ", 0 by the original program" in ours.explain(), ours.explain()
    assert f not in NATIVE or "_grad_sum_to_size" not in ours.explain(), ours.explain()
