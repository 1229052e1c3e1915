"""PyTorch's own operator samples (OpInfo) as programs: each is traced as a function of its tensors, as a user would trace it.

An entry is one OpInfo (`nn.functional.pad.reflect`), a case one of its samples in one dtype. Everything but tensors - numbers, dims, modes -
is part of the traced program. Samples come from a seed that hangs on the entry and dtype alone, so that a case is found again by its name.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

from tierup.dialect import dtypes

DTYPES = {getattr(torch, d.numpy.name): d for d in dtypes.ALL}


def torch_dtype(name: str) -> torch.dtype:
    return next(t for t, d in DTYPES.items() if d.name == name)


@cache
def entries() -> dict[str, Any]:
    """All OpInfos by name, with that of the variant."""
    return {".".join(filter(None, (op.name, op.variant_test_name))): op for op in op_db}


def dtypes_of(name: str) -> list[str]:
    """The dtypes that PyTorch and tierup both have for an entry."""
    supported = entries()[name].supported_dtypes("cpu")
    return [d.name for t, d in DTYPES.items() if t in supported]


def gradient_dtypes_of(name: str) -> list[str]:
    """Those in which PyTorch has gradients, which are compared where differences of numbers say something."""
    op = entries()[name]
    return [d.name for t, d in DTYPES.items() if op.supports_autograd and t in op.supported_backward_dtypes("cpu")]


@dataclass
class Case:
    """One sample. `tensors`: what the program takes. `traced` is the program, None where `problem` says why there is none."""

    entry: str
    dtype: str
    index: int
    op: Any
    sample: Any
    leaves: list[Any] = field(default_factory=list)
    spec: Any = None
    places: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.leaves, self.spec = tree_flatten((self.sample.input, self.sample.args, self.sample.kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, torch.Tensor)]

    @property
    def name(self) -> str:
        return f"{self.entry}/{self.dtype}/{self.index}"

    def tensors(self) -> list[torch.Tensor]:
        """Copies of the tensors, with their strides and what they share."""
        return copy.deepcopy([self.leaves[i].detach() for i in self.places])

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors among the op's results."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        x, args, kwargs = tree_unflatten(leaves, self.spec)
        return tuple(t for t in tree_flatten(self.op.op(x, *args, **kwargs))[0] if isinstance(t, torch.Tensor))

    def traced(self) -> torch.jit.ScriptFunction[..., Any]:
        """Raises what PyTorch raises for what it cannot trace."""
        tensors = self.tensors()

        def program(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self(*tensors)

        with torch.no_grad():
            return torch.jit.trace(program, tuple(tensors), check_trace=False)  # type: ignore[no-any-return]


def cases(entry: str, dtype: str) -> Iterator[Case]:
    """The samples of an entry in a dtype."""
    op = entries()[entry]
    torch.manual_seed(zlib.crc32(f"{entry}/{dtype}".encode()))
    for i, sample in enumerate(op.sample_inputs("cpu", torch_dtype(dtype))):
        yield Case(entry, dtype, i, op, sample)


def find(name: str) -> Case:
    """The case of that name: entry/dtype/index."""
    entry, dtype, index = name.rsplit("/", 2)
    return next(c for c in cases(entry, dtype) if c.index == int(index))
