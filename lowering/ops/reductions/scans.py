"""Scans: the ops of dialect/ops/reductions/scans.py as loops that carry what was combined so far."""

from __future__ import annotations

import math
from collections.abc import Callable

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Combine, Kind
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, constant, maximum, minimum, of, select
from tierup.lowering.building.loops import nest
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.pointwise.context import widened
from tierup.lowering.ops.pointwise.elements import SCALARS
from tierup.lowering.ops.tensors import Tensor


def _scan(start: float | None, combine: Callable[[Scalar, Scalar], Scalar]) -> Lowering:
    def lower(c: Call) -> list[Tensor]:
        x, target = c.tensor(0), c.dtype()
        dims = c.ints(1)
        if not x.rank or dims is None:
            return [x.cast(target)]
        axis = dims[0] % x.rank
        carried = dtypes.f64 if target is dtypes.f32 and not c.in_numpys_steps else widened(target)
        out = tensors.empty(x.lengths, target)
        from_nothing = c.in_numpys_steps and start == 0 and carried.is_float  # NumPy adds nothing to the first: it may be -0.0
        first = constant(-0.0 if from_nothing else start or 0, carried)
        outer = [i for i in range(x.rank) if i != axis]

        def line(positions: list[ir.Value], state: list[ir.Value]) -> list[ir.Value]:
            def step(inner: list[ir.Value], carry: list[ir.Value]) -> list[ir.Value]:
                at = list(positions)
                at.insert(axis, inner[0])
                new = tensors.element(x, at).cast(target).cast(carried)
                running = combine(Scalar(carry[1], carried), new)
                if start is None or c.in_numpys_steps and start == -math.inf:  # of -0.0 alone the logarithm's sum would be 0.0
                    running = select(of(inner[0]).equals(0), new, running)
                written = b.value("tensor.insert", [running.cast(target), carry[0], *at], carry[0].type)
                return [written, running]

            return [nest([x.size(axis)], [state[0], first], step)[0]]

        return [out.holding(nest([x.size(i) for i in outer], [out.value], line)[0])]

    return lower


_COMBINE: dict[Combine, tuple[float | None, Callable[[Scalar, Scalar], Scalar]]] = {
    Combine.ADD: (0, lambda x, y: x + y),
    Combine.MULTIPLY: (1, lambda x, y: x * y),
    Combine.LOG_ADD_EXP: (-math.inf, SCALARS.logaddexp),
    Combine.MAXIMUM: (None, maximum),
    Combine.MINIMUM: (None, minimum),
}


LOWERINGS = {op.name: _scan(*_COMBINE[op.combine]) for op in optable.of_kind(Kind.SCAN) if op.combine is not None}
