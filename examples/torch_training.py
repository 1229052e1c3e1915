"""Train a PyTorch module on handwritten digits with tierup under PyTorch's autograd, and draw its learning curve.

    python examples/torch_training.py [--epochs 6]

Module, optimiser and loop are PyTorch's. Only the call of the module is tierup's: forward and backward of that call are two programs, each
compiled for the sizes of batches that come. With dropout and batch norm in it, the module is left in training mode; PyTorch's generator
draws what is dropped, so that eager mode, run from the same seed, learns the same.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Callable
from typing import Any

import torch
from console import curve
from digits import batches, load
from torch import nn

import tierup


def model() -> nn.Module:
    """A classifier of images of 64 pixels."""
    return nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))


def train(module: nn.Module, call: Callable[[torch.Tensor], torch.Tensor], epochs: int) -> list[float]:
    """The mean loss of each epoch of `module`, which is run by `call`."""
    images, labels, _, _ = load()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(0)
    losses = []
    for epoch in range(epochs):
        seen = []
        for x, y in batches(images, labels, epoch):
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(call(torch.from_numpy(x)), torch.from_numpy(y))
            loss.backward()
            optimiser.step()
            seen.append(loss.item())
        losses.append(sum(seen) / len(seen))
    return losses


def accuracy(module: nn.Module) -> float:
    """Of the held-out images, in evaluation mode."""
    _, _, images, labels = load()
    with torch.no_grad():
        return float((module.eval()(torch.from_numpy(images)).argmax(1) == torch.from_numpy(labels)).float().mean())


def main() -> Any:
    """What was trained, as a function of tierup's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6, metavar="N")
    epochs = parser.parse_args().epochs
    torch.manual_seed(1)
    module = model()
    twin = copy.deepcopy(module)
    ours = tierup.torch.from_torchscript(torch.jit.script(module), gradients="error")

    losses = train(module, ours, epochs)
    print(curve("mean loss of each epoch", losses))
    eager = train(twin, twin, epochs)
    print(f"last loss {losses[-1]:.4f}, in eager mode {eager[-1]:.4f}")
    print(f"held-out accuracy {accuracy(module):.1%}, in eager mode {accuracy(twin):.1%}")
    print(ours.explain().splitlines()[-1].strip())
    return ours


if __name__ == "__main__":
    main()
