"""tierup-expose-statistics: normalisations give the means and deviations that their gradients need.

    %0 = torch.aten.layer_norm %x, %shape, %w, %b, %eps, %false : ...

becomes

    %0, %mean, %rstd = torch.aten.native_layer_norm %x, %shape, %w, %b, %eps : ...

and likewise group_norm and batch_norm become native_group_norm and native_batch_norm: the same values, computed by the same kernels. A
gradient then captures a mean and a deviation per row instead of computing them a second time. Part of what differentiation begins with.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import number, rewrite


@register
class ExposeStatistics(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        rewrite(func, RULES)


def _native(op: ir.Operation, name: str, operands: Sequence[ir.Value]) -> ir.Value:
    """The first result of an op of three tensors in the place of `op`."""
    statistics = ir.Type.parse("!torch.vtensor", op.context)
    made = ir.Operation.create(
        f"torch.{name}", [op.results[0].type, statistics, statistics], operands, loc=op.location, ip=ir.InsertionPoint(op)
    )
    return made.operation.results[0]


def _layer_norm(op: ir.Operation) -> ir.Value:
    return _native(op, "aten.native_layer_norm", list(op.operands)[:5])


def _batch_norm(op: ir.Operation) -> ir.Value:
    return _native(op, "aten.native_batch_norm", list(op.operands)[:8])


def _group_norm(op: ir.Operation) -> ir.Value:
    """The native form is told samples, channels, and places per channel: of no elements, 0."""
    x, groups, weight, bias, eps, _ = op.operands
    int_ = ir.Type.parse("!torch.int", op.context)

    def scalar(name: str, *operands: ir.Value) -> ir.Value:
        return ir.Operation.create(f"torch.{name}", [int_], operands, loc=op.location, ip=ir.InsertionPoint(op)).operation.results[0]

    samples, channels = (scalar("aten.size.int", x, number(op, d)) for d in (0, 1))
    rows = scalar("prim.max.int", scalar("aten.mul.int", samples, channels), number(op, 1))
    places = scalar("aten.floordiv.int", scalar("aten.numel", x), rows)
    return _native(op, "aten.native_group_norm", [x, weight, bias, samples, channels, places, groups, eps])


RULES = {"aten.layer_norm": _layer_norm, "aten.group_norm": _group_norm, "aten.batch_norm": _batch_norm}
