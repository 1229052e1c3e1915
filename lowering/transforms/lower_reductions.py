"""tierup-lower-reductions: reductions, softmax, layer norm and running sums of the torch dialect become loops.

    %1 = torch.aten.sum.dim_IntList %0, [1], false, none : !torch.vtensor<[?,4],f16> -> !torch.vtensor<[?],f16>
becomes
    linalg.generic, parallel over rows and reducing columns, that adds in f32; another that rounds to f16

with tier 0's accumulators, identities, NaN and order of extremes for every dtype (lowering/ops/reductions). Each is written as
few loops as its formula has; fusing them is for the passes on linalg.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.ops import by_table


@register
@dataclass(frozen=True)
class LowerReductions(Pass):
    """Lower reductions and normalisations to linalg with tier 0's semantics for every dtype."""

    name = "tierup-lower-reductions"

    def run_on_function(self, function: ir.Operation) -> None:
        families = ("sums", "extremes", "statistics", "normalisation", "scans")
        by_table.lower(function, *(f"reductions.{family}" for family in families))
