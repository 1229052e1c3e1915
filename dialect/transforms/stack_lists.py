"""tierup-stack-lists: a list that a loop makes longer by one tensor in each iteration becomes one tensor with a row for each.

    %l = torch.prim.ListConstruct : () -> !torch.list<vtensor>
    %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor<[3],f32>, %m: !torch.list<vtensor>):
      %one = torch.prim.ListConstruct %a : (!torch.vtensor<[3],f32>) -> !torch.list<vtensor>
      %more = torch.aten.add.t %m, %one : ...
      ...
      torch.prim.Loop.condition %true, iter(%b, %more : ...)
    } : ...
    %0 = torch.aten.__getitem__.t %r#1, %k : !torch.list<vtensor>, !torch.int -> !torch.vtensor

becomes

    %l = torch.aten.zeros [max(%n, 0), 3], ...
    %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor<[3],f32>, %m: !torch.vtensor):
      %more = torch.aten.select_scatter %m, %a, %int0, %i : ...
      ...
      torch.prim.Loop.condition %true, iter(%b, %more : ...)
    } : ...
    %0 = torch.aten.select.int %r#1, %int0, %k : ...

So gradients save what a loop carries (reverse/loops.py), and so it has native code. The tensor's dtype and sizes must be the same
in each iteration (`tierup-infer-types` first), and nothing else may be done with the list than to take items of it, to count them, to
stack it, or to join it (`aten.cat`), of all of it or a part; else the list stays. A stack is the tensor itself, its rows moved to where
they are to be; of no rows there is none, in PyTorch neither, which is checked.
Sizes that are symbols are asked of what the loop carries, or of an argument. The iterations of a loop that ends by its
condition are counted first, by running a copy of it (autodiff/counting_loops.py): twice in native code is less than once in tier 0.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refine import STALE
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.stacked_lists import stack_lists
from tierup.dialect.passes.registry import Pass, functions, register


@register
class StackLists(Pass):
    def run(self, module: ir.Module) -> None:
        for func in functions(module.operation):
            if stack_lists(func, guarded=True):
                func.attributes[STALE] = ir.UnitAttr.get(func.context)
