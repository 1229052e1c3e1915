"""Second derivatives where the programs of a pair have none: of what a program that writes its arguments does, and of one whose loops keep
lists of tensors. The original program runs once more, through PyTorch and under its autograd, on what the call was given: it sees the
arguments as they were, and writes to copies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from tierup.dialect.base.records import dataclass
from tierup.runtime.base.errors import NotDifferentiable

if TYPE_CHECKING:
    from tierup.runtime.executors.gradients.pair import Pair

Original = Callable[[Mapping[int, torch.Tensor]], Sequence[Any]]
"""Runs the program of a call again, on the same tensors but for some (by their ids), for which others stand; gives its results in a row.
Raises NotDifferentiable where it finds one of these nowhere."""


@dataclass(frozen=True, eq=False)
class Again:
    """`written`: what the program writes, with what was there before."""

    original: Original
    written: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    name: str

    @staticmethod
    def of(original: Original, tensors: Sequence[Any], pair: Pair, results: int) -> Again | None:
        """For a call, before it writes. `results`: how many the pair gives, new contents among them. None where gradients go through what
        the program writes: the tensor that it was is no more."""
        if any(k in pair.seeds for k in range(results - len(pair.written), results)) or set(pair.written) & set(pair.wrt):
            return None
        written = [tensors[i] for i in pair.written]
        return Again(original, tuple([(t, t.detach().clone()) for t in written]), pair.forward.program.name)

    def gradients(self, wrt: Sequence[torch.Tensor], cotangents: Sequence[torch.Tensor | None]) -> Sequence[torch.Tensor | None]:
        """The gradients, which have gradients."""
        if any(t._backward_hooks for t in wrt):  # which the inner gradient would call, and PyTorch then once more
            raise NotDifferentiable(f"{self.name} writes, or makes lists in loops: it has no second derivatives by tensors with hooks")
        with torch.enable_grad():
            results = self.original({id(tensor): before.clone() for tensor, before in self.written})
        pairs = [(r, c) for r, c in zip(results, cotangents, strict=False) if c is not None and r.requires_grad]
        if not pairs:
            return [None] * len(wrt)
        wanted, given = [r for r, _ in pairs], [c for _, c in pairs]
        found: Sequence[torch.Tensor | None] = torch.autograd.grad(wanted, list(wrt), given, create_graph=True, allow_unused=True)
        return found
