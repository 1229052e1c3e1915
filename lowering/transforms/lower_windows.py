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
from tierup.lowering import by_table
from tierup.lowering.call import Call, Lowering
from tierup.lowering.movement import shape
from tierup.lowering.tensors import Tensor
from tierup.lowering.windows import adaptive, convolution, pooling


@register
@dataclass(frozen=True)
class LowerWindows(Pass):
    """Lower convolutions, pooling and resizing to linalg."""

    name = "tierup-lower-windows"

    def run_on_function(self, function: ir.Operation) -> None:
        table = {**convolution.LOWERINGS, **pooling.LOWERINGS, **adaptive.LOWERINGS}
        by_table.lower(function, {name: _as_inferred(lowering) for name, lowering in table.items()})


def _as_inferred(lowering: Lowering) -> Lowering:
    """The same, its results of the sizes that inference found: it may know one that arithmetic on sizes only gives in the run."""

    def lower(c: Call) -> list[Tensor]:
        made = lowering(c)
        return [shape.cast(t, c.sizes(i)) for i, t in enumerate(made if isinstance(made, list) else [made])]

    return lower
