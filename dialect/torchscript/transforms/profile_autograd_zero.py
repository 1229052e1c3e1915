"""tierup-profile-autograd-zero: let runs record which gradients are there, for tierup-specialize-autograd-zero.

    func.func @backward(%g: !torch.vtensor, %h: !torch.vtensor, %size: !torch.optional<list<int>>) -> !torch.vtensor {
      %0 = "tierup.autograd_add"(%g, %h) : ...
      %1 = torch.operator "aten._grad_sum_to_size"(%0, %size) : ...

becomes

      %2 = "tierup.profile"(%g) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
      %3 = "tierup.profile"(%h) {slot = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
      %4 = "tierup.profile"(%size) {slot = 2 : i64} : (!torch.optional<list<int>>) -> !torch.optional<list<int>>
      %0 = "tierup.autograd_add"(%2, %3) : ...

Arguments that an op takes whose result depends on what is there are watched, where they come in: a definition is what is specialised,
not a use. Those watched already are left, and so is a function without such ops. A function that watched none before counts its runs.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import last_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.autograd_zero import depends_on_definedness
from tierup.dialect.passes.registry import Pass, PassFailure, register

_OPTIONAL_LIST = "!torch.optional<list<"


@register
class ProfileAutogradZero(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        inside = list(walk(func))
        block = func.regions[0].blocks[0]
        read = {v for op in inside if depends_on_definedness(op) for v in op.operands}
        wanted = [a for a in block.arguments if a in read and _is_recordable(a) and not _is_profiled(a)]
        if not wanted:
            return
        last = last_of(block)
        if last.name != "func.return":
            raise PassFailure(func, f"ends with {last.name}: only a function that returns at its end counts its runs")
        slots = [ir.IntegerAttr(op.attributes["slot"]).value for op in inside if op.name == "tierup.profile"]
        first = ir.InsertionPoint.at_block_begin(block)
        for slot, argument in enumerate(wanted, start=max(slots, default=-1) + 1):
            made = ops.profile(argument, slot, loc=ir.Location.unknown(func.context), ip=first)
            argument.replace_all_uses_except(made, made.owner.operation)
        if not any(op.name == "tierup.count_run" for op in inside):
            ops.create("count_run", [], [], loc=last.location, ip=ir.InsertionPoint(last))


def _is_recordable(value: ir.Value) -> bool:
    return torch_types.is_tensor(value.type) or str(value.type).startswith(_OPTIONAL_LIST)


def _is_profiled(value: ir.Value) -> bool:
    return any(use.owner.operation.name == "tierup.profile" for use in value.uses)
