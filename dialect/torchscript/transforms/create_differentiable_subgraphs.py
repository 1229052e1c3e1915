"""tierup-create-differentiable-subgraphs: group ops whose results require a gradient, for their gradients to be built together.

    func.func @f(%x: !torch.vtensor, %w: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
      %0 = torch.aten.mul.Tensor %x, %w : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      %1 = torch.aten.sigmoid %0 : !torch.vtensor -> !torch.vtensor
      return %1 : !torch.vtensor
    }

becomes

    func.func @f(%x: !torch.vtensor, %w: !torch.vtensor {tierup.requires_grad = true}) -> !torch.vtensor {
      %0 = "tierup.differentiable"(%x, %w) ({
      ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
        %1 = torch.aten.mul.Tensor %a, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
        %2 = torch.aten.sigmoid %1 : !torch.vtensor -> !torch.vtensor
        "tierup.yield"(%2) : (!torch.vtensor) -> ()
      }, {
        "tierup.yield"() : () -> ()                                      no gradient yet
      }) {real_outputs = 1 : i64, ...} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
      return %0 : !torch.vtensor
    }

Grouped as by tierup-fuse-groups: no cycles, and ops that may raise, write, or touch memory that may be written keep their order. Ops join
that PyTorch can differentiate (the op table says) and whose results may require a gradient, what profiles saw taken for true. Groups of
fewer than `threshold` ops are left; constants, lists, views and scalars do not count. No output of a group shares memory with another or
with an input, which autograd cannot express: the views that do stay outside. Branches and loops are searched for groups inside;
continuations and backward graphs are left as they are, and so is a function of which tierup-decide-gradient says that none is needed.
"""

from __future__ import annotations

from typing import Annotated

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.requires_grad import NEEDS_GRADIENT, RequiresGrad
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import blocks, last_of
from tierup.dialect.ir.walking import ops_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.differentiable import BACKWARD, Differentiability, create
from tierup.dialect.passes.fusion.building import boundary, build, drop_unused
from tierup.dialect.passes.fusion.grouping import plan, weight
from tierup.dialect.passes.registry import AtLeast, Pass, register
from tierup.dialect.rewriting.typed import infer_or_remark
from tierup.dialect.speculation import CONTINUATION


@register
class CreateDifferentiableSubgraphs(Pass):
    threshold: Annotated[int, AtLeast(1)] = 2

    def run_on_function(self, func: ir.Operation) -> None:
        if CONTINUATION in func.attributes or BACKWARD in func.attributes:
            return  # a graph like those that come in, with an executor of its own
        if NEEDS_GRADIENT in func.attributes:
            needed = ir.BoolAttr(func.attributes[NEEDS_GRADIENT]).value
            del func.attributes[NEEDS_GRADIENT]
            if not needed:
                return
        inference = infer_or_remark(func)
        if inference is not None:
            _Grouping(func, inference, self.threshold).block(func.regions[0].blocks[0])


class _Grouping:
    def __init__(self, func: ir.Operation, inference: Inference, threshold: int) -> None:
        self.inference = inference
        self.threshold = threshold
        self.states = RequiresGrad(func, profiles=True)
        self.aliases = AliasAnalysis(func)

    def block(self, block: ir.Block) -> None:
        refused: set[ir.Operation] = set()
        while True:
            found = plan(block, self.inference, Differentiability(self.inference, self.states, frozenset(refused)), self.threshold)
            kept = [] if found is None else [g for g in found.groups if sum(map(weight, g)) >= self.threshold]
            wrong = {op for group in kept for op in self._sharing(block, group)}
            if not wrong:
                break
            refused |= wrong
        if found is not None and kept:
            terminator = last_of(block)
            for item in found.order:
                for op in item if isinstance(item, list) else [item]:
                    op.move_before(terminator)
            for members in kept:
                build(block, members, self.inference, create)
            drop_unused(block)
        for op in ops_of(block):
            if not op.name.startswith("tierup."):
                for inner in blocks(op):
                    self.block(inner)

    def _sharing(self, block: ir.Block, group: list[ir.Operation]) -> list[ir.Operation]:
        """Members that hand out memory which they did not make and which comes in, or is handed out, as another value too; and members
        that hand out a list or get one of tensors that require gradients: these would be undefined one by one."""
        inputs, outputs = boundary(block, group)
        listed = [v for v in outputs if not torch_types.is_tensor(v.type) and self.states.may(v)]
        taken = [v for v in inputs if not torch_types.is_tensor(v.type) and self.states.may(v)]
        takers = [op for op in group for v in op.operands if v in taken]
        return [v.owner.operation for v in listed] + takers + [
            output.owner.operation
            for output in outputs
            if not _makes(output.owner.operation) and any(v != output and self.aliases.may_alias(output, v) for v in (*inputs, *outputs))
        ]


def _makes(op: ir.Operation) -> bool:
    """Whether an op's results are memory of its own. (In a loop alias analysis says of fresh ones that the last round's came in.)"""
    row = row_of(op)
    return row is not None and row.aliasing is Aliasing.FRESH and row.kind is not Kind.SCALAR
