"""tierup-infer-types: every value's type from the types of the arguments.

Argument types, and the symbols bound to them with `torch.bind_symbolic_shape`, are what is given; the op table's rules say the
rest. A type never loses what it said. A `torch.prim.If` whose condition turns out to be known is replaced by the arm that is
taken. An arm in which an op raises for these types raises, and the branch is the other arm (`raising_arms.py`); where the op stands
in no arm the pass fails. With `keep-branches` such an arm stays as it is, and the results of that op keep their types. Sizes that the
program needs equal though no symbol says so are remarks at the function: a guard must hold them. A pass that leaves values without types
where all had them marks the function `tierup.stale_types`; with `stale-only` no other function is looked at.

    func.func @f(%x: !torch.vtensor<[2,4],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor {
      %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
      return %0 : !torch.vtensor
    }

becomes

    func.func @f(%x: !torch.vtensor<[2,4],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor<[2,4],f32> {
      %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[2,4],f32>
      return %0 : !torch.vtensor<[2,4],f32>
    }
"""

from __future__ import annotations

from tierup.dialect.analysis.raising_arms import leave_out_arm, stands_in_arm
from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.facts.inference.refine import STALE, specialise
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class InferTypes(Pass):
    keep_branches: bool = False  # those never taken stay, untyped
    stale_only: bool = False  # only functions of which a pass left types to be inferred

    def run_on_function(self, func: ir.Operation) -> None:
        if STALE in func.attributes:
            del func.attributes[STALE]
        elif self.stale_only:
            return
        tolerant = False
        while True:
            try:
                ties = specialise(func, keep_branches=self.keep_branches, tolerant=tolerant)
                break
            except InferenceError as e:
                if self.keep_branches and not tolerant and stands_in_arm(e):
                    tolerant = True  # other arguments may let the op run: it stays, and what it gives keeps its type
                elif self.keep_branches or not leave_out_arm(e):
                    raise PassFailure(e.op, f"cannot run on operands of these types: {e}") from e
        for left, right in dict.fromkeys((tie.left, tie.right) for tie in ties):
            diagnostics.remark(func, f"needs the sizes {left} and {right} to be equal")
