"""Whether a tensor of a TorchScript program requires a gradient, as its graph is built: of a parameter as PyTorch says now (another
answer later asks for another graph), of what is computed from one yes, of arguments no: callers ensure that.

What is taken out of a list requires a gradient when something in the list does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tierup.frontend.torch.script_graph import GraphBuilder

# Their results never require a gradient.
_ENDS = frozenset(
    f"aten::{n}"
    for n in ("all", "any", "argmax", "argmin", "argsort", "detach", "eq", "ge", "gt", "isfinite", "isinf", "isnan", "le",
              "lt", "ne", "ones_like", "rand_like", "randn_like", "zeros_like")
)  # fmt: skip
# What they give is one of their inputs, or in one.
_HAND_ON = frozenset({
    "aten::__getitem__", "aten::_unwrap_optional", "prim::DictConstruct", "prim::ListConstruct", "prim::ListUnpack", "prim::TupleConstruct",
    "prim::TupleIndex", "prim::TupleUnpack", "prim::unchecked_cast", "prim::unchecked_unwrap_optional",
})  # fmt: skip


def requires_grad(builder: GraphBuilder, value: Any) -> bool:
    """Of a TorchScript value."""
    enabled = builder.attributes.process("is_grad_enabled")
    seen: set[int] = set()
    pending = [value]
    while pending:
        at = pending.pop()
        if at.unique() in seen:
            continue
        seen.add(at.unique())
        attribute = builder.attribute_of(at)
        if attribute is not None:
            if builder.attributes.requires_grad(attribute):
                return True
            continue
        node, kind = at.node(), at.node().kind()
        if at.unique() in builder.carried:
            pending += builder.carried[at.unique()]
        elif kind == "prim::Param":
            builder.attributes.ask_for_arguments(builder.name)
        elif kind in ("prim::If", "prim::Loop"):
            place = [o.unique() for o in node.outputs()].index(at.unique())
            pending += [list(block.outputs())[place + (kind == "prim::Loop")] for block in node.blocks()]
            pending += list(node.inputs())[2:] if kind == "prim::Loop" else []
        elif kind in _HAND_ON or (enabled and kind.startswith("aten::") and kind not in _ENDS):
            pending += list(node.inputs())
    return False
