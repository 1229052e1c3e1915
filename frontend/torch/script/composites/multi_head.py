"""The fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer as the ops that they fuse.

    %y, %weights = aten::_native_multi_head_attention(%query, %key, %value, ...)
    %z = aten::_transformer_encoder_layer_fwd(%x, ...)

become the projections of queries, keys and values, the scores, their softmax and the projection of what it weighs (Vaswani et al., 2017),
and the layer's norms and linear maps: native code takes these, and they have gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, is_none
from tierup.frontend.torch.script.builder import Builder

_ATTENTION, _LAYER = "aten._native_multi_head_attention", "aten._transformer_encoder_layer_fwd"
_MASKS = {_ATTENTION: 9, _LAYER: 18}  # the positions of `mask`
_WEIGHTS = 10  # of `need_weights`


def is_apart(name: str, operands: Sequence[ir.Value]) -> bool:
    """Whether this is one of the ops, and the graph says whether it gives weights: without, PyTorch gives no tensor for them."""
    return name == _LAYER or name == _ATTENTION and bool_of(operands[_WEIGHTS]) is not None


def apart(builder: Builder, node: Any, name: str, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Its results by other ops."""
    found = builder.inlined(_graph(name, not is_none(operands[_MASKS[name]])), list(node.inputs()), here=True)
    if name == _ATTENTION and not bool_of(operands[_WEIGHTS]):
        found[1] = builder.em.create("tierup.autograd_zero", [], [builder.em.types.tensor]).results[0]
    return found


@cache
def _graph(name: str, may_mask: bool) -> Any:
    """What at::native computes of dense tensors. A mask says what is left out: where it is not zero."""
    import torch  # here: optional, and whoever has a graph has it

    unit = torch.jit.CompilationUnit(f"""
        def _heads(x, weight, bias, count: int):
            return torch._C._nn.linear(x, weight, bias).view(x.size(0), x.size(1), count, -1).transpose(1, 2)

        def _masked(scores, mask, kind: Optional[int]):
            left_out = mask.to(torch.bool)
            if kind is not None:
                if kind == 0:
                    left_out = left_out.view(1, 1, scores.size(-2), scores.size(-1))
                if kind == 1:
                    left_out = left_out.view(scores.size(0), 1, 1, scores.size(-1))
            return scores.masked_fill(left_out, float("-inf"))

        def {_ATTENTION.removeprefix("aten.")}(
            query, key, value, width: int, count: int, qkv_weight, qkv_bias, proj_weight, proj_bias,
            mask: Optional[Tensor], need_weights: bool, average: bool, kind: Optional[int]
        ):
            of_queries, of_keys, of_values = qkv_weight.chunk(3, 0)
            query_bias, key_bias, value_bias = qkv_bias.chunk(3, 0)
            queries = _heads(query, of_queries, query_bias, count) * (width // count) ** -0.5
            keys, values = _heads(key, of_keys, key_bias, count), _heads(value, of_values, value_bias, count)
            scores = torch.matmul(queries, keys.transpose(-2, -1))
            {"scores = scores if mask is None else _masked(scores, mask, kind)" if may_mask else ""}
            weights = torch.softmax(scores, -1)
            found = torch.matmul(weights, values).transpose(1, 2).reshape(query.size(0), query.size(1), width)
            if average:
                weights = weights.mean(1)
            return torch._C._nn.linear(found, proj_weight, proj_bias), weights

        def {_LAYER.removeprefix("aten.")}(
            x, width: int, count: int, qkv_weight, qkv_bias, proj_weight, proj_bias, gelu: bool, norm_first: bool, eps: float,
            weight1, bias1, weight2, bias2, inner_weight, inner_bias, outer_weight, outer_bias, mask: Optional[Tensor], kind: Optional[int]
        ):
            y = torch.layer_norm(x, [width], weight1, bias1, eps) if norm_first else x
            attended, _ = {_ATTENTION.removeprefix("aten.")}(
                y, y, y, width, count, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, False, kind
            )
            x = x + attended
            if not norm_first:
                x = torch.layer_norm(x, [width], weight1, bias1, eps)
            y = torch.layer_norm(x, [width], weight2, bias2, eps) if norm_first else x
            y = torch._C._nn.linear(y, inner_weight, inner_bias)
            y = torch._C._nn.linear(torch._C._nn.gelu(y) if gelu else torch.relu(y), outer_weight, outer_bias)
            x = x + y
            return x if norm_first else torch.layer_norm(x, [width], weight2, bias2, eps)
    """)
    graph = getattr(unit, name.removeprefix("aten.")).graph
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_lower_all_tuples(graph)  # attention has two results
    return graph
