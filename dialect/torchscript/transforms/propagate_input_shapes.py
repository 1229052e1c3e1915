"""tierup-propagate-input-shapes: types from the arguments' types, for a program of which not every op need run.

    func.func @f(%x: !torch.vtensor<[2,3],f32>, %c: !torch.bool) -> !torch.vtensor {
      %0 = torch.prim.If %c -> (!torch.vtensor) {
        %1 = torch.aten.mm %x, %x : ...                       never fits: raises, when it is reached
        torch.prim.If.yield %1 : !torch.vtensor
      } else {
        %1 = torch.aten.tanh %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor
        torch.prim.If.yield %1 : !torch.vtensor
      }
      return %0 : !torch.vtensor
    }

becomes the same with `torch.aten.tanh ... -> !torch.vtensor<[2,3],f32>`; the mm, and what joins with it, keep their types.

It differs from `tierup-infer-types` in what it leaves: an op that raises on such operands keeps its types instead of being an error,
since it may stand where no run comes; branches stay, those never taken untyped; and a loop whose types do not settle carries what its
types said. So no program is refused, and none loses an op or an exception.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.facts.inference.refine import specialise
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class PropagateInputShapes(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        try:
            specialise(func, keep_branches=True, tolerant=True)
        except InferenceError as e:  # a type in the program that its own op contradicts
            raise PassFailure(e.op, str(e)) from e
