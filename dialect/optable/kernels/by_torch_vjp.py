"""Gradients of what only PyTorch computes, by its autograd: `vjp0n0i2n3x1.aten.index_put` takes the cotangent of one result, then the
operands of `aten::index_put`, and gives the gradients of operand 0, a tensor, and of the three items of operand 2, a list of tensors. The
op is computed once more. The gradient of such an op is one again, of an op with a longer name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from tierup.dialect.optable.kernels import by_torch, torch_tensors

_VJP = re.compile(r"vjp(?P<wanted>[\dni]+)x(?P<results>\d+)\.(?P<op>.+)")
Wanted = Sequence[tuple[int, int]]
"""Operands by their places, and how many items each has; 0 for a tensor."""


def name_of(op: str, wanted: Wanted, results: int) -> str:
    """The name of the op that gives these gradients of one with so many results."""
    return f"vjp{'i'.join(f'{place}n{count}' for place, count in wanted)}x{results}.{op}"


@cache
def kernel(name: str) -> Callable[..., Any]:
    """The kernel of that name: see `by_torch`."""
    import torch  # here: optional, and a second to import

    compute = _function(by_torch.op_of(name))

    def call(*operands: Any) -> Any:
        tensors = [torch_tensors.to_tensors(o) for o in operands]
        with torch.no_grad():
            made = by_torch.apart(compute(*tensors), tensors)
        return made[0] if len(made) == 1 else made

    call.__name__ = name
    return call


def _function(name: str) -> Callable[..., Any]:
    """An op on tensors; its results are a tuple where they are gradients."""
    import torch

    parts = _VJP.fullmatch(name)
    if parts is None:
        return by_torch.on_tensors(name)
    wanted = [int(each.partition("n")[0]) for each in parts["wanted"].split("i")]
    count, compute = int(parts["results"]), _function(parts["op"])

    def vjp(*given: Any) -> Any:
        is_inside = torch.is_grad_enabled()  # of another vjp, which differentiates this one
        cotangents, operands = given[:count], list(given[count:])
        with torch.enable_grad():
            for i in wanted:
                operands[i] = _leaf(operands[i])
            results = compute(*operands)
            pairs = zip(_items(results), _items(cotangents), strict=False)  # of a list, those of the first items
            used = [(r, c) for r, c in pairs if c is not None and r.requires_grad]
            leaves = [t for i in wanted for t in _flat(operands[i])]
            floating = [t for t in leaves if t.requires_grad]
            gradients: list[Any] = [None] * len(floating)
            if used and floating:
                sources, seeds = [r for r, _ in used], [c for _, c in used]
                gradients = list(torch.autograd.grad(sources, floating, seeds, allow_unused=True, create_graph=is_inside))
        of = {id(t): g for t, g in zip(floating, gradients, strict=True) if g is not None}
        return tuple(of[id(t)] if id(t) in of else torch.zeros_like(t) for t in leaves)

    return vjp


def _leaf(operand: Any) -> Any:
    if isinstance(operand, (list, tuple)):
        return [_leaf(t) for t in operand]
    return operand if operand.requires_grad or not operand.is_floating_point() else operand.detach().requires_grad_()


def _items(results: Any) -> Iterator[Any]:
    """The tensors among results and in lists of them, in order."""
    for each in results if isinstance(results, (tuple, list)) else (results,):
        yield from _items(each) if isinstance(each, (tuple, list)) else (each,)


def _flat(operand: Any) -> Iterator[Any]:
    if isinstance(operand, list):
        yield from operand
    else:
        yield operand


def __getattr__(name: str) -> Callable[..., Any]:
    if not name.startswith("vjp"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kernel(name)
