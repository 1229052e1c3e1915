"""Whether a tensor of a TorchScript program requires a gradient, as its graph is built: of a parameter as PyTorch says now (another
answer later asks for another graph), of an argument as it did in the call that the graph is made for, of what is computed from one yes.

What is taken out of a list at a place that only the run knows requires a gradient when something in the list does.
"""

from __future__ import annotations

from typing import Any

from tierup.frontend.torch.script.builder import Builder

# Their results never require a gradient.
_ENDS = frozenset(
    f"aten::{n}"
    for n in ("all", "any", "argmax", "argmin", "argsort", "detach", "eq", "ge", "gt", "isfinite", "isinf", "isnan", "le",
              "lt", "ne", "ones_like", "rand_like", "randn_like", "zeros_like")
)  # fmt: skip
# What they give is one of their inputs.
_HAND_ON = frozenset({"aten::_unwrap_optional", "prim::unchecked_cast", "prim::unchecked_unwrap_optional"})
_TAKE_OUT = frozenset({"aten::__getitem__", "prim::ListUnpack", "prim::TupleIndex", "prim::TupleUnpack"})
_HOLD = frozenset({"prim::DictConstruct", "prim::ListConstruct", "prim::TupleConstruct"})


def requires_grad(builder: Builder, value: Any) -> bool:
    """Of a TorchScript value."""
    enabled = builder.attributes.process("is_grad_enabled")
    seen: set[tuple[int, Any]] = set()
    pending: list[tuple[Any, tuple[Any, ...]]] = [(value, ())]  # a value, and where in it: indices and keys, None for any
    while pending:
        at, place = pending.pop()
        if (at.unique(), place) in seen:
            continue
        seen.add((at.unique(), place))
        attribute = builder.attribute_of(at)
        if attribute is not None:
            if builder.attributes.requires_grad(*attribute, place):
                return True
            continue
        node, kind = at.node(), at.node().kind()
        if at.unique() in builder.carried:
            pending += [(v, place) for v in builder.carried[at.unique()]]
        elif kind == "prim::Param":
            if builder.attributes.argument_requires_grad(builder.parameters.get(at.unique(), ""), place):
                return True
        elif kind in ("prim::If", "prim::Loop"):
            i = [o.unique() for o in node.outputs()].index(at.unique())
            pending += [(list(block.outputs())[i + (kind == "prim::Loop")], place) for block in node.blocks()]
            pending += [(v, place) for v in list(node.inputs())[2:]] if kind == "prim::Loop" else []
        elif kind in _TAKE_OUT:
            pending.append((next(node.inputs()), (_taken(node, at), *place)))
        elif kind in _HOLD:
            pending += [(v, place[1:]) for v in _held(builder, node, at, place[0] if place else None)]
        elif kind in _HAND_ON or (enabled and kind.startswith("aten::") and kind not in _ENDS):
            pending += [(v, place) for v in node.inputs()]
    return False


def _taken(node: Any, output: Any) -> Any:
    """Where a node takes an item from; None where the run tells."""
    if node.kind() in ("prim::ListUnpack", "prim::TupleUnpack"):
        return [o.unique() for o in node.outputs()].index(output.unique())
    return list(node.inputs())[1].toIValue()


def _held(builder: Builder, node: Any, output: Any, place: Any) -> list[Any]:
    """The inputs of a node that may be what it holds at a place."""
    inputs = list(node.inputs())
    if node.kind() == "prim::DictConstruct":
        return inputs[1::2]
    in_range = isinstance(place, int) and -len(inputs) <= place < len(inputs)
    return [inputs[place]] if in_range and not (node.kind() == "prim::ListConstruct" and builder.is_written(output)) else inputs
