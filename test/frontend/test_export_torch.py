"""Programs of torch.export: what eager gives, what they write, and which of tierup's tiers ran."""

from __future__ import annotations

import copy

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing
from torch._higher_order_ops import while_loop  # noqa: E402
from torch.export import Dim, export  # noqa: E402

import tierup  # noqa: E402
from tierup.torch import UnsupportedProgram, from_export, from_torchscript  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")]


class Counting(nn.Module):
    """Counts its calls in a buffer, keeps running statistics, takes and gives dicts."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x, more):
        self.calls.add_(1)
        return {"y": self.norm(x * 2) + more["a"], "calls": self.calls * 2}


def exported_counting(**options):
    model = Counting()
    batch = Dim("batch", min=2, max=100)
    program = export(model, (torch.randn(3, 4), {"a": torch.ones(4)}), dynamic_shapes=({0: batch}, {"a": None}))
    return copy.deepcopy(model), program, from_export(program, **options)


def call_of(program, *args):
    with torch.no_grad():
        return program(*args)


def test_a_dynamic_batch_is_one_graph_with_a_version_for_all_sizes():
    eager, _, ours = exported_counting()
    for n in (3, 3, 3, 5, 5, 6, 7, 9):
        x, more = torch.randn(n, 4), {"a": torch.randn(4)}
        torch.testing.assert_close(call_of(ours, x, more), call_of(eager, x, more))
    assert [v.speculation.kind for v in ours.versions] == ["static", "static", "dynamic"]
    assert (ours.stats().calls, ours.stats().compiles) == (8, 3)


def test_buffers_are_written_in_the_exported_program():
    eager, program, ours = exported_counting()
    for _ in range(3):
        x, more = torch.randn(3, 4), {"a": torch.randn(4)}
        call_of(ours, x, more), call_of(eager, x, more)
    torch.testing.assert_close(dict(program.state_dict), dict(eager.state_dict()))
    assert program.state_dict["calls"] == 3 and ours.stats().hits == 2


def test_arguments_that_are_written_are_the_callers():
    class Adds(nn.Module):
        def forward(self, x, n):
            x.add_(n)
            return x.sum() * 2

    ours = from_export(export(Adds(), (torch.ones(3), torch.ones(3))))
    x = torch.zeros(3)
    for i in range(1, 4):
        assert ours(x, torch.ones(3)) == 6 * i and x.tolist() == [i] * 3
    assert ours.stats().hits == 2


def test_parameters_are_read_at_every_call():
    model = nn.Linear(3, 2)
    ours, x = from_export(export(model, (torch.ones(2, 3),))), torch.randn(2, 3)
    for _ in range(3):
        torch.testing.assert_close(call_of(ours, x), call_of(model, x))
        with torch.no_grad():
            model.weight.mul_(2)
    assert ours.stats().hits == 2


@pytest.fixture(scope="module")
def counting():
    return exported_counting()[2]


@pytest.mark.parametrize(
    "change, error, message",
    [
        (lambda x, m: (x[:, :3], m), ValueError, r"argument x is of the sizes \(3, 3\), the program was exported for \(\?, 4\)"),
        (lambda x, m: (x[0], m), ValueError, r"argument x is of the sizes \(4,\)"),
        (lambda x, m: (x[:1], m), ValueError, "argument x: dim 0 is 1: .* the program was exported for 2 to 100"),
        (lambda x, m: (x.double(), m), TypeError, "argument x is of torch.float64, the program was exported for torch.float32"),
        (lambda x, m: (x, [m["a"]]), TypeError, "nested otherwise"),
        (lambda x, m: (x,), TypeError, "nested otherwise"),
        (lambda x, m: (x, {"a": 1.0}), TypeError, "argument more_a: a tensor is wanted, not float"),
    ],
)
def test_arguments_that_it_was_not_exported_for_are_refused_by_name(counting, change, error, message):
    with pytest.raises(error, match=message):
        counting(*change(torch.randn(3, 4), {"a": torch.ones(4)}))


def test_constants_and_sizes_that_hang_together_are_checked():
    class Program(nn.Module):
        def forward(self, x, y, k=2):
            return (x[::2] + y) * k

    dim = Dim("d", min=2, max=8)
    ours = from_export(export(Program(), (torch.ones(4), torch.ones(2), 3), dynamic_shapes=({0: 2 * dim}, {0: dim}, None)))
    for n in (2, 2, 3, 4):
        x, y = torch.randn(2 * n), torch.randn(n)
        torch.testing.assert_close(ours(x, y, 3), (x[::2] + y) * 3)
    with pytest.raises(ValueError, match="argument k is 2, the program was exported for 3"):
        ours(torch.ones(4), torch.ones(2), 2)
    with pytest.raises(ValueError, match="argument x: dim 0 is 5, which is not 2 "):
        ours(torch.ones(5), torch.ones(2), 3)
    with pytest.raises(ValueError, match="d is 2 here and 3 elsewhere|is 3 here and 2 elsewhere|is 2 here and 3 elsewhere"):
        ours(torch.ones(4), torch.ones(3), 3)


def test_parameters_whose_names_differ_in_a_dot_are_two():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = nn.Module()
            self.a.register_buffer("b", torch.tensor(2.0))
            self.register_buffer("a_b", torch.tensor(3.0))

        def forward(self, x):
            return x * self.a.b - self.a_b

    ours, x = from_export(export(Program(), (torch.ones(2),))), torch.full((2,), 5.0)
    assert [ours(x).tolist() for _ in range(3)] == [[7, 7]] * 3
    assert from_torchscript(torch.jit.script(Program()))(x).tolist() == [7, 7]


def test_keyword_arguments_come_in_any_order():
    class Program(nn.Module):
        def forward(self, x, *, a, b):
            return x * a - b

    ours = from_export(export(Program(), (torch.ones(2),), {"a": torch.ones(2), "b": torch.ones(2)}))
    assert ours(torch.ones(2), b=torch.full((2,), 3.0), a=torch.full((2,), 5.0)).tolist() == [2, 2]


def test_a_branch_is_kept():
    class Program(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    ours = from_export(export(Program(), (torch.ones(3),)))
    for _ in range(3):
        assert ours(torch.ones(3)).tolist() == [2, 2, 2] and ours(-torch.ones(3)).tolist() == [-2, -2, -2]
    assert (ours.stats().hits, ours.stats().compiles) == (5, 1)


def test_an_untaken_arm_has_gradients_of_zeros_as_in_eager_mode():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.w, self.v = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))

        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * self.w, lambda x: x * self.v, (x,))

    eager = Program()
    program = export(copy.deepcopy(eager), (torch.ones(3),))
    ours = from_export(program)
    for x in (torch.ones(3), torch.ones(3), -torch.ones(3), torch.ones(3)):
        found = torch.autograd.grad(ours(x).sum(), [program.state_dict[k] for k in "wv"], allow_unused=True)
        torch.testing.assert_close(found, torch.autograd.grad(eager(x).sum(), [eager.w, eager.v]))
    assert "under autograd: 4 calls by tierup's forward and backward programs, 0 by" in ours.explain()


def test_a_branch_on_sizes_without_an_upper_bound():
    class Program(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    ours = from_export(export(Program(), (torch.ones(3),), dynamic_shapes=({0: Dim("n", min=2)},)))
    for n in (3, 3, 100, 5):
        assert ours(torch.ones(n)).tolist() == [2] * n


def test_a_number_in_a_tensor_is_a_size_that_the_program_checks():
    class Program(nn.Module):
        def forward(self, x):
            n = x.max().item()
            torch._check(n >= 0)
            torch._check(n < 100)
            return torch.zeros(n) + x.sum()

    ours = from_export(export(Program(), (torch.tensor([1, 2, 3]),), dynamic_shapes=({0: Dim.DYNAMIC},)))
    for values in ([1, 2, 3], [1, 2, 3], [4, 4], [0, 5, 1, 1]):
        torch.testing.assert_close(ours(torch.tensor(values)), Program()(torch.tensor(values)))
    with pytest.raises(RuntimeError, match="u0 <= 99"):
        ours(torch.tensor([100, 1]))


def test_a_loop_is_kept():
    class Program(nn.Module):
        def forward(self, n, x):
            return while_loop(lambda i, x: i < 20, lambda i, x: (i + x.sum().to(torch.int64), x * 2), (n, x))

    ours = from_export(export(Program(), (torch.tensor(0), torch.ones(3))))
    for start in (0, 0, 7, 15, 30):
        given = torch.tensor(start), torch.ones(3)
        torch.testing.assert_close(ours(*given), Program()(*given))
    assert (ours.stats().hits, ours.stats().misses) == (3, 1)  # without a round the results are the arguments: tier 0 gives these


def test_sizes_that_data_decide_and_what_the_program_checks():
    class Program(nn.Module):
        def forward(self, x):
            found = x.nonzero()
            torch._check(found.shape[0] > 1)
            return found * 2, x.sum().item()

    ours = from_export(export(Program(), (torch.ones(3),)))
    for x in (torch.ones(3), torch.tensor([1.0, 0, 2]), torch.ones(3)):
        torch.testing.assert_close(ours(x), Program()(x))
    with pytest.raises(RuntimeError, match=r"(?s)Runtime assertion failed.*test_export_torch\.py"):
        ours(torch.zeros(3))


def test_gradients_are_tierups():
    eager, program, ours = exported_counting()
    for _ in range(3):
        x, more = torch.randn(3, 4), {"a": torch.randn(4)}
        for model in (ours, eager):
            model(x, more)["y"].pow(2).sum().backward()
        torch.testing.assert_close(program.state_dict["norm.weight"].grad, eager.norm.weight.grad)
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain()


@pytest.mark.parametrize("same", [torch.ops.aten.alias.default, torch.Tensor.detach, lambda x: x[:, [0, 1, 2]], lambda x: x.view(2, 3)])
def test_gradients_go_through_what_hands_a_tensor_on_and_not_through_detach(same):
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(3))

        def forward(self, x):
            return same(x * self.w) * self.w

    eager = Program()
    ours, found = from_export(export(eager, (torch.rand(2, 3),))), []
    for model in (ours, eager):
        x = torch.ones(2, 3, requires_grad=True)
        found.append(torch.autograd.grad(model(x).sum(), [x, eager.w], allow_unused=True))
    assert (found[0][0] is None) == (found[1][0] is None)
    torch.testing.assert_close(*[[g for g in each if g is not None] for each in found])


def test_gradients_that_tierup_cannot_make_are_pytorchs():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4))
            self.register_buffer("calls", torch.zeros(()))

        def forward(self, x):
            self.calls.add_(1)
            return (x * self.w).sum() + torch._standard_gamma(self.w * self.w + 1).sum()

    model = Program()
    eager, program = copy.deepcopy(model), export(model, (torch.randn(3, 4),))
    ours = from_export(program)
    for seed in range(2):
        x = torch.randn(3, 4)
        for f in (ours, eager):
            torch.manual_seed(seed)
            f(x).backward()
    torch.testing.assert_close(model.w.grad, eager.w.grad)
    assert program.state_dict["calls"] == 2
    assert "0 calls by tierup's forward and backward programs, 2 by the original program in PyTorch" in ours.explain()
    with pytest.raises(tierup.NotDifferentiable, match="_standard_gamma"):
        from_export(program, gradients="error")(torch.randn(3, 4))


def test_an_op_without_a_kernel_goes_through_pytorch_or_is_refused_with_its_line():
    class Program(nn.Module):
        def forward(self, x):
            return torch.histc(x, 4) + 1

    program, x = export(Program(), (torch.eye(3),)), torch.eye(3) * 2
    ours = from_export(program)
    torch.testing.assert_close(ours(x), Program()(x))
    with pytest.raises(RuntimeError, match="not finite"):
        ours(torch.full((3, 3), torch.inf))
    with pytest.raises(UnsupportedProgram, match=r"test_export_torch\.py:\d+: no kernel for aten\.histc"):
        from_export(program, foreign="error")


def test_what_is_no_exported_program_is_refused():
    with pytest.raises(TypeError, match="export it first"):
        from_export(nn.Linear(2, 2))
    with pytest.raises(TypeError, match="script it first"):
        from_torchscript(nn.Linear(2, 2))
    with pytest.raises(ValueError, match="foreign is 'no'"):
        from_export(export(nn.Linear(2, 2), (torch.ones(1, 2),)), foreign="no")
    with pytest.raises(TypeError, match="max_version"):
        from_export(export(nn.Linear(2, 2), (torch.ones(1, 2),)), max_version=3)


def test_dropout_in_training_draws_as_eager_and_has_gradients():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.rand(4))

        def forward(self, x):
            x = nn.functional.dropout(x * self.w, 0.4)
            return nn.functional.scaled_dot_product_attention(x, x, x, dropout_p=0.3) + nn.functional.dropout(x, 1.0)

    eager = Program()
    program = export(copy.deepcopy(eager), (torch.ones(1, 3, 4),))
    ours = from_export(program)
    for seed in range(3):
        x, found = torch.randn(1, 3, 4), []
        for f, w in ((ours, program.state_dict["w"]), (eager, eager.w)):
            torch.manual_seed(seed)
            result = f(x)
            found.append((result, *torch.autograd.grad(result.pow(2).sum(), w)))
        torch.testing.assert_close(*found)
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain()


class Parts(nn.Module):
    """Results that do not fill their memory."""

    def forward(self, x):
        y = x * 2
        z = torch.sin(x)
        windows = (x + 1)[:, 1:].unfold(1, 2, 1)
        return y[:, 1:], z[::2, 0], torch.diagonal(x + 3)[1:], x.sum(1, keepdim=True).expand(-1, 4), x[:, 2:], windows, x + 4


def test_parts_of_what_is_computed_lie_as_eagers_in_every_call():
    ours = from_export(export(Parts(), (torch.randn(5, 6),), dynamic_shapes=({0: Dim("n", min=3)},)))
    for n in (5, 5, 4, 7):
        x = torch.randn(n, 6)
        found = [f(x) for f in (ours, Parts())]
        torch.testing.assert_close(*found)
        assert [r.stride() for r in found[0]] == [r.stride() for r in found[1]]
    assert ours.stats().hits >= 2


def test_the_gradient_of_a_part_is_eagers():
    ours = from_export(export(Parts(), (torch.randn(5, 6),)))
    for _ in range(2):
        x = torch.randn(5, 6, requires_grad=True)
        found = [torch.autograd.grad(sum(r.square().sum() for r in f(x)), x) for f in (ours, Parts())]
        torch.testing.assert_close(*found)
    assert "2 calls by tierup's forward and backward programs" in ours.explain()


RECURRENT = {
    "LSTM": lambda: nn.LSTM(3, 2, 2, dropout=0.5, proj_size=1),
    "GRU": lambda: nn.GRU(3, 2, 3, dropout=0.5, bidirectional=True, batch_first=True, bias=False),
    "RNN": lambda: nn.RNN(3, 2, 2, dropout=0.5, nonlinearity="relu"),
}


@pytest.mark.parametrize("kind", drawn("recurrent networks that drop", list(RECURRENT), 2, str))
def test_recurrent_networks_drop_between_their_layers_as_eager(kind):
    eager = RECURRENT[kind]()
    ours = from_export(export(copy.deepcopy(eager), (torch.ones(3, 2, 3),)))
    for seed in range(3):
        x, found = torch.randn(3, 2, 3), []
        for f in (ours, eager):
            torch.manual_seed(seed)
            found.append((call_of(f, x), torch.rand(1)))
        torch.testing.assert_close(*found)
    assert ours.stats().hits == 1  # native regions around what PyTorch draws


@pytest.mark.parametrize("mode", ["mean", "max"])
def test_an_op_for_inference_alone_has_gradients_where_a_call_wants_them(mode):
    class Bag(nn.Module):
        def forward(self, weight, indices, offsets):
            return nn.functional.embedding_bag(indices, weight, offsets, mode=mode)

    indices, offsets = torch.tensor([1, 2, 4, 5, 4]), torch.tensor([0, 3])
    ours = from_export(export(Bag(), (torch.randn(6, 3), indices, offsets)))  # nothing required a gradient: _embedding_bag_forward_only
    for _ in range(2):
        weight = torch.randn(6, 3, requires_grad=True)
        found = [torch.autograd.grad(f(weight, indices, offsets).square().sum(), weight) for f in (ours, Bag())]
        torch.testing.assert_close(*found)
