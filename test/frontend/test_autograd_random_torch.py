"""TorchScript programs that draw random numbers, under PyTorch's autograd: the numbers of PyTorch's generator, drawn once."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


class Sampled(nn.Module):
    """As a variational autoencoder draws."""

    def __init__(self):
        super().__init__()
        self.mean, self.scale = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        mean = self.mean(x)
        return mean + torch.randn_like(mean) * torch.exp(self.scale(x) * 0.5)


def twins(program):
    return from_torchscript(torch.jit.script(program), gradients="error"), program, copy.deepcopy(program)


def seeded(f, seed, x):
    torch.manual_seed(seed)
    return f(x)


@pytest.mark.parametrize(
    "program",
    [
        nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.4), nn.Linear(8, 3), nn.Dropout(0.1)),
        nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.4, inplace=True), nn.Linear(8, 3)),
        Sampled(),
    ],
    ids=["dropout", "dropout in place", "sampled"],
)
def test_numbers_and_gradients_of_gradients_are_those_of_eager_by_the_same_seed(program):
    ours, program, twin = twins(program.double())
    for seed in range(3):
        x, found = torch.randn(5, 4, dtype=torch.float64), []
        for f, module in ((ours, program), (twin, twin)):
            y = seeded(f, seed, x)
            first = torch.autograd.grad(y.square().sum(), list(module.parameters()), create_graph=True)
            following = torch.rand(1)
            second = torch.autograd.grad(sum((g * g).sum() for g in first), list(module.parameters()))
            found.append([y, following, *first, *second])
        torch.testing.assert_close(*found)
        with torch.no_grad():
            torch.testing.assert_close(seeded(ours, seed, x), seeded(twin, seed, x))
    (variant,) = ours.variants
    stats = variant.executor.gradients.stats()
    assert (stats.hits + stats.misses, stats.refused) == (3, 0)


def test_the_backward_program_of_dropout_is_native():
    ours, program, _ = twins(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.4), nn.Linear(8, 3)))
    for seed in range(3):
        seeded(ours, seed, torch.randn(5, 4)).sum().backward()
    ((forward, backward),) = [pair.executors for variant in ours.variants for pair in variant.executor.gradients.pairs]
    assert backward.stats().hits == 2
    assert [op for split in forward.splits for op, _ in split.code.left if "linear" not in op] == ["aten.native_dropout"]


def drops_nothing(x):
    return F.dropout(x.sin(), 0.0, True) * F.dropout(x * 1, 0.0, True, True)


def drops_all(x):
    y = x.sin()
    F.dropout(y, 1.0, True, True)
    return y + F.dropout(x, 1.0, True) + x


@pytest.mark.parametrize("program", [drops_nothing, drops_all])
def test_dropout_of_nothing_and_of_all_draws_nothing_and_is_native(program):
    ours, program, _ = twins(program)
    for seed in range(3):
        x, found = torch.rand(3, 4, requires_grad=True), []
        for f in (ours, program):
            y = seeded(f, seed, x)
            found.append([y, torch.get_rng_state(), *torch.autograd.grad(y.sum(), x)])
        torch.testing.assert_close(*found)
    assert all(e.stats().hits == 2 for v in ours.variants for pair in v.executor.gradients.pairs for e in pair.executors)


def test_dropout_in_evaluation_draws_nothing():
    ours, program, _ = twins(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.4)).eval())
    torch.manual_seed(0)
    before = torch.get_rng_state()
    ours(torch.randn(2, 4, generator=torch.Generator().manual_seed(1))).sum().backward()
    assert torch.equal(before, torch.get_rng_state())


def test_dropout_of_what_lies_across_memory_draws_as_pytorch_does():
    @torch.jit.script
    def program(x):
        return torch.dropout(x, 0.3, True)

    ours, x = from_torchscript(program), torch.randn(5, 7).t().requires_grad_()
    for seed in range(3):
        torch.testing.assert_close(seeded(ours, seed, x), seeded(program, seed, x))


def test_factories_draw_from_the_generator_too():
    @torch.jit.script
    def program(x, n: int):
        noise = torch.rand_like(x, dtype=torch.float64) + torch.randn([n, 3], dtype=torch.float64)
        return x * torch.rand(n, 3), noise, torch.randint(0, 10, [n]), torch.randperm(n), torch.bernoulli(torch.sigmoid(x))

    ours = from_torchscript(program, gradients="error")
    for seed in range(3):
        x = torch.randn(4, 3, requires_grad=True)
        mine, theirs = (seeded(lambda x: f(x, 4), seed, x) for f in (ours, program))  # noqa: B023 - called at once
        torch.testing.assert_close(mine, theirs)
        torch.testing.assert_close(torch.autograd.grad(mine[0].sum(), x), torch.autograd.grad(theirs[0].sum(), x))


def stochastic_depth(x, p: float):
    noise = torch.empty([x.size(0), 1], dtype=x.dtype).bernoulli_(p)
    return x.sin() * noise.div_(p) + x


def test_what_is_drawn_into_fresh_memory_leaves_gradients_to_us():
    ours = from_torchscript(torch.jit.script(stochastic_depth))
    for seed in range(3):
        x, found = torch.randn(6, 3, requires_grad=True), []
        for f in (ours, stochastic_depth):
            torch.manual_seed(seed)
            result = f(x, 0.5)
            found.append((result, *torch.autograd.grad(result.pow(2).sum(), x)))
        torch.testing.assert_close(*found)
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain()


def drawn_where_it_lies(x):
    like, copy, zeros = torch.empty_like(x).bernoulli_(0.5), x.clone().bernoulli_(0.3), torch.zeros_like(x).bernoulli_(0.5)
    last = torch.empty([3, 2, 2, 2], memory_format=torch.channels_last).bernoulli_(0.5)
    return like * x, copy * x, zeros * x, x.new_empty(x.shape).bernoulli_(0.5) * x, last


@pytest.mark.parametrize("requires_grad", [True, False])
def test_what_is_drawn_in_place_goes_by_the_order_of_memory(requires_grad):
    ours = from_torchscript(torch.jit.script(drawn_where_it_lies))
    for seed, rows in enumerate((True, True, False, False, False, True)):
        x = (torch.randn(5, 4) if rows else torch.randn(4, 5).t()).requires_grad_(requires_grad)
        found = []
        for f in (ours, drawn_where_it_lies):
            torch.manual_seed(seed)
            results = f(x)
            found.append((results, torch.autograd.grad(sum(r.sum() for r in results), x) if requires_grad else None, results[-1].stride()))
        torch.testing.assert_close(*found)
