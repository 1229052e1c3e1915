"""tierup-annotate-kernel: tell LLVM what bufferization knows.

    llvm.func @f(%arg0: !llvm.ptr, %arg1: !llvm.ptr, ...)
becomes
    llvm.func internal @f(%arg0: !llvm.ptr {llvm.noalias}, ...) attributes {passthrough = ["alwaysinline"]}

Results are fresh memory and arguments are only read, so no pointer argument of an entry is written through another. Entries are
called by the adapter alone, hence internal; and they are inlined there first of all, so that LLVM simplifies one function and not two.
Internal are also the helpers that MLIR's passes add. Parts of an entry (tierup-split-kernel) are
marked as it is, and stay functions; so do its exits (tierup-outline-exits), and what deallocations ask after one
(tierup-spare-handed-over): they are rarely called. So is what loops poll, over which each round would jump if LLVM did not know it. A loop
that threads share (tierup-share-loops) says which memory is reached through one argument alone.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.stated import PART, RESULT_KINDS
from tierup.lowering.externals import polling
from tierup.lowering.ops.products.kernels import KERNEL
from tierup.lowering.transforms.outline_exits import EXIT
from tierup.lowering.transforms.share_loops import APART, SHARED
from tierup.lowering.transforms.spare_handed_over import HANDED_OVER_MARK


@register
class AnnotateKernel(Pass):
    def run(self, module: ir.Module) -> None:
        noalias = {"llvm.noalias": ir.UnitAttr.get()}
        pointer, internal = ir.Type.parse("!llvm.ptr"), ir.Attribute.parse("#llvm.linkage<internal>")
        for view in module.body.operations:
            function = view.operation
            if function.name == "llvm.func" and symbol_of(function) == polling.POLL:
                _mark(function, "cold")
            if function.name != "llvm.func" or not len(function.regions[0].blocks):
                continue
            function.attributes["linkage"] = internal
            is_entry, is_part = RESULT_KINDS in function.attributes, PART in function.attributes
            if is_part or KERNEL in function.attributes:
                _mark(function, "noinline")  # parts keep LLVM's time linear
            elif EXIT in function.attributes or HANDED_OVER_MARK in function.attributes:
                _mark(function, "noinline", "cold")
            elif is_entry:
                _mark(function, "alwaysinline")
            if SHARED in function.attributes:
                _mark(function, "alwaysinline")  # into what threads call
                marks = [{} if APART not in known or type_ != pointer else noalias for known, type_ in _arguments(function)]
                function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(m) for m in marks])
            if is_entry or is_part:
                marks = [known | (noalias if type_ == pointer else {}) for known, type_ in _arguments(function)]
                function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(m) for m in marks])


def _mark(function: ir.Operation, *marks: str) -> None:
    function.attributes["passthrough"] = ir.ArrayAttr.get([ir.StringAttr.get(mark) for mark in marks])


def _arguments(function: ir.Operation) -> list[tuple[dict[str, ir.Attribute], ir.Type]]:
    """What each argument is marked with already, and its type."""
    types = [a.type for a in function.regions[0].blocks[0].arguments]
    if "arg_attrs" not in function.attributes:
        return [({}, type_) for type_ in types]
    marks = map(ir.DictAttr, ir.ArrayAttr(function.attributes["arg_attrs"]))
    return [({a.name: a.attr for a in mark}, type_) for mark, type_ in zip(marks, types, strict=True)]
