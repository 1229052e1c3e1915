"""tierup-check-inplace: name the in-place ops that no later pass can turn into values.

    torch.operator "aten.bernoulli_.float"(%x, %p, %none) : ...
    error: 'torch.operator' op writes its operand (aten.bernoulli_.float), and no part of tierup knows which function it computes

An in-place op is a row of the op table that names its functional twin, or one of torch-mlir's own ops that write; then
`tierup-functionalize` can say it as a value. PyTorch ends the names of in-place ops in an underscore, which tells them where no row does.
Regions of all ops are searched. Nothing is changed.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import torch_name, walk
from tierup.dialect.language.contracts import STRUCTURE
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class CheckInplace(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        found = []
        for op in walk(func):
            name, row = torch_name(op), row_of(op)
            if op.name in STRUCTURE or (row is not None and not (row.writes and row.functional is None)):
                continue
            if row is not None or _writes(name):
                what = f"writes its operand ({name}), and no part of tierup knows which function it computes"
                found.append(diagnostics.at(op, "error", what))
        if found:
            raise PassFailure.of(found)


_DUNDERS = frozenset({"__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"})


def _writes(name: str) -> bool:
    """Whether an op's name says that it works in place: `aten.add_.Tensor` and `aten.__iand__.Tensor`, not `aten.__and__.Tensor`."""
    _, _, rest = name.partition(".")
    base = rest.partition(".")[0]
    return base in _DUNDERS or (base.endswith("_") and not base.endswith("__"))
