"""The rows of a program's ops."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import NUMPYS_STEPS, Op
from tierup.dialect.optable.written import WRITTEN_BY


def row_of(op: ir.Operation) -> Op | None:
    """The op's row, of a `torch.operator` that of the op it names; None when no part of tierup knows it."""
    return optable.lookup(torch_name(op))


def written_by(op: ir.Operation) -> Op | None:
    """The row of the in-place op under NumPy's rules whose functional twin an op is, as long as it follows them, too."""
    if WRITTEN_BY not in op.attributes or PROMOTION not in op.attributes:
        return None
    return optable.lookup(ir.StringAttr(op.attributes[WRITTEN_BY]).value)


def kernel_of(op: ir.Operation, row: Op) -> str:
    """Where the function is that tier 0 computes an op by: NumPy's for one under NumPy's rules, or that says them but for its steps."""
    if (writes := written_by(op)) is not None and writes.numpy is not None:
        return writes.numpy.replace("numpy_tier0", "numpy_value")
    numpys = PROMOTION in op.attributes or NUMPYS_STEPS in op.attributes
    return row.numpy if numpys and row.numpy else row.kernel
