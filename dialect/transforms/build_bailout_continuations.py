"""tierup-build-bailout-continuations: for each bailout, the function that does the rest of the program when the assumption fails.

    func.func @f(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
      %true = torch.constant.bool true
      %0 = torch.prim.Loop %n, %true, init(%x) {
      ^bb0(%i: !torch.int, %a: !torch.vtensor):
        %1 = "tierup.bailout"(%a, %n, %i) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : ...
        %2 = torch.aten.mul.Scalar %1, %i : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor
        torch.prim.Loop.condition %true, iter(%2 : !torch.vtensor)
      } : (!torch.int, !torch.bool, !torch.vtensor) -> !torch.vtensor
      return %0 : !torch.vtensor
    }

becomes the same with `continuation = @f_continuation_0` on the bailout, and

    func.func private @f_continuation_0(%a: !torch.vtensor, %n: !torch.int, %i: !torch.int) -> !torch.vtensor
        attributes {tierup.continuation} {
      %2 = torch.aten.mul.Scalar %a, %i : ...           the iteration that was left
      %one = torch.constant.int 1
      %done = torch.aten.add.int %i, %one : ...
      %left = torch.aten.sub.int %n, %done : ...
      %true = torch.constant.bool true
      %0 = torch.prim.Loop %left, %true, init(%2) {     the iterations after it
      ^bb0(%j: !torch.int, %b: !torch.vtensor):
        %k = torch.aten.add.int %j, %done : ...
        %3 = torch.aten.mul.Scalar %b, %k : ...
        torch.prim.Loop.condition %true, iter(%3 : !torch.vtensor)
      } : ...
      return %0 : !torch.vtensor
    }

From inside a branch it goes on after the branch. Guards and bailouts in it hand their values through, and types that they proved are
forgotten: it takes any values. Its parameters are the bailout's operands, in their order; docs/architecture.md has the contract.

It must see the program as tierup-insert-bailouts left it: a pass between may make a value needed that no bailout captures. All
continuations together are as long as the program times its bailouts; `function` and `index` ask for one alone, when an assumption fails
first.
"""

from __future__ import annotations

from itertools import count
from typing import Annotated

from tierup.dialect.base.spelling import closest
from tierup.dialect.ir.walking import function_names, symbol_of, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import AtLeast, Pass, PassFailure, functions, register
from tierup.dialect.speculation.continuations import build


@register
class BuildBailoutContinuations(Pass):
    function: str = ""  # only for the bailouts of this function
    index: Annotated[int, AtLeast(-1)] = -1  # only for those of this index

    def run(self, module: ir.Module) -> None:
        taken = set(function_names(module))
        self._check(module)
        for func in functions(module.operation):
            name = symbol_of(func)
            if self.function not in ("", name):
                continue
            for op in unerased(op for op in walk(func) if op.name == "tierup.bailout" and "continuation" not in op.attributes):
                index = ir.IntegerAttr(op.attributes["index"]).value
                if self.index not in (-1, index):
                    continue
                chosen = _free(f"{name}_continuation_{index}", taken)
                taken.add(chosen)
                build(op, func, chosen)
                op.attributes["continuation"] = ir.FlatSymbolRefAttr.get(chosen)

    def _check(self, module: ir.Module) -> None:
        """What is asked for is there, built before or not."""
        found = {symbol_of(func): func for func in functions(module.operation)}
        if self.function and self.function not in found:
            raise PassFailure(module.operation, f"option function: no function is named '{self.function}'{closest(self.function, found)}")
        if self.index == -1:
            return
        asked = [found[self.function]] if self.function else list(found.values())
        indices = [ir.IntegerAttr(op.attributes["index"]).value for func in asked for op in walk(func) if op.name == "tierup.bailout"]
        if self.index not in indices:
            has = f"there are {', '.join(map(str, sorted(set(indices))))}" if indices else "there is none"
            raise PassFailure(asked[0] if self.function else module.operation, f"option index: no bailout has index {self.index}; {has}")


def _free(name: str, taken: set[str]) -> str:
    """`name`, with a number where another function has it."""
    if name not in taken:
        return name
    return next(free for i in count(1) if (free := f"{name}_{i}") not in taken)
