"""A program of torch.export in tierup: a dynamic batch, a buffer that is written, a branch that is kept.

    python examples/torch_export.py

Wants PyTorch: pip install tierup[torch]
"""

from __future__ import annotations

import copy

import torch
from torch import nn
from torch.export import Dim, export

import tierup


class Normalised(nn.Module):
    """A layer behind a running mean. Batches whose mean is far from it are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)
        self.register_buffer("mean", torch.zeros(8))
        self.register_buffer("far", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        now = x.mean(0)
        distance = (now - self.mean).norm()
        self.mean.mul_(0.9).add_(now, alpha=0.1)
        self.far.add_((distance > 1).to(torch.int64))
        y = torch.cond(distance > 1, lambda x, m: x - m, lambda x, m: x * 1, (x, self.mean * 1))
        return {"y": torch.tanh(self.layer(y)), "distance": distance}


def main() -> tuple[tierup.torch.TorchFunction, nn.Module, torch.export.ExportedProgram]:
    torch.manual_seed(0)
    model = Normalised()
    eager = copy.deepcopy(model)  # exported programs share the module's buffers, and write them
    program = export(model, (torch.randn(4, 8),), dynamic_shapes=({0: Dim("batch", min=2, max=512)},))
    ours = tierup.torch.from_export(program, name="normalised")
    with torch.no_grad():
        for size, shift in ((4, 0), (4, 0), (4, 5), (9, 0), (9, 5), (30, 0), (100, 5)):
            x = torch.randn(size, 8) + shift
            torch.testing.assert_close(ours(x), eager(x), rtol=1e-4, atol=1e-5)
    print(ours.explain())
    print(f"far batches: {program.state_dict['far'].item()}, eager counted {eager.far.item()}")
    try:
        ours(torch.randn(4, 7))
    except ValueError as e:
        print(f"refused: {e}")
    return ours, eager, program


if __name__ == "__main__":
    main()
