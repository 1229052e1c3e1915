"""Ops that only PyTorch computes, in programs under its autograd: it makes their gradients, and all around them is tierup's."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from sampling import drawn  # noqa: E402
from torch.export import export  # noqa: E402

from tierup.runtime.base.errors import NotDifferentiable  # noqa: E402
from tierup.torch import backend, compiled_graphs, from_export, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def inverse(x, w):
    y = torch.tanh(x @ w) * 2 + 4 * torch.eye(3, dtype=torch.float64)
    return (torch.exp(torch.linalg.matrix_exp(y * 0.1)) - 1) * x


def several_results(x, w):
    q, r = torch.linalg.qr(x @ w + 4 * torch.eye(3, dtype=torch.float64))
    return q @ torch.tanh(r)


def one_of_the_results(x, w):
    q, r = torch.linalg.qr(x @ w + 4 * torch.eye(3, dtype=torch.float64))
    return torch.tanh(r) * 2


def a_list_of_tensors(x, w):
    return torch.einsum("ij,jk->ik", torch.tanh(x) * 2, w * w) * x


def one_tensor_of_a_list_twice(x, w):
    y = torch.tanh(x)
    return torch.einsum("ij,jk->ik", y, y) * w


def with_integers(x, w):
    values, places = torch.kthvalue(x * w, 2, 0)
    return values * x + places


def in_a_branch(x, w):
    y = x * w
    if bool(x.sum() > 0):
        y = torch.linalg.matrix_exp(y * 0.1)
    return y * x


def exponential(x, w):
    y = torch.tanh(x @ w) * 2
    return (torch.exp(torch.linalg.matrix_exp(y * w * 0.1)) - 1) * x


def in_a_loop(x, w):
    for _ in range(2):
        x = torch.linalg.matrix_exp(x * w * 0.1)
    return x * x


def a_list_of_results(x, w):
    first, second, third = torch.tensor_split(torch.tanh(x) * w, 3, 0)
    return first.sum() * third + second


def one_of_a_list_of_results(x, w):
    return torch.tensor_split(torch.tanh(x) * w, 3, 0)[1] * 2


def a_list_of_results_as_a_whole(x, w):
    return torch.cat(torch.tensor_split(torch.tanh(x) * w, 3, 0), 1) * 2


def draws_of_probabilities(x, w):
    return torch.bernoulli(x.sigmoid()) * w * x


def draws_around_means(x, w):
    return torch.normal(x, w.exp()) * w + torch.poisson(x.exp()) * x


PROGRAMS = [
    inverse, several_results, one_of_the_results, a_list_of_tensors, one_tensor_of_a_list_twice, with_integers, in_a_branch,
    a_list_of_results, one_of_a_list_of_results, a_list_of_results_as_a_whole, draws_of_probabilities, draws_around_means,
]  # fmt: skip


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_first_and_second_derivatives_are_pytorchs(f):
    ours = from_torchscript(torch.jit.script(f), gradients="error")
    for seed in range(3):
        found = []
        for g in (ours, f):
            generator = torch.Generator().manual_seed(seed)
            x, w = (torch.rand(3, 3, dtype=torch.float64, generator=generator).requires_grad_() for _ in range(2))
            torch.manual_seed(seed)
            y = g(x, w)
            first = torch.autograd.grad((y * y).sum(), [x, w], create_graph=True)
            found.append([y, torch.get_rng_state(), *first, *torch.autograd.grad(sum((d * d).sum() for d in first), [x, w])])
        torch.testing.assert_close(*found)
    assert ", 0 by the original program" in ours.explain()


@pytest.mark.parametrize("entry", ["export", "compile"])
@pytest.mark.parametrize("f", drawn("by torch", [p for p in PROGRAMS if p not in (in_a_branch, draws_of_probabilities)], 8) + [draws_of_probabilities])
def test_other_ways_in_have_the_same_derivatives(f, entry):
    class Program(torch.nn.Module):
        def forward(self, x, w):
            return f(x, w)

    if entry == "export":
        ours = from_export(export(Program(), tuple(torch.rand(2, 3, 3).double().unbind())), gradients="error")
    else:
        torch.compiler.reset()
        ours = torch.compile(f, backend=backend)
    for seed in range(2):
        found = []
        for g in (ours, f):
            torch.manual_seed(seed)
            x, w = (torch.rand(3, 3, dtype=torch.float64).requires_grad_() for _ in range(2))
            y = g(x, w)
            first = torch.autograd.grad((y * y).sum(), [x, w], create_graph=entry == "export")
            found.append([y, torch.get_rng_state(), *first])
            if entry == "export":
                found[-1] += torch.autograd.grad(sum((d * d).sum() for d in first), [x, w])
        torch.testing.assert_close(*found)
    assert entry == "export" or not any(graph.refused for graph in compiled_graphs())


def test_in_a_loop_first_derivatives_are_ours_and_second_ones_pytorchs():
    ours = from_torchscript(torch.jit.script(in_a_loop))
    for _ in range(3):
        x, w = (torch.rand(3, 3, dtype=torch.float64).requires_grad_() for _ in range(2))
        first = [torch.autograd.grad(f(x, w).sum(), [x, w], create_graph=True) for f in (ours, in_a_loop)]
        torch.testing.assert_close(*first)
        torch.testing.assert_close(*(torch.autograd.grad((a * b).sum(), [x, w]) for a, b in first))
    assert "3 calls by tierup's forward and backward programs, 0 by the original program" in ours.explain()
    y = from_torchscript(torch.jit.script(in_a_loop), gradients="error")(x, w)
    with pytest.raises(NotDifferentiable, match="no second derivatives: it saves tensors in a list"):
        torch.autograd.grad(y.sum(), x, create_graph=True)


def test_draws_require_gradients_as_in_eager_mode_and_these_are_zeros():
    def drawn(x):
        return torch.bernoulli(x), torch.rand_like(x)

    ours = from_torchscript(torch.jit.script(drawn))
    for _ in range(3):
        x = torch.rand(4, requires_grad=True)
        first, second = ours(x)
        assert first.requires_grad and not second.requires_grad
        (found,) = torch.autograd.grad(first.sum(), x)
        assert found.tolist() == [0, 0, 0, 0]


def test_what_is_around_such_an_op_is_native_forward_and_backward():
    ours = from_torchscript(torch.jit.script(exponential), gradients="error")
    for _ in range(4):
        x = torch.rand(3, 3, dtype=torch.float64).requires_grad_()
        ours(x, torch.rand(3, 3, dtype=torch.float64)).sum().backward()
    ((forward, backward),) = [pair.executors for variant in ours.variants for pair in variant.executor.gradients.pairs]
    for executor, op in ((forward, "aten.linalg_matrix_exp"), (backward, "vjp0n0x1.aten.linalg_matrix_exp")):
        assert executor.stats().hits == 2
        assert op in {name for split in executor.splits for name, _ in split.code.left}
        assert all(split.regions for split in executor.splits)


def test_of_several_wanted_gradients_only_these_are_computed():
    ours = from_torchscript(torch.jit.script(a_list_of_tensors), gradients="error")
    for wanted in ((True, False), (False, True), (True, True)):
        found = []
        for g in (ours, a_list_of_tensors):
            x, w = (torch.full((3, 3), v, dtype=torch.float64, requires_grad=r) for v, r in zip((0.5, 0.7), wanted, strict=True))
            g(x, w).sum().backward()
            found.append([x.grad, w.grad])
        torch.testing.assert_close(*found)
