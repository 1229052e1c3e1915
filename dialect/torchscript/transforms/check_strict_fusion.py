"""tierup-check-strict-fusion: an error for every op that computes on tensors and stands in no fusion group. Changes nothing.

    %0 = "tierup.fusion_group"(%x) ({ ... }, {}) : ...
    %1 = torch.aten.nonzero %0 : ...              error: 'torch.aten.nonzero' op is left out of fusion: it has no native code

For users who would rather have an error than a slow program; runs last, after the groups and their checks are there. Each op is named at
its line, all of them at once.

Not counted are views, numbers, lists, constants and casts, which cost no pass over a tensor, and checks with the branches that they
decide. Fallbacks are what runs when an assumption fails: they, and the functions that they became, are left alone, as are continuations.
A branch or loop that is not in a group as a whole is left out, and so is what groups in it left out, arms that never ran included. A
call is left out too, since nothing is fused across it.

With `single` a second group on one path through a function is an error as well: what lies between two groups goes through memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tierup.dialect.ir.structure import blocks, maker
from tierup.dialect.ir.walking import callee_name, function_names
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.diagnostics import Diagnostic
from tierup.dialect.passes.fusion.grouping import weight
from tierup.dialect.passes.registry import Pass, PassFailure, functions, register

GROUP = "tierup.fusion_group"
FALLBACK = "tierup.fallback"
_NOT_CHECKED = (FALLBACK, "tierup.continuation")  # attributes of functions
_CONTROL = frozenset({"torch.prim.If", "torch.prim.Loop"})
_CHECKS = frozenset({"tierup.check", "tierup.check_requires_grad", "tierup.check_shapes"})
_CONJUNCTIONS = frozenset({"torch.aten.__and__.bool"})
# Of the ops without a row those that compute.
_COMPUTING = frozenset({"tierup.autograd_add", "tierup.batched_mm_side", "tierup.batched_mm_tree", "torch.operator"})


@register
class CheckStrictFusion(Pass):
    single: bool = False

    def run(self, module: ir.Module) -> None:
        names = function_names(module)
        found: list[Diagnostic] = []
        for func in functions(module.operation):
            if any(attribute in func.attributes for attribute in _NOT_CHECKED):
                continue
            found += _left_out(func, names)
            groups = _longest_path(func) if self.single else []
            found += [diagnostics.at(op, "error", "is one more fusion group", (groups[0], "the first one")) for op in groups[1:]]
        if found:
            raise PassFailure.of(found)


def _left_out(op: ir.Operation, names: Mapping[str, ir.Operation]) -> Iterator[Diagnostic]:
    for block in blocks(op):
        for view in block.operations:
            inner = view.operation
            if inner.name in (GROUP, FALLBACK):
                continue
            reason = _reason(inner, names)
            if reason is not None:
                yield diagnostics.at(inner, "error", f"is left out of fusion: {reason}")
            yield from _left_out(inner, names)


def _reason(op: ir.Operation, names: Mapping[str, ir.Operation]) -> str | None:
    """Why an op outside groups is left out; None for one that does not count."""
    if op.name in _CONTROL:
        return None if op.name == "torch.prim.If" and _is_check(op.operands[0]) else "not all in it is in one group"
    if op.name == "func.call":
        callee = names.get(callee_name(op))
        return None if callee is not None and FALLBACK in callee.attributes else "it is a call, which no group holds; inline it"
    row = row_of(op)
    if row is None:
        return "it has no native code" if op.name in _COMPUTING else None
    if weight(op) == 0:
        return None
    if row.random:
        return "it draws random numbers"
    if row.writes:
        return "it writes its operand; tierup-functionalize makes values of that"
    if not row.native:
        return "it has no native code"
    return "it has native code, but not for these types, or too few ops stand together"


def _is_check(value: ir.Value) -> bool:
    """Whether a truth value is the answer of a check, or of several."""
    op = maker(value)
    if op is None:
        return False
    return op.name in _CHECKS or (op.name in _CONJUNCTIONS and all(map(_is_check, op.operands)))


def _longest_path(op: ir.Operation) -> list[ir.Operation]:
    """The groups on the path that passes most of them; of two arms one runs."""
    paths = [[group for view in block.operations for group in _groups_of(view.operation)] for block in blocks(op)]
    return max(paths, key=len, default=[])


def _groups_of(op: ir.Operation) -> list[ir.Operation]:
    if op.name == FALLBACK:
        return []
    return [op] if op.name == GROUP else _longest_path(op)
