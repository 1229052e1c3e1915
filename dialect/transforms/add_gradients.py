"""tierup-add-gradients: a function also gives the gradients of its result with respect to chosen arguments.

    func.func @f(%x: !torch.vtensor, %y: !torch.vtensor) -> !torch.vtensor {
      %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      return %0 : !torch.vtensor
    }

becomes, for `{entry=f wrt=0 cotangents}`,

    func.func @f(%x: !torch.vtensor, %y: !torch.vtensor, %g: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor) {
      %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      %1 = torch.aten.mul.Tensor %g, %y : !torch.vtensor, !torch.vtensor -> !torch.vtensor
      %2 = torch.aten.size %x : !torch.vtensor -> !torch.list<int>
      %3 = torch.operator "aten._grad_sum_to_size"(%1, %2) : ...          what broadcasting repeated is summed
      %4 = torch.prim.dtype %x : !torch.vtensor -> !torch.int
      %5 = torch.aten.to.dtype %3, %4, ... : ...                           and what was promoted is cast back
      return %0, %5 : !torch.vtensor, !torch.vtensor
    }

Sizes and dtypes that are known leave the last four ops out. Without `cotangents` there is one result, of rank 0. The gradients of the
arguments `wrt` (numbers, in order; all tensors of floating or unknown dtype when there are none) stand behind the results, and with
`keep-results=false` in their place. Calls are inlined and writes made values first; branches and loops have gradients too. An op without
a rule (dialect/ops/gradients) on the way, a function that writes its arguments, and an argument or result of integers are errors.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.walking import function_names
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function
from tierup.dialect.passes.registry import Pass, PassFailure, register


@register
class AddGradients(Pass):
    entry: str = "main"
    wrt: tuple[int, ...] = ()
    results: tuple[int, ...] = (0,)
    cotangents: bool = False
    keep_results: bool = True

    def run(self, module: ir.Module) -> None:
        func = function_names(module).get(self.entry)
        if func is None:
            raise PassFailure(module.operation, f"has no function @{self.entry}: entry=<name> says which one is differentiated")
        try:
            gradient_of_function(
                module,
                self.entry,
                self.wrt or floats(func),
                results=self.results,
                cotangents=self.cotangents,
                keep_results=self.keep_results,
            )
        except ValueError as e:
            raise PassFailure(func, str(e)) from e


def floats(func: ir.Operation) -> list[int]:
    """The arguments that may have a gradient."""
    dtypes = [
        (i, torch_types.parse_tensor(str(a.type))[1])
        for i, a in enumerate(func.regions[0].blocks[0].arguments)
        if torch_types.is_tensor(a.type)
    ]
    return [i for i, dtype in dtypes if dtype is None or dtype.is_float]
