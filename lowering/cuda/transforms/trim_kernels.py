"""tierup-trim-kernels: kernels take the parameters that they look at, and no others.

    llvm.func @f_0(%allocated: !llvm.ptr, %aligned: !llvm.ptr, %offset: i64, %size: i64, %stride: i64)
        attributes {nvvm.kernel, tierup.apart = array<i64: 1>}
becomes
    llvm.func @f_0(%aligned: !llvm.ptr {llvm.noalias}, %size: i64) attributes {nvvm.kernel, tierup.parameters = array<i64: 1, 3>}

A memref arrives as allocated pointer, aligned pointer, offset, sizes and strides, of which a kernel on contiguous buffers needs one or
two. `tierup.parameters` says which are left: the host program hands over these. What `tierup.apart` lists is `llvm.noalias` from here on.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import is_used
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.cuda.transforms.annotate_kernels import APART

PARAMETERS = "tierup.parameters"


@register
class TrimKernels(Pass):
    def run(self, module: ir.Module) -> None:
        with ir.Location.unknown(module.context):
            for op in b.walk(module.operation):
                if op.name == "llvm.func" and "nvvm.kernel" in op.attributes and PARAMETERS not in op.attributes:
                    _trim(op)


def _trim(kernel: ir.Operation) -> None:
    block = kernel.regions[0].blocks[0]
    apart = set(ir.DenseI64ArrayAttr(kernel.attributes[APART])) if APART in kernel.attributes else set()
    attributes = list(ir.ArrayAttr(kernel.attributes["arg_attrs"])) if "arg_attrs" in kernel.attributes else None
    used = [i for i, argument in enumerate(block.arguments) if is_used(argument)]
    types = [str(block.arguments[i].type) for i in used]
    kept = []
    for i in used:
        known = {a.name: a.attr for a in ir.DictAttr(attributes[i])} if attributes is not None else {}
        kept.append(ir.DictAttr.get(known | ({"llvm.noalias": ir.UnitAttr.get()} if i in apart else {})))
    for i in reversed(range(len(block.arguments))):
        if i not in used:
            block.erase_argument(i)
    kernel.attributes["function_type"] = ir.TypeAttr.parse(f"!llvm.func<void ({', '.join(types)})>")
    kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(kept)
    kernel.attributes[PARAMETERS] = ir.DenseI64ArrayAttr.get(used)
    if APART in kernel.attributes:
        del kernel.attributes[APART]
