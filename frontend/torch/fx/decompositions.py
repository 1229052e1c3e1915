"""Which ATen ops PyTorch takes apart before tierup sees them: those of its core decompositions that no row of the op table knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import signature
from math import prod
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, decomposition_table, get_decompositions
from torch._inductor import inductor_prims
from torch.export import ExportedProgram, default_decompositions
from torch.fx import GraphModule
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.nn.attention import SDPBackend, sdpa_kernel

from tierup.dialect import optable

_ATTENTION = torch.ops.aten.scaled_dot_product_attention.default
# left whole: PyTorch computes them, and its generator gives the numbers that it gives eager
_WHOLE = (torch.ops.aten.bernoulli.default, torch.ops.aten.bernoulli.p)
_DROPS = torch.ops.aten.native_dropout.default
_DROPOUT, _COMPOSITE = torch.ops.aten.dropout.default, torch._C.DispatchKey.CompositeImplicitAutograd
_PYTORCHS_DROPOUT = _DROPOUT.py_kernels[_COMPOSITE]
_RECURRENT = tuple(getattr(getattr(torch.ops.aten, n), o) for n in ("lstm", "gru", "rnn_tanh", "rnn_relu") for o in ("input", "data"))
_INDEXED = (
    torch.ops.aten.index_add.default,
    torch.ops.aten.index_copy.default,
    torch.ops.aten.index_fill.int_Scalar,
    torch.ops.aten.index_fill.int_Tensor,
)
# what tracing makes of `addcmul_` and its like, in versions of PyTorch that do; operands may be numbers
_FUSED = {inductor_prims.fma: lambda a, b, c: a * b + c} if hasattr(inductor_prims, "fma") else {}
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


@contextmanager
def tracing() -> Iterator[None]:
    """While a program is traced: attention is taken apart too. PyTorch's fused kernel has a decomposition that is for inference alone:
    with it the fused kernel's gradient is wrong. And dropout is eager's."""
    _take_dropout_apart_by(_dropout)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        _take_dropout_apart_by(_PYTORCHS_DROPOUT)


def _take_dropout_apart_by(rule: Callable[..., Any]) -> None:
    """No table of decompositions is asked for it, since it may give its operand."""
    _DROPOUT.py_kernels[_COMPOSITE] = rule
    _DROPOUT._dispatch_cache.clear()


@cache
def table() -> dict[Any, Callable[..., Any]]:
    """For `decomposition_table` and `decompositions` of PyTorch's tracers."""
    found = {**core_aten_decompositions(), **get_decompositions(_MORE)}
    found = {op: rule for op, rule in found.items() if op not in _WHOLE and not _has_row(op)}
    found |= {op: _in_bounds(op, decomposition_table[op]) for op in _INDEXED} | {_DROPS: _native_dropout, **_FUSED}
    return found | {op: _dropping(decomposition_table[op]) for op in _RECURRENT}


def table_of_functional() -> dict[Any, Callable[..., Any]]:
    """`table`, for graphs whose results PyTorch makes views of each other itself: a view may be taken for the elements that it has."""
    return {**table(), torch.ops.aten.as_strided.default: _as_strided}


def table_of(program: ExportedProgram) -> dict[Any, Callable[..., Any]]:
    """`table`, with attention where the program has some that drops: its row does not."""
    nodes = [n for m in program.graph_module.modules() if isinstance(m, GraphModule) for n in m.graph.nodes if n.target is _ATTENTION]
    if all(n.args[4:5] in ((), (0.0,)) and not n.kwargs.get("dropout_p") for n in nodes):
        return table()
    return {**table(), _ATTENTION: default_decompositions()[_ATTENTION]}


def _in_bounds(op: Any, rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of an op with indices, those out of bounds refused as in eager: of the two that PyTorch's rules take as Python does, below
    0 are such. Taking the index from all that there are checks it. Only index_fill counts from behind."""

    def rule_of_checked(x: Any, dim: int, index: Any, source: Any, **kwargs: Any) -> Any:
        every = torch.arange(x.size(dim) if x.ndim else 1, device=index.device)
        raises_runtime_error = op is torch.ops.aten.index_add.default and x.ndim > 1
        row = index.reshape(-1)
        if op.name().startswith("aten::index_fill"):
            return rule(x, dim, torch.where(row < 0, row + every.shape[0], row), source, **kwargs)
        return rule(x, dim, every.gather(0, row.long()) if raises_runtime_error else every.index_select(0, row), source, **kwargs)

    return rule_of_checked


def _dropping(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule of a recurrent network, layer by layer where it drops in between: PyTorch's rule of several layers drops nothing."""

    def rule_of_layers(*args: Any, **kwargs: Any) -> Any:
        given = signature(rule).bind(*args, **kwargs).arguments
        layers, p = given["num_layers"], given["dropout"]
        if layers == 1 or p == 0 or not given["train"]:
            return rule(**given)
        name = "input" if "input" in given else "data"
        swapped = given.get("batch_first", False)
        result = given[name].transpose(0, 1) if swapped else given[name]
        given |= {"num_layers": 1, "dropout": 0.0} | ({"batch_first": False} if swapped else {})
        weights, is_pair = given["params"], isinstance(given["hx"], (list, tuple))
        states = [list(h.chunk(layers)) for h in (given["hx"] if is_pair else [given["hx"]])]
        each = len(weights) // layers
        last = []
        for k, before in enumerate(zip(*states, strict=True)):
            own = {"hx": before if is_pair else before[0], "params": weights[k * each : (k + 1) * each]}
            result, *after = rule(**{**given, name: torch.dropout(result, p, True) if k else result, **own})
            last.append(after)
        return result.transpose(0, 1) if swapped else result, *(torch.cat(h) for h in zip(*last, strict=True))

    return rule_of_layers


def _dropout(x: torch.Tensor, p: float, train: bool) -> torch.Tensor:
    """As eager's, which hands x on where nothing is dropped, and draws nothing where all is; PyTorch's rule copies and draws there."""
    if not train or p == 0:
        return x
    dropped: torch.Tensor = x * 0.0 if p == 1 else torch.ops.aten.native_dropout(x, p, True)[0]
    return dropped


def _as_strided(x: torch.Tensor, size: Sequence[Any], stride: Sequence[Any], storage_offset: Any = None) -> Any:
    """What lies at these strides in the memory of x: a view of another kind, or elements at indices, as windows that overlap are.
    NotImplemented where it is x or a reshape of it, or memory that x does not fill."""
    if free_unbacked_symbols([*x.shape, *size, *stride]) or x.numel() == 0 or prod(size) == 0:
        return NotImplemented
    rows = x.permute(sorted(range(x.ndim), key=lambda dim: -x.stride(dim)))
    is_all = rows.is_contiguous() and x.storage_offset() == 0 and x.ndim > 0 and storage_offset in (None, 0)
    last = sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    order = sorted(range(len(size)), key=lambda dim: -stride[dim])
    steps = [prod(size[d] for d in order[k + 1 :]) for k in range(len(order))]
    is_view = prod(size) == x.numel() and all(size[d] == 1 or stride[d] == step for d, step in zip(order, steps, strict=True))
    is_reshape = is_view and order == sorted(order) and x.is_contiguous()
    if not is_all or is_reshape or not last < x.numel() or list(size) == list(x.shape) and list(stride) == list(x.stride()):
        return NotImplemented
    if is_view:
        return rows.reshape([size[d] for d in order]).permute([order.index(d) for d in range(len(order))])
    index: Any = 0
    for n, step in zip(size, stride, strict=True):
        index = (torch.arange(n, device=x.device) * step) + (index.unsqueeze(-1) if isinstance(index, torch.Tensor) else 0)
    return rows.reshape(-1)[index]


def _native_dropout(x: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    """What is left, and where it was kept. The draw is of nothing but sizes, so it need not wait for x (`draws_first`); its numbers go to
    elements in the order of memory, as PyTorch's do."""
    if train is False:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    in_rows = bool(free_unbacked_symbols(x)) or x.is_contiguous()  # of sizes that only the run knows nobody can ask
    order = list(range(x.ndim)) if in_rows else sorted(range(x.ndim), key=lambda dim: -x.stride(dim))
    drawn = torch.bernoulli(torch.empty([x.size(dim) for dim in order], dtype=torch.bool, device=x.device), 1 - p)
    kept = drawn if in_rows else drawn.permute([order.index(dim) for dim in range(x.ndim)])
    return x * kept * (0.0 if p == 1 else 1 / (1 - p)), kept


def _has_row(op: Any) -> bool:
    return isinstance(op, torch._ops.OpOverload) and op.name().replace("::", ".") in optable.table()
