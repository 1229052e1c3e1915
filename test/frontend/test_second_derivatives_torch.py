"""Second derivatives of programs whose pairs have none: of what writes its arguments, or keeps lists of tensors in loops."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.export import export  # noqa: E402

from tierup.runtime.base.errors import NotDifferentiable  # noqa: E402
from tierup.torch import from_export, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


class Critic(nn.Module):
    """Batch norm writes its statistics, and dropout draws."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop, self.last = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.3), nn.Linear(6, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.drop(torch.tanh(self.norm(self.first(x)))))


def test_a_gradient_penalty_trains_a_module_with_statistics_as_eager_does():
    eager = Critic().double()
    module = copy.deepcopy(eager)
    ours = from_torchscript(torch.jit.script(module))
    for _ in range(2):  # elsewhere the module runs in TorchScript, which optimises it
        torch.jit.script(module)(torch.randn(5, 4, dtype=torch.float64)).sum().backward()
    module.load_state_dict(eager.state_dict())
    for step in range(3):
        found = []
        for program, trained in ((ours, module), (eager, eager)):
            torch.manual_seed(step)
            trained.zero_grad()
            x = torch.randn(5 + step % 2, 4, dtype=torch.float64, requires_grad=True)
            y, other = program(x), program(x.detach() * 2)
            (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
            (((gradient.norm(2, 1) - 1) ** 2).mean() + other.mean() + y.mean()).backward()
            found.append([y, gradient, *(p.grad for p in trained.parameters()), *trained.buffers(), torch.get_rng_state()])
        torch.testing.assert_close(*found)
    assert ", 0 by the original program" in ours.explain()


class Counting(nn.Module):
    """Writes a buffer that its results depend on."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.ones(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.mul_(2)
        return (x * self.calls).exp()


@pytest.mark.parametrize(
    "made", [lambda m: from_torchscript(torch.jit.script(m)), lambda m: from_export(export(m, (torch.rand(3),)))], ids=("script", "export")
)
def test_a_buffer_of_a_module_is_as_it_was_for_second_derivatives_and_written_once(made):
    module = Counting()
    ours = made(module)
    for n in (2.0, 4.0, 8.0):
        x = torch.rand(3, requires_grad=True)
        (first,) = torch.autograd.grad(ours(x).sum(), x, create_graph=True)
        torch.testing.assert_close([first, *torch.autograd.grad(first.sum(), x)], [n * (x * n).exp(), n * n * (x * n).exp()])


def writes(x, buffer):
    buffer.mul_(2)
    return (x * buffer).exp()


def test_what_is_written_is_as_it_was_for_second_derivatives_and_written_once():
    ours = from_torchscript(torch.jit.script(writes))
    for k in range(3):
        buffer, x = torch.arange(3.0), torch.full((3,), 0.3 + k, requires_grad=True)
        y = ours(x, buffer)
        (first,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), x)
        factor = 2 * torch.arange(3.0)
        torch.testing.assert_close([first, second], [factor * (x * factor).exp(), factor**2 * (x * factor).exp()])
        assert buffer.tolist() == [0, 2, 4] and buffer._version == 1


def test_hooks_are_called_once_or_the_second_derivative_is_refused():
    ours = from_torchscript(torch.jit.script(writes))
    x = torch.full((3,), 0.3, requires_grad=True)
    x.register_hook(lambda g: g)
    with pytest.raises(NotDifferentiable, match="tensors with hooks"):
        torch.autograd.grad(ours(x, torch.arange(3.0)).sum(), x, create_graph=True)


def test_a_write_to_an_operand_in_between_is_refused():
    ours = from_torchscript(torch.jit.script(writes))
    base = torch.full((3,), 0.3, requires_grad=True)
    x = base * 1
    y = ours(x, torch.arange(3.0))
    with torch.no_grad():
        x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y.sum(), base, create_graph=True)
