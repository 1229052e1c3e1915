"""nn.LSTM, nn.GRU, nn.RNN, their cells and packed sequences from TorchScript: values, states, draws and gradients are eager's, by native
code, trained too; so are cells written by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, List  # noqa: UP035 - TorchScript reads it

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")

from torch import Tensor, nn  # noqa: E402 - it may be missing

from tierup.runtime.dispatching.version import Version  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch

X = torch.linspace(-2, 2, 6 * 3 * 4).reshape(6, 3, 4).sin()
LENGTHS = torch.tensor([2, 6, 4])


class Packed(nn.Module):
    """Of sequences of several lengths."""

    def __init__(self, kind: Callable[..., nn.Module], **options: Any) -> None:
        super().__init__()
        self.inner = kind(4, 5, **options)

    def forward(self, x: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        return nn.utils.rnn.pad_packed_sequence(self.inner(packed)[0])


class ByHand(nn.Module):
    """A cell of an LSTM, written down, whose states `+=` adds to a list."""

    def __init__(self) -> None:
        super().__init__()
        self.given, self.hidden = nn.Linear(4, 20), nn.Linear(5, 20)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h, c = torch.zeros(x.size(1), 5), torch.zeros(x.size(1), 5)
        states: List[Tensor] = []  # noqa: UP006
        for t in range(x.size(0)):
            i, f, g, o = (self.given(x[t]) + self.hidden(h)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            states += [h]
        return torch.stack(states), c


def states(count: int) -> Any:
    made = tuple(torch.linspace(-1, 1, 15).reshape(1, 3, 5) * k for k in range(1, count + 1))
    return made if count > 1 else made[0]


LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[Any, ...]]] = {
    "lstm": (lambda: nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True), (X,)),
    "lstm from states": (lambda: nn.LSTM(4, 5), (X, states(2))),
    "lstm that drops": (lambda: nn.LSTM(4, 5, 2, dropout=0.5), (X,)),
    "lstm without biases that projects": (lambda: nn.LSTM(4, 5, 2, proj_size=2, bias=False), (X,)),
    "lstm of one sequence": (lambda: nn.LSTM(4, 5), (X[:, 0],)),
    "gru": (lambda: nn.GRU(4, 5, 2, bidirectional=True, dropout=0.5, batch_first=True), (X,)),
    "gru from states": (lambda: nn.GRU(4, 5), (X, states(1))),
    "rnn": (lambda: nn.RNN(4, 5), (X,)),
    "rnn with relu": (lambda: nn.RNN(4, 5, nonlinearity="relu", bias=False), (X,)),
    "packed lstm": (lambda: Packed(nn.LSTM), (X, LENGTHS)),
    "packed gru": (lambda: Packed(nn.GRU, num_layers=2, bidirectional=True), (X, LENGTHS)),
    "lstm cell": (lambda: nn.LSTMCell(4, 5), (X[0],)),
    "gru cell": (lambda: nn.GRUCell(4, 5, bias=False), (X[0],)),
    "rnn cell of one input": (lambda: nn.RNNCell(4, 5), (X[0, 0],)),
}


def tensors(result: Any) -> list[Tensor]:
    return [result] if isinstance(result, Tensor) else [t for each in result for t in tensors(each)]


def step(function: Any, module: nn.Module, given: tuple[Any, ...]) -> tuple[list[Tensor], list[Tensor]]:
    """Results, and gradients of all parameters."""
    torch.manual_seed(0)
    results = tensors(function(*given))
    loss = sum((t.square().sum() for t in results if t.is_floating_point()), torch.tensor(0.0))
    return results, list(torch.autograd.grad(loss, list(module.parameters())))


@pytest.mark.parametrize("name", drawn("recurrent layers", list(LAYERS), 6, lambda name: name.split()[0]))
def test_results_draws_and_gradients_are_those_of_eager_mode(name: str) -> None:
    make, given = LAYERS[name]
    torch.manual_seed(0)
    module = make().train()
    ours = from_torchscript(torch.jit.script(module))
    torch.testing.assert_close(step(ours, module, given), step(module, module, given), rtol=1e-4, atol=1e-5)
    assert "1 calls by tierup's forward and backward programs, 0 by the original" in ours.explain()
    assert not any(f"aten.{op}" in ours.graph for op in ("lstm", "gru", "rnn_")), ours.graph


NATIVE: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: nn.LSTM(4, 5), "gru": lambda: nn.GRU(4, 5, batch_first=True), "by hand": ByHand,
}  # fmt: skip


@pytest.mark.parametrize("name", drawn("native recurrent layers", list(NATIVE), 5))
def test_layers_and_loops_are_native_and_trained_so_too(name: str) -> None:
    torch.manual_seed(0)
    module = NATIVE[name]()
    ours = from_torchscript(torch.jit.script(module))
    for steps in (6, 6, 5):
        with torch.no_grad():
            torch.testing.assert_close(ours(X[:steps]), module(X[:steps]), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(step(ours, module, (X[:steps],)), step(module, module, (X[:steps],)), rtol=1e-4, atol=1e-5)
    assert "in tier 0: aten" not in ours.explain() and all(isinstance(v, Version) for v in ours.versions), ours.explain()
    assert "3 calls by tierup's forward and backward programs, 0 by the original" in ours.explain()


def test_a_layer_of_no_steps_raises_as_eager_does() -> None:
    module = nn.GRU(4, 5)
    with pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0"):
        module(X[:0])
    with torch.no_grad(), pytest.raises(RuntimeError, match="Expected sequence length to be larger than 0"):
        from_torchscript(torch.jit.script(module))(X[:0])
