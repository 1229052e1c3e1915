"""tierup-refine-arguments: the arguments of an entry get the types that its guards promise, their sizes the guards' symbols.

    func.func @f(%x: !torch.vtensor {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}}) attributes {tierup.entry} {

becomes

    func.func @f(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {...}}) attributes {tierup.entry} {
      %s0 = torch.symbolic_int "s0" {min_val = 2, max_val = 9223372036854775807} : !torch.int
      torch.bind_symbolic_shape %x, [%s0], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>

Where an argument is handed on (by a branch, a loop, a profile) the types are made to agree. Arguments whose symbols are bound already are
left. The values that guards promise of numbers are put in later, where the kernel is prepared.
"""

from __future__ import annotations

from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.refine import match_edges
from tierup.dialect.ir.structure import set_signature
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.lowering.analysis import signature
from tierup.lowering.analysis.stated import ENTRY, guards
from tierup.lowering.base.abi import ArgumentKind
from tierup.lowering.building import builders as b


@register
class RefineArguments(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        block, specs = function.regions[0].blocks[0], guards(function)
        if len(specs) != len(block.arguments):
            raise PassFailure(function, f"is an entry of {len(block.arguments)} arguments, of which {len(specs)} have tierup.guard")
        for argument, spec in zip(block.arguments, specs, strict=True):
            argument.set_type(ir.Type.parse(signature.argument_type(spec), function.context))
        edges = []
        for op in b.walk(function):
            if op.name == "tierup.profile" and op.operands[0].type != op.results[0].type:
                op.results[0].set_type(op.operands[0].type)
            elif op.name != "func.return":  # the signature follows it
                edges.append(op)
        match_edges(edges)
        set_signature(function)
        bound = symbols.bound_shapes(block)
        shapes = {a: s.sizes for a, s in zip(block.arguments, specs, strict=True) if s.kind is ArgumentKind.ARRAY and a not in bound}
        symbols.bind(block, {a: sizes for a, sizes in shapes.items() if any(isinstance(d, str) for d in sizes)})
