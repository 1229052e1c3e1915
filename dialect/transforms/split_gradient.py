"""tierup-split-gradient: a function becomes a forward function, which also gives what its gradient needs, and a backward one.

    func.func @f(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
      %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      %1 = torch.aten.mul.Tensor %0, %y : ...
      return %1 : !torch.vtensor<[4],f32>
    }

becomes, for `{entry=f wrt=0}`,

    func.func @f(%x: !torch.vtensor<[4],f32>, %y: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) {
      %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      %1 = torch.aten.mul.Tensor %0, %y : ...
      return %1, %0 : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>
    }
    func.func @f_backward(%y: !torch.vtensor<[4],f32>, %0: !torch.vtensor<[4],f32>, %g: !torch.vtensor<[4],f32>) -> !torch.vtensor
        attributes {tierup.captures = ["argument:1", "saved:0"]} {
      %1 = torch.aten.mul.Tensor %g, %y : ...
      ... 1 - %0 * %0, times %1
      return %5 : !torch.vtensor
    }

`tierup.captures` says where the first arguments of backward come from; the cotangents of `results` follow: of all tensors that may have one
when none is named. Gradients are those of `wrt` (all tensors of floating or unknown dtype when none is named) that depend on these results.
What is captured, and what is computed again: dialect/passes/autodiff/capturing.py. Errors are those of `tierup-add-gradients`.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import function_names
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.differentiation import value_form
from tierup.dialect.passes.autodiff.split_gradient import split_gradient
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.dialect.transforms.add_gradients import floats


@register
class SplitGradient(Pass):
    entry: str = "main"
    wrt: tuple[int, ...] = ()
    results: tuple[int, ...] = ()

    def run(self, module: ir.Module) -> None:
        func = function_names(module).get(self.entry)
        if func is None:
            raise PassFailure(module.operation, f"has no function @{self.entry}: entry=<name> says which one is differentiated")
        wrt = self.wrt or floats(func)
        try:
            func = value_form(module, self.entry, wrt, self.results)
        except ValueError as e:
            raise PassFailure(func, str(e)) from e
        split_gradient(module, func, wrt, seeds=self.results or None)
