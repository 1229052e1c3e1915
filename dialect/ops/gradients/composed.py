"""Gradients of what is made of other ops: its ops are emitted again, and differentiated one by one.

What of them only the value needs is swept away with all else that nobody uses; what the forward run computed too, and kept in the same
function, CSE finds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.core import Backward, Gradient
from tierup.dialect.ops.gradients.emitter import Operand


def _values(items: Sequence[Operand]) -> list[ir.Value]:
    return [v for v in items if isinstance(v, ir.Value)]


class Recorded:
    """Emits through a rule's helpers and notes what. What follows from `inputs`, tensors, may have a gradient."""

    def __init__(self, g: Backward, inputs: Sequence[ir.Value]) -> None:
        self.g = g
        self.active = dict.fromkeys(inputs, True)
        self.ops: list[ir.Operation] = []

    def call(self, name: str, *operands: Operand, type_: str = "!torch.vtensor") -> ir.Value:
        """Emit an op of one result and note it, and whether the result may have a gradient."""
        made = self.g.call(name, *map(self._operand, operands), type_=type_)
        op = made.owner
        assert isinstance(op, (ir.Operation, ir.OpView))
        self.ops.append(op.operation)
        dtype = self.g.tensor(made).dtype
        follows = any(self.active.get(v, False) for v in op.operation.operands)
        self.active[made] = follows and torch_types.is_tensor(made.type) and (dtype is None or dtype.is_float)
        return made

    def _operand(self, operand: Operand) -> Operand:
        """A list of tensors is made of them by an op of its own, through which gradients go."""
        if not isinstance(operand, (list, tuple)) or not any(self.active.get(v, False) for v in _values(operand)):
            return operand
        made = self.g.value(operand)
        owner = made.owner
        assert isinstance(owner, (ir.Operation, ir.OpView))
        self.ops.append(owner.operation)
        self.active[made] = True
        return made

    def gradients(self, results: Sequence[ir.Value], grads: Sequence[Gradient], inputs: Sequence[ir.Value]) -> list[Gradient]:
        """Of the inputs, given those of results."""
        reverse = self.g.walk(self.g, self.active)
        for result, grad in zip(results, grads, strict=True):
            reverse.give(result, grad)
        reverse.run(self.ops)
        return [reverse.take(v) for v in inputs]


def through(
    g: Backward, inputs: Sequence[ir.Value], compute: Callable[[Recorded], ir.Value | tuple[ir.Value, ...]], grads: Sequence[Gradient]
) -> list[Gradient]:
    """The gradients of tensors from which `compute` makes the results, whose gradients are `grads`."""
    recorded = Recorded(g, inputs)
    made = compute(recorded)
    return recorded.gradients(made if isinstance(made, tuple) else (made,), grads, inputs)
