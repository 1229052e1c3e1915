"""How a result lies in memory: with the strides that it had when PyTorch traced the graph, whose guards hold the inputs to their layouts.

A tensor whose dims fill memory in another order than theirs (`relu(x.transpose(1, 2))`) is computed in that order, and permuted back:

    %r = relu(%t)                        %p = permute(%r, [0, 2, 1]);  %c = clone(%p, contiguous)
    return %r                   ->       return %c                     and the caller gets %c.permute([0, 2, 1])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
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


def is_traced(node: Any) -> bool:
    """Whether PyTorch knew where a node's tensor lies."""
    return _traced(node) is not None


def lies_alone(node: Node) -> bool:
    """Whether a result may have memory of its own: it fills it, from the beginning. Else it is a view of what it is a part of."""
    found = _traced(node)
    return found is None or (layout_of(node) is not None and _hint(found[0].storage_offset()) == 0)


def strides_with_gaps(node: Any) -> tuple[int, ...] | None:
    """Of a tensor that PyTorch traced and that is a part of its memory, or shows it more than once. None for others, and where only the run
    knows them."""
    found = _traced(node)
    if found is None or layout_of(node) is not None or any(type(s) is not int for s in found[0].stride()):
        return None
    return tuple(found[2])


def with_gaps(found: Any, strides: tuple[int, ...]) -> Any:
    """A row-major result as one of these strides. What lies otherwise lies as the call's arguments made it, and is left."""
    if not found.is_contiguous() or all(n == 1 or s == t for n, s, t in zip(found.shape, found.stride(), strides, strict=True)):
        return found
    shown = found
    for dim, stride in enumerate(strides):
        if stride == 0:
            shown = shown.narrow(dim, 0, 1)
    return found.new_empty_strided(shown.shape, strides).copy_(shown).expand(found.shape)


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


# --- ops that ask how a tensor lies in memory, where that says no more than its sizes ----------------------------------


def restrided(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]] | None:
    """The op, and its operands, that gives what an as_strided gives: of a tensor that stays as it is but for strides of axes of one
    element, or that is row-major before and after; of an as_strided_scatter, where all of such a tensor is written. Else None."""
    if name not in ("aten.as_strided", "aten.as_strided_scatter"):
        return None
    source, *others = args
    written = others.pop(0) if name == "aten.as_strided_scatter" else None
    size, stride, *offset = others
    tensor, numbers = source.meta["val"], [*map(_number, size)]
    shape, strides = [*map(_number, tensor.shape)], [*map(_number, tensor.stride())]
    start, place = _number(tensor.storage_offset()), [*offset, kwargs.get("storage_offset")][0]
    if place is not None and _number(place) != start:
        return None
    is_whole = _is_row_major(shape, strides) and _is_row_major(numbers, [*map(_number, stride)]) and prod(shape) == prod(numbers)
    if written is not None:
        known = len(shape) == 1 or all(type(n) is int for n in shape)
        if not is_whole or not known or written.meta["val"].dtype != tensor.dtype:
            return None
        return _aten.reshape.default, (written, shape if len(shape) > 1 else [-1])
    if numbers == shape and all(n == 1 or a == _number(b) for n, a, b in zip(shape, strides, stride, strict=True)):
        return _aten.alias.default, (source,)
    return (_aten.reshape.default, (source, size)) if is_whole else None


def _number(value: Any) -> Any:
    """A size that a graph states, as a number or what symbols it is."""
    value = value.meta["val"] if isinstance(value, Node) else value
    return value.node.expr if isinstance(value, torch.SymInt) else value


def _is_row_major(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    return all(n == 1 or stride == prod(sizes[d + 1 :]) for d, (n, stride) in enumerate(zip(sizes, strides, strict=True)))
