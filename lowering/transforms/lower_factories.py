"""tierup-lower-factories: zeros, full, arange, eye and their kin of the torch dialect become loops that write.

    %1 = torch.aten.new_full %0, %sizes, %number, ... -> !torch.vtensor<[?,4],bf16>
becomes
    linalg.generic that writes one constant
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.ops import by_table


@register
@dataclass(frozen=True)
class LowerFactories(Pass):
    """Lower tensors made from numbers to loops."""

    name = "tierup-lower-factories"

    def run_on_function(self, function: ir.Operation) -> None:
        by_table.lower(function, "factories")
