"""TorchScript programs under PyTorch's autograd: gradients of eager, and whose programs gave them."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pytest

import tierup

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.dialect.optable.kernels import torch_tensors  # noqa: E402
from tierup.runtime.base.events import EventKind  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch
F64 = torch.float64


def layer(x, w, b):
    return torch.tanh(x @ w + b)


def several(x, w):
    y = torch.exp(x * w)
    return y, x.sum(), y[0]


def branches(x, w):
    if bool(x.sum() > 0):
        y = x * w
    else:
        y = x - torch.sin(w)
    return torch.sigmoid(y)


def loops(x, w):
    for _ in range(3):
        x = torch.tanh(x * w) + x
    return x


def views(x, w):
    return x[1:], (x * w).t()


def softmax(x, w):
    return torch.softmax(x, -1) @ torch.relu(w).t()


PROGRAMS = (several, branches, loops, views, softmax)


def leaves(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, dtype=F64, generator=generator).requires_grad_() for shape in shapes]


def joined(ours):
    """How many calls took tierup's forward and backward programs."""
    stats = [v.executor.gradients.stats() for v in ours.variants if v.executor.has_gradients]
    return sum(s.hits + s.misses for s in stats)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_gradients_and_their_gradients_are_those_of_differences(program):
    ours, inputs = from_torchscript(torch.jit.script(program), gradients="error"), leaves((2, 3), (2, 3))
    assert torch.autograd.gradcheck(ours, inputs, nondet_tol=1e-12)  # tier 0's tanh and native code's differ in the last bit
    assert torch.autograd.gradgradcheck(ours, inputs, nondet_tol=1e-12)


def test_forward_and_backward_are_native_programs():
    ours, inputs = from_torchscript(torch.jit.script(layer), gradients="error"), leaves((4, 3), (3, 5), (5,))
    for _ in range(3):
        found = torch.autograd.grad(ours(*inputs).sum(), inputs)
        for ours_, eager in zip(found, torch.autograd.grad(layer(*inputs).sum(), inputs), strict=True):
            torch.testing.assert_close(ours_, eager)
    (variant,) = ours.variants
    assert [e.stats().hits for e in variant.executor.gradient_executors] == [2, 2]
    assert variant.executor.stats().calls == 0
    assert (ours.stats().hits, ours.stats().calls) == (4, 6)  # forward and backward of three steps
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain(details=True)


def test_without_grad_mode_the_plain_program_runs():
    ours, inputs = from_torchscript(torch.jit.script(layer)), leaves((4, 3), (3, 5), (5,))
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            assert not ours(*inputs).requires_grad
    assert joined(ours) == 0
    ours(*inputs).sum().backward()
    assert joined(ours) == 1
    assert not ours(*[t.detach() for t in inputs]).requires_grad
    assert joined(ours) == 1


def test_a_training_step_is_that_of_eager():
    torch.manual_seed(0)
    program = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted, gradients="error")
    twin = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    twin.load_state_dict(program.state_dict())
    losses = []
    for f, module in ((ours, program), (twin, twin)):
        optimiser, found = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9), []
        generator = torch.Generator().manual_seed(1)
        for _ in range(4):
            optimiser.zero_grad()
            loss = ((f(torch.randn(5, 8, generator=generator)) - torch.randn(5, 4, generator=generator)) ** 2).mean()
            loss.backward()
            optimiser.step()
            found.append(loss.item())
        losses.append(found)
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    for a, b in zip(program.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b)
    assert joined(ours) == 4


def test_gradients_accumulate_and_hooks_see_them():
    program = nn.Linear(3, 2)
    ours, x = from_torchscript(torch.jit.script(program)), torch.randn(4, 3)
    seen, done = [], []
    handle = program.weight.register_hook(lambda g: seen.append(g.clone()))
    program.bias.register_post_accumulate_grad_hook(lambda p: done.append(p.grad.clone()))
    for _ in range(2):
        y = ours(x)
        y.register_hook(lambda g: g * 2)
        y.sum().backward()
    handle.remove()
    assert len(seen) == 2
    torch.testing.assert_close(program.weight.grad, seen[0] + seen[1])
    torch.testing.assert_close(seen[0], 2 * x.sum(0).expand(2, 3))
    torch.testing.assert_close(done[1], torch.full((2,), 16.0))


def test_saved_tensors_go_with_the_first_backward():
    ours, inputs = from_torchscript(torch.jit.script(layer)), leaves((4, 3), (3, 5), (5,))
    loss = ours(*inputs).sum()
    once = torch.autograd.grad(loss, inputs, retain_graph=True)
    again = torch.autograd.grad(loss, inputs)
    for a, b in zip(once, again, strict=True):
        torch.testing.assert_close(a, b)
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


@pytest.mark.parametrize("which", [0, 1, "result"])
def test_a_write_to_what_the_gradient_needs_is_found(which):
    ours, (x, w, b) = from_torchscript(torch.jit.script(layer)), leaves((4, 3), (3, 5), (5,))
    x, w = x * 1, w * 1
    y = ours(x, w, b)
    with torch.no_grad():
        (y if which == "result" else (x, w)[which]).add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_write_to_what_the_gradient_does_not_need_is_none_of_its_business():
    ours, (x, w, b) = from_torchscript(torch.jit.script(layer)), leaves((4, 3), (3, 5), (5,))
    y = ours(x, w, b)
    with torch.no_grad():
        b.add_(1)
    y.sum().backward()
    assert b.grad is not None


def test_results_without_a_cotangent_are_not_computed_through():
    ours, inputs = from_torchscript(torch.jit.script(several)), leaves((2, 3), (2, 3))
    for k in range(3):
        found = torch.autograd.grad(ours(*inputs)[k].sum(), inputs, allow_unused=True)
        eager = torch.autograd.grad(several(*inputs)[k].sum(), inputs, allow_unused=True)
        for a, b in zip(found, eager, strict=True):
            assert (a is None) == (b is None)
            assert a is None or torch.allclose(a, b)


def test_views_and_results_in_one_memory_are_views_to_autograd():
    @torch.jit.script
    def program(x, w):
        y = x * w
        return y, y[1:], x[:1], x

    ours, (x, w) = from_torchscript(program), leaves((3, 2), (3, 2))
    x = x * 1
    for _ in range(3):
        y, part, first, same = ours(x, w)
        assert part._base is y
        assert first.data_ptr() == x.data_ptr()
        assert same is x
        part.mul_(3)
        found = torch.autograd.grad(y.sum() + first.sum(), (x, w))
        eager = (torch.tensor([1.0, 3, 3]).double()[:, None] * w, torch.tensor([1.0, 3, 3]).double()[:, None] * x)
        torch.testing.assert_close(found[0], eager[0] + torch.tensor([[1.0], [0], [0]]).double())
        torch.testing.assert_close(found[1], eager[1])


def test_a_view_that_comes_before_its_base_is_a_view_and_writes_to_it_are_found():
    def program(x, w):
        y = torch.exp(x)
        z = y.t()
        return z, torch.sin(z) * w, y

    ours, (x, w) = from_torchscript(torch.jit.script(program), gradients="error"), leaves((2, 3), (3, 2))
    for _ in range(3):
        found = []
        for f in (ours, program):
            z, s, y = f(x, w)
            assert z._base is y
            first = torch.autograd.grad((s * s).sum() + (z**3).sum(), (x, w), create_graph=True)
            found.append([*first, *torch.autograd.grad(sum((g * g).sum() for g in first), (x, w))])
        torch.testing.assert_close(*found)
        z, s, y = ours(x, w)
        with torch.no_grad():
            z.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(s.sum(), x)


def test_a_detached_result_is_no_way_for_gradients():
    @torch.jit.script
    def program(x):
        return x.detach(), x.detach() + x, x * 2

    (x,) = leaves((3,))
    held, both, twice = from_torchscript(program)(x)
    assert held.data_ptr() == x.data_ptr()
    assert (held.requires_grad, both.requires_grad, twice.requires_grad) == (False, True, True)
    (found,) = torch.autograd.grad(both.sum() + twice.sum(), x)
    assert found.tolist() == [3, 3, 3]


def test_a_result_that_is_part_of_a_later_one_is_a_view_of_it():
    def program(x):
        whole = (x * x)[1:]
        return whole[:2], whole

    ours, found = from_torchscript(torch.jit.script(program)), []
    for f in (ours, program):
        x = torch.arange(4.0, requires_grad=True)
        part, whole = f(x)
        with torch.no_grad():
            whole.mul_(2)
        found.append([part.detach(), torch.autograd.grad(part.sum() + (whole * 3).sum(), x)[0]])
    torch.testing.assert_close(*found)


def test_results_in_an_argument_s_memory_are_views_of_it_beside_what_is_detached():
    @torch.jit.script
    def program(x, w):
        with torch.no_grad():
            factor = x * x
        y = w * x.detach()
        return factor * x, w, w[1:], y, y[1:]

    ours = from_torchscript(program, gradients="error")
    for rows in (3, 3, 3, 4):
        x, w = leaves((rows, 2), (rows, 2))
        _, same, part, y, y_part = ours(x, w)
        assert same is w
        assert part._base is w and y_part._base is y
        with torch.no_grad():
            part[0, 0] = 7
        assert w[1, 0] == 7
        assert torch.autograd.grad(part.sum(), w)[0].sum() == 2 * (rows - 1)


def test_tensors_that_come_twice_expanded_strided_or_empty():
    @torch.jit.script
    def program(x, w):
        return torch.sin(x * w)

    ours = from_torchscript(program, gradients="error")
    (a, b) = leaves((4, 6), (1, 3))
    cases = [(a, a), (a[:, ::2], b.expand(4, 3)), (a.t()[:3], b[:, :1].expand(3, 4)), (a[:0], a[:0]), (a[0, 0], a[0, 1])]
    for x, w in cases:
        found = torch.autograd.grad(ours(x, w).sum(), (a, b), allow_unused=True)
        eager = torch.autograd.grad(torch.sin(x * w).sum(), (a, b), allow_unused=True)
        for ours_, theirs in zip(found, eager, strict=True):
            assert (ours_ is None) == (theirs is None)
            assert ours_ is None or torch.allclose(ours_, theirs)


def test_integers_numbers_and_none_stand_beside_tensors():
    @torch.jit.script
    def program(x, index, n: int, bias: torch.Tensor | None = None):
        y = x[index] * n
        if bias is not None:
            y = y + bias
        return y, index + 1, n + 1

    ours, (x,) = from_torchscript(program, gradients="error"), leaves((4, 2))
    y, following, number = ours(x, torch.tensor([1, 1, 3]), 3)
    assert (following.tolist(), number, following.requires_grad) == ([2, 2, 4], 4, False)
    (found,) = torch.autograd.grad(y.sum(), x)
    assert found[:, 0].tolist() == [0, 6, 0, 3]


def test_only_what_requires_a_gradient_is_differentiated():
    ours, (x, w, b) = from_torchscript(torch.jit.script(layer)), leaves((4, 3), (3, 5), (5,))
    ours(x.detach(), w, b.detach()).sum().backward()
    assert x.grad is None
    assert b.grad is None
    (variant,) = ours.variants
    assert [pair.describe for pair in variant.executor.gradients.pairs] == ["w"]


def test_saved_tensor_hooks_and_checkpoints_work():
    ours, inputs = from_torchscript(torch.jit.script(layer)), leaves((4, 3), (3, 5), (5,))
    packed = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(t.shape) or t, lambda t: t):
        loss = ours(*inputs).sum()
    assert packed
    found = torch.autograd.grad(loss, inputs)
    kept = torch.utils.checkpoint.checkpoint(ours, *inputs, use_reentrant=False)
    for a, b in zip(found, torch.autograd.grad(kept.sum(), inputs), strict=True):
        torch.testing.assert_close(a, b)


def test_nothing_is_kept_alive_by_the_graph():
    ours, (x, w) = from_torchscript(torch.jit.script(several)), leaves((2, 3), (2, 3))
    result = ours(x, w)[0]
    alive = weakref.ref(result)
    gc.disable()
    try:
        del result
        assert alive() is None
    finally:
        gc.enable()


def nested(x, w):
    return torch.tanh(torch.tanh(x * w)).sum()


def test_what_is_kept_for_backward_goes_with_it_though_the_result_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, (x, w) = from_torchscript(torch.jit.script(nested)), leaves((2, 3), (2, 3))
    made, tensor = [], torch_tensors.tensor
    monkeypatch.setattr(torch_tensors, "tensor", lambda array: made.append(weakref.ref(array)) or tensor(array))
    for _ in range(4):  # in tier 0 and natively
        made.clear()
        result = ours(x, w)
        kept = [ref for ref in made if ref() is not None]
        result.backward()
        assert sum(ref() is not None for ref in kept) < len(kept)
    assert ours.stats().hits


@torch.jit.script
def without_a_rule(x, w):
    return torch._standard_gamma(x * x + 1) * 2 + x @ w.t() @ w


def test_a_program_without_gradients_is_left_to_pytorch_and_says_so():
    ours, (x, w) = from_torchscript(without_a_rule), leaves((3, 4), (2, 4))
    seen = []
    with tierup.events.subscribe(seen.append):
        for _ in range(3):
            torch.manual_seed(1)
            found = torch.autograd.grad(ours(x, w).sum(), (x, w))
    torch.manual_seed(1)
    for a, b in zip(found, torch.autograd.grad(without_a_rule(x, w).sum(), (x, w)), strict=True):
        torch.testing.assert_close(a, b)
    said = [e for e in seen if e.kind is EventKind.FALLBACK]
    assert len(said) == 3
    assert "aten._standard_gamma" in said[0].guard
    assert ".py:" in said[0].guard
    assert "0 calls by tierup's forward and backward programs, 3 by the original program" in ours.explain()


class Densified(torch.nn.Module):
    def forward(self, x):
        return x.to_sparse().to_dense() * 2


@pytest.mark.parametrize(
    ("program", "by_answer"),
    [(torch.nn.Linear(4, 4), (6, 2, 0)), (lambda x: torch.exp(torch.linalg.matrix_exp(torch.tanh(x) * 0.1)) * x, (4, 4, 0)),
     (lambda x: torch.tanh(torch._standard_gamma(x)), (0, 0, 4)), (Densified(), (0, 0, 4))],
    ids=["native", "with a part of PyTorch's", "without a gradient", "not translated"],
)  # fmt: skip
def test_stats_and_explain_count_the_same_calls(program, by_answer):
    x = (torch.rand(4, 4) + 1).requires_grad_()
    ours = from_torchscript(torch.jit.trace(program, x, check_trace=False), compile="blocking")
    for _ in range(4):
        ours(x).sum().backward()
    stats, said = ours.stats(), ours.explain()
    assert (stats.hits, stats.profiled_runs, stats.python) == by_answer and stats.calls == sum(by_answer) == ours._function.answered()
    assert f": {stats.calls} calls" in said.splitlines()[0] and "of calls like this there were 0" not in said, said
    ours.reset()
    assert not ours.stats().calls and "PyTorch" not in ours.explain()


def test_a_program_without_gradients_is_an_error_by_option():
    ours, (x, w) = from_torchscript(without_a_rule, gradients="error"), leaves((3, 4), (2, 4))
    with pytest.raises(tierup.NotDifferentiable, match="aten._standard_gamma"):
        ours(x, w)
    with pytest.raises(ValueError, match="gradients is 'ignore'"):
        from_torchscript(without_a_rule, gradients="ignore")


def test_derivatives_of_any_order_and_jacobians():
    def program(x):
        return torch.tanh(x) * x

    ours, (x,) = from_torchscript(torch.jit.script(program), gradients="error"), leaves((3,))
    mine = theirs = x
    for f in (ours, program):
        y = f(x).sum()
        for _ in range(3):
            (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        mine, theirs = (y, theirs) if f is ours else (mine, y)
    torch.testing.assert_close(mine, theirs)
    torch.testing.assert_close(torch.autograd.functional.jacobian(ours, x), torch.autograd.functional.jacobian(program, x))


def test_threads_have_gradients_of_their_own():
    ours, failed = from_torchscript(torch.jit.script(layer)), []

    def run(seed):
        inputs = leaves((4, 3), (3, 5), (5,), seed=seed)
        for _ in range(10):
            found = torch.autograd.grad(ours(*inputs).sum(), inputs)
            eager = torch.autograd.grad(layer(*inputs).sum(), inputs)
            failed.extend(seed for a, b in zip(found, eager, strict=True) if not torch.allclose(a, b))
        failed.append(None)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [None] * 3


def test_transforms_are_refused_with_the_remedy():
    ours, (x, w) = from_torchscript(torch.jit.script(loops)), leaves((2, 3), (2, 3))
    with pytest.raises(TypeError, match="transform the original program"):
        torch.func.vmap(ours)(x.detach(), w.detach())
    with pytest.raises(TypeError, match="transform the original program"):
        torch.func.grad(lambda t: ours(t, w.detach()).sum())(x.detach())
    with pytest.raises(TypeError, match="one by one"):
        torch.autograd.grad(ours(x, w), x, torch.ones(5, 2, 3, dtype=F64), is_grads_batched=True)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones_like(x))
        with pytest.raises(TypeError, match="forward-mode"):
            ours(dual, w.detach())
        ours(x.detach(), w.detach())


@pytest.mark.parametrize("options", [{"optimize": False}, {"num_profiled_runs": 0}])
def test_gradients_of_what_meets_a_constant_of_the_program(options):
    factors, rows = torch.tensor([1.5, -2.0]), torch.tensor([[1, 2, 0]])

    def program(x, w):
        return (x * factors).exp(), torch.nn.functional.embedding(rows, w), w.gather(0, rows), x.masked_fill(factors > 0, 0.0)

    given = torch.randn(3, 2), torch.randn(4, 3)
    ours = tierup.torch.from_torchscript(torch.jit.trace(program, given, check_trace=False), **options)
    for _ in range(2):
        found = []
        for f in (ours, program):
            tensors = [t.clone().requires_grad_() for t in given]
            first = torch.autograd.grad(sum(r.square().sum() for r in f(*tensors)), tensors, create_graph=True)
            found.append((*first, *torch.autograd.grad(first[0].sum(), tensors[0])))
        torch.testing.assert_close(*found)


def test_gradients_of_what_meets_an_array_from_outside():
    factors = np.array([1.5, -2.0])
    f = tierup.jit(lambda x: np.exp(x * factors))
    for _ in range(3):
        x = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
        (found,) = torch.autograd.grad(f(x).sum(), x)
        torch.testing.assert_close(found, (torch.tensor(factors) * torch.exp(x * torch.tensor(factors))).detach())


def detached_first(x):
    v = x * 2
    v.t().mul_(2)
    return v.detach(), v


def detached_and_a_part(x):
    v = x * 2
    return v.detach(), v[:1]


@pytest.mark.parametrize("function", [detached_first, detached_and_a_part])
@pytest.mark.parametrize("made", [torch.jit.script, lambda f: torch.jit.trace(f, (torch.ones(3, requires_grad=True),))])
def test_a_result_has_its_gradient_though_another_of_the_same_memory_is_detached(function, made):
    ours = from_torchscript(made(function))
    for called in (function, ours, ours, ours):
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        found = called(x)
        assert [t.requires_grad for t in found] == [False, True]
        (found[1] * torch.arange(1.0, 1 + len(found[1]))).sum().backward()
        wanted = x.grad if called is function else wanted
        assert x.grad.tolist() == wanted.tolist()
    assert ours.stats().hits
