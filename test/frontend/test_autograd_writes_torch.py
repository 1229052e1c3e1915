"""TorchScript programs that write tensors, or compute without gradients, under PyTorch's autograd."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def scales(x, w):
    x.mul_(w)
    return x.sum() * 2


def adds_to_a_part(x, w):
    x[0] += w[0]
    return x[1:], x


def writes_through_a_view(x, w):
    v = x[0]
    v.mul_(2)
    return v * w[0], v


def keeps_the_old(x, w):
    old = x.clone()
    x.add_(w)
    return old, x + old


def writes_its_own(x, w):
    y = x * w
    y[0] = w[1]
    y.sigmoid_()
    return y, x


def without_gradients(x, w):
    with torch.no_grad():
        y = x * 2
        if bool(y.sum() > 0):
            y = y + 1
        z = y * w
        y.mul_(2)
    return z + y * w + x


def adds_without_gradients(x, w):
    y = x * 1
    with torch.no_grad():
        y.add_(w)
    return y * w


def scales_without_gradients(x, w):
    y = x * 1
    with torch.no_grad():
        y.mul_(w)
    return y * w


def a_view_of_a_written_argument(x, w):
    x.add_(1)
    y = w * 1
    y.mul_(2)
    return x[::2], x.t()[1:], y


def a_view_of_what_is_not_written_now(x, w):
    if bool(x.sum() > 1000):
        x.add_(w)
    return x[1:], x.t(), w * 1


@pytest.mark.parametrize("f", [a_view_of_a_written_argument, a_view_of_what_is_not_written_now], ids=lambda f: f.__name__)
@pytest.mark.parametrize("layout", [lambda x: x, lambda x: x.t(), lambda x: x[::2, ::2], lambda x: x[1:, 1:]])
def test_views_of_arguments_of_any_layout_lie_in_them(f, layout):
    ours = from_torchscript(torch.jit.script(f), gradients="error")
    for _ in range(4):
        found = []
        for g in (ours, f):
            x, w = layout(torch.arange(16.0).reshape(4, 4)), torch.ones((), requires_grad=True)
            results = g(x, w)
            results[0].add_(100)
            found.append([x, *results, [r.stride() for r in results], [r.storage_offset() for r in results]])
        torch.testing.assert_close(*found)


def calls(ours):
    """Of those under autograd: by tierup's programs, by PyTorch."""
    words = ours.explain().splitlines()[-1].partition("under autograd: ")[2].split()
    return int(words[0]), int(words[8])


def writes_what_has_no_gradient(x, w):
    with torch.no_grad():
        y, rows = x * 2, torch.stack([x, w])
    y *= w
    held = (x * w).detach()
    for i in range(2):
        held[i].add_(w[i])
        held = held * 1 if i > 5 else held[:]
    rows.add_(y)
    return y + held * x, rows


WRITERS = [scales, adds_to_a_part, writes_through_a_view, keeps_the_old, writes_its_own, without_gradients, adds_without_gradients]
WRITERS.append(writes_what_has_no_gradient)


@pytest.mark.parametrize("of_a_view", [False, True])
@pytest.mark.parametrize("program", WRITERS, ids=lambda p: p.__name__)
def test_what_was_written_and_gradients_are_those_of_eager(program, of_a_view):
    ours = from_torchscript(torch.jit.script(program), gradients="error")
    for seed in range(3):
        found = []
        for f in (ours, program):
            generator = torch.Generator().manual_seed(seed)
            a, w = (torch.randn(3, 4, dtype=torch.float64, generator=generator).requires_grad_() for _ in range(2))
            base = torch.cat([a, a])
            x = base[3:] if of_a_view else base[3:] * 1
            results = f(x, w)
            results = results if isinstance(results, tuple) else (results,)
            loss = sum((r * r).sum() for r in results) + (x**3).sum() + (base**2).sum()
            found.append([*torch.autograd.grad(loss, (a, w)), x, base, *results])
        for mine, theirs in zip(*found, strict=True):
            torch.testing.assert_close(mine, theirs)
    assert calls(ours) == (3, 0)


def test_a_write_without_gradients_that_is_no_sum_is_left_to_pytorch():
    ours = from_torchscript(torch.jit.script(scales_without_gradients))
    x, w = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    found = torch.autograd.grad(ours(x, w).sum(), (x, w))
    torch.testing.assert_close(found, torch.autograd.grad(scales_without_gradients(x, w).sum(), (x, w)))
    assert calls(ours) == (0, 1)
    assert "aten.mul_.Tensor writes in a no_grad block" in ours.explain()


def scales_what_is_detached(x, w):
    y = x * w
    held = y.detach()
    held.mul_(w)
    return y * x


def scales_part_of_what_is_detached(x, w):
    held = [x.detach(), w]
    held[0][1:].add_(w[1:])
    return x * w + held[0]


def doubles_what_is_detached(x, w):
    x.detach().view(-1).mul_(2)
    return x * w


def doubles_on_a_path_what_is_detached(x, w):
    y = x * w
    held = y.detach()[1:]
    if bool(x.sum() > 0):
        held.mul_(2)
    return y


def adds_in_each_round_to_what_is_detached(x, w):
    y, z = x * w, w * 0
    for i in range(2):
        held = y.detach()
        held.add_(w)
        z = z + held
    return z


def adds_without_gradients_to_a_view(x, w):
    with torch.no_grad():
        x[1:].add_(1)
    return x * w


_SEEN_ELSEWHERE = [
    scales_what_is_detached, scales_part_of_what_is_detached, doubles_what_is_detached, doubles_on_a_path_what_is_detached,
    adds_in_each_round_to_what_is_detached, adds_without_gradients_to_a_view,
]  # fmt: skip


@pytest.mark.parametrize("program", _SEEN_ELSEWHERE, ids=lambda p: p.__name__)
def test_a_write_to_what_is_detached_from_memory_that_is_seen_elsewhere_is_left_to_pytorch(program):
    ours, found = from_torchscript(torch.jit.script(program)), []
    for f in (ours, program):
        x, w = (torch.arange(1.0, 4.0, requires_grad=True) for _ in range(2))
        y = f(x * 1, w)
        found.append([y.detach(), *torch.autograd.grad((y * y).sum(), (x, w), allow_unused=True)])
    torch.testing.assert_close(*found)
    assert calls(ours) == (0, 1)
    assert "writes to a detached tensor, through memory that is not its own" in " ".join(ours.explain().split())  # lines that are long go on


class WritesWhatItDetaches(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.arange(1.0, 4.0))
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.detach().add_(1).mul_(x.detach())
        return x * self.w + self.seen


def test_what_is_written_to_a_detached_tensor_that_requires_no_gradient_is_tierup_s():
    module = WritesWhatItDetaches()
    ours = from_torchscript(torch.jit.script(module))
    found = []
    for f in (copy.deepcopy(module), ours):
        x = torch.arange(3.0, requires_grad=True)
        found.append([*torch.autograd.grad(f(x).sum(), (x, (module if f is ours else f).w)), (module if f is ours else f).seen])
    torch.testing.assert_close(*found)
    assert calls(ours) == (1, 0)


class WritesADetachedParameter(WritesWhatItDetaches):
    def forward(self, x):
        self.w.detach().mul_(2)
        return x * self.w


def test_a_detached_leaf_is_written_in_grad_mode():
    module = WritesADetachedParameter()
    ours = from_torchscript(torch.jit.script(module))
    x = torch.ones(3, requires_grad=True)
    ours(x).sum().backward()
    assert (module.w.tolist(), x.grad.tolist(), module.w.grad.tolist()) == ([2, 4, 6], [2, 4, 6], [1, 1, 1])


def test_a_write_to_one_of_two_tensors_in_one_memory_is_left_to_pytorch():
    def program(x, w):
        x.add_(w)
        return x * w

    ours = from_torchscript(torch.jit.script(program))
    found = []
    for f in (ours, program):
        a = torch.arange(4.0, requires_grad=True)
        x = a * 1
        found.append(torch.autograd.grad(f(x[:3], x[:3]).sum(), a)[0])
    torch.testing.assert_close(*found)
    assert calls(ours) == (0, 1)
    assert "x, which it writes, shares memory with w" in ours.explain()


def test_a_leaf_is_not_written_in_grad_mode():
    ours, x = from_torchscript(torch.jit.script(scales)), torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="writes its argument x: a leaf Variable"):
        ours(x, torch.full((3,), 2.0))
    assert x.tolist() == [1, 1, 1]
    with torch.no_grad():
        ours(x, torch.full((3,), 2.0))
    assert x.tolist() == [2, 2, 2]


def test_writes_without_gradients_are_counted_for_others():
    ours, x = from_torchscript(torch.jit.script(scales)), torch.ones(3)
    for mode in (True, False):
        version = x._version
        with torch.set_grad_enabled(mode):
            ours(x, torch.full((3,), 2.0))
        assert x._version > version
    w = torch.ones(3, requires_grad=True)
    y = x * w
    with torch.no_grad():
        ours(x, torch.full((3,), 2.0))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


class Averaging(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.ones(3))
        self.w = nn.Parameter(torch.randn(3))

    def forward(self, x):
        with torch.no_grad():
            self.mean.mul_(0.9).add_(x.mean(0) * 0.1)
        return x * self.mean * self.w


def test_a_buffer_is_written_once_and_has_no_gradient():
    program = Averaging()
    twin = copy.deepcopy(program)
    ours = from_torchscript(torch.jit.script(program), gradients="error")
    for _ in range(3):
        x = torch.randn(4, 3, requires_grad=True)
        mine = torch.autograd.grad(ours(x).sum(), (x, program.w))
        torch.testing.assert_close(mine, torch.autograd.grad(twin(x).sum(), (x, twin.w)))
        torch.testing.assert_close(program.mean, twin.mean)
    assert calls(ours) == (3, 0)
    program.mean.requires_grad_()
    with pytest.raises(TypeError, match="writes in a no_grad block"):
        ours(x)
