"""tierup-verify-native: every op has native code, as far as the op table says.

    %0 = torch.aten.masked_scatter %x, ...  // error: has no native code
    %1 = func.call @f(%x)                   // error: the program is recursive
    %2 = torch.prim.Uninitialized : !torch.vtensor<[?],f32>     // error: of what size it will be is not known

With `on-device`, which pipelines for a GPU ask for, so is one whose native code is the host's alone, "has no kernel".

Not left to the conversions: some of torch-mlir's patterns run for ever on what they don't know. Nor is bufferization left with very many
branches that hand on arrays in which they have written: a loop over a list of several kinds of numbers, written out 40 times, took it
minutes.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.unset import is_open
from tierup.dialect.ir.structure import UNSET
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.autograd_zero import SUM_TO_SIZE
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused

_MOST_HANDED_ON = 128  # arrays, by all branches that write: bufferization takes a second for them, and of more the square and more


@register
class VerifyNative(Pass):
    on_device: bool = False

    def run_on_function(self, function: ir.Operation) -> None:
        handed_on = 0
        for op in b.walk(function):
            if op.name == "torch.prim.If" and (arrays := sum(map(is_tensor, (r.type for r in op.results)))) and _writes(op):
                handed_on += arrays
                if handed_on > _MOST_HANDED_ON:
                    raise Refused(op, f"is one of very many branches that write elements of arrays: more than {_MOST_HANDED_ON} arrays")
            if op.name == UNSET and is_open(op):
                raise Refused(op, "stands for an array that is set later, and of what size it will be is not known before")
            if op.name == "func.call":
                raise Refused(op, "the program is recursive")
            if op.name.startswith(("torch.aten.", "torch.prims.", "torch.operator")):
                if torch_name(op) == SUM_TO_SIZE:
                    continue  # one that is left is refused where it is lowered: what carries its sizes says more
                row = row_of(op)
                if row is None or not row.native:
                    raise Refused(op, "has no native code")
                if self.on_device and (not row.on_device or any("complex<" in str(v.type) for v in (*op.operands, *op.results))):
                    raise Refused(op, "has no kernel")


def _writes(branch: ir.Operation) -> bool:
    return any((row := row_of(op)) is not None and row.puts for op in b.walk(branch))
