"""TorchScript programs on PyTorch's tensors: what eager gives, and which of tierup's tiers gave it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import nn  # noqa: E402

import tierup  # noqa: E402
from tierup.torch import UnsupportedProgram, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def agree(program, ours, *args, calls=3):
    with torch.no_grad():
        for _ in range(calls):
            torch.testing.assert_close(ours(*args), program(*args), rtol=1e-4, atol=1e-5)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)

    def forward(self, x):
        return F.log_softmax(self.b(F.relu(self.a(x))), -1)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.x, self.h = nn.Linear(4, 24), nn.Linear(6, 24)

    def forward(self, x):
        h, c = torch.zeros(x.size(1), 6), torch.zeros(x.size(1), 6)
        out: list[torch.Tensor] = []
        for t in range(x.size(0)):
            i, f, g, o = (self.x(x[t]) + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            out.append(h)
        return torch.stack(out)


def test_a_scripted_module_is_native_from_the_second_call_on():
    program = Perceptron()
    ours = from_torchscript(torch.jit.script(program))
    agree(program, ours, torch.randn(3, 8))
    assert (ours.stats().hits, ours.stats().profiled_runs) == (2, 1)


def test_a_traced_module_is_native_from_the_second_call_on():
    program, x = Perceptron(), torch.randn(3, 8)
    ours = from_torchscript(torch.jit.trace(program, x))
    agree(program, ours, x)
    assert ours.stats().hits == 2


def test_loops_with_lists_run():
    program = Recurrent()
    ours = from_torchscript(torch.jit.script(program))
    agree(program, ours, torch.randn(5, 2, 4))
    agree(program, ours, torch.randn(7, 2, 4))


def test_parameters_are_read_at_every_call():
    program = Perceptron()
    scripted = torch.jit.script(program)
    ours, x = from_torchscript(scripted), torch.randn(3, 8)
    agree(scripted, ours, x)
    with torch.no_grad():
        program.a.weight.mul_(2)
    agree(scripted, ours, x, calls=1)
    scripted.a.weight = nn.Parameter(torch.randn(16, 8))
    agree(scripted, ours, x, calls=1)
    scripted.double()
    agree(scripted, ours, x.double())


def test_the_training_flag_chooses_the_graph():
    program = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    scripted = torch.jit.script(program)
    ours, x = from_torchscript(scripted), torch.randn(64, 4)
    scripted.eval()
    agree(scripted, ours, x)
    scripted.train()
    assert (ours(x) == 0).any()
    scripted.eval()
    agree(scripted, ours, x)


def test_results_share_memory_with_arguments_as_in_pytorch():
    @torch.jit.script
    def program(x):
        x.add_(1)
        return x[1:]

    x = torch.zeros(3)
    view = from_torchscript(program)(x)
    assert x.tolist() == [1, 1, 1]
    view.fill_(5)
    assert x.tolist() == [1, 5, 5]


def test_what_is_none_is_a_graph_of_its_own():
    @torch.jit.script
    def program(x, bias: torch.Tensor | None = None):
        if bias is not None:
            x = x + bias
        return torch.tanh(x)

    ours, x = from_torchscript(program), torch.randn(3)
    agree(program, ours, x)
    agree(program, ours, x, torch.ones(3))
    assert ours.stats().versions == 2


def test_an_op_without_a_kernel_goes_through_pytorch_or_is_refused():
    @torch.jit.script
    def program(x):
        return torch.linalg.matrix_exp(x) + 1

    agree(program, from_torchscript(program), torch.randn(3, 3))
    with pytest.raises(UnsupportedProgram, match=r"\.py:\d+: no kernel for aten.linalg_matrix_exp"):
        from_torchscript(program, foreign="error")(torch.randn(3, 3))


def test_exceptions_of_the_program_are_pythons():
    @torch.jit.script
    def program(x, n: int):
        if n > 2:
            raise ValueError("too many")
        return x * n

    with pytest.raises(ValueError, match="too many"):
        from_torchscript(program)(torch.ones(2), 3)


def test_calls_with_tensors_that_no_array_stands_for_are_left_to_pytorch():
    @torch.jit.script
    def program(x):
        return x * 2

    ours = from_torchscript(program)
    nested = torch.nested.nested_tensor([torch.ones(2)])
    given = torch.ones(2, device="meta"), torch.eye(2).to_sparse(), nested, torch.ones(2) * 1j, (torch.ones(2) * 1j).requires_grad_()
    for x in given:
        found = ours(x)
        assert (found.layout, found.is_nested, found.dtype, found.requires_grad) == (x.layout, x.is_nested, x.dtype, x.requires_grad)
    assert "5 calls by the original program: a tensor is of a kind that no array can stand for" in ours.explain()
    with pytest.raises(TypeError, match="complex numbers are taken in NumPy arrays alone"):
        tierup.jit(lambda x: x * 2)(torch.ones(2) * 1j)
    x = torch.ones(2, dtype=torch.bfloat16)
    torch.testing.assert_close(ours(x), x * 2)


def test_what_is_no_torchscript_is_refused():
    with pytest.raises(TypeError, match="script it first"):
        from_torchscript(Perceptron())
    with pytest.raises(TypeError, match="no method 'backward'"):
        from_torchscript(torch.jit.script(Perceptron()), method="backward")
