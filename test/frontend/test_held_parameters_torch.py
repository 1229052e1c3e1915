"""Parameters in every kind of container that a TorchScript module may hold them in: they get gradients, and are read at every call."""

import linecache
import random
from typing import Optional

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.runtime.base.errors import NotDifferentiable  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch

KINDS = {  # the type, what makes a value of a function for tensors, what the program computes of it
    "one": ("torch.Tensor", lambda t: t(), "self.{0}"),
    "some": ("Optional[torch.Tensor]", lambda t: t(), "torch.jit._unwrap_optional(self.{0})"),
    "listed": ("List[torch.Tensor]", lambda t: [t(), t(), t()], "self.{0}[0] * self.{0}[-1]"),
    "looped": ("List[torch.Tensor]", lambda t: [t(), t()], "torch.stack(self.{0}).sum(0)"),
    "pair": ("Tuple[torch.Tensor, float]", lambda t: (t(), 0.5), "self.{0}[0] * self.{0}[1]"),
    "named": ("Dict[str, torch.Tensor]", lambda t: {"a.b": t(), "a_b": t()}, 'self.{0}["a_b"]'),
    "numbered": ("Dict[int, torch.Tensor]", lambda t: {3: t(), 1: t()}, "self.{0}[1] + self.{0}[3]"),
    "nested": ("Dict[str, List[torch.Tensor]]", lambda t: {"a": [t()], "b": [t(), t()]}, 'self.{0}["b"][1] - self.{0}["a"][0]'),
    "in turn": ("List[Tuple[torch.Tensor, torch.Tensor]]", lambda t: [(t(), t())], "self.{0}[0][1]"),
    "perhaps": ("Optional[List[torch.Tensor]]", lambda t: [t(), t()], "torch.jit._unwrap_optional(self.{0})[1]"),
}


def tensors_in(value):
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [t for item in items for t in tensors_in(item)]


def module_of(seed):
    """A module of random attributes, and a function that replaces them all."""
    draw = random.Random(seed)
    kinds = {f"h{i}": draw.choice(list(KINDS)) for i in range(3)}
    name = f"<held parameters {seed}>"
    steps = [f"        y = torch.tanh(y + {KINDS[kind][2].format(h)}) * {i + 1}" for i, (h, kind) in enumerate(kinds.items())]
    text = "\n".join(["class Program:", "    def forward(self, x):", "        y = self.inner(x)", *steps, "        return y", ""])
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"torch": torch}
    exec(compile(text, name, "exec"), space)  # noqa: S102 - a text of ours
    types = vars(__import__("typing")) | {"torch": torch}
    annotations = {h: eval(KINDS[kind][0], types) for h, kind in kinds.items()}  # noqa: S307 - a text of ours
    module = type("Program", (nn.Module,), {"forward": space["Program"].forward, "__annotations__": annotations})()
    module.inner = nn.Linear(3, 3)

    def hold(of, generator):
        shared = torch.randn(3, generator=generator, requires_grad=True)  # one tensor in several places

        def tensor():
            if draw.random() < 0.2:
                return shared
            return torch.randn(3, generator=generator, requires_grad=draw.random() < 0.8)

        for h, kind in kinds.items():
            setattr(of, h, KINDS[kind][1](tensor))

    hold(module, torch.Generator().manual_seed(seed))
    return torch.jit.script(module), kinds, hold


def gradients(f, x, module, kinds):
    held = [t for h in kinds for t in tensors_in(getattr(module, h))]
    wanted = [t for t in (*held, *module.parameters()) if t.requires_grad]
    y = f(x)
    return y.detach(), torch.autograd.grad(y.square().sum(), wanted, allow_unused=True)


@pytest.mark.parametrize("seed", range(8))
def test_tensors_in_containers_get_gradients_and_are_seen_when_they_are_replaced(seed):
    module, kinds, hold = module_of(seed)
    ours, strict = from_torchscript(module), from_torchscript(module, gradients="error")
    for call in range(4):
        if call >= 2:
            hold(module, torch.Generator().manual_seed(100 + call))
        if call == 3:
            module.inner = torch.jit.script(nn.Linear(3, 3))
        x = torch.randn(2, 3, generator=torch.Generator().manual_seed(call))
        wanted = gradients(module, x, module, kinds)
        torch.testing.assert_close(gradients(ours, x, module, kinds), wanted)
        try:
            found = gradients(strict, x, module, kinds)
        except NotDifferentiable:
            continue
        torch.testing.assert_close(found, wanted)


def test_every_kind_of_container_is_drawn():
    assert {kind for seed in range(8) for kind in module_of(seed)[1].values()} == set(KINDS)


def test_replaced_weights_in_a_list_are_seen_by_native_code():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = [torch.full((3,), 2.0), torch.full((3,), 3.0)]

        def forward(self, x):
            return x * self.weights[0] + self.weights[1]

    module = torch.jit.script(Program())
    ours, x = from_torchscript(module), torch.ones(3)
    assert [ours(x).tolist() for _ in range(3)] == [[5.0] * 3] * 3 and ours.stats().hits == 2
    module.weights = [torch.full((3,), 4.0), module.weights[1]]
    assert ours(x).tolist() == [7.0] * 3 and ours.stats().hits == 3
    module.weights = [torch.ones(3), torch.ones(3), torch.ones(3)]  # another graph
    assert ours(x).tolist() == [2.0] * 3


def test_whether_a_tensor_in_a_container_requires_a_gradient_is_answered():
    class Program(nn.Module):
        maybe: Optional[torch.Tensor]  # noqa: UP045 - what torch.jit.script reads

        def __init__(self):
            super().__init__()
            self.listed = [torch.ones(2, requires_grad=True), torch.ones(2)]
            self.pair = (torch.ones(2), torch.ones(2, requires_grad=True))
            self.maybe = torch.ones(2, requires_grad=True)

        def forward(self, x):
            maybe = torch.jit._unwrap_optional(self.maybe)
            first, second = self.pair
            asked = (self.listed[0].requires_grad, self.listed[1].requires_grad, first.requires_grad, second.requires_grad)
            return asked, maybe.requires_grad, self.pair[0].requires_grad, x + 1

    module = torch.jit.script(Program())
    ours = from_torchscript(module)
    for _ in range(2):
        assert ours(torch.ones(2))[:3] == module(torch.ones(2))[:3] == ((True, False, False, True), True, False)
    module.listed = [torch.ones(2), torch.ones(2, requires_grad=True)]
    assert ours(torch.ones(2))[0] == module(torch.ones(2))[0] == (False, True, False, True)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_recurrent_network_is_trained_as_by_eager(kind):
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.recurrent, self.out = kind(4, 5, num_layers=2), nn.Linear(5, 1)

        def forward(self, x):
            return self.out(self.recurrent(x)[0])

    finals = []
    for by_us in (False, True):
        torch.manual_seed(0)
        module = torch.jit.script(Program())
        f = from_torchscript(module) if by_us else module
        optimiser = torch.optim.AdamW(module.parameters(), lr=0.05, weight_decay=0.1)
        for _ in range(4):
            optimiser.zero_grad()
            f(torch.ones(3, 2, 4)).square().sum().backward()
            optimiser.step()
        finals.append([p.detach() for p in module.parameters()])
    torch.testing.assert_close(*finals)


def test_a_method_with_several_signatures_takes_the_one_that_fits():
    module = nn.LSTM(4, 5)
    ours, x = from_torchscript(torch.jit.script(module)), torch.randn(3, 2, 4)
    hidden = (torch.randn(1, 2, 5), torch.randn(1, 2, 5))
    packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([3, 2]))
    for _ in range(2):
        torch.testing.assert_close(ours(x), module(x))
        torch.testing.assert_close(ours(x, hx=hidden), module(x, hidden))
        found, wanted = ours(packed), module(packed)
        torch.testing.assert_close((found[0].data, found[0].batch_sizes, found[1]), (wanted[0].data, wanted[0].batch_sizes, wanted[1]))
    with pytest.raises(TypeError, match="no signature takes these arguments; there are forward__0"):
        ours(3.0)
    gradients = []
    for f in (ours, module):
        module.zero_grad()
        f(x, hidden)[0].sum().backward()
        gradients.append([p.grad for p in module.parameters()])
    torch.testing.assert_close(*gradients)
