"""Local rewrites that need types: an op is replaced only where inference proves dtype, shape and errors of what stands for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function, promotion
from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir.walking import torch_name, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Promotion
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.core import functions
from tierup.dialect.rewriting.core import drop_unused
from tierup.dialect.rewriting.site import Keep, Site

Rule = Callable[[Site], ir.Value]
"""Builds what stands for the op's one result, or raises Keep; it must not rely on the op's errors."""


def infer_or_remark(func: ir.Operation, *, unset_has_sizes: bool = False) -> Inference | None:
    """What is known of a function's values, as `infer_function`; None, with a remark, when it raises on all arguments of its types."""
    try:
        return infer_function(func, unset_has_sizes=unset_has_sizes)
    except InferenceError as e:
        diagnostics.remark(e.op, f"cannot run on operands of these types, so the function stays as it is: {e}")
        return None


def rewrite_typed(module: ir.Module, rules: Mapping[str, Rule]) -> list[ir.Operation]:
    """Apply rules, by the names of ops in the op table, to the ops that follow torch's dtype rules; the functions that changed."""
    changed = []
    for func in functions(module.operation):
        if not any(torch_name(op) in rules for op in walk(func)):
            continue
        inference = infer_or_remark(func)
        if inference is None:
            continue
        operands: list[ir.Value] = []
        for op in unerased(op for op in walk(func) if torch_name(op) in rules):
            if promotion(op) is Promotion.TORCH and all(v in inference.values for v in (*op.operands, *op.results)):
                operands += _apply(rules[torch_name(op)], op, inference)
        if operands:
            changed.append(func)
        drop_unused(operands)
    return changed


def _apply(rule: Rule, op: ir.Operation, inference: Inference) -> list[ir.Value]:
    """Apply a rule; the operands of the op that went, none where it stays."""
    site = Site(op, inference)
    try:
        new = rule(site)
        wanted, found = inference[op.results[0]], inference[new]
        if not (isinstance(wanted, Tensor) and wanted.dtype is not None and wanted.shape is not None and wanted == found):
            raise Keep("what would stand for it is not known to have its dtype and shape")
    except Keep:
        site.undo()
        return []
    result, operands = op.results[0], list(op.operands)
    made = cast(new, result.type, ir.InsertionPoint(op))
    result.replace_all_uses_with(made)
    op.erase()
    inference.values[made] = wanted
    return operands
