"""A PyTorch module under torch.compile with tierup as the backend: graphs, versions, training, and what is not taken.

    python examples/torch_compile.py

Wants PyTorch: pip install tierup[torch]
"""

from __future__ import annotations

import warnings

import torch
import torch.nn.functional as F
from torch import nn

import tierup

BATCHES = (8, 8, 8, 12, 12, 16, 20, 24)


class Classifier(nn.Module):
    """Two layers; inputs of a large norm go another way, so torch.compile makes two graphs of a call."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.norm, self.out = nn.Linear(16, 32), nn.LayerNorm(32), nn.Linear(32, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.norm() > 1000:
            x = x / x.norm()
        return F.log_softmax(self.out(F.gelu(self.norm(self.hidden(x)))), -1)


def report(title: str) -> None:
    """Which graphs there are, and what their calls did."""
    print(title)
    for graph in tierup.torch.compiled_graphs():
        if graph.function is None:
            print(f"  {graph.name:14} runs in PyTorch: {graph.refused}")
            continue
        stats = graph.stats()
        print(f"  {graph.name:14} {stats.calls} calls, {stats.hits} native; {stats.versions} versions, {stats.compiles} compiles")


def infer(model: nn.Module) -> float:
    """Batches of several sizes; the largest difference from eager."""
    # tierup.torch.backend is what backend="tierup" finds where tierup is installed
    ours = torch.compile(model, backend=tierup.torch.backend)
    worst = 0.0
    with torch.no_grad():
        for size in BATCHES:
            x = torch.randn(size, 16)
            worst = max(worst, (ours(x) - model(x)).abs().max().item())
    report(f"batches of {', '.join(map(str, BATCHES))}")
    print(f"  largest difference from eager: {worst:.1e}")
    return worst


def train(model: nn.Module, steps: int = 20) -> list[float]:
    """Losses of a training run: the forward and the backward graph are tierup's."""
    ours = torch.compile(model, backend=tierup.torch.backend)
    optimiser = torch.optim.SGD(model.parameters(), 0.5)
    x = torch.randn(64, 16)
    labels = x[:, :3].argmax(1)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = F.nll_loss(ours(x), labels)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    report(f"{steps} steps of training: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    return losses


def fall_back() -> str:
    """A graph with complex numbers, which tierup has not: PyTorch runs it, and a warning says so."""
    ours = torch.compile(lambda x: torch.fft.fft(x).abs(), backend=tierup.torch.backend)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", tierup.torch.FallbackWarning)
        ours(torch.ones(8))
    said = str(next(w.message for w in caught if issubclass(w.category, tierup.torch.FallbackWarning)))
    print(f"warning: {said}")
    return said


def main() -> None:
    torch.manual_seed(0)
    infer(Classifier())
    torch._dynamo.reset()
    train(Classifier())
    torch._dynamo.reset()
    fall_back()


if __name__ == "__main__":
    main()
