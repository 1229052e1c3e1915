"""tierup-outline-fallbacks: the unspecialised twin of a region becomes a function, with an executor and versions of its own.

    func.func @f(...) {
      ...
      %1 = "tierup.fallback"(%x) ({
      ^bb0(%a: !torch.vtensor):
        %2 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
        "tierup.yield"(%2) : (!torch.vtensor) -> ()
      }, {}) : (!torch.vtensor) -> !torch.vtensor

becomes

    func.func @f(...) {
      ...
      %1 = call @f_fallback_0(%x) : (!torch.vtensor) -> !torch.vtensor
    }
    func.func private @f_fallback_0(%a: !torch.vtensor) -> !torch.vtensor attributes {tierup.fallback} {
      %2 = torch.aten.tanh %a : !torch.vtensor -> !torch.vtensor
      return %2 : !torch.vtensor
    }

Numbers count from 0 in each function and skip names that are taken.
"""

from __future__ import annotations

from dataclasses import dataclass

from tierup.dialect.contracts import function_names, walk
from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, functions, register

FALLBACK = "tierup.fallback"
_SOURCE = "tierup.source"  # where a program comes from: the twin's ops come from there too


@register
@dataclass(frozen=True)
class OutlineFallbacks(Pass):
    """Make each tierup.fallback a private function, and call it."""

    name = "tierup-outline-fallbacks"

    def run(self, module: ir.Module) -> None:
        taken = set(function_names(module))
        for func in functions(module.operation):
            number = 0
            name = ir.StringAttr(func.attributes["sym_name"]).value
            for op in [op for op in walk(func) if op.name == FALLBACK]:
                while f"{name}_fallback_{number}" in taken:
                    number += 1
                taken.add(f"{name}_fallback_{number}")
                _outline(func, op, f"{name}_fallback_{number}", module)


def _outline(func: ir.Operation, op: ir.Operation, name: str, module: ir.Module) -> None:
    types = ir.FunctionType.get([v.type for v in op.operands], [r.type for r in op.results])
    attributes = {
        "sym_name": ir.StringAttr.get(name),
        "sym_visibility": ir.StringAttr.get("private"),
        "function_type": ir.TypeAttr.get(types),
        FALLBACK: ir.UnitAttr.get(),
    }
    if _SOURCE in func.attributes:
        attributes[_SOURCE] = func.attributes[_SOURCE]
    made = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=op.location, ip=ir.InsertionPoint(module.body)).operation
    body = ir.Block.create_at_start(made.regions[0], types.inputs, [op.location] * len(types.inputs))
    old = op.regions[0].blocks[0]
    for argument, new in zip(old.arguments, body.arguments, strict=True):
        argument.replace_all_uses_with(new)
    for view in list(old.operations):
        body.append(view.operation)
    last = list(body.operations)[-1].operation
    ir.Operation.create("func.return", operands=list(last.operands), loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    callee = {"callee": ir.FlatSymbolRefAttr.get(name)}
    ip = ir.InsertionPoint(op)
    call = ir.Operation.create("func.call", results=types.results, operands=list(op.operands), attributes=callee, loc=op.location, ip=ip)
    for result, new in zip(op.results, call.results, strict=True):
        result.replace_all_uses_with(new)
    op.erase()
