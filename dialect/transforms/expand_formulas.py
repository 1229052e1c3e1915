"""tierup-expand-formulas: ops become the ops that they are made of, which have native code: losses, products with a sum, windows, ...

    %0 = torch.aten.mse_loss %x, %y, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[],f32>

becomes

    %1 = torch.aten.sub.Tensor %x, %y, %int1_0 : ...
    %2 = torch.aten.square %1 : ...
    %0 = torch.aten.mean %2, %none : !torch.vtensor<[2,3],f32>, !torch.none -> !torch.vtensor<[],f32>

The formulas are those of tier 0 (dialect/optable/formulas). Only where types are known (`tierup-infer-types` first), since it is ranks
and dtypes that say what is to be computed, and the numbers among the operands. What an op refuses is still refused: sizes that must be
equal, and are not known to be, are compared, and so are values, as binary_cross_entropy does (`torch.runtime.assert`). What
the formulas are made of is typed by the next `tierup-infer-types` (`tierup.stale_types`).
"""

from __future__ import annotations

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.inference.refine import STALE
from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.fusion.formula_expansion import build, is_formula
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import drop_unused
from tierup.dialect.rewriting.site import Keep, Site
from tierup.dialect.rewriting.typed import infer_or_remark


@register
class ExpandFormulas(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        found = [op for op in walk(func) if is_formula(op)]
        inference = infer_or_remark(func) if found else None
        if inference is None:
            return
        operands: list[ir.Value] = []
        for op in found:
            if all(v in inference.values for v in (*op.operands, *op.results)) and (gone := _expand(op, inference)):
                operands += gone
                func.attributes[STALE] = ir.UnitAttr.get(func.context)
        drop_unused(operands)


def _expand(op: ir.Operation, inference: Inference) -> list[ir.Value]:
    """Put the formula in the place of an op; the operands of the op that went, none where it stays."""
    site = Site(op, inference)
    try:
        results = build(site)
    except Keep:
        site.undo()
        return []
    operands = list(op.operands)
    for result, new, wanted in zip(op.results, results, site.results, strict=True):
        replacement = cast(new, result.type, ir.InsertionPoint(op))
        result.replace_all_uses_with(replacement)
        inference.values.pop(result)
        inference.values[replacement] = wanted
    op.erase()
    return operands
