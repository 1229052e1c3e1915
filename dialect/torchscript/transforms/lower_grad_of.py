"""tierup-lower-grad-of: a gradient's region becomes a branch that is taken when a gradient is there.

    %0 = "tierup.grad_of"(%g) ({
      %1 = torch.aten.mul.Tensor %g, %x : ...
      "tierup.yield"(%1) : (!torch.vtensor) -> ()
    }, {}) {op = "aten.mul"} : (!torch.vtensor) -> !torch.vtensor

becomes

    %any = "tierup.any_nonzero"(%g) : (!torch.vtensor) -> !torch.bool
    %0 = torch.prim.If %any -> (!torch.vtensor) {
      %1 = torch.aten.mul.Tensor %g, %x : ...
      torch.prim.If.yield %1 : !torch.vtensor
    } else {
      %1 = "tierup.autograd_zero"() : () -> !torch.vtensor
      torch.prim.If.yield %1 : !torch.vtensor
    }

The regions of all ops are searched, those of other `tierup.grad_of` too. Every result must be a tensor: nothing else can be undefined.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import if_, take_place, yield_
from tierup.dialect.ir.walking import ops_of, unerased, walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register

GRAD_OF = "tierup.grad_of"


@register
class LowerGradOf(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        for op in unerased(op for op in walk(func) if op.name == GRAD_OF):
            _lower(op)


def _lower(op: ir.Operation) -> None:
    for result in op.results:
        if not torch_types.is_tensor(result.type):
            raise PassFailure(op, f"gives a {result.type}, which cannot be undefined")
    ip, loc = ir.InsertionPoint(op), op.location
    any_ = ops.create("any_nonzero", list(op.operands), [ir.Type.parse("!torch.bool")], loc=loc, ip=ip).results[0]
    types = [r.type for r in op.results]
    branch, body, undefined = if_(any_, types, loc, ip)
    *inner, last = ops_of(op.regions[0].blocks[0])
    for each in inner:
        body.append(each)
    yield_(body, last.operands)
    at = ir.InsertionPoint(undefined)
    yield_(undefined, [ops.create("autograd_zero", [], [type_], loc=loc, ip=at).results[0] for type_ in types])
    take_place(op, branch.results)
