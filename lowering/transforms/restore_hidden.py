"""tierup-restore-hidden: what `tierup-hide-from-folding` hid is there again.

    %1 = "tierup.hidden"(%0) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32>
    %2 = torch.aten.eq.Tensor %x, %1 : ...
    "tierup.kept"(%2) : (!torch.vtensor<[2],i1>) -> ()

becomes

    %2 = torch.aten.eq.Tensor %x, %0 : ...

An op that was written as a `torch.operator` is one of the torch dialect again. A value that is to have memory of its own (`own`) and
that no op makes any more is copied. Backwards: what such an op reads is hidden, too.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis import copies_kept
from tierup.lowering.building import builders as b


@register
class RestoreHidden(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for op in b.unerased(reversed(list(b.walk(function)))):
            if op.name == copies_kept.HIDDEN:
                copies_kept.restore(op)
            elif op.name == copies_kept.KEPT:
                op.erase()
            elif op.name == copies_kept.CLOSED:
                copies_kept.spell(op, torch_types.spelled(op.context, torch_name(op))[0])
