"""PyTorch's own operator samples (OpInfo) as programs: each is traced as a function of its tensors, as a user would trace it.

An entry is one OpInfo (`nn.functional.pad.reflect`), a case one of its samples in one dtype. Everything but tensors - numbers, dims, modes -
is part of the traced program. Samples come from a seed that hangs on the entry and dtype alone, so that a case is found again by its name.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

from tierup.dialect.base import dtypes

DTYPES = {getattr(torch, d.numpy.name): d.name for d in dtypes.OF_TORCH}
_BY_NAME = {name: dtype for dtype, name in DTYPES.items()}


@cache
def entries() -> dict[str, Any]:
    """All OpInfos by name, with that of the variant."""
    return {".".join(filter(None, (op.name, op.variant_test_name))): op for op in op_db}


def dtypes_of(entry: str) -> list[str]:
    """The dtypes that PyTorch has for an entry and tierup has too."""
    supported = entries()[entry].supported_dtypes("cpu")
    return [name for dtype, name in DTYPES.items() if dtype in supported]


def gradient_dtypes_of(entry: str) -> list[str]:
    """Those in which PyTorch has gradients of it."""
    op = entries()[entry]
    supported = op.supported_backward_dtypes("cpu") if op.supports_autograd else ()
    return [name for dtype, name in DTYPES.items() if dtype in supported and dtype.is_floating_point]


class Case:
    """One sample. `places`: which of its leaves are tensors; `requires`: of each whether it requires a gradient."""

    def __init__(self, entry: str, dtype: str, index: int, op: Any, sample: Any) -> None:
        self.entry, self.dtype, self.index, self.op, self.sample = entry, dtype, index, op, sample
        self.leaves, self.spec = tree_flatten((sample.input, sample.args, sample.kwargs))
        self.places = [i for i, x in enumerate(self.leaves) if isinstance(x, torch.Tensor)]
        self.requires = [self.leaves[i].requires_grad for i in self.places]

    @property
    def name(self) -> str:
        return f"{self.entry}/{self.dtype}/{self.index}"

    def tensors(self, gradients: bool = False) -> list[torch.Tensor]:
        """Copies of the tensors, with their strides and what they share."""
        found = copy.deepcopy([self.leaves[i].detach() for i in self.places])
        return [t.requires_grad_(required) for t, required in zip(found, self.requires, strict=True)] if gradients else found

    def __call__(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The tensors among the op's results."""
        leaves = list(self.leaves)
        for place, tensor in zip(self.places, tensors, strict=True):
            leaves[place] = tensor
        x, args, kwargs = tree_unflatten(leaves, self.spec)
        return tuple(t for t in tree_flatten(self.op.op(x, *args, **kwargs))[0] if isinstance(t, torch.Tensor))

    def in_double(self, tensors: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        """The op's results where every tensor of floats, and every dtype among the operands that is one, is float64."""
        double = [t.double() if t.is_floating_point() else t for t in tensors]
        kept = self.leaves
        self.leaves = [torch.float64 if isinstance(x, torch.dtype) and x.is_floating_point else x for x in kept]
        try:
            return self(*double)
        finally:
            self.leaves = kept

    def traced(self) -> Any:
        """The program. Raises what PyTorch raises for what it cannot trace."""

        def program(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return self(*tensors)

        with torch.no_grad():
            return torch.jit.trace(program, tuple(self.tensors()), check_trace=False)


def cases(entry: str, dtype: str, gradients: bool = False) -> Iterator[Case]:
    """The samples of an entry in a dtype; for gradients those of them that require one."""
    op = entries()[entry]
    torch.manual_seed(zlib.crc32(f"{entry}/{dtype}".encode()))
    for i, sample in enumerate(op.sample_inputs("cpu", _BY_NAME[dtype], requires_grad=gradients)):
        case = Case(entry, dtype, i, op, sample)
        if any(case.requires) or not gradients:
            yield case


def find(name: str, gradients: bool = False) -> Case:
    """The case of that name: entry/dtype/index."""
    entry, dtype, index = name.rsplit("/", 2)
    return next(c for c in cases(entry, dtype, gradients) if c.index == int(index))
