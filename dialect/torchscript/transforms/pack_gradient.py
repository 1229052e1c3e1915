"""tierup-pack-gradient: the forward and the backward graph of a differentiable group become functions, with executors of their own.

    func.func @f(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
      %0 = "tierup.differentiable"(%x, %y) ({
      ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
        %1 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
        %2 = torch.aten.mul.Tensor %1, %b : !torch.vtensor, !torch.vtensor -> !torch.vtensor
        "tierup.yield"(%2, %1) : (!torch.vtensor, !torch.vtensor) -> ()
      }, {
      ^bb0(%g: !torch.vtensor, ...):
        ...
        "tierup.yield"(%5) : (!torch.vtensor) -> ()
      }) {...} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor

becomes

      %0 = "tierup.differentiable"(%x, %y) ({
      ^bb0(%a: !torch.vtensor, %b: !torch.vtensor):
        %1:2 = func.call @f_forward_0(%a, %b) : (!torch.vtensor, !torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
        "tierup.yield"(%1#0, %1#1) : (!torch.vtensor, !torch.vtensor) -> ()
      }, {
      ^bb0(%g: !torch.vtensor, ...):
        %1 = func.call @f_backward_0(%g, ...) : (!torch.vtensor, ...) -> !torch.vtensor
        "tierup.yield"(%1) : (!torch.vtensor) -> ()
      }) {...} : (!torch.vtensor, !torch.vtensor) -> !torch.vtensor
    }
    func.func private @f_forward_0(%a: !torch.vtensor {tierup.requires_grad = false}, ...) attributes {tierup.forward} {...}
    func.func private @f_backward_0(%g: !torch.vtensor, ...) attributes {tierup.backward} {...}

The index lists of the group stay where they are: they say what the two graphs hand each other. The forward function runs on detached
tensors, which its arguments say. `diff-graph` and its like then run on these functions as on any. A group without a gradient stays, and so
does one that is packed.
"""

from __future__ import annotations

from tierup.dialect.analysis.requires_grad import set_argument_states
from tierup.dialect.ir.structure import read_others
from tierup.dialect.ir.walking import function_names, ops_of, symbol_of
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.differentiable import BACKWARD, FORWARD, groups, has_gradient
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.dialect.rewriting.outlining import outline


@register
class PackGradient(Pass):
    def run(self, module: ir.Module) -> None:
        for func in functions(module.operation):
            name = symbol_of(func)
            for group in groups(func, has_gradient):
                forward, backward = (region.blocks[0] for region in group.regions)
                if not _is_call(forward):
                    made = _pack(func, forward, f"{name}_forward_", FORWARD, module)
                    set_argument_states(made, [False if "tensor" in str(a.type) else None for a in made.regions[0].blocks[0].arguments])
                if not _is_call(backward):
                    _pack(func, backward, f"{name}_backward_", BACKWARD, module)


def _is_call(block: ir.Block) -> bool:
    return [op.name for op in ops_of(block)] == ["func.call", "tierup.yield"]


def _pack(func: ir.Operation, block: ir.Block, prefix: str, mark: str, module: ir.Module) -> ir.Operation:
    """Make what a block computes a function, which the block then calls. The function."""
    *inner, last = ops_of(block)
    body = ops.fallback(list(block.arguments), [v.type for v in last.operands], loc=last.location, ip=ir.InsertionPoint(last))
    within = body.regions[0].blocks[0]
    yielded = list(last.operands)
    for op in inner:
        within.append(op)
    ops.yield_(yielded, loc=last.location, ip=ir.InsertionPoint(within))
    read_others(ops_of(within), dict(zip(block.arguments, within.arguments, strict=True)))
    ops.yield_(list(body.results), loc=last.location, ip=ir.InsertionPoint(block))
    last.erase()
    name = outline(func, body, prefix, mark, module)
    return function_names(module)[name]
