"""Questions to nodes of torch.fx: their places, what they stand for, whether programs can hold it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import Node

from tierup.dialect.base import dtypes
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.runtime.arguments.trees import Leaf

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PYTORCH = str(Path(torch.__file__).parent)
TENSORS = {getattr(torch, d.numpy.name): d.code for d in dtypes.OF_TORCH}  # c10::ScalarType


def place_of(node: Node) -> tuple[str, int] | None:
    """File and line that the user wrote for a node: the innermost that is not PyTorch's own. None where it was not traced."""
    places = [(file, int(line)) for file, line in _PLACE.findall(node.meta.get("stack_trace") or "")]
    return next((p for p in reversed(places) if not p[0].startswith(_PYTORCH)), places[-1] if places else None)


def leaf_of(node: Node) -> Leaf:
    """What a call hands over for a placeholder. Raises UnsupportedProgram for what programs do not take."""
    found = node.meta.get("val")
    if isinstance(found, torch.Tensor):
        return Leaf("array", found.ndim)
    kind = number_kind(found)
    if kind is None:
        raise UnsupportedProgram(f"an argument of type {type(found).__name__} is not supported")
    return Leaf(kind)


def number_kind(found: object) -> str | None:
    """bool, int or float of a number that PyTorch traced; None for what is none."""
    kinds = (("bool", (bool, torch.SymBool)), ("int", (int, torch.SymInt)), ("float", (float, torch.SymFloat)))
    return next((kind for kind, types in kinds if isinstance(found, types)), None)


def for_numbers(target: torch._ops.OpOverload, args: Sequence[Any]) -> torch._ops.OpOverload:
    """The overload that takes a number where a tensor's place is given one: it promotes as numbers do."""
    wanted = [
        i
        for i, a in enumerate(target._schema.arguments)
        if a.type.kind() == "TensorType" and i < len(args) and _is_number(args[i])
    ]
    if not wanted:
        return target
    kinds = ["NumberType" if i in wanted else a.type.kind() for i, a in enumerate(target._schema.arguments)]
    packet = target.overloadpacket
    for name in packet.overloads():
        found: torch._ops.OpOverload = getattr(packet, name)
        if [a.type.kind() for a in found._schema.arguments] == kinds and not any(a.is_out for a in found._schema.arguments):
            return found
    raise UnsupportedProgram(f"a number where {target} takes a tensor is not supported")


def check(node: Node) -> None:
    """Raises UnsupportedProgram for a tensor that no array stands for."""
    found = node.meta.get("val")
    for value in found if isinstance(found, (list, tuple)) else [found]:
        if isinstance(value, torch.Tensor):
            device, layout = value.device, value.layout
            known = ((value.dtype, value.dtype in TENSORS), (device, device.type == "cpu"), (layout, layout is torch.strided))
            for what, is_known in known:
                if not is_known:
                    name = str(node.target) if node.op == "call_function" else node.name
                    raise UnsupportedProgram(f"{name}: tensors of {what} are not supported")


def _is_number(given: Any) -> bool:
    value = given.meta.get("val") if isinstance(given, Node) else given
    return isinstance(value, (bool, int, float, torch.SymInt, torch.SymFloat, torch.SymBool))


def attribute(module: Any, path: str) -> Any:
    """What a dotted path names in a module."""
    for step in path.split("."):
        module = getattr(module, step)
    return module


def is_handed_over(node: Node, inputs: Sequence[Node]) -> bool:
    """Whether a call must hand over an input: not what nothing uses, nor a size that a used tensor among `inputs` has, nor the token of
    an order of effects, for which PyTorch hands over None."""
    if not node.users or all(str(user.target) == "with_effects" and user.args[0] is node for user in node.users):
        return False
    found = node.meta.get("val")
    return not (isinstance(found, torch.SymInt) and any(_has_size(n, found) for n in inputs if n.users))


def _has_size(node: Node, wanted: torch.SymInt) -> bool:
    found = node.meta.get("val")
    return isinstance(found, torch.Tensor) and any(isinstance(s, torch.SymInt) and s.node.expr == wanted.node.expr for s in found.shape)
