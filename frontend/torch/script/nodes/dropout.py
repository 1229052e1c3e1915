"""Dropout in TorchScript graphs: what drops nothing is no op; PyTorch has the generator.

    %y = aten::dropout(%x, 0.3, True)     ->     %_, %kept = native_dropout(%x detached, 0.3, True)     through PyTorch
                                                 %y = %x * (%kept as %x / 0.7)

That is how PyTorch computes it, from the numbers that its generator gives next; gradients see the product. Attention that drops is taken
apart as PyTorch does.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.core import bool_of, float_of, is_none
from tierup.frontend.torch.script.builder import Builder

_DROPOUT = frozenset({"aten.dropout", "aten.dropout_", "aten.feature_dropout", "aten.alpha_dropout", "aten.feature_alpha_dropout"})
_ATTENTION, _DROPPING = "aten.scaled_dot_product_attention", "aten._scaled_dot_product_attention_math"


def identity(name: str, operands: Sequence[ir.Value]) -> ir.Value | None:
    """The operand that dropout hands on as it is where it is known not to drop."""
    return operands[0] if name in _DROPOUT and (bool_of(operands[2]) is False or float_of(operands[1]) == 0) else None


def training(builder: Builder, name: str, operands: Sequence[ir.Value]) -> ir.Value | None:
    """Dropout that drops, as ops; None for another op, or where how much it drops is for the run to tell."""
    probability = float_of(operands[1]) if name in ("aten.dropout", "aten.dropout_") else None
    if probability is None or not 0 < probability <= 1 or bool_of(operands[2]) is not True:
        return None
    x, em = operands[0], builder.em
    tensor = em.types.tensor
    if probability == 1:  # PyTorch draws nothing then
        (result,) = builder.create(f"aten.mul{'_' if name.endswith('_') else ''}.Scalar", None, [x, em.float(0.0)], [tensor])
        return result
    import torch  # here: optional, and whoever has a graph has it

    given = em.create("torch.aten.detach", [x], [tensor]).results[0]
    schema: Any = torch.ops.aten.native_dropout.default._schema
    _, kept = builder.create("aten.native_dropout", schema, [given, em.float(probability), em.bool(True)], [tensor] * 2)
    noise = em.create("torch.aten.type_as", [kept, x], [tensor]).results[0]
    noise = em.create("torch.aten.div.Scalar", [noise, em.float(1 - probability)], [tensor]).results[0]
    (result,) = builder.create(f"aten.mul{'_' if name.endswith('_') else ''}.Tensor", None, [x, noise], [tensor])
    return result


def drawn(builder: Builder, name: str, operands: Sequence[ir.Value]) -> ir.Value | None:
    """`x.bernoulli_(p)` of what was just made, as a draw that is copied there, which gradients know. Else None."""
    owner = operands[0].owner if name == "aten.bernoulli_.float" and is_none(operands[2]) else None
    if owner is None or isinstance(owner, ir.Block) or not _is_in_rows(owner.operation):  # else drawn in the order of memory
        return None
    import torch  # here: optional, and whoever has a graph has it

    x, em = operands[0], builder.em
    schema: Any = torch.ops.aten.bernoulli.p._schema
    given = em.create("torch.aten.detach", [x], [em.types.tensor]).results[0]
    (drawn,) = builder.create("aten.bernoulli.p", schema, [given, *operands[1:]], [em.types.tensor])
    (result,) = builder.create("aten.copy_", None, [x, drawn, em.bool(False)], [em.types.tensor])
    return result


def _is_in_rows(op: ir.Operation) -> bool:
    """Whether an op makes a tensor of the sizes that it is given, row-major whatever its operands are."""
    row = row_of(op)
    if row is None:
        return False
    formats = [v for name, v in zip(row.operands, op.operands, strict=False) if name == "memory_format"]
    return "size" in row.operands and not row.writes and row.aliasing is Aliasing.FRESH and all(map(is_none, formats))


def drops(name: str, operands: Sequence[ir.Value]) -> bool:
    """Whether this is attention that drops, or may."""
    return name == _ATTENTION and float_of(operands[4]) != 0


def attention(builder: Builder, node: Any) -> ir.Value:
    """Attention that drops. Where how much it drops is for the run to tell, by the op that PyTorch computes it with. Raises
    UnsupportedProgram where no op is left to PyTorch."""
    import torch  # here: optional, and whoever has a graph has it

    operands = builder.operands(node)
    if float_of(operands[4]) is not None and (bias := _bias(builder, operands)) is not None:
        (result,) = builder.inlined(_apart(bias), list(node.inputs()), here=True)
        return result
    schema: Any = torch.ops.aten._scaled_dot_product_attention_math.default._schema
    values = [*operands[:6], builder.em.none, *operands[6:]]  # no mask of what is dropped
    result, _ = builder.create(_DROPPING, schema, values, [builder.em.types.tensor] * 2)
    return result


def _bias(builder: Builder, operands: Sequence[ir.Value]) -> str | None:
    """What is added to the weights, None where the graph does not say which it is."""
    mask, causal = operands[3], bool_of(operands[5])
    if causal is not False:
        return "_causal(query, key)" if causal else None
    return "0.0" if is_none(mask) else "_given(query, mask)"


@cache
def _apart(bias: str) -> Any:
    """`_ATTENTION` as at::_scaled_dot_product_attention_math computes it, a graph."""
    import torch  # here: optional, and whoever has a graph has it

    unit = torch.jit.CompilationUnit(f"""
        def _given(query, mask: Optional[Tensor]):
            bias = torch.zeros([], dtype=query.dtype)
            if mask is not None:
                bias = mask
                if mask.dtype == torch.bool:
                    bias = torch.zeros_like(mask, dtype=query.dtype).masked_fill(mask.logical_not(), float("-inf"))
            return bias

        def _causal(query, key):
            return _given(query, torch.ones([query.size(-2), key.size(-2)], dtype=torch.bool).tril())

        def attention(query, key, value, mask: Optional[Tensor], p: float, causal: bool, scale: Optional[float], gqa: bool):
            factor = (query.size(-1) ** -0.5 if scale is None else torch.jit._unwrap_optional(scale)) ** 0.5
            if gqa:
                key = key.repeat_interleave(query.size(-3) // key.size(-3), -3)
                value = value.repeat_interleave(query.size(-3) // value.size(-3), -3)
            weights = torch.matmul(query * factor, key.transpose(-2, -1) * factor) + {bias}
            return torch.matmul(torch.dropout(torch._safe_softmax(weights, -1), p, True), value)
    """)
    graph = unit.attention.graph
    torch._C._jit_pass_inline(graph)
    return graph
