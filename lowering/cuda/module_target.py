"""Which target a module is compiled for: its attribute `tierup.target`, for passes whose kernels differ by target.

Apart from targets.py, which is read where there is no MLIR.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.lowering.cuda.targets import Target, target

TARGET = "tierup.target"  # a module's attribute


def of_function(function: ir.Operation) -> Target | None:
    """The target that the module around a function is compiled for; None where it does not say: kernels are then for any."""
    outer = function.operation
    while outer is not None and outer.name != "builtin.module":
        outer = outer.parent.operation if outer.parent is not None else None
    if outer is None or TARGET not in outer.attributes:
        return None
    return target(ir.StringAttr(outer.attributes[TARGET]).value)
