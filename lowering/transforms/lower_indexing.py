"""tierup-lower-indexing: gathers and scatters of the torch dialect become loops with positions kept in range.

    %2 = torch.aten.index_select %0, %dim, %1
becomes
    linalg.generic over the result that reads %0 at clamped positions

That every position was in range to begin with is insert_bounds_checks' to assert; here nothing outside is ever read or
written. A scatter is a loop in index order over a copy: the last of several writes to one place counts, as in tier 0.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.ops import by_table


@register
@dataclass(frozen=True)
class LowerIndexing(Pass):
    """Lower gathers and scatters to loops that read and write nothing out of range."""

    name = "tierup-lower-indexing"

    def run_on_function(self, function: ir.Operation) -> None:
        by_table.lower(function, "indexing.gathers", "indexing.scatters")
