"""Which target a module is compiled for: its attribute `tierup.target`, for passes whose kernels differ by target.

Apart from targets.py, which is read where there is no MLIR.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.cuda.targets import Target, target

TARGET = "tierup.target"  # a module's attribute
TF32 = "tierup.tf32"  # an attribute of modules whose f32 products may run on the tensor cores


def of_function(function: ir.Operation) -> Target | None:
    """The target that the module around a function is compiled for; None where it does not say: kernels are then for any."""
    outer = _module(function)
    if outer is None or TARGET not in outer.attributes:
        return None
    return target(ir.StringAttr(outer.attributes[TARGET]).value)


def takes_tf32(function: ir.Operation) -> bool:
    """Whether f32 products of the module around a function may be rounded to tf32."""
    outer = _module(function)
    return outer is not None and TF32 in outer.attributes


def _module(function: ir.Operation) -> ir.Operation | None:
    outer = function.operation
    while outer is not None and outer.name != "builtin.module":
        outer = outer.parent.operation if outer.parent is not None else None
    return outer
