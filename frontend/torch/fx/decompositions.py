"""Which ATen ops PyTorch takes apart before tierup sees them: those of its core decompositions that no row of the op table knows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions
from torch.export import ExportedProgram, default_decompositions
from torch.fx import GraphModule
from torch.nn.attention import SDPBackend, sdpa_kernel

from tierup.dialect import optable

_ATTENTION = torch.ops.aten.scaled_dot_product_attention.default
# left whole: PyTorch computes them, and its generator gives the numbers that it gives eager
_WHOLE = (torch.ops.aten.native_dropout.default, torch.ops.aten.bernoulli.default)
# not core, and made of ops that have rows
_MORE = (
    torch.ops.aten._native_batch_norm_legit,
    torch.ops.aten._native_batch_norm_legit_functional,
    torch.ops.aten._native_batch_norm_legit_no_training,
    torch.ops.aten.native_batch_norm_backward,
    torch.ops.aten._batch_norm_with_update_functional,
    torch.ops.aten.native_dropout_backward,
    torch.ops.aten.native_layer_norm_backward,
    torch.ops.aten.native_group_norm_backward,
    torch.ops.aten.embedding_dense_backward,
    torch.ops.aten.upsample_bilinear2d,
)


def tracing() -> AbstractContextManager[None]:
    """While a program is traced: attention is taken apart too. PyTorch's fused kernel has a decomposition that is for inference alone:
    with it the fused kernel's gradient is wrong."""
    taking_apart: AbstractContextManager[None] = sdpa_kernel(SDPBackend.MATH)
    return taking_apart


@cache
def table() -> dict[Any, Callable[..., Any]]:
    """For `decomposition_table` and `decompositions` of PyTorch's tracers."""
    found = {**core_aten_decompositions(), **get_decompositions(_MORE)}
    return {op: rule for op, rule in found.items() if op not in _WHOLE and not _has_row(op)}


def table_of(program: ExportedProgram) -> dict[Any, Callable[..., Any]]:
    """`table`, with attention where the program has some that drops: its row does not."""
    nodes = [n for m in program.graph_module.modules() if isinstance(m, GraphModule) for n in m.graph.nodes if n.target is _ATTENTION]
    if all(n.args[4:5] in ((), (0.0,)) and not n.kwargs.get("dropout_p") for n in nodes):
        return table()
    return {**table(), _ATTENTION: default_decompositions()[_ATTENTION]}


def _has_row(op: Any) -> bool:
    return isinstance(op, torch._ops.OpOverload) and op.name().replace("::", ".") in optable.table()
