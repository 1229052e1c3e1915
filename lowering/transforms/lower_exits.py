"""tierup-lower-exits: what is left of a bailout takes and gives builtin values, and what nobody reads is any value.

    "tierup.exit"(%x, %n) {index = 0 : i64} : (!torch.vtensor<[?],f32>, !torch.int) -> ()
    %u = torch.prim.Uninitialized : !torch.vtensor<[?],f32>
becomes
    "tierup.exit"(%0, %1) {index = 0 : i64} : (tensor<?xf32>, i64) -> ()
    %u = tensor.empty(%zero) : tensor<?xf32>

A size that is not static is 0 there.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import UNSET, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import constant
from tierup.lowering.ops import tensors
from tierup.lowering.ops.pointwise.context import NotHandled, load_casts, native, tensor_type, to_builtin, to_torch


@register
class LowerExits(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in b.unerased(b.walk_unfused(function)):
            with op.location, ir.InsertionPoint(op):
                try:
                    if op.name == "tierup.exit":
                        for i, value in enumerate(list(op.operands)):
                            if str(value.type).startswith("!torch."):
                                op.operands[i] = to_builtin(value)
                    elif op.name == "tierup.forced" and str(op.results[0].type) == "!torch.bool":
                        made = b.value("tierup.forced", [], b.integer_type(1), index=op.attributes["index"])
                        _replace(op, made)
                    elif op.name == UNSET:
                        _replace(op, _any(op.results[0].type))
                except NotHandled:
                    b.discard_before(op)  # a list, or an unknown type: tierup-verify-lowered names it


def _any(type_: ir.Type) -> ir.Value:
    if not torch_types.is_value_tensor(type_):
        return constant(0, native(type_))
    known = tensor_type(type_)
    return tensors.empty([b.index(0) if size is None else size for size in known.sizes], known.dtype).value


def _replace(op: ir.Operation, value: ir.Value) -> None:
    take_place(op, [to_torch(value, op.results[0].type)])
