"""tierup-lower-movement: views and movement of elements in the torch dialect become reshapes, slices and loops.

    %1 = torch.aten.select.int %0, %dim, %i
    %2 = torch.aten.cat [%a, %b], %dim
becomes
    tensor.extract_slice of one position
    tensor.insert_slice of each part

Views are values here: those that the caller gets as views of its arguments have left the function before.
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.ops import by_table


@register
@dataclass(frozen=True)
class LowerMovement(Pass):
    """Lower views, joins and rearrangements to tensor and linalg ops."""

    name = "tierup-lower-movement"

    def run_on_function(self, function: ir.Operation) -> None:
        by_table.lower(function, "movement.views", "movement.joining", "movement.patterns")
