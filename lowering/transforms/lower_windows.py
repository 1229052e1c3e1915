"""tierup-lower-windows: convolutions of the torch dialect become matrix products, pooling becomes loops.

    %1 = torch.aten.conv2d %x, %w, %bias, %stride, %padding, %dilation, %groups
becomes
    for each sample: a loop that lays out what windows see as columns, and linalg.matmul of %w and these
    a loop that adds %bias
and

    %1 = torch.aten.max_pool2d %x, %kernel, %stride, %padding, %dilation, %ceil
becomes
    a loop over the result, unrolled over the window
"""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.ops import by_table


@register
@dataclass(frozen=True)
class LowerWindows(Pass):
    """Lower convolutions, pooling and resizing to linalg."""

    name = "tierup-lower-windows"

    def run_on_function(self, function: ir.Operation) -> None:
        by_table.lower(function, "windows.convolution", "windows.pooling", "windows.adaptive")
