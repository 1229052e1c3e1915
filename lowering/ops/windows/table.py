"""All lowerings of windows. Results have the sizes that inference found: it may know one that arithmetic on sizes only gives in the run."""

from __future__ import annotations

from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.tensors import Tensor
from tierup.lowering.ops.windows import adaptive, convolution, pooling


def _as_inferred(lowering: Lowering) -> Lowering:
    def lower(c: Call) -> list[Tensor]:
        made = lowering(c)
        return [shape.cast(t, c.sizes(i)) for i, t in enumerate(made if isinstance(made, list) else [made])]

    return lower


LOWERINGS = {name: _as_inferred(lowering) for family in (convolution, pooling, adaptive) for name, lowering in family.LOWERINGS.items()}
