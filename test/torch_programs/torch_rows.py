"""The real programs, each a row of the corpus (test/corpus/corpus.py) that comes in from PyTorch. The oracle is eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from corpus import Inputs, Program, f32, ints
from torch import nn

from benchmarks import torch_networks as networks
from tierup.dialect.optable.kernels.torch_tensors import to_arrays, to_tensors
from tierup.dialect.speculation.reasons import Reason
from tierup.torch import from_torchscript

SEED = 11  # of the generator, before each call


class OnArrays:
    """A function of tensors as one of arrays that share their memory, which the corpus knows how to spoil and compare. The rest is the
    function's own. Without gradients: training has a test of its own."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        torch.manual_seed(SEED)
        with torch.no_grad():
            return to_arrays(self.function(*to_tensors(args), **to_tensors(kwargs)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)


@dataclass(frozen=True)
class Row:
    """One network. `how`: scripted or traced. `by_torch`: the ops without a kernel of ours. `trains`: by gradients of what it gives.
    `draws`: from PyTorch's generator, of which a process has one. `needs`: a package. `corpus`: fields of the corpus' row."""

    name: str
    make: Callable[[], Any]
    inputs: Inputs
    how: str = "script"
    by_torch: tuple[str, ...] = ()
    trains: bool = False
    draws: bool = False
    needs: str = ""
    corpus: tuple[tuple[str, Any], ...] = ()

    def network(self) -> Any:
        """With the same weights every time, for inference."""
        torch.manual_seed(7)
        made = self.make()
        return made.eval() if isinstance(made, nn.Module) else made

    def brought_in(self, network: Any, **options: Any) -> Any:
        """As a function of tierup. Raises what tracing, scripting and `from_torchscript` raise."""
        return from_torchscript(scripted(self, network), **options)

    def program(self) -> Program:
        """As the corpus has programs: within 1e-4 of eager, relative to the largest value."""
        network = self.network()
        given = {"tolerance": 800.0, "spoil": ("size", "layout"), **dict(self.corpus)}
        return Program(self.name, OnArrays(network), self.inputs, make=lambda **o: OnArrays(self.brought_in(network, **o)), **given)


def scripted(row: Row, network: Any) -> Any:
    if row.how == "script":
        return torch.jit.script(network)
    example = to_tensors(row.inputs(np.random.default_rng(0), 4))
    return torch.jit.trace(network, example, check_trace=False)


def _mask(rng: np.random.Generator, batch: int, length: int) -> np.ndarray:
    """True for the first tokens of each sample, one at least."""
    return np.arange(length) < rng.integers(1, length + 1, size=(batch, 1))


def _boxes(rng: np.random.Generator, n: int) -> np.ndarray:
    low = rng.random((n, 2), np.float32)
    return np.concatenate([low, low + 0.2 + 0.3 * rng.random((n, 2), np.float32)], 1)


def _cache(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return f32(rng, 2, 2, n, 4), f32(rng, 2, 2, n, 4)




def _split(regions: int) -> tuple[tuple[str, Any], ...]:
    """Of a program that is cut into so many native regions, with tier 0 between them."""
    return (("native", ()), ("reason", Reason.NO_LOWERING), ("regions", regions))


ROWS = [
    Row("perceptron", networks.Perceptron, lambda r, n: (f32(r, n, 8),), trains=True),
    Row("perceptron_traced", networks.Perceptron, lambda r, n: (f32(r, n, 8),), how="trace"),
    Row("resnet", networks.ResNet, lambda r, n: (f32(r, n, 3, 8, 8),), trains=True),
    Row("lstm", networks.LSTM, lambda r, n: (f32(r, n, n + 1, 4),), trains=True),
    Row("gru", networks.GRU, lambda r, n: (f32(r, n, 2, 4),), trains=True),
    Row("encoder", networks.Encoder, lambda r, n: (ints(r, 2, n, low=0, high=11), _mask(r, 2, n)), trains=True),
    Row("encoder_traced", networks.Encoder, lambda r, n: (ints(r, n, n + 1, low=0, high=11), _mask(r, n, n + 1)), how="trace"),
    Row("decoder", networks.Decoder, lambda r, n: (ints(r, 2, 1, low=0, high=11), _cache(r, n))),
    Row("gpt2_block", networks.GPT2Block, lambda r, n: (f32(r, 2, n, 12),), trains=True),
    Row("bert", networks.bert, lambda r, n: (ints(r, n, n + 1, low=0, high=11), _mask(r, n, n + 1).astype(np.int64)), how="trace", needs="transformers"),
    Row("gpt2", networks.gpt2, lambda r, n: (ints(r, n, n + 1, low=0, high=11),), how="trace", needs="transformers"),
    Row("experts", networks.Experts, lambda r, n: (f32(r, n, 6),), trains=True),
    Row("unet", networks.UNet, lambda r, n: (f32(r, 2, 3, 2 * n, 8),), trains=True),
    Row("vae", networks.VAE, lambda r, n: (f32(r, n, 10),), by_torch=("aten.randn_like",), draws=True, corpus=_split(2), trains=True),
    Row("suppression", lambda: networks.suppress, lambda r, n: (_boxes(r, n), r.random(n, np.float32)), corpus=_split(2)),
    Row("greedy", lambda: networks.greedy, lambda r, n: (f32(r, n, n), 10)),
]
