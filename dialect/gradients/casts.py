"""Casts and copies: the gradient goes back in the operand's dtype. One that went through integers is zero."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules
from tierup.dialect.mlir import ir

RULES = Rules()


@RULES.vjp(
    "aten.to.dtype(self, dtype, non_blocking, copy, memory_format)",
    "aten.to.dtype_layout(self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format)",
    "aten.to.other(self, other, non_blocking, copy, memory_format)",
    "aten._to_copy(self, dtype, layout, device, pin_memory, non_blocking, memory_format)",
    "aten.type_as(self, other)", "prims.convert_element_type(a, dtype)",
)  # fmt: skip
def cast(g: Backward) -> Gradients:
    """The cast's dtype may be for the run to say: then so is whether there is a gradient."""
    return g.choose(_is_float(g), lambda: g.cast_to(g.grad, 0), lambda: g.zeros(0))


def _is_float(g: Backward) -> bool | ir.Value:
    dtype = g.tensor(g.grad).dtype
    return dtype.is_float if dtype is not None else g.call("aten.is_floating_point", g.grad, type_="!torch.bool")


@RULES.vjp(
    "aten.clone(self, memory_format)", "aten.contiguous(self, memory_format)", "aten.lift_fresh_copy(self)", "aten.alias(self)",
    "aten.to.device(self, device, dtype, non_blocking, copy, memory_format)", "prims.view_of(a)",
    "aten.to.prim_Device(self, device, dtype, non_blocking, copy)",
)  # fmt: skip
def same(g: Backward) -> Gradients:
    return g.cast_to(g.grad, 0)


@RULES.vjp("aten.copy(self, src, non_blocking)")
def copy(g: Backward) -> Gradients:
    """What was there before is gone: its gradient is zero, which is what None says."""
    return None, g.sum_to(g.grad, 1)
