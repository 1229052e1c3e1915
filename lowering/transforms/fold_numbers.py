"""tierup-fold-numbers: numbers that inference knows are constants: dtypes, ranks, sizes, comparisons of lists and of strings, ...

    %0 = torch.aten.size.int %x, %one : !torch.vtensor<[?,4],f32>, !torch.int -> !torch.int

becomes

    %0 = torch.constant.int 4

Ops that may raise stay.
"""

from __future__ import annotations

from tierup.dialect.facts.values import Bool, Float, Int
from tierup.dialect.ir.attributes import TYPES
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.signature import inference_of
from tierup.lowering.analysis.stated import ENTRY
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t


@register
class FoldNumbers(Pass):
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        inference = inference_of(function)
        with ir.Location.unknown(function.context):
            for op in b.unerased(b.walk(function)):
                if not t.is_pure(op) or op.name.startswith("torch.constant.") or len(op.results) != 1 or op.regions:
                    continue
                row = row_of(op)
                found = inference.values.get(op.results[0])
                if (row is not None and row.raises) or not isinstance(found, (Int, Float, Bool)):
                    continue
                with ir.InsertionPoint(op):
                    made = _constant(found, op.results[0].type)
                if made is not None:
                    op.results[0].replace_all_uses_with(made)
                    inference.values[made] = found


def _constant(found: Int | Float | Bool, type_: ir.Type) -> ir.Value | None:
    known = found.value
    if not isinstance(known, (bool, int, float)) or TYPES[type(known)] != str(type_) or (type(known) is int and known not in _INT64):
        return None
    return t.constant(known)


_INT64 = range(-(1 << 63), 1 << 63)
