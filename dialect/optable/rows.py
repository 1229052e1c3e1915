"""The rows of a program's ops."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Op


def row_of(op: ir.Operation) -> Op | None:
    """The op's row, of a `torch.operator` that of the op it names; None when no part of tierup knows it."""
    return optable.lookup(torch_name(op))
