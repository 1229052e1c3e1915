"""Gradients of programs that write lists of numbers in loops and branches: what an op read of a list is what its gradient reads."""

from __future__ import annotations

from typing import List  # noqa: UP035 - TorchScript reads it

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def contracted(x: Tensor):  # its library function makes the lists of dims in loops
    return torch.tensordot(x, x.t(), dims=1)


def contracted_between_regions(x: Tensor):  # two regions that become one, with the loops and what reads their lists between them
    low = torch.clamp(x, x.min().item(), 1)
    product = torch.tensordot(x, x.t(), dims=1)
    return low, product, torch.nn.functional.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2) + 0.3, align_corners=False)


def read_between_writes(x: Tensor):
    d = [1.0]
    for _ in range(2):
        d.append(2.0)
    y = x * d[0] * d[2]
    for i in range(2):
        d[0] = 7.0 + i
    d.append(5.0)
    return y * x * d[0]


def read_in_a_loop(x: Tensor):
    d: List[float] = []  # noqa: UP006
    for i in range(3):
        d.append(float(x.size(0) + i))
    z = x
    for i in range(3):
        z = z * d[i] * x
    return z


def read_and_written_in_a_loop(x: Tensor):
    d = [0.5]
    for i in range(3):
        x = x * x * d[i]
        d.append(d[i] + 1.0)
    return x


def sizes(x: Tensor):
    d: List[int] = []  # noqa: UP006
    for i in range(2):
        d.append(x.size(1 - i))
    return x.reshape(d) * x.exp().reshape(d)


def written_by_another_name(x: Tensor):
    d = [0, 1]
    e = d
    for i in range(2):
        e[i] = 1 - i
    return x.permute(d) * x.t()


def dims_of_a_branch(x: Tensor):
    d: List[int] = []  # noqa: UP006
    if bool(x.sum() > 0):
        d.append(1)
    else:
        d.append(0)
    return (x * x).sum(d)


OURS = [contracted, contracted_between_regions, read_between_writes, read_in_a_loop, read_and_written_in_a_loop, sizes]
BY_PYTORCH = [written_by_another_name, dims_of_a_branch]  # whose gradients' rules read dims that are constants


@pytest.mark.parametrize("f", OURS + BY_PYTORCH, ids=lambda f: f.__name__)
def test_the_gradient_reads_what_was_in_the_list_then(f):
    ours = from_torchscript(torch.jit.script(f))
    for seed in range(3):
        x = torch.rand(3, 4, generator=torch.Generator().manual_seed(seed)).requires_grad_()
        found = []
        for g in (ours, f):
            y = g(x)
            loss = sum((part * part).sum() for part in (y if isinstance(y, tuple) else (y,)))
            found.append([y, torch.autograd.grad(loss, x)[0]])
        torch.testing.assert_close(*found)
    assert (", 0 by the original program" in ours.explain()) == (f in OURS), ours.explain()
