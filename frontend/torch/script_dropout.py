"""Dropout in TorchScript graphs: what drops nothing is no op, and attention that drops goes through PyTorch, which has the generator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tierup.dialect.ir.rewriting import bool_of, float_of
from tierup.dialect.mlir import ir

if TYPE_CHECKING:
    from tierup.frontend.torch.script_graph import GraphBuilder

_DROPOUT = frozenset({"aten.dropout", "aten.feature_dropout", "aten.alpha_dropout", "aten.feature_alpha_dropout"})
_ATTENTION, _DROPPING = "aten.scaled_dot_product_attention", "aten._scaled_dot_product_attention_math"


def identity(name: str, operands: Sequence[ir.Value]) -> ir.Value | None:
    """The operand that dropout hands on as it is where it is known not to drop."""
    return operands[0] if name in _DROPOUT and bool_of(operands[2]) is False else None


def drops(name: str, operands: Sequence[ir.Value]) -> bool:
    """Whether this is attention that drops, or may."""
    return name == _ATTENTION and float_of(operands[4]) != 0


def attention(builder: GraphBuilder, operands: Sequence[ir.Value]) -> ir.Value:
    """Attention that drops, by the op that PyTorch computes it with. Raises UnsupportedProgram where no op is left to PyTorch."""
    import torch  # here: optional, and whoever has a graph has it

    schema: Any = torch.ops.aten._scaled_dot_product_attention_math.default._schema
    values = [*operands[:6], builder.em.none, *operands[6:]]  # no mask of what is dropped
    result, _ = builder.create(_DROPPING, schema, values, [builder.em.types.tensor] * 2)
    return result
