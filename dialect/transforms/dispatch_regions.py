"""tierup-dispatch-regions: a guarded region becomes one call, of the function whose executor holds the region's versions.

    %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : ... -> (!torch.vtensor<[4],f32>, !torch.bool)
    %0 = torch.prim.If %ok -> (!torch.vtensor) {
      %1 = "tierup.fusion_group"(%v) ({ ... }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
      ...
    } else {
      %1 = func.call @f_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor
      torch.prim.If.yield %1 : !torch.vtensor
    }

becomes

    %0 = func.call @f_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor

The check is what the entry guards of a version say, and the group is what the twin is for such values, so nothing is lost: an
executor keeps a flat table of versions for each site, where a chain of checks in the program would grow with every one. A group
that needed no check becomes a function `f_region_0` and is called too. `tierup.regions` on the entry names the sites, in order.
Where no result of the entry shares memory with another (`tierup.result_aliases`), nobody can tell which values inside do: its regions are
`tierup.values`.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir.structure import move_out, take_place
from tierup.dialect.ir.walking import callee_name, function_names, symbol_of, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.dialect.rewriting import regions
from tierup.dialect.rewriting.outlining import outline

REGIONS = "tierup.regions"
FALLBACK = "tierup.fallback"
VALUES = "tierup.values"
_ALIASES = "tierup.result_aliases"


@register
class DispatchRegions(Pass):
    def run(self, module: ir.Module) -> None:
        for func in list(functions(module.operation)):
            if FALLBACK in func.attributes:
                continue
            names = function_names(module)
            for op in unerased(op for op in walk(func) if op.name == "tierup.check"):
                _call_twin(op, names)
            prefix = f"{symbol_of(func)}_region_"
            for op in unerased(op for op in walk(func) if op.name == "tierup.fusion_group"):
                name = outline(func, op, prefix, FALLBACK, module)
                names[name] = function_names(module)[name]
                _forget_types(names[name])
            regions.forget_types(func.regions[0].blocks[0])
            called = (callee_name(op) for op in walk(func) if op.name == "func.call")
            sites = [name for name in dict.fromkeys(called) if FALLBACK in names[name].attributes]
            if sites:
                func.attributes[REGIONS] = ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(name) for name in sites])
            if _ALIASES in func.attributes and not any("result:" in ir.StringAttr(said).value for said in func.attributes[_ALIASES]):
                for name in sites:
                    names[name].attributes[VALUES] = ir.UnitAttr.get(func.context)


def _call_twin(check: ir.Operation, names: dict[str, ir.Operation]) -> None:
    """Put the call in a guarded region's second arm in the region's place. A check of another shape is left as it is."""
    answer = check.results[len(check.results) - 1]
    users = [use.owner.operation for use in answer.uses]
    if len(users) != 1 or users[0].name != "torch.prim.If":
        return
    branch = users[0]
    otherwise = [view.operation for view in branch.regions[1].blocks[0].operations]
    calls = [op for op in otherwise if op.name == "func.call"]
    if len(calls) != 1 or FALLBACK not in names[callee_name(calls[0])].attributes:
        return
    if not all(op is calls[0] or op.name in ("torch.tensor_static_info_cast", "torch.prim.If.yield") for op in otherwise):
        return
    take_place(branch, move_out(branch.regions[1].blocks[0], branch))
    for refined, source in zip(list(check.results)[:-1], check.operands, strict=True):
        for use in list(refined.uses):
            owner = use.owner.operation
            owner.operands[use.operand_number] = cast(source, refined.type, ir.InsertionPoint(owner))
    check.erase()


def _forget_types(func: ir.Operation) -> None:
    """A region's function takes any values: its table holds what was assumed of them."""
    regions.forget_types(func.regions[0].blocks[0])
    regions.return_plain(func)
