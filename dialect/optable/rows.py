"""The rows of a program's ops."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import NUMPYS_STEPS, Op


def row_of(op: ir.Operation) -> Op | None:
    """The op's row, of a `torch.operator` that of the op it names; None when no part of tierup knows it."""
    return optable.lookup(torch_name(op))


def kernel_of(op: ir.Operation, row: Op) -> str:
    """Where the function is that tier 0 computes an op by: NumPy's for one under NumPy's rules, or that says them but for its steps."""
    numpys = PROMOTION in op.attributes or NUMPYS_STEPS in op.attributes
    return row.numpy if numpys and row.numpy else row.kernel
