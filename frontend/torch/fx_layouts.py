"""How a result lies in memory: with the strides that it had when PyTorch traced the graph, whose guards hold the inputs to their layouts.

A tensor whose dims fill memory in another order than theirs (`relu(x.transpose(1, 2))`) is computed in that order, and permuted back:

    %r = relu(%t)                        %p = permute(%r, [0, 2, 1]);  %c = clone(%p, contiguous)
    return %r                   ->       return %c                     and the caller gets %c.permute([0, 2, 1])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

_aten = torch.ops.aten


@dataclass(frozen=True)
class Layout:
    """`order`: the dims from the outermost in memory to the innermost, None where that is theirs. `strides`: the very numbers, where these
    are known and dims of one element may have others than a dense tensor's."""

    order: tuple[int, ...] | None
    strides: tuple[int, ...] | None = None

    def in_order(self, node: Node, output: Node) -> Node:
        """The node whose row-major tensor has the elements in this order; it is put before the output."""
        if self.order is None:
            return node
        graph, value = node.graph, node.meta["val"]
        with graph.inserting_before(output):
            permuted = graph.call_function(_aten.permute.default, (node, list(self.order)))
            dense = graph.call_function(_aten.clone.default, (permuted,), {"memory_format": torch.contiguous_format})
        for made in (permuted, dense):
            made.meta = {k: v for k, v in node.meta.items() if k != "val"} | {"val": value.permute(self.order)}
        return dense

    def laid_out(self, found: Any) -> Any:
        """The result, of what the program gave: a tensor, or None for a token that PyTorch traced as one."""
        if found is None:
            return None
        found = found.contiguous()  # tier 0 has NumPy's layouts
        if self.order is not None:
            found = found.permute([self.order.index(d) for d in range(found.dim())])
        strides = self.strides
        if strides is None and 1 in found.shape:  # whose strides are anything
            strides = _dense(found.shape, self.order or range(found.dim()))
        return found if strides is None or found.stride() == strides else found.as_strided(found.shape, strides)


def _dense(sizes: Sequence[int], order: Sequence[int]) -> tuple[int, ...]:
    strides, step = [0] * len(sizes), 1
    for d in reversed(order):
        strides[d], step = step, step * max(sizes[d], 1)
    return tuple(strides)


def layout_of(node: Any) -> Layout | None:
    """Of a node's tensor; None where it is no tensor, or does not fill its memory."""
    found = _traced(node)
    if found is None:
        return None
    value, sizes, strides = found
    order = tuple(sorted(range(len(sizes)), key=lambda d: -strides[d]))
    several = [d for d in order if sizes[d] > 1]
    dense = _dense(sizes, several)
    if 0 not in sizes and any(strides[d] != dense[d] for d in several):
        return None
    static = all(type(s) is int for s in (*value.shape, *value.stride()))
    exact = tuple(strides) if static and len(several) < len(order) else None
    return Layout(None if several == sorted(several) or 0 in sizes else order, exact)


def lies_alone(node: Node) -> bool:
    """Whether a result may have memory of its own: it fills it, from the beginning. Else it is a view of what it is a part of."""
    found = _traced(node)
    return found is None or (layout_of(node) is not None and _hint(found[0].storage_offset()) == 0)


def _traced(node: Any) -> tuple[torch.Tensor, list[int], list[int]] | None:
    """The tensor that PyTorch traced, its sizes and its strides; symbols as they were then."""
    value = node.meta.get("val") if isinstance(node, Node) else None
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    sizes, strides = [_hint(s) for s in value.shape], [_hint(s) for s in value.stride()]
    if None in sizes or None in strides:
        return None
    return value, [s for s in sizes if s is not None], [s for s in strides if s is not None]


def _hint(size: Any) -> int | None:
    if type(size) is int:
        return size
    hint = size.node.hint
    return int(hint) if hint is not None else None
