"""Programs of torch.export that write, detach and stop gradients: PyTorch's functional form of them says nothing of it."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import nn  # noqa: E402
from torch.export import export  # noqa: E402

import tierup  # noqa: E402
from tierup.torch import from_export  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")]


class Program(nn.Module):
    """Computes what a function of it and its arguments says, from two parameters and a buffer."""

    def __init__(self, body):
        super().__init__()
        self.body = body
        self.w = nn.Parameter(torch.tensor([1.0, 2.0, 3.0]))
        self.register_buffer("kept", torch.ones(3))

    def forward(self, x):
        return self.body(self, x)


def through_detached(m, x):
    y = x * m.w
    y.detach().mul_(3)
    return y * x


def through_a_view_of_detached(m, x):
    y = x * m.w
    y.detach()[1:].copy_(x[1:])
    return y * m.w


def written_in_no_grad(m, x):
    y = x * m.w
    with torch.no_grad():
        y.mul_(2)
    return y * x


def detached_in_place(m, x):
    y = x * m.w
    y.detach_()
    return y * m.w


def handed_on_in_no_grad(m, x):
    y = x * m.w
    with torch.no_grad():
        z = y.type_as(x)
    return z * x


def gradients_in_no_grad(m, x):
    with torch.no_grad():
        with torch.enable_grad():
            y = x * m.w
        z = y * 2
    return y * z


def parameter_written(m, x):
    with torch.no_grad():
        m.w.mul_(1.5)
    return m.w * x


def computed_in_no_grad(m, x):
    y = x * m.w
    with torch.no_grad():
        scale = (y * 2).exp().sum()
    return y * scale


def averaged(m, x):
    with torch.no_grad():
        m.kept.mul_(0.9).add_(x.abs() * 0.1)
    return x * m.w / m.kept


def written_and_detached_before(m, x):
    y = x * m.w
    before = y.detach()
    y.mul_(2)
    return y * before


def gradients_and_values(body, count=3, **options):
    """Of ours and of eager for the same calls, and ours: results, gradients of the argument and the parameter, the state."""
    eager = Program(body)
    program = export(copy.deepcopy(eager), (torch.ones(3),))
    ours, found = from_export(program, **options), []
    for _ in range(count):
        for model, state in ((ours, program.state_dict), (eager, eager.state_dict(keep_vars=True))):
            x = torch.tensor([0.5, 1.5, 2.5], requires_grad=True)
            state["w"].grad = None
            result = model(x)
            result.sum().backward()
            found.append((result.detach(), x.grad, state["w"].grad, state["w"].detach().clone(), state["kept"].clone()))
    return found[::2], found[1::2], ours


@pytest.mark.parametrize("body", [computed_in_no_grad, gradients_in_no_grad, averaged, written_and_detached_before])
def test_where_gradients_stop_is_seen(body):
    found, wanted, ours = gradients_and_values(body)
    torch.testing.assert_close(found, wanted)
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain()


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (through_detached, "aten.mul_.Tensor writes where a gradient stops"),
        (through_a_view_of_detached, "aten.copy_.default writes where a gradient stops"),
        (written_in_no_grad, "aten.mul_.Tensor writes where a gradient stops"),
        (detached_in_place, "aten.detach_.default detaches in place"),
        (handed_on_in_no_grad, "aten.type_as.default may give its operand in a no_grad block"),
        (parameter_written, "aten.mul_.Tensor writes where a gradient stops"),
    ],
)
def test_gradients_that_writes_would_lose_are_pytorchs(body, why):
    found, wanted, ours = gradients_and_values(body, 2)
    torch.testing.assert_close(found, wanted)
    assert "0 calls by tierup's forward and backward programs, 2 by" in ours.explain() and why in ours.explain()
    with pytest.raises(tierup.NotDifferentiable, match=r"test_export_memory_torch\.py:\d+"):
        gradients_and_values(body, gradients="error")


def test_such_programs_are_native_where_no_gradient_is_wanted():
    program = export(Program(through_detached), (torch.ones(3),))
    ours = from_export(program)
    for _ in range(3):
        with torch.no_grad():
            assert ours(torch.ones(3)).tolist() == [3, 6, 9]
    assert ours.stats().hits == 2


def test_results_that_are_written_arguments_are_these():
    class Writes(nn.Module):
        def forward(self, x, y):
            y.add_(x)
            return y, y[1:], y.view(3, 1).detach(), y * 1

    ours = from_export(export(Writes(), (torch.ones(3), torch.ones(3))))
    for wanted in (False, False, False, True, True, True):
        x, y = torch.ones(3, requires_grad=wanted), torch.ones(3)
        same, part, column, apart = ours(x, y)
        assert same is y and apart is not y and [t.requires_grad for t in (same, part, column)] == [wanted, wanted, False]
        if wanted:
            (same.sum() + part.sum()).backward()
            assert x.grad.tolist() == [1, 2, 2]
        with torch.no_grad():
            y.fill_(7)
        assert part.tolist() == [7, 7] and column.tolist() == [[7]] * 3 and apart.tolist() == [2] * 3
    assert ours.stats().hits >= 4


def test_a_copy_of_what_is_written_is_no_view_of_it():
    class Writes(nn.Module):
        def forward(self, x, y):
            z = x + 1
            y.copy_(z)
            return z

    ours = from_export(export(Writes(), (torch.ones(3), torch.ones(3))))
    for _ in range(3):
        y = torch.ones(3)
        z = ours(torch.ones(3), y)
        y.fill_(7)
        assert z.tolist() == [2, 2, 2]
    assert ours.stats().hits == 2


def test_statistics_that_training_writes_have_no_gradient():
    eager = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    program = export(copy.deepcopy(eager), (torch.randn(5, 3),))
    ours, state = from_export(program), program.state_dict
    for _ in range(3):
        x = torch.randn(5, 3)
        for model in (ours, eager):
            model(x).pow(3).sum().backward()
        assert not state["1.running_mean"].requires_grad
        torch.testing.assert_close(dict(state), eager.state_dict())
        torch.testing.assert_close(state["0.weight"].grad, eager[0].weight.grad, rtol=1e-4, atol=1e-4)
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain()


def both(apart):
    """Two tensors of 4 elements, apart or not, and the memory that they lie in."""
    memory = torch.arange(12.0)
    return {"apart": (memory[:4], memory[4:8]), "same": (memory[:4], memory[:4]), "shifted": (memory[:4], memory[2:6])}[apart], memory


@pytest.mark.parametrize("gradients", ["torch", "error"])
@pytest.mark.parametrize("apart", ["apart", "same", "shifted"])
def test_a_write_is_seen_by_what_shares_its_memory(apart, gradients):
    class Writes(nn.Module):
        def forward(self, x, y):
            x.add_(1)
            z = y * 2
            y.mul_(z)
            return x + z

    program = export(Writes(), (torch.ones(4), torch.ones(4)))
    ours = from_export(program, gradients=gradients)
    for _ in range(3):
        (given, memory), (again, wanted) = both(apart), both(apart)
        torch.testing.assert_close(ours(*given), program.module()(*again))
        assert torch.equal(memory, wanted)
    assert (ours.stats().hits == 2) == (apart == "apart")


def test_a_write_to_a_tensor_that_shows_an_element_more_than_once_is_made():
    class Writes(nn.Module):
        def forward(self, x):
            x[0] = x[0] + 1
            return x * 2

    program = export(Writes(), (torch.ones(3, 4),))
    ours = from_export(program)
    for _ in range(3):
        x, y = (torch.arange(4.0).expand(3, 4) for _ in range(2))
        assert torch.equal(ours(x), program.module()(y)) and torch.equal(x, y)


def test_blocks_without_gradients_in_one_another_and_in_arms():
    def arm(x, w):
        with torch.no_grad():
            y = x * w
            with torch.enable_grad():
                z = x.sin()
        return y * w + z

    class Program(nn.Module):
        def forward(self, x, w):
            return torch.cond(x.sum() < 100, arm, torch.sub, (x, w)) + arm(x, w * 2)

    x, w = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    ours = from_export(export(Program(), (x, w)))
    for _ in range(3):
        torch.testing.assert_close(*(torch.autograd.grad(p(x, w).sum(), (x, w)) for p in (ours, Program())))


def handed_on_and_written(x):
    y = x * 2
    F.dropout(y, training=False).add_(1)
    return y


DROPOUTS = {
    "not in training": lambda x: (F.dropout(x, training=False), x), "of nothing": lambda x: F.dropout(x, 0.0), "of all": lambda x: F.dropout(x, 1.0) + 1,
    "of some": lambda x: F.dropout(x, 0.3), "written": lambda x: F.dropout(x * 2, training=False).add_(1), "handed on and written": handed_on_and_written,
}  # fmt: skip


@pytest.mark.parametrize("kind", DROPOUTS)
def test_dropout_hands_on_copies_and_draws_as_eagers_does(kind):
    x = torch.arange(6.0).reshape(2, 3) + 1
    exported = from_export(export(Program(lambda m, x: DROPOUTS[kind](x)), (x,)))
    for function in (exported, torch.compile(DROPOUTS[kind], backend="tierup", fullgraph=True)):
        for _ in range(3):
            torch.manual_seed(7)
            want, drawn = DROPOUTS[kind](x), torch.rand(2)
            torch.manual_seed(7)
            got = function(x)
            assert torch.equal(torch.rand(2), drawn)
            for ours, theirs in zip(torch.utils._pytree.tree_leaves(got), torch.utils._pytree.tree_leaves(want), strict=True):
                assert torch.equal(ours, theirs) and (ours is x) == (theirs is x)


@pytest.mark.parametrize("example", [lambda: torch.ones(2, 3), lambda: torch.ones(3, 2).t()], ids=["contiguous", "turned"])
@pytest.mark.parametrize("flat", ["reshape", "flatten"])
def test_a_write_through_what_strides_make_a_view_or_a_copy_is_eagers(flat, example):
    class Writes(nn.Module):
        def forward(self, x):
            rows = x.reshape(-1) if flat == "reshape" else x.flatten()
            rows[0] *= 5
            return rows * 2

    ours = from_export(export(Writes(), (example(),)))
    makers = [lambda: torch.arange(6.0).reshape(2, 3) + 1, lambda: (torch.arange(6.0) + 1).reshape(3, 2).t()]
    makers.append(lambda: (torch.arange(12.0) + 1).reshape(4, 3)[::2])
    for make in makers * 3:
        theirs, mine = make(), make()
        assert torch.equal(Writes()(theirs), ours(mine)) and torch.equal(theirs, mine)
    assert ours.stats().hits >= 2
    assert "PyTorch ran it" in ours.explain()
