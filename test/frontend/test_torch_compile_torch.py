"""torch.compile with tierup's backend: what eager gives, which graphs are tierup's, and how many versions they have."""

from __future__ import annotations

import copy
import gc
import os
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import nn  # noqa: E402

import tierup  # noqa: E402
from tierup.torch import FallbackWarning, backend, compiled_graphs  # noqa: E402

pytestmark = pytest.mark.torch
ROOT = Path(__file__).resolve().parents[2]


_before: set[str] = set()


def graphs():
    """Those that this test made. PyTorch keeps what follows a graph break in the module's globals for good."""
    return [g for g in compiled_graphs() if g.name not in _before]


@pytest.fixture(autouse=True)
def fresh():
    """No code of other tests, and a fallback is an error unless the test expects it."""
    torch._dynamo.reset()
    _before.update(g.name for g in compiled_graphs())
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield
    torch._dynamo.reset()


def compiled(program, **arguments):
    return torch.compile(program, backend=backend, **arguments)


def agree(ours, eager, *args):
    with torch.no_grad():
        torch.testing.assert_close(ours(*args), eager(*args), rtol=1e-4, atol=1e-5)


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        return F.log_softmax(self.b(F.gelu(self.norm(self.a(x)))), -1)


def test_a_batch_that_varies_is_one_static_graph_and_one_with_a_symbol():
    model = Perceptron()
    ours = compiled(model, fullgraph=True)
    for n in (3, 3, 3, 5, 5, 5, 6, 7, 8):
        agree(ours, model, torch.randn(n, 8))
    static, dynamic = graphs()
    assert (static.kind, dynamic.kind) == ("inference", "inference")
    assert (static.stats().hits, static.stats().compiles) == (2, 1)
    assert [v.speculation.kind for v in dynamic.versions] == ["static", "dynamic"]
    assert (dynamic.stats().calls, dynamic.stats().compiles) == (6, 2)


def test_rows_at_indices_and_their_gradient_are_native_beside_what_is_not():
    """A bias looked up in a table, as in windowed attention, of which a part is dropped: only the draw is left to tier 0."""
    table, where = torch.randn(9, 4, requires_grad=True), torch.arange(12).reshape(3, 4) % 9

    def program(table, x):
        biased = table[where].sum(1) * x
        return biased * torch.rand(3, 1).floor().add(1) + table[where[0]].sum()

    ours = compiled(program)
    for _ in range(4):
        x, found = torch.randn(3, 4), []
        for each in (ours, program):
            torch.manual_seed(0)
            found.append(torch.autograd.grad(each(table, x).square().sum(), table)[0])
        torch.testing.assert_close(*found)
    forward, backward = graphs()
    assert set(re.findall(r"in tier 0: (aten\.\S+)", forward.explain())) == {"aten.rand"}, forward.explain()
    assert (forward.stats().hits, backward.stats().hits) == (2, 3), backward.explain()


def test_the_gradient_of_max_pooling_is_native_as_a_whole():
    def program(x):
        return torch.tanh(F.max_pool2d(x * 2, 3, 2, 1)) * 3

    fast = torch.compile(program, backend="tierup")
    for _ in range(4):
        x = torch.randn(2, 3, 8, 7, dtype=torch.float64, requires_grad=True)
        got, want = (torch.autograd.grad(f(x).square().sum(), x)[0] for f in (fast, program))
        torch.testing.assert_close(got, want)
    backward = compiled_graphs()[-1]
    assert backward.kind == "backward" and backward.stats().hits == 3
    assert [v.speculation.kind for v in backward.versions] == ["static"]


def test_attention_of_any_width_is_native():
    """`dynamic=True` makes a symbol of the width of the heads too, whose root scales: PyTorch writes `(1 / width ** 0.5) ** 0.5`."""
    ours = compiled(F.scaled_dot_product_attention, dynamic=True)
    for n in (6, 6, 6, 5, 5, 7, 7):
        agree(ours, F.scaled_dot_product_attention, *(torch.randn(2, 3, 4 * n, n + 4) for _ in range(3)))
    (graph,) = graphs()
    assert (graph.stats().misses, graph.versions[-1].speculation.kind) == (1, "dynamic"), graph.explain()
    assert "in tier 0: aten" not in graph.explain(), graph.explain()


def test_as_many_copies_as_a_batch_has_samples_are_one_dynamic_version():
    """As relative positions are repeated for each sample and head: what comes behind has its rank."""

    def program(x):
        ours = torch.arange(6.0).view(1, 2, 3).repeat(x.shape[0], 1, 1)
        return (x @ ours.transpose(1, 2)).relu() + ours.tile(2 * x.shape[0], 1)[:, :2].sum()

    ours = compiled(program, dynamic=True)
    for n in (4, 4, 6, 9, 5):
        agree(ours, program, torch.randn(n, 8, 3))
    (graph,) = graphs()
    assert (graph.stats().hits, graph.versions[-1].speculation.kind) == (3, "dynamic"), graph.explain()


def test_sizes_are_asked_of_tensors_and_not_handed_over():
    ours = compiled(lambda x: x.reshape(x.shape[0] * 2, -1) / x.shape[0], dynamic=True)
    for n in (2, 2, 3, 3, 4, 5):
        x = torch.randn(n, 4)
        torch.testing.assert_close(ours(x), x.reshape(n * 2, -1) / n)
    (graph,) = graphs()
    assert len(graph.__signature__.parameters) == 1
    assert [v.speculation.kind for v in graph.versions] == ["static", "static", "dynamic"]


def test_branches_on_data_break_the_graph_and_both_parts_are_tierups():
    def program(x):
        y = torch.tanh(x) * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    ours = compiled(program)
    for _ in range(3):
        for x in (torch.ones(3), -torch.ones(3)):
            agree(ours, program, x)
    assert [(g.kind, g.stats().hits) for g in graphs()] == [("inference", 5), ("inference", 2), ("inference", 2)]


def test_buffers_are_written():
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
    eager = copy.deepcopy(model)
    ours = compiled(model, fullgraph=True)
    for _ in range(4):
        agree(ours, eager, torch.randn(5, 4))
    torch.testing.assert_close(dict(model.state_dict()), dict(eager.state_dict()))
    assert model[1].num_batches_tracked == 4


def test_arguments_are_written_and_views_share_memory():
    @compiled
    def program(x):
        x.add_(1)
        return x[1:]

    for _ in range(3):
        x = torch.zeros(3)
        with torch.no_grad():
            view = program(x)
        assert x.tolist() == [1, 1, 1]
        view.fill_(5)
        assert x.tolist() == [1, 5, 5]


def train(model, ours, batches, loss, rate=0.05):
    """Steps of `ours`, which runs `model`, and of a copy in eager; the losses of both. Gradients are compared at each step."""
    eager = copy.deepcopy(model)
    optimizers = [torch.optim.SGD(m.parameters(), rate, momentum=0.9) for m in (model, eager)]
    values = []
    for i, batch in enumerate(batches):
        values.append([])
        for run, optimizer in zip((ours, eager), optimizers, strict=True):
            torch.manual_seed(i)
            optimizer.zero_grad()
            value = loss(run(batch), batch)
            value.backward()
            values[-1].append(value.item())
        for (name, a), b in zip(model.named_parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
        for optimizer in optimizers:
            optimizer.step()
    return values


def test_training_has_a_forward_and_a_backward_graph_and_the_losses_of_eager():
    model = Perceptron()
    x = torch.randn(16, 8)
    labels = (x.sum(1) > 0).long()
    values = train(model, compiled(model, fullgraph=True), [x] * 8, lambda y, _: F.nll_loss(y, labels))
    for ours, eager in values:
        assert ours == pytest.approx(eager, rel=1e-4)
    assert values[-1][0] < values[0][0] * 0.9
    assert [(g.kind, g.stats().hits, g.stats().versions) for g in graphs()] == [("forward", 7, 1), ("backward", 7, 1)]


def test_inputs_and_views_among_the_results_are_no_work_of_native_code():
    def program(x):
        y = torch.tanh(x) * 2
        return y, y.t(), x, x[1:], y.view(-1), x.shape[0], None

    ours = compiled(program, fullgraph=True)
    for _ in range(3):
        x = torch.randn(3, 4)
        found, wanted = ours(x), program(x)
        torch.testing.assert_close(found[:5], wanted[:5])
        assert found[5:] == wanted[5:] and found[2] is x and found[3].data_ptr() == x[1:].data_ptr()
        found[0][0, 1] = 7
        assert found[1][1, 0] == found[4][1] == 7
    assert [(g.stats().hits, g.stats().versions) for g in graphs()] == [(2, 1)]


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.split, self.join = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.split(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.join(y.transpose(1, 2).reshape(batch, length, width))


class Transformer(nn.Module):
    """Embeddings, pre-norm attention and a perceptron with GELU and dropout: a block as of GPT-2."""

    def __init__(self, width=16, words=20):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(32, width)
        self.norm1, self.norm2, self.attention = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, 4)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * width, width))
        self.head = nn.Linear(width, words)

    def forward(self, x):
        y = self.words(x) + self.places(torch.arange(x.shape[1]))
        y = y + self.attention(self.norm1(y))
        return self.head(y + self.mlp(self.norm2(y)))


class Convolutional(nn.Module):
    """Convolutions, batch norms, a residual, pooling and a group norm."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, bias=False)
        self.norm1, self.norm2, self.norm3, self.head = nn.BatchNorm2d(8), nn.BatchNorm2d(8), nn.GroupNorm(2, 8), nn.Linear(8, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.a(x))), 2)
        x = self.norm3(F.relu(x + self.norm2(self.b(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


def words(n):
    return torch.randint(0, 20, (n, 6))


def images(n):
    return torch.randn(n, 3, 8, 8)


@pytest.mark.parametrize("model, batch", [(Transformer, words), (Convolutional, images)])
def test_networks_in_eval_are_native_as_a_whole_without_a_break(model, batch):
    model = model().eval()
    ours = compiled(model, fullgraph=True)
    for n in (2, 2, 2, 3, 3, 4, 5):
        agree(ours, model, batch(n))
    static, dynamic = graphs()
    assert (static.stats().hits, static.stats().versions, dynamic.stats().hits, dynamic.stats().versions) == (2, 1, 2, 2)


@pytest.mark.parametrize("model, batch", [(Transformer, words), (Convolutional, images)])
def test_networks_in_training_have_eagers_gradients_dropout_and_statistics(model, batch):
    model = model()
    eager = copy.deepcopy(model)
    ours = compiled(model, fullgraph=True)
    for i, n in enumerate((2, 2, 2, 3, 3)):
        x = batch(n)
        for run in (ours, eager):
            torch.manual_seed(i)
            run(x).pow(2).mean().backward()
        for (name, a), b in zip(model.named_parameters(), eager.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5, msg=lambda m, n=name: f"{n}: {m}")
    torch.testing.assert_close(dict(model.named_buffers()), dict(eager.named_buffers()))
    assert [g.kind for g in graphs()] == ["forward", "backward"] * 2
    assert all(g.stats().hits > 0 for g in graphs()[:2])


def chunks(x):
    """As Longformer cuts a sequence into chunks that overlap."""
    y = x.view(x.shape[0], 2, 4, 3)
    sizes, strides = list(y.size()), list(y.stride())
    sizes[1], strides[1] = sizes[1] * 2 - 1, strides[1] // 2
    return (y.as_strided(sizes, strides) ** 2).tanh().sum(-1)


def windows(x):
    y = (x * 3)[:, :, 1].contiguous()
    return y.as_strided((y.shape[0], 5, 4), (y.stride(0), 1, 1)) * 2


def windows_of_a_transposed(x):
    y = (x * 3).transpose(1, 2)
    return y.as_strided((y.shape[0], 7, 6), (24, 3, 1)) * 2, x.as_strided((2, 3), (1, 2))


@pytest.mark.parametrize("program", [chunks, windows, windows_of_a_transposed])
def test_windows_that_overlap_are_native_and_have_gradients(program):
    ours = compiled(program, fullgraph=True)
    for n in (2, 2, 2, 3, 3, 4):
        found = []
        for run in (ours, program):
            torch.manual_seed(n)
            x = torch.randn(n, 8, 3, dtype=torch.float64, requires_grad=True)
            y = run(x * 1.0)
            y = y[0] if isinstance(y, tuple) else y
            found.append((y.detach(), *torch.autograd.grad(y.square().sum(), x)))
        torch.testing.assert_close(*found)
    assert graphs()[0].stats().hits >= 2 and graphs()[1].stats().hits >= 2 and all(g.refused is None for g in graphs())
    x = torch.randn(2, 8, 3)
    with torch.no_grad():
        torch.testing.assert_close(ours(x), program(x))


def draws_of_sizes(x, w):
    y = torch.tanh(F.dropout(x.t() @ w, 0.3) * 2)
    y = F.dropout((w.t() @ x).t(), 0.5) + torch.rand(()) * y  # drawn for a transposed operand: in the order of memory
    return F.dropout(y.sigmoid() * torch.randn(x.shape[1], w.shape[1]), 0.2)


def draws_of_elements(x, w):
    y = F.dropout(x.t() @ w, 0.3)
    return F.dropout(torch.bernoulli(torch.sigmoid(y)) * y, 0.2) + torch.rand(())


def test_what_is_drawn_for_elements_that_only_the_run_counts_is_eagers():
    def program(x):
        return F.dropout(x[x > 0], 0.5) * 2

    x = torch.randn(20)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        ours = compiled(program, fullgraph=True)
        for i in range(3):
            found = []
            for run in (ours, program):
                torch.manual_seed(i)
                found.append(run(x))
            torch.testing.assert_close(*found)


@pytest.mark.parametrize("program, regions", [(draws_of_sizes, 2), (draws_of_elements, 3)])
def test_draws_leave_what_is_computed_whole_and_come_in_eagers_order(program, regions):
    ours = compiled(program, fullgraph=True)
    for i, n in enumerate((4, 4, 4, 4, 5, 5, 6)):
        x, w = torch.randn(n, 3), torch.randn(n, 6)
        found = []
        for run in (ours, program):
            torch.manual_seed(i)
            a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
            y = run(a, b)
            found.append((y.detach(), *torch.autograd.grad(y.square().sum(), (a, b)), torch.rand(1)))
        torch.testing.assert_close(*found)
    text = graphs()[0].explain()
    assert f"split, {regions} native regions" in text, text


def test_an_op_without_a_kernel_goes_through_pytorch():
    def program(x):
        return torch.sigmoid(torch.cdist(torch.tanh(x) * 2, x)) + 1

    ours = compiled(program, fullgraph=True)
    for _ in range(4):
        x = torch.randn(4, 3)
        torch.testing.assert_close(ours(x), program(x))
    assert "in tier 0: aten._cdist_forward" in graphs()[0].explain() and graphs()[0].stats().hits == 2


@pytest.mark.parametrize("program", [torch.linalg.inv, lambda x: torch.linalg.solve(x, x.tanh()) + torch.linalg.cholesky(x @ x.mT)])
def test_checks_that_pytorch_keeps_in_order_by_tokens_are_made(program):
    ours = compiled(program)
    for needs in (False, True):
        x = (torch.eye(3) + torch.rand(3, 3) / 9).requires_grad_(needs)
        for _ in range(3):
            found = [(y, *(torch.autograd.grad(y.square().sum(), x) if needs else ())) for y in (ours(x), program(x))]
            torch.testing.assert_close(*found)
    assert all(g.stats().calls == 3 for g in graphs()), [g.kind for g in graphs()]
    with pytest.raises(torch.linalg.LinAlgError):
        ours(torch.zeros(3, 3))


@pytest.mark.parametrize(
    "program, options, said",
    [
        (lambda x: torch.cdist(x, x) + 1, {"foreign": "error"}, r"test_torch_compile_torch\.py:\d+: no kernel for aten\._cdist_forward"),
        (lambda x: torch.fft.fft(x).real, {}, r"test_torch_compile_torch\.py:\d+: aten\._fft\w+\.default: tensors of torch.complex64"),
        (lambda x: x.as_strided((2, 2), (1, 1), 3) * 2, {}, r"test_torch_compile_torch\.py:\d+: aten.as_strided asks how a tensor lies"),
    ],
)
def test_a_graph_that_is_not_taken_runs_in_pytorch_with_a_warning_of_op_and_line(program, options, said):
    ours, x = compiled(program, options=options, fullgraph=True), torch.randn(4, 3)
    with pytest.warns(FallbackWarning, match=said):
        torch.testing.assert_close(ours(x), program(x))
    torch.testing.assert_close(ours(x), program(x))  # said once
    (graph,) = graphs()
    assert graph.function is None and "test_torch_compile_torch.py" in graph.refused
    with pytest.raises(AttributeError, match="it runs in PyTorch"):
        graph.stats()


def test_a_failure_of_tierup_at_run_time_is_a_warning_and_pytorchs_result():
    ours, x = compiled(lambda x: torch.tanh(x) + 1), torch.randn(3)
    torch.testing.assert_close(ours(x), torch.tanh(x) + 1)
    (graph,) = graphs()

    def fails(*args):
        raise ValueError("a defect")

    graph.function = fails
    with pytest.warns(FallbackWarning, match="inference_.* runs in PyTorch: ValueError: a defect"):
        torch.testing.assert_close(ours(x), torch.tanh(x) + 1)
    torch.testing.assert_close(ours(x), torch.tanh(x) + 1)
    assert graph.refused == "ValueError: a defect"


def test_errors_of_the_program_are_pytorchs_and_the_graph_stays():
    ours = compiled(lambda w, i: F.embedding(i, w) * 2)
    w = torch.randn(4, 2)
    for _ in range(2):
        ours(w, torch.tensor([0, 3]))
    with pytest.raises(IndexError, match="index out of range in self"):
        ours(w, torch.tensor([0, 4]))
    ours(w, torch.tensor([0, 3]))
    assert graphs()[0].stats().hits >= 2


def test_what_must_be_native_is_an_error_where_it_is_not():
    ours = compiled(lambda x: torch.cdist(x, x), options={"strict": True, "num_profiled_runs": 0})
    with pytest.raises(tierup.NotOptimized, match=r"no native code as a whole.*test_torch_compile_torch\.py"):
        ours(torch.randn(4, 3))


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"options": {"max_version": 3}}, "max_version"),
        ({"options": {"max_versions": -1}}, "max_versions"),
        ({"options": {"foreign": "no"}}, "foreign is 'no'"),
        ({"mode": "reduce-overhead"}, "mode='reduce-overhead' is for the backend inductor"),
    ],
)
def test_what_is_no_option_is_refused_by_name(arguments, said):
    with pytest.raises(Exception, match=said) as caught:
        compiled(lambda x: x + 1, **arguments)(torch.ones(2))
    assert type(caught.value).__name__ == "BackendCompilerFailed"


def test_options_are_those_of_tierup():
    ours = compiled(lambda x: torch.tanh(x) * 2, options={"num_profiled_runs": 3})
    for _ in range(5):
        ours(torch.ones(3))
    assert (graphs()[0].stats().profiled_runs, graphs()[0].stats().hits) == (3, 2)


def test_the_branches_of_cond_are_one_native_graph():
    def program(x):
        return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x,))

    ours = compiled(program, fullgraph=True)
    for _ in range(3):
        agree(ours, program, torch.ones(3))
        agree(ours, program, -torch.ones(3))
    assert [(g.stats().hits, g.stats().compiles) for g in graphs()] == [(5, 1)]


def test_graphs_go_with_what_they_were_compiled_for():
    ours = compiled(lambda x: x + 1)
    ours(torch.ones(2))
    assert len(graphs()) == 1
    del ours
    torch._dynamo.reset()
    gc.collect()
    assert graphs() == []


def test_the_backend_has_a_name_where_tierup_is_installed(tmp_path):
    """As pip installs it: the entry points of pyproject.toml in a dist-info folder beside the package."""
    points = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
    info = tmp_path / "tierup-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tierup\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{g}]\n" + "".join(f"{k} = {v}\n" for k, v in e.items()) for g, e in points.items()))
    program = """
import torch, tierup
print("tierup" in torch._dynamo.list_backends())
f = torch.compile(lambda x: torch.tanh(x) + 1, backend="tierup")
for _ in range(3): f(torch.ones(3))
print(tierup.torch.compiled_graphs()[0].stats().hits)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=False)
    assert run.stdout.split() == ["True", "2"], run.stderr


def test_constants_of_a_graph_are_values_though_pytorch_traces_without_data():
    def program(x):
        return x * torch.tensor([1.0, 2.0]) + torch.tensor([]).sum()

    ours, x = compiled(program, fullgraph=True), torch.randn(3, 2)
    for _ in range(3):
        agree(ours, program, x)
    assert [g.stats().hits for g in graphs()] == [2]


def test_pooling_to_one_element_is_taken_though_pytorch_states_its_strides():
    """In channels-last memory PyTorch writes as_strided behind the mean, which says what axes of one element stride: nothing."""

    def program(x):
        return F.adaptive_avg_pool2d(x * 2, 1).flatten(1)

    ours, x = compiled(program, fullgraph=True), torch.randn(2, 4, 3, 3).to(memory_format=torch.channels_last)
    for _ in range(3):
        agree(ours, program, x)
    assert [g.stats().hits for g in graphs()] == [2]


def test_the_same_memory_by_other_sizes_is_taken_in_training_too():
    """ConvNeXt and Swin: pooling of what was channels-last, whose gradient PyTorch writes as an as_strided_scatter into zeros."""
    layer = torch.nn.Conv2d(3, 4, 3)

    def program(x):
        y = layer(x).permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
        return F.adaptive_avg_pool2d(y, 1).flatten(1)

    ours = compiled(program, fullgraph=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        for n in (2, 2, 3, 4):
            x, found = torch.randn(n, 3, 6, 6), []
            for f in (ours, program):
                result = f(x)
                found.append((result, *torch.autograd.grad(result.pow(2).sum(), layer.parameters())))
            torch.testing.assert_close(*found)
    assert [g.function is not None for g in graphs()] == [True] * 4


@pytest.mark.parametrize("strides", [(3, 1), (1, 2), (1, 1)], ids=["the same", "others", "that overlap"])
def test_another_view_of_the_memory_is_taken(strides: tuple[int, int]):
    def program(x):
        return torch.as_strided(x * 2, (2, 3), strides) + 1

    ours, x = compiled(program, fullgraph=True), torch.arange(6.0).reshape(2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        for _ in range(3):
            agree(ours, program, x)
    assert [g.function is not None for g in graphs()] == [True]


def test_a_product_that_pytorch_traces_as_fused_with_a_sum_is_native():
    """As in steps of Adam, whose rate is a tensor."""

    def program(x, y, rate):
        return (x * 2).addcmul_(y, y, value=rate) + (x * 3).addcdiv_(x, y, value=-0.5)

    ours = compiled(program, fullgraph=True)
    for _ in range(3):
        agree(ours, program, torch.randn(3), torch.rand(3) + 1, torch.tensor(0.25))
    assert graphs()[-1].refused is None and graphs()[-1].stats().hits == 2, graphs()[-1].explain()
