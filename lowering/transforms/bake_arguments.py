"""tierup-bake-arguments: numbers whose value the guards promise are constants.

    func.func @f(%n: !torch.int {tierup.guard = {kind = "int", value = 3}}, ...) attributes {tierup.entry} {
      %0 = torch.aten.mul.Scalar %x, %n : ...

becomes

    func.func @f(%n: !torch.int {tierup.guard = {kind = "int", value = 3}}, ...) attributes {tierup.entry, tierup.stale_types} {
      %int3 = torch.constant.int 3
      %0 = torch.aten.mul.Scalar %x, %int3 : ...

The arguments stay, unused. Sizes may hang on the values, so types are inferred again (`tierup-infer-types{stale-only=true}`).
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refine import STALE
from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.stated import ENTRY, guards
from tierup.lowering.base.abi import ArgumentKind
from tierup.lowering.building import torch_ops as t

_PYTHON = {ArgumentKind.BOOL: bool, ArgumentKind.INT: int, ArgumentKind.FLOAT: float}


@register
class BakeArguments(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        block = function.regions[0].blocks[0]
        with ir.Location.unknown(function.context), ir.InsertionPoint.at_block_begin(block):
            for argument, spec in zip(block.arguments, guards(function), strict=True):
                if spec.assumed is None or not is_used(argument):
                    continue
                argument.replace_all_uses_with(t.constant(_PYTHON[spec.kind](spec.assumed)))
                function.attributes[STALE] = ir.UnitAttr.get()
