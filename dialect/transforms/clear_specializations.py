"""tierup-clear-specializations: outside groups and checks, every tensor is again just a tensor.

What a specialised function's types say holds for the calls it was specialised for. Once the groups are checked nothing else
needs it, and the function takes any arguments. Types stay on literals, on what a check or a guard refined, on the results of
fusion groups, and on all that is inside groups. Casts stand where a plain type meets a refined one.

    func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<*,si64> {
      %0 = torch.aten.nonzero %x : !torch.vtensor<[4],f32> -> !torch.vtensor<*,si64>
      return %0 : !torch.vtensor<*,si64>
    }

becomes

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = torch.aten.nonzero %x : !torch.vtensor -> !torch.vtensor
      return %0 : !torch.vtensor
    }

Every function of the module is cleared, so that calls fit.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refine import place_of_casts
from tierup.dialect.ir.structure import last_of, signature
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.dialect.rewriting import regions


@register
class ClearSpecializations(Pass):
    def run(self, module: ir.Module) -> None:
        clear_types(module)


def clear_types(module: ir.Module, *, everywhere: bool = False) -> None:
    """Make the types of all functions plain, their signatures too: see regions.forget_types."""
    found = list(functions(module.operation))
    for func in found:  # first of all the signatures, which returns and calls must fit
        _clear_signature(func)
    for func in found:
        block = func.regions[0].blocks[0]
        regions.forget_types(block, everywhere=everywhere)
        regions.return_plain(func, place_of_casts(last_of(block)))


def _clear_signature(func: ir.Operation) -> None:
    old = signature(func)
    new = ir.FunctionType.get([regions.plain_type(t) for t in old.inputs], [regions.plain_type(t) for t in old.results])
    func.attributes["function_type"] = ir.TypeAttr.get(new)
