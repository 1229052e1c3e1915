"""tierup.differentiable: what may be in one, how one is made without a gradient yet, and how one is undone.

A group that waits for its gradient yields its results from `forward` (attribute `real_outputs`), names no captures, and has a `backward`
that takes and yields nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from tierup.dialect.analysis.requires_grad import RequiresGrad, State
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of, i64, profiled_attr
from tierup.dialect.ir.structure import is_used, move_out, take_place
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.fusion.nativeness import Nativeness

DIFFERENTIABLE = "tierup.differentiable"
PROFILE = "tierup.profile"
FORWARD, BACKWARD = "tierup.forward", "tierup.backward"  # functions that a group's graphs became
_INDICES = ("vjp_outputs", "captured_inputs", "captured_outputs", "gradient_inputs")
_HELPERS = frozenset({"tierup.autograd_add", "tierup.constant_chunk"})


class Differentiability(Nativeness):
    """Which ops join differentiable groups, in the terms of grouping.plan. `states`: what requires a gradient, profiles believed."""

    def __init__(self, inference: Inference, states: RequiresGrad, refused: Collection[ir.Operation] = ()) -> None:
        super().__init__(inference)
        self.states = states
        self.refused = refused

    def _is_native(self, op: ir.Operation) -> bool:
        """Whether an op computes, from value tensors, something that may require a gradient, and PyTorch has a gradient for it."""
        if op in self.refused or not any(self.states.may(r) for r in op.results) or not all(map(_is_value, (*op.operands, *op.results))):
            return False
        if op.name == PROFILE or op.name in _HELPERS:
            return True
        if op.name == "torch.prim.ListConstruct":  # with who takes it, so that a list's gradient is never asked for
            return all(_is_value_tensor(v) for v in op.operands) and all(self.is_native(use.owner.operation) for use in op.results[0].uses)
        if op.name == "torch.prim.ListUnpack":
            made = op.operands[0].owner
            return not isinstance(made, ir.Block) and self.is_native(made.operation)
        row = row_of(op)
        return row is not None and row.differentiable and not (row.writes or row.random or row.kind is Kind.SCALAR)

    def is_ordered(self, op: ir.Operation) -> bool:
        """Profiles may stand anywhere; what touches memory that may be written keeps its place."""
        if op.name == PROFILE:
            return False
        return any(_is_memory(v) for v in (*op.operands, *op.results)) or super().is_ordered(op)


def _is_value_tensor(value: ir.Value) -> bool:
    return torch_types.is_tensor(value.type) and torch_types.is_value_tensor(value.type)


def _is_memory(value: ir.Value) -> bool:
    return torch_types.is_tensor(value.type) and not torch_types.is_value_tensor(value.type)


def _is_value(value: ir.Value) -> bool:
    text = str(value.type)
    return "tensor" not in text.replace("vtensor", "")


def create(
    inputs: Sequence[ir.Value], results: Sequence[ir.Type], *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None
) -> ir.Operation:
    """A group without a gradient, with an empty forward block whose arguments are the operands; `ops.yield_` must end it."""
    attributes: dict[str, ir.Attribute] = {name: ir.DenseI64ArrayAttr.get([]) for name in _INDICES}
    attributes["real_outputs"] = i64(len(results))
    op = ops.create("differentiable", inputs, results, attributes, loc=loc, ip=ip)
    ir.Block.create_at_start(op.regions[0], [v.type for v in inputs], [op.location] * len(inputs))
    backward = op.regions[1].blocks.append()
    ops.yield_([], loc=op.location, ip=ir.InsertionPoint(backward))
    return op


def undo(op: ir.Operation) -> None:
    """Put what `forward` computes in the group's place. Its values are detached no more, so nothing is known of what they require."""
    update_records(op.regions[0], None)
    body = op.regions[0].blocks[0]
    inner = [view.operation for view in body.operations][:-1]
    take_place(op, move_out(body, op, list(op.operands))[: len(op.results)])  # temporaries for the gradient follow
    for moved in reversed(inner):  # no scalar op joins a group: those are sizes and dtypes for the gradient, which nobody wants any more
        row = row_of(moved)
        if row is not None and row.kind is Kind.SCALAR and not any(is_used(r) for r in moved.results):
            moved.erase()


def update_records(region: ir.Region, state: State) -> None:
    """Let all tensors that profiles in a region saw have required a gradient, or not, or either."""
    ops = (op for block in region.blocks for view in block.operations for op in (view.operation, *walk(view.operation)))
    for op in ops:
        if op.name == PROFILE and "profiled" in op.attributes:
            fact = facts_of(op.attributes["profiled"])
            if isinstance(fact, Profiled) and fact.defined is not False and fact.requires_grad != state:
                op.attributes["profiled"] = profiled_attr(replace(fact, requires_grad=state))


def has_gradient(group: ir.Operation) -> bool:
    """Whether tierup-differentiate gave the group its gradient."""
    return bool(len(ir.DenseI64ArrayAttr(group.attributes["vjp_outputs"])))


def groups(func: ir.Operation, wanted: Callable[[ir.Operation], bool] = lambda op: True) -> list[ir.Operation]:
    """The differentiable groups in a function, those inside others first."""
    return [op for op in reversed(list(walk(func))) if op.name == DIFFERENTIABLE and wanted(op)]
