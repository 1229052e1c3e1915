"""What a TorchScript program calls of its modules: Python methods that are given the module, modules known by an interface or by a key."""

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402 - it may be missing

from tierup.torch import UnsupportedProgram, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


class Counting(nn.Module):
    count: int

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("seen", torch.zeros(3))
        self.count = 0

    @torch.jit.ignore
    def noted(self, x: Tensor, by: int) -> Tensor:
        self.count = self.count + by
        self.seen = self.seen + x.sum(0)
        return x * self.scale + len(x.tolist())

    def forward(self, x):
        before = self.count
        if x.size(0) > 2:
            x = self.noted(x, 2)
        return self.linear(x) + self.count, self.seen * 2, before, self.count


def test_a_python_method_is_given_its_module_and_what_it_sets_is_seen():
    eager = Counting()
    scripted = torch.jit.script(copy.deepcopy(eager))
    ours = from_torchscript(scripted)
    for n in (2, 3, 3, 2, 4, 3, 1):
        x, y = torch.randn(n, 3), None
        with torch.no_grad():
            y = eager(x)
            torch.testing.assert_close(ours(x), y)
        assert (scripted.count, scripted.seen.tolist()) == (eager.count, eager.seen.tolist())
        for module, f in ((eager, eager), (scripted, ours)):
            module.zero_grad()
            f(x)[0].sum().backward()
        assert (scripted.scale.grad is None) == (eager.scale.grad is None) == (n <= 2)
        torch.testing.assert_close([p.grad for p in scripted.parameters() if p.grad is not None], [p.grad for p in eager.parameters() if p.grad is not None])


@torch.jit.interface
class Layer(nn.Module):
    def forward(self, input: Tensor) -> Tensor:  # noqa: A002 - as nn.Linear calls it
        pass


class Chooses(nn.Module):
    chosen: Layer

    def __init__(self):
        super().__init__()
        self.chosen = nn.Linear(3, 3)
        self.named = nn.ModuleDict({"wide": nn.Linear(3, 3), "soft": nn.Softplus()})

    def forward(self, x, name: str):
        named: Layer = self.named[name]
        return named.forward(self.chosen.forward(x))


def test_modules_of_an_interface_and_by_their_keys_are_called():
    eager = Chooses()
    scripted = torch.jit.script(copy.deepcopy(eager))
    ours = from_torchscript(scripted)
    for name in ("wide", "wide", "soft", "soft", "wide"):
        x = torch.randn(2, 3)
        for module, f in ((eager, eager), (scripted, ours)):
            module.zero_grad()
            f(x, name).sum().backward()
        torch.testing.assert_close(ours(x, name), eager(x, name))
        grads = [[p.grad for p in module.parameters()] for module in (eager, scripted)]
        assert [g is None for g in grads[0]] == [g is None for g in grads[1]]
        torch.testing.assert_close([g for g in grads[1] if g is not None], [g for g in grads[0] if g is not None])
    with torch.no_grad():
        eager.chosen = nn.Tanh()
        scripted.chosen = torch.jit.script(nn.Tanh())
        torch.testing.assert_close(ours(x, "soft"), eager(x, "soft"))
    with pytest.raises(UnsupportedProgram, match="there is no module 'flat'"):
        from_torchscript(scripted, foreign="error")(x, "flat")


@torch.jit.script
class Shift:
    def __init__(self, by: int):
        self.by = by


class Holds(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = Shift(2)

    def forward(self, x):
        return x + self.shift.by


def test_an_attribute_that_is_an_object_of_a_class_is_left_to_pytorch_or_refused_by_name():
    scripted = torch.jit.script(Holds())
    ours = from_torchscript(scripted)
    for _ in range(3):
        assert ours(torch.ones(2)).tolist() == [3, 3]
    with pytest.raises(UnsupportedProgram, match="'shift' of the module is an object"):
        from_torchscript(scripted, foreign="error")(torch.ones(2))
