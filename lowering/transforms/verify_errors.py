"""tierup-verify-errors: no exception gets lost that nobody would notice.

    %0 = torch.aten.linalg_inv %x : ...       // error: nobody uses its result, and whether it raises is for tier 0 to say
    return %x

What nobody uses is dropped on the way to machine code, and what only that uses; where an op may raise for its operands, and no check of
`tierup-insert-bounds-checks` or `tierup-insert-size-checks` notices, its exception would go with it.
"""

from __future__ import annotations

from tierup.dialect.analysis.raising import hangs_on_kinds, hangs_on_numbers, raises_for_values, refuses_none
from tierup.dialect.ir.walking import unerased
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.signature import inference_of
from tierup.lowering.analysis.stated import ENTRY
from tierup.lowering.building import builders as b
from tierup.lowering.building.refused import Refused
from tierup.lowering.transforms.insert_bounds_checks import is_checked
from tierup.lowering.transforms.insert_size_checks import sizes_given


@register
class VerifyErrors(Pass):
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        inference = inference_of(function)
        for op, row in _dropped(function):
            if is_checked(op):
                continue
            hangs = (hangs_on_numbers(op, row, inference) and not sizes_given(op)) or hangs_on_kinds(op, row, inference)
            if raises_for_values(op, row, inference) or hangs or refuses_none(op, row, inference):
                raise Refused(op, "nobody uses its result, and whether it raises is for tier 0 to say")


def _dropped(function: ir.Operation) -> list[tuple[ir.Operation, Op]]:
    """The ops of the table that nothing needs, the last first."""
    found: dict[ir.Operation, Op] = {}
    for op in unerased(reversed([*b.walk(function)])):
        row = row_of(op)
        if row is not None and row.results and all(use.owner.operation in found for result in op.results for use in result.uses):
            found[op] = row
    return list(found.items())
