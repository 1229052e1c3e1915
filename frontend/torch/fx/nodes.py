"""Questions to nodes of torch.fx: their places, what they stand for, whether programs can hold it, which come first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.fx import Node

from tierup.dialect.base import dtypes
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.runtime.arguments.trees import Leaf

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_PYTORCH = str(Path(torch.__file__).parent)
_MOST = 50  # nodes that a draw needs: more are no sizes
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


# --- draws ----------------------------------------------------------------------------------------------------------------


def draws_first(nodes: Iterable[Node]) -> list[Node]:
    """The nodes of a graph, with its inputs, its draws and what these need in front, in the order that they had.

    PyTorch draws numbers, between native regions, and what is drawn mostly hangs on sizes alone: in front, draws stand side by side, and
    leave one region behind them where each cut the graph in two. A draw that hangs on elements stays where it is, and so do those behind
    it: numbers come in the order of the draws.
    """
    nodes = list(nodes)
    front = dict.fromkeys(n for n in nodes if n.op in ("placeholder", "get_attr"))
    for node in filter(_is_draw, nodes):
        needed = _needed(node, front)
        if needed is None:
            break
        front.update(dict.fromkeys(needed))
    return [*front, *(n for n in nodes if n not in front)]


def _is_draw(node: Node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in node.target.tags


def _needed(draw: Node, front: dict[Node, None]) -> list[Node] | None:
    """A draw behind what it needs that is not there yet; None where that is no matter of sizes."""
    found: dict[Node, None] = {}
    pending = [draw]
    while pending:
        node = pending.pop()
        if node in front:
            continue
        if node.op != "call_function" or len(found) == _MOST or node is not draw and (_is_draw(node) or _reads_elements(node)):
            return None
        found.pop(node, None)
        found[node] = None
        pending += node.all_input_nodes
    return list(reversed(found))


def _reads_elements(node: Node) -> bool:
    """Whether a node computes with tensors, more than their sizes."""
    is_tensor = isinstance(node.meta.get("val"), torch.Tensor)
    return is_tensor and any(isinstance(n.meta.get("val"), torch.Tensor) for n in node.all_input_nodes)
