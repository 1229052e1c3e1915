"""Batch and instance norm as TorchScript has them: in training ops that also write running statistics, which their schemas do not say.

    %y = aten::batch_norm(%x, %w, %b, %mean, %var, %true, %momentum, %eps, ...)
becomes
    %y, %batch, %rstd = torch.aten.native_batch_norm %x, %w, %b, %none, %none, %true, %momentum, %eps
    mean = (1 - momentum) * mean + momentum * batch; var = (1 - momentum) * var + momentum * (unbiased variance of each channel of x)
with what is added a constant to gradients. A batch without elements leaves both as they are.
"""

from __future__ import annotations

from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, is_none
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.nodes.values import cast


def batch_norm(builder: Builder, node: Any) -> None:
    """Handler of aten::batch_norm."""
    x, weight, bias, mean, var, training, momentum, eps, *_ = builder.operands(node)
    if bool_of(training) is not True or (is_none(mean) and is_none(var)):
        builder.op(node)
        return
    em, types = builder.em, builder.em.types
    operands = [x, weight, bias, em.none, em.none, training, momentum, eps]
    y, batch, _ = em.create("torch.aten.native_batch_norm", operands, [types.tensor] * 3).results
    batch = _tensor(builder, "aten.detach", batch)  # no gradient goes through what is written
    channels = _tensor(builder, "aten.transpose.int", _tensor(builder, "aten.detach", x), em.int(0), em.int(1))
    rows = _tensor(builder, "aten.flatten.using_ints", channels, em.int(1), em.int(-1))
    dims = em.create("torch.prim.ListConstruct", [em.int(1)], [types.int_list]).results[0]
    variance = _tensor(builder, "aten.var.dim", rows, dims, em.bool(True), em.bool(False))
    kept = em.create("torch.aten.sub.float", [em.float(1.0), momentum], [types.float]).results[0]
    count = builder.tensor_of(em.create("torch.aten.numel", [x], [types.int]).results[0])
    is_empty = _tensor(builder, "aten.eq.Scalar", count, em.int(0))
    for running, new in ((mean, batch), (var, variance)):
        if not is_none(running):
            whole = cast(builder, running, types.tensor)
            moved = _tensor(builder, "aten.add.Tensor", _tensor(builder, "aten.mul.Scalar", whole, kept), new, momentum)
            _tensor(builder, "aten.copy_", whole, _tensor(builder, "aten.where.self", is_empty, whole, moved), em.bool(False))
    builder.bind(node, [y])


def instance_norm(builder: Builder, node: Any) -> None:
    """Handler of aten::instance_norm: group norm with a group for each channel, or batch norm by running statistics. It writes these in
    training: tier 0 does that."""
    x, weight, bias, mean, var, by_input, momentum, eps, cudnn = builder.operands(node)
    if bool_of(by_input) is False:
        operands = [x, weight, bias, mean, var, by_input, momentum, eps, cudnn]
        builder.bind(node, builder.emit("aten.batch_norm", operands, builder.result_types(node)))
        return
    if bool_of(by_input) is None or not is_none(mean) or not is_none(var):
        builder.op(node)
        return
    channels = builder.em.create("torch.aten.size.int", [x, builder.em.int(1)], [builder.em.types.int]).results[0]
    builder.bind(node, builder.emit("aten.group_norm", [x, channels, weight, bias, eps, cudnn], builder.result_types(node)))


def _tensor(builder: Builder, name: str, *operands: ir.Value) -> ir.Value:
    return builder.em.create(f"torch.{name}", list(operands), [builder.em.types.tensor]).results[0]


HANDLERS = {"aten::batch_norm": batch_norm, "aten::instance_norm": instance_norm}
