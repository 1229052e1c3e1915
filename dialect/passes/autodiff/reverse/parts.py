"""The gradient of a part of a tensor, added in its place.

    %z = torch.aten.zeros %sizes, ...                              %a = torch.aten.select.int %total, %dim, %i
    %g = torch.aten.select_scatter %z, %part, %dim, %i     ->      %b = torch.aten.add.Tensor %a, %part, %int1
    %s = torch.aten.add.Tensor %total, %g, %int1                   %s = torch.aten.select_scatter %total, %b, %dim, %i

A loop that reads `x[i]` in each iteration else adds as many tensors of x's size: its gradient took the square of the number of iterations.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.rewriting.core import int_of, under_casts

_TAKES = {"torch.aten.select_scatter": "aten.select.int", "torch.aten.slice_scatter": "aten.slice.Tensor"}


def added(e: Emitter, total: ir.Value, gradient: ir.Value) -> ir.Value:
    """The sum of two gradients of one tensor, of which the second may be one of parts."""
    made = maker(under_casts(gradient))
    if made is not None and made.name == "torch.aten.add.Tensor" and int_of(made.operands[2]) == 1 and _has_parts(gradient):
        return added(e, added(e, total, made.operands[0]), made.operands[1])
    if made is None or not _is_part(made):
        return e.add(total, gradient)
    _, part, *where = made.operands
    before = e.call(_TAKES[made.name], total, *where)
    return e.call(torch_name(made), total, e.add(before, part), *where)


def _has_parts(gradient: ir.Value) -> bool:
    """Whether a gradient is a sum of parts alone: of others it is one sum more."""
    made = maker(under_casts(gradient))
    if made is not None and made.name == "torch.aten.add.Tensor":
        return all(map(_has_parts, list(made.operands)[:2]))
    return made is not None and _is_part(made)


def _is_part(op: ir.Operation) -> bool:
    return op.name in _TAKES and maker(under_casts(op.operands[0]), "torch.aten.zeros") is not None
