"""Modules in training mode, and tensors that may be None, under PyTorch's autograd: numbers, statistics and gradients of eager."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import nn  # noqa: E402

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def step(f, module, x):
    """A loss, the gradients, and the buffers afterwards."""
    y = f(x)
    gradients = torch.autograd.grad((y * y).sum(), list(module.parameters()))
    return [y.detach(), *gradients, *[b.clone() for b in module.buffers()]]


@pytest.mark.parametrize(
    ("program", "shape"),
    [
        (nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3)), (5, 6)),
        (nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4, momentum=0.3), nn.ReLU()), (3, 2, 6, 6)),
    ],
    ids=["rows", "images"],
)
def test_batch_norm_writes_its_statistics_once_and_they_are_no_way_for_gradients(program, shape):
    program = program.double()
    twin = copy.deepcopy(program)
    ours = from_torchscript(torch.jit.script(program), gradients="error")
    for seed in range(3):
        x = torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        for mine, theirs in zip(step(ours, program, x), step(twin, twin, x), strict=True):
            torch.testing.assert_close(mine, theirs)
    assert not any(b.requires_grad for b in program.buffers())
    ((_, backward),) = [pair.executors for variant in ours.variants for pair in variant.executor.gradients.pairs]
    assert backward.stats().hits == 2
    assert "in tier 0: aten.native_batch_norm" not in ours.explain()
    scripted = torch.jit.script(program)
    evaluated = from_torchscript(scripted, gradients="error")
    scripted.eval()
    twin.eval()
    for mine, theirs in zip(step(evaluated, program, x), step(twin, twin, x), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("options", [{}, {"momentum": None}, {"affine": False}, {"track_running_stats": False}], ids=str)
def test_batch_norm_of_a_batch_without_elements_is_that_of_eager(options):
    program = nn.BatchNorm1d(3, **options).double()
    twin = copy.deepcopy(program)
    ours = from_torchscript(torch.jit.script(program), gradients="error")
    for shape in ((4, 3), (0, 3), (0, 3), (0, 3), (5, 3), (2, 3, 0), (6, 3), (2, 3, 4)):
        x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        found = []
        for f, module in ((ours, program), (twin, twin)):
            with torch.no_grad():
                plain = f(x)
            y = f(x)
            parameters = list(module.parameters())
            found.append([plain, y.detach(), *torch.autograd.grad((y * y).sum(), [x, *parameters]), *[b.clone() for b in module.buffers()]])
        torch.testing.assert_close(*found, equal_nan=False)
    ((_, backward), *_) = [pair.executors for variant in ours.variants for pair in variant.executor.gradients.pairs]
    assert backward.stats().hits and ours.stats().hits


def test_batch_norm_of_a_cumulative_average_is_that_of_eager():
    program = nn.BatchNorm1d(3, momentum=None).double()
    twin = copy.deepcopy(program)
    ours = from_torchscript(torch.jit.script(program))
    for _ in range(3):
        x = torch.randn(4, 3, dtype=torch.float64)
        for mine, theirs in zip(step(ours, program, x), step(twin, twin, x), strict=True):
            torch.testing.assert_close(mine, theirs)


def test_tensors_that_may_be_none_have_gradients():
    def program(x, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None):
        return F.layer_norm(x, [4], weight, bias)

    ours, x = from_torchscript(torch.jit.script(program), gradients="error"), torch.randn(3, 4, requires_grad=True)
    weight, bias = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    factor = torch.randn(3, 4)
    for given in ((weight, bias), (weight, None), (None, bias), ()):
        wanted = [x, *[t for t in given if t is not None]]
        mine = torch.autograd.grad((ours(x, *given) * factor).sum(), wanted)
        theirs = torch.autograd.grad((program(x, *given) * factor).sum(), wanted)
        torch.testing.assert_close(mine, theirs)


def test_a_module_that_asks_for_its_inputs_gradient_is_trained_by_tierup():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.MultiheadAttention(4, 2, batch_first=True)

        def forward(self, x):
            return self.inner(x, x, x)[0]

    program = Attention()
    ours, x = from_torchscript(torch.jit.script(program)), torch.randn(2, 3, 4, requires_grad=True)
    wanted = [x, *program.parameters()]
    for _ in range(3):
        mine = torch.autograd.grad(ours(x).square().sum(), wanted)
        torch.testing.assert_close(mine, torch.autograd.grad(program(x).square().sum(), wanted))
    assert "3 calls by tierup's forward and backward programs, 0 by the original program in PyTorch" in ours.explain()


def drops_in_a_loop(x, n: int):
    for _ in range(n):
        x = F.dropout(x.sin(), 0.5)
    return x


def drops_in_a_branch(x, n: int):
    if n > 1:
        x = F.dropout(x.sin(), 0.5)
    return x * x


def scales_in_a_branch_in_a_loop(x, n: int):
    for i in range(n):
        if i != 1:
            x = x * torch.rand_like(x)
    return x


@pytest.mark.parametrize("program", [drops_in_a_loop, drops_in_a_branch, scales_in_a_branch_in_a_loop], ids=lambda f: f.__name__)
def test_what_is_drawn_in_branches_and_loops_is_not_drawn_again_for_the_gradient(program):
    ours = from_torchscript(torch.jit.script(program))
    for seed, n in enumerate((2, 2, 3, 3)):
        found = []
        for f in (ours, program):
            x = torch.ones(16, requires_grad=True)
            torch.manual_seed(seed)
            y = f(x, n)
            y.sum().backward()
            found.append((y, x.grad, torch.rand(1)))
        for mine, theirs in zip(*found, strict=True):
            torch.testing.assert_close(mine, theirs)
    assert "draws random numbers in a branch or a loop" in ours.explain()


def test_what_is_drawn_in_a_loop_and_no_gradient_needs_stays_tierups():
    def program(x, n: int):
        for _ in range(n):
            x = x.sin() + torch.rand_like(x)
        return x

    ours, found = from_torchscript(torch.jit.script(program), gradients="error"), []
    for f in (ours, program):
        x = torch.ones(4, requires_grad=True)
        torch.manual_seed(1)
        y = f(x, 2)
        y.sum().backward()
        found.append((y, x.grad))
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_dropout_that_the_call_turns_off_hands_on_its_operand():
    def program(x, drops: bool):
        y = F.dropout(x, 0.5, drops)
        y += 1
        return x * 2, y

    ours = from_torchscript(torch.jit.script(program))
    for drops in (False, True, False, False):
        found = []
        for f in (ours, program):
            x = torch.ones(3)
            torch.manual_seed(4)
            doubled, y = f(x, drops)
            y.add_(1)
            found.append((x, doubled, y))
        for mine, theirs in zip(*found, strict=True):
            torch.testing.assert_close(mine, theirs)
